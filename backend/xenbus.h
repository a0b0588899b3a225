/* xenbus.h - the state machine of a backend device, as a table
 *
 * Pure: given our state and the frontend's, what to do next.  The caller does it, moves on, and asks
 * again until nothing is to be done.  States are those of xen/io/xenbus.h, and XENBUS_ILLEGAL for text
 * that is none of them; a state that is missing is XenbusStateUnknown, which is what a crashed guest
 * leaves.  The walk is always Initialising, InitWait, Connected, Closing, Closed, and from there
 * InitWait again (kexec, driver reload), never a jump, as Linux's xen-netback does it (xenbus.c,
 * set_backend_state). */
#ifndef BACKEND_XENBUS_H
#define BACKEND_XENBUS_H

#include <stdbool.h>
#include <stdint.h>
#include <xen/io/xenbus.h>

#define XENBUS_ILLEGAL ((enum xenbus_state)(XenbusStateReconfigured + 1))
#define XENBUS_STATES  (XenbusStateReconfigured + 2)

enum xenbus_action {
	XENBUS_STAY,		/* nothing to do until something changes */
	XENBUS_ADVERTISE,	/* make the device, write our features; then InitWait */
	XENBUS_CONNECT,		/* read the frontend's keys, map rings; then Connected */
	XENBUS_DISCONNECT,	/* give back all that is the guest's; then Closing */
	XENBUS_CLOSE,		/* just write Closed */
	XENBUS_RECONFIGURE,	/* take what the frontend has changed; then Reconfigured */
	XENBUS_RESUME,		/* just write Connected */
	XENBUS_REFUSE,		/* the frontend's state makes no sense: error, then Closing */
};

struct xenbus_step {
	enum xenbus_action action;
	enum xenbus_state next;		/* ours, once the action is done; meaningless for STAY */
};

/* @ours: one of the five states of the walk, or Reconfigured, a side step from Connected.  @online: the toolstack wants the device to survive a
 * Closed; without it Closed is the end. */
struct xenbus_step xenbus_step(enum xenbus_state ours, enum xenbus_state theirs, bool online);

const char *xenbus_state_name(enum xenbus_state state);
/* Of the text of a `state` node: XENBUS_ILLEGAL for what is no state. */
enum xenbus_state xenbus_state_parse(const char *text);

#endif
