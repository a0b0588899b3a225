/* limiter.c - the limits of one direction of one queue; see limiter.h */
#include <string.h>

#include "limiter.h"

/* What was used up at another rate means nothing at this one. */
static void follow(struct rate rates[RATE_KINDS], struct credit credits[RATE_KINDS],
		   const struct rate before[RATE_KINDS], const struct credit credits_before[RATE_KINDS],
		   const struct rate now[RATE_KINDS])
{
	for (int i = 0; i < RATE_KINDS; i++) {
		bool same = memcmp(&before[i], &now[i], sizeof now[i]) == 0;

		rates[i] = now[i];
		credit_set(&credits[i], same ? credit_get(&credits_before[i]) : CREDIT_FULL);
	}
}

void vif_credits_follow(struct vif_credits *credits, const struct vif_credits *before,
			const struct rate tx_rates[RATE_KINDS], const struct rate rx_rates[RATE_KINDS])
{
	follow(credits->tx_rates, credits->tx, before->tx_rates, before->tx, tx_rates);
	follow(credits->rx_rates, credits->rx, before->rx_rates, before->rx, rx_rates);
}

void limiter_set(struct limiter *limiter, const struct rate rates[RATE_KINDS], struct credit *credits)
{
	static const uint32_t floors[RATE_KINDS] = { CREDIT_BYTES_FLOOR, 1 };

	if (limiter->credits == credits && memcmp(limiter->rates, rates, sizeof limiter->rates) == 0)
		return;
	memset(limiter, 0, sizeof *limiter);
	memcpy(limiter->rates, rates, sizeof limiter->rates);
	limiter->credits = credits;
	for (int i = 0; i < RATE_KINDS; i++)
		if (rate_is_limited(&rates[i])) {
			credit_terms_set(&limiter->terms[i], &rates[i], floors[i]);
			limiter->on = true;
		}
}

static void pay(struct limiter *limiter, uint32_t bytes, uint32_t packets)
{
	const uint32_t units[RATE_KINDS] = { bytes, packets };

	for (int i = 0; i < RATE_KINDS; i++) {
		struct mono when;

		if (!rate_is_limited(&limiter->rates[i]) || units[i] == 0)
			continue;
		when = credit_take(&limiter->credits[i], &limiter->terms[i], limiter->now, units[i]);
		if (limiter->paid == 0 && when.ns > limiter->retry.ns)
			limiter->retry = when;
	}
}

/* A guest can put a larger frame in the place of one that waits: it passes in its turn and pays the rest. */
bool limiter_take(struct limiter *limiter, uint32_t bytes)
{
	limiter->begins = limiter->paid == 0;
	if (limiter->begins) {
		limiter->retry = limiter->now;
		pay(limiter, bytes, 1);
		limiter->paid = bytes;
	} else if (bytes > limiter->paid) {
		pay(limiter, bytes - limiter->paid, 0);
		limiter->paid = bytes;
	}
	limiter->waits = limiter->now.ns < limiter->retry.ns;
	if (!limiter->waits)
		limiter->paid = 0;
	return !limiter->waits;
}
