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

static int64_t burst(const struct rate *rate, uint32_t floor)
{
	int64_t interval = (int64_t)rate->usec * 1000 * TICKS_PER_NS;
	int64_t least = CREDIT_BURST_MS * NS_PER_MS * TICKS_PER_NS;
	int64_t floor_cost = cost(rate, floor);

	if (interval < least)
		interval = least;
	return interval < floor_cost ? floor_cost : interval;
}

bool credit_is_there(const struct credit *credit, const struct rate *rate, uint32_t floor, struct mono now,
		     struct mono *retry)
{
	int64_t used = __atomic_load_n(&credit->used_until, __ATOMIC_RELAXED);
	int64_t from = used - burst(rate, floor);

	if (from < ticks_of(now))
		return true;
	retry->ns = from / TICKS_PER_NS + 1;
	return false;
}

void credit_take(struct credit *credit, const struct rate *rate, struct mono now, uint32_t units)
{
	int64_t ticks = cost(rate, units), used = __atomic_load_n(&credit->used_until, __ATOMIC_RELAXED);
	int64_t next;

	do {
		int64_t from = used > ticks_of(now) ? used : ticks_of(now);

		next = from > TICKS_MAX - ticks ? TICKS_MAX : from + ticks;
	} while (!__atomic_compare_exchange_n(&credit->used_until, &used, next, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
}

void credit_fill(struct credit *credit)
{
	__atomic_store_n(&credit->used_until, 0, __ATOMIC_RELAXED);
}
