/* clock.h - time as an argument
 *
 * Nothing in the engine reads a clock except queue_pair.c (before it sleeps over frames that wait, and at
 * each poll of a vif that has a rate limit), queue_thread.c (to log) and unetbackd; everything else is
 * handed a struct mono, so that tests are exact and need no sleeping.  In a PV dom0 reading the clock
 * costs more than a null system call: once a wake-up is enough. */
#ifndef BACKEND_CLOCK_H
#define BACKEND_CLOCK_H

#include <stdint.h>
#include <time.h>

struct mono { int64_t ns; };		/* CLOCK_MONOTONIC, nanoseconds */

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

static inline struct mono mono_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (struct mono){ t.tv_sec * NS_PER_S + t.tv_nsec };
}

static inline struct mono mono_add_ms(struct mono t, int64_t ms)
{
	return (struct mono){ t.ns + ms * NS_PER_MS };
}

static inline int64_t mono_ms_between(struct mono from, struct mono to)
{
	return (to.ns - from.ns) / NS_PER_MS;
}

#endif
