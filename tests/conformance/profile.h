/* profile.h - what is known of each frontend there is, a row each
 *
 * A profile says what a frontend writes into XenStore and in which order, how it walks through the
 * states, what it posts and when, and what else a backend must bear with.  life.c lives such a row over
 * the netfront model of the simulator; the frames in it are those of a Linux network stack.
 *
 * Sources: the drivers themselves (names beside the rows in profile.c), read, not copied.  What is no
 * row: how a driver allocates, and what its stack does with a frame. */
#ifndef TESTS_CONFORMANCE_PROFILE_H
#define TESTS_CONFORMANCE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <xen/io/xenbus.h>

struct netfront;

#define PROFILE_STEPS 4
#define PROFILE_VIFS 2

/* The frontend writes @write (0: nothing), then waits until the backend's state is one of the set
 * @until (0: it does not wait). */
struct profile_step {
	enum xenbus_state write;
	unsigned int until;
};
#define IN(state) (1u << XenbusState##state)

enum profile_post {		/* when the rx ring is filled for the first time */
	POST_BEFORE_KEYS,	/* with the rings */
	POST_AFTER_KEYS,	/* before, or just after, its Connected */
	POST_ONCE_CONNECTED,	/* when it sees the backend's */
};

enum profile_write {
	WRITE_SINGLY,		/* key by key, the backend may look in between */
	WRITE_AT_ONCE,		/* in a transaction */
	WRITE_WITH_STATE,	/* in a transaction, with the state Connected in it */
};

enum profile_send {		/* what it leaves to the backend when it sends */
	SEND_CSUM = 1, SEND_TSO4 = 2, SEND_TSO6 = 4,
	SEND_VALIDATED = 8,	/* says so of every frame, whatever is in it */
	SEND_ALL = SEND_CSUM | SEND_TSO4 | SEND_TSO6,
};

struct profile {
	const char *name;
	/* In order, separated by blanks.  "name=value", or one of the names whose value is the model's:
	 * tx-ring-ref, rx-ring-ref, event-channel; "rings": these of every queue, in queue-N/ if there
	 * are several, split unless single_event; "multi-queue-num-queues": left out for one;
	 * ctrl-ring-ref, event-channel-ctrl. */
	const char *keys;
	enum profile_write write;
	struct profile_step open[PROFILE_STEPS];	/* before keys are written, each time */
	struct profile_step close[PROFILE_STEPS];	/* then the rings are taken away */
	struct profile_step detached[PROFILE_STEPS];	/* when the backend is told to close */
	bool reboots;			/* cannot close: the domain ends, another comes */
	bool ports_first;		/* event channels are closed before the backend is told */
	bool single_event;
	enum profile_post post;
	uint32_t queues, rx_requests;	/* 0: 1, and 256 */
	unsigned int send;		/* a set of enum profile_send */
	uint32_t pause_us;		/* its events are handled so often and no oftener */
	bool polls;			/* does not wait for events, looks at its rings at every turn */
	uint32_t vifs;			/* 0: 1; the second is the twin of an emulated device */
	void (*up)(struct netfront *fe);	/* what else it does once it is connected; NULL: nothing */
	const char *refused;		/* it must not connect: part of the reason in the error node */
};

void windows_up(struct netfront *fe);		/* for profile.up: a hash if it has several queues */
uint32_t windows_queue(const struct netfront *fe, uint32_t hash);	/* where it then wants a frame */

extern const struct profile profiles[];		/* up to one without a name */

/* True if @profile writes @word, "name=value", as a key. */
bool profile_writes(const struct profile *profile, const char *word);
const struct profile *profile_named(const char *name);

#endif
