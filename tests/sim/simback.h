/* simback.h - the real unetbackd in the world of a C test, and guests that pass traffic through it
 *
 * unetbackd and its instances are the sanitized ones, in a network namespace of the test's own.  A
 * simvif is a frontend (netfront.h) and the host's end of its wire, a packet socket on the TAP.
 * All simvifs live in the test's one thread: whatever waits here serves all of them, so that a frontend
 * that misbehaves and one that must not notice run side by side.
 *
 * Frames carry a number and bytes that follow from it: each is checked where it comes out.
 *
 * Failures are cmocka's: these functions fail the test that calls them. */
#ifndef TESTS_SIM_SIMBACK_H
#define TESTS_SIM_SIMBACK_H

#include "simtest.h"

#include <xenstore.h>

#include "netfront.h"

/* What is run often and not under test is not sanitized: it starts three times as fast. */
#define SIMBACK_TOOLSTACK "../../../release/tests/sim/simtoolstack"
#define SIMBACK_PATIENCE 20000		/* ms; generous, this may run beside anything */

/* simtest_start_with_xenstored() and unetbackd with @options, up to a NULL.  The stop ends it by
 * SIGTERM: not 0 if it or an instance of it ended badly, or said anything of a sanitizer. */
int simback_start(const char *const options[]);
int simback_stop(void);
int simback_pid(void);
struct xs_handle *simback_xs(void);

/* `unetback --format=json COMMAND [VIF]`; "" if it failed.  Valid until the next call. */
const char *simback_ask(const char *command, const char *vif);
/* Of what `unetback COMMAND VIF` answers: the number of @key, in @section if that is not NULL; -1
 * if there is none. */
long long simback_number(const char *command, const char *vif, const char *section,
			 const char *key);

/* Of unetbackd: open descriptors, and instances. */
int simback_descriptors(void);
int simback_children(void);

/* Kills the instance that serves @vif, and waits for another; the stop then minds no instance that ended. */
void simback_kill_instance(const char *vif);

/* The domain of a guest that runs, and its end as the toolstack makes it. */
struct simguest *simback_guest(uint32_t domid);
void simback_destroy(struct simguest *guest);
/* Until nothing is left of @domid: domain, mappings, devices, nodes, instance. */
void simback_await_gone(uint32_t domid);

/* Of one flow, one way. */
struct simvif_flow {
	uint32_t newest;			/* frame */
	uint32_t queue;				/* to the guest: where it came out, counted from 1; 0: nowhere yet */
};

struct simvif {
	struct netfront *fe;
	uint32_t domid, handle;
	char name[16], backend[64];
	int wire;
	uint32_t number;			/* of the last frame sent, either way */
	uint32_t at_host, at_guest;		/* of the last that came out */
	uint64_t spoiled;			/* frames that came out other than they went in */
	uint8_t to[6];				/* destination MAC of what is sent next: everybody */
	uint8_t flow;				/* of what is sent next: a byte of the source MAC */
	uint64_t reordered, moved;		/* frames behind a newer one; flows that changed the queue */
	struct simvif_flow to_guest[256], to_host[256];
};

/* xl network-attach, then the frontend, which connects when it is served. */
struct simvif *simvif_open(struct simguest *guest, uint32_t handle,
			   const struct netfront_config *config, const char *mtu);
/* The frontend is gone without a word; the device stays. */
void simvif_free(struct simvif *vif);

/* Serves all frontends and wires, and waits for more work of theirs, at most @ms. */
void simback_serve(int ms);
/* Until @condition(@context) or SIMBACK_PATIENCE. */
bool simback_until(bool (*condition)(void *context), void *context);

bool simvif_connected(void *vif);		/* conditions */
bool simvif_closed(void *vif);			/* by unetbackd's word */
bool simvif_balanced(void *vif);		/* every frame is accounted for */
bool simvif_tx_idle(void *vif);			/* every request is answered */

#define simback_await(condition, context) assert_true(simback_until(condition, context))

/* Once connected: frames of several sizes, one at a time, @rounds each way. */
void simvif_exchange(struct simvif *vif, int rounds);
/* From the guest: false without room in the ring. */
bool simvif_send(struct simvif *vif, uint32_t length);
/* Towards the guest, as fast as the device takes them. */
void simvif_flood(struct simvif *vif, int frames, uint32_t length);
/* error/backend/vif/D/H/error, "" if there is none.  Valid until the next call. */
const char *simvif_error(const struct simvif *vif);

#endif
