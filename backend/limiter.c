/* limiter.c - the limits of one direction of one queue; see limiter.h */
#include <string.h>

#include "limiter.h"

void limiter_set(struct limiter *limiter, const struct rate rates[RATE_KINDS], struct credit *credits)
{
	memcpy(limiter->rates, rates, sizeof limiter->rates);
	limiter->credits = credits;
	limiter->on = rate_is_limited(&rates[RATE_BYTES]) || rate_is_limited(&rates[RATE_PACKETS]);
	limiter->retry.ns = 0;
}

bool limiter_take(struct limiter *limiter, uint32_t bytes)
{
	static const uint32_t floors[RATE_KINDS] = { CREDIT_BYTES_FLOOR, 1 };
	const uint32_t units[RATE_KINDS] = { bytes, 1 };

	limiter->retry.ns = 0;
	for (int i = 0; i < RATE_KINDS; i++)
		if (rate_is_limited(&limiter->rates[i]) &&
		    !credit_is_there(&limiter->credits[i], &limiter->rates[i], floors[i], limiter->now,
				     &limiter->retry))
			return false;
	for (int i = 0; i < RATE_KINDS; i++)
		if (rate_is_limited(&limiter->rates[i]))
			credit_take(&limiter->credits[i], &limiter->rates[i], limiter->now, units[i]);
	return true;
}
