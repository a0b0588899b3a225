/* credit.h - how much a vif may send or be sent in a time
 *
 * A bucket belongs to a vif and a direction, not to a queue: xen-netback has one a queue, so that a guest
 * with N queues gets N times its rate.  Any number of threads take from it without a lock: all it holds is
 * one word, the time until which its rate is used up (the generic cell rate algorithm of ATM Forum TM 4.0,
 * the virtual scheduling form).
 *
 * Whoever finds any credit may pass a frame of any size, and what it costs beyond the credit is paid back
 * before the next frame: so a frame larger than the burst still passes, no queue with large frames starves
 * beside one with small frames, and over a long time the rate is exact.  N threads that look at the same
 * time may pass N frames; that, too, is paid back.
 *
 * Pure: time is an argument.  No call waits. */
#ifndef BACKEND_CREDIT_H
#define BACKEND_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/* @units (bytes, or packets) in each @usec microseconds; either 0: no limit. */
struct rate {
	uint64_t units, usec;
};
#define RATE_UNITS_MAX (UINT64_C(1) << 53)
#define RATE_USEC_MAX  UINT64_C(4294967295)

static inline bool rate_is_limited(const struct rate *rate)
{
	return rate->units != 0 && rate->usec != 0;
}

struct credit {
	int64_t used_until;		/* atomic; 1/16 ns of CLOCK_MONOTONIC: 18 years */
};

/* How much may pass at once after a silence, in units of time: what accumulates in one interval of the
 * rate, but no less than 10 ms (a thread wakes up a millisecond late), nor than it takes to send
 * @floor units. */
#define CREDIT_BURST_MS   10
#define CREDIT_BYTES_FLOOR 131072u	/* xen-netback's: a jumbo frame must pass (tx_add_credit) */

/* Whether there is credit at @now; if not, *@retry is when there will be. */
bool credit_is_there(const struct credit *credit, const struct rate *rate, uint32_t floor, struct mono now,
		     struct mono *retry);
/* Takes @units, whether they are there or not. */
void credit_take(struct credit *credit, const struct rate *rate, struct mono now, uint32_t units);
/* A full bucket: what a new rate starts with. */
void credit_fill(struct credit *credit);

#endif
