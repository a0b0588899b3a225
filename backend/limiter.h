/* limiter.h - the limits of one direction of one queue
 *
 * A copy of the vif's rates for this direction and a hand on the vif's buckets.  A frame that has to wait is
 * paid for at once and passes when its time has come, so that a queue keeps its turn (credit.h).  A clock is
 * read (by the owner, for limiter_begin) only while there is a limit.  Owner thread only. */
#ifndef BACKEND_LIMITER_H
#define BACKEND_LIMITER_H

#include "credit.h"

/* Rates a direction can have. */
enum rate_kind { RATE_BYTES, RATE_PACKETS, RATE_KINDS };

/* The buckets of a vif, and the rates that were charged to them. */
struct vif_credits {
	struct rate tx_rates[RATE_KINDS], rx_rates[RATE_KINDS];
	struct credit tx[RATE_KINDS], rx[RATE_KINDS];
};
/* Buckets for those rates: as full as @before where the rate is the same, else full.  Takers may go on taking
 * from @before. */
void vif_credits_follow(struct vif_credits *credits, const struct vif_credits *before,
			const struct rate tx_rates[RATE_KINDS], const struct rate rx_rates[RATE_KINDS]);

struct limiter {
	bool on;
	bool waits;			/* a frame was refused in this poll, until @retry */
	bool begins;			/* and not in one before */
	struct rate rates[RATE_KINDS];
	struct credit_terms terms[RATE_KINDS];	/* of those that limit */
	struct credit *credits;		/* [RATE_KINDS], of the vif */
	uint32_t paid;			/* bytes of the frame that waits; 0: none does */
	struct mono now;		/* of the poll in hand */
	struct mono retry;		/* what is paid may pass from then on */
};

/* Follows the vif's rates.  A frame that waits keeps its turn, unless they have changed. */
void limiter_set(struct limiter *limiter, const struct rate rates[RATE_KINDS], struct credit *credits);

/* To be called before each poll.  What waited then may be there no more. */
static inline void limiter_begin(struct limiter *limiter, struct mono now)
{
	limiter->now = now;
	limiter->waits = false;
}

/* Whether a frame of @bytes may pass now, as limiter_allows() below; for limiters that are on. */
bool limiter_take(struct limiter *limiter, uint32_t bytes);

/* Whether a frame of @bytes (more than 0) may pass now; it is charged in any case, once. */
static inline bool limiter_allows(struct limiter *limiter, uint32_t bytes)
{
	return !limiter->on || limiter_take(limiter, bytes);
}

/* A frame was refused in this poll. */
static inline bool limiter_waits(const struct limiter *limiter)
{
	return limiter->waits;
}

/* It was refused for the first time. */
static inline bool limiter_begins_to_wait(const struct limiter *limiter)
{
	return limiter->begins;
}

/* A frame was refused, in this poll or before, and has not passed yet. */
static inline bool limiter_holds(const struct limiter *limiter)
{
	return limiter->paid != 0;
}

#endif
