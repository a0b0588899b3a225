/* credit.h - how much a vif may send or be sent in a time
 *
 * A bucket belongs to a vif and a direction, not to a queue: xen-netback has one a queue, so that a guest
 * with N queues gets N times its rate.  Any number of threads take from it without a lock: all it holds is
 * one word, the time until which its rate is used up (the generic cell rate algorithm of ATM Forum TM 4.0,
 * the virtual scheduling form).
 *
 * Taking is never refused; it says from when on what was taken may pass, which is when there is any credit.
 * Whoever has to wait has paid, and waits for his own time: queues that wait pass in the order in which they
 * asked, a frame each, so that none starves, whatever the size of its frames and however late its thread
 * wakes up.  A frame of any size passes, and what it costs beyond the credit is paid back before the next:
 * so one larger than the burst still passes, and over a long time the rate is exact.
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

/* Units a second; 0: no limit. */
uint64_t rate_a_second(const struct rate *rate);

struct credit {
	int64_t used_until;		/* atomic; 1/16 ns of CLOCK_MONOTONIC: 18 years */
};

/* How much may pass at once after a silence, in units of time: what accumulates in one interval of the
 * rate, but no less than 10 ms (a thread wakes up a millisecond late), nor than it takes to send
 * @floor units. */
#define CREDIT_BURST_MS   10
#define CREDIT_BYTES_FLOOR 131072u	/* xen-netback's: a jumbo frame must pass (tx_add_credit) */

/* A rate made ready for taking. */
struct credit_terms {
	struct rate rate;
	int64_t burst;			/* ticks, as used_until */
};
/* @rate is limited. */
void credit_terms_set(struct credit_terms *terms, const struct rate *rate, uint32_t floor);

/* Takes @units: from when on they may pass, @now if at once. */
struct mono credit_take(struct credit *credit, const struct credit_terms *terms, struct mono now,
			uint32_t units);

#define CREDIT_FULL 0			/* what a new rate starts with */
static inline void credit_set(struct credit *credit, int64_t used_until)
{
	__atomic_store_n(&credit->used_until, used_until, __ATOMIC_RELAXED);
}
static inline int64_t credit_get(const struct credit *credit)
{
	return __atomic_load_n(&credit->used_until, __ATOMIC_RELAXED);
}

#endif
