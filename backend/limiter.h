/* limiter.h - the limits of one direction of one queue
 *
 * A copy of the vif's rates for this direction and a hand on the vif's buckets.  A clock is read (by the
 * owner, into @now, before each poll) only while there is a limit.  Owner thread only. */
#ifndef BACKEND_LIMITER_H
#define BACKEND_LIMITER_H

#include "credit.h"

/* Rates a direction can have. */
enum rate_kind { RATE_BYTES, RATE_PACKETS, RATE_KINDS };

struct limiter {
	bool on;
	struct rate rates[RATE_KINDS];
	struct credit *credits;		/* [RATE_KINDS], of the vif */
	struct mono now;		/* while on: set before each poll */
	struct mono retry;		/* refused: not before then; 0 ns: not refused */
};

/* Follows the vif's rates. */
void limiter_set(struct limiter *limiter, const struct rate rates[RATE_KINDS], struct credit *credits);

/* Whether a frame of @bytes may pass now, as limiter_allows() below; for limiters that are on. */
bool limiter_take(struct limiter *limiter, uint32_t bytes);

/* Whether a frame of @bytes may pass now; it is charged if so. */
static inline bool limiter_allows(struct limiter *limiter, uint32_t bytes)
{
	return !limiter->on || limiter_take(limiter, bytes);
}

static inline bool limiter_waits(const struct limiter *limiter)
{
	return limiter->retry.ns != 0;
}

#endif
