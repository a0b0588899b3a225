/* life.h - the life of a frontend of some profile: negotiation by its own rules
 *
 * One owner thread, which also serves: what waits here calls life_serve_others() of the scene, so that
 * other vifs go on.  Failures are cmocka's. */
#ifndef TESTS_CONFORMANCE_LIFE_H
#define TESTS_CONFORMANCE_LIFE_H

#include "../sim/simback.h"
#include "profile.h"

#define LIFE_PATIENCE 20000		/* ms */

struct life {
	const struct profile *profile;
	struct netfront *fe;
	bool connected;
	int64_t longest_ns;		/* wait for a state of the backend's */
	int64_t longest_own_ns;		/* the same less what was waited for a CPU */
	const char *longest_for;	/* which */
	void (*serve)(void *context, int ms);	/* everything, and waits for more at most @ms */
	void *context;
};

/* What the model has to be told, for netfront_open(). */
void life_configure(const struct profile *profile, struct netfront_config *config);

/* To Connected on both sides; false if the backend says Closing or Closed instead. */
bool life_connect(struct life *life);
/* As the profile does of its own accord, or when the backend is Closing; then nothing of the guest's is
 * mapped any more. */
void life_close(struct life *life);
void life_follow(struct life *life);

int64_t life_now(void);			/* CLOCK_MONOTONIC, ns */
/* Nanoseconds in which one of those that an answer depends on (we, unetbackd, the instances, xenstored,
 * simxen) waited for a CPU, since they began.  @threads: of the instances all threads, which with one queue
 * wait one after the other; else the first of each process, which is less than the truth. */
int64_t life_delay(bool threads);

#endif
