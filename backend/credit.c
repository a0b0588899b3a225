/* credit.c - how much a vif may send or be sent in a time; see credit.h */
#include "credit.h"

#define TICKS_PER_NS 16
#define TICKS_MAX    (INT64_C(1) << 60)

static int64_t ticks_of(struct mono time)
{
	return time.ns * TICKS_PER_NS;
}

/* The time that @units take at @rate. */
static int64_t cost(const struct rate *rate, uint64_t units)
{
	unsigned __int128 ticks = (unsigned __int128)units * rate->usec * (1000 * TICKS_PER_NS) / rate->units;

	return ticks > TICKS_MAX ? TICKS_MAX : (int64_t)ticks;
}

uint64_t rate_a_second(const struct rate *rate)
{
	unsigned __int128 units;

	if (!rate_is_limited(rate))
		return 0;
	units = (unsigned __int128)rate->units * 1000000 / rate->usec;
	return units > UINT64_MAX ? UINT64_MAX : units > 0 ? (uint64_t)units : 1;
}

void credit_terms_set(struct credit_terms *terms, const struct rate *rate, uint32_t floor)
{
	int64_t interval = (int64_t)rate->usec * 1000 * TICKS_PER_NS;
	int64_t least = CREDIT_BURST_MS * NS_PER_MS * TICKS_PER_NS;

	terms->rate = *rate;
	terms->burst = cost(rate, floor);
	if (terms->burst < least)
		terms->burst = least;
	if (terms->burst < interval)
		terms->burst = interval;
}

struct mono credit_take(struct credit *credit, const struct credit_terms *terms, struct mono now,
			uint32_t units)
{
	int64_t ticks = cost(&terms->rate, units), used = credit_get(credit);
	int64_t from, next;

	do {
		from = used > ticks_of(now) ? used : ticks_of(now);
		next = from > TICKS_MAX - ticks ? TICKS_MAX : from + ticks;
	} while (!__atomic_compare_exchange_n(&credit->used_until, &used, next, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	from -= terms->burst;
	return from < ticks_of(now) ? now : (struct mono){ from / TICKS_PER_NS + 1 };
}
