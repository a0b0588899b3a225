/* test_credit.c - rates over simulated time: exact, fair, bounded bursts, absurd values
 *
 * Queues are played by taking turns; what each may pass is compared with rate times time. */
#include <pthread.h>

#include "../../backend/credit.c"
#include "../../backend/limiter.c"
#include "unit.h"

#define START (INT64_C(1000) * NS_PER_S)
#define QUEUES_MAX 4

static struct credit credits[RATE_KINDS];

static int setup(void **state)
{
	(void)state;
	credit_set(&credits[RATE_BYTES], CREDIT_FULL);
	credit_set(&credits[RATE_PACKETS], CREDIT_FULL);
	return 0;
}

static struct limiter limiter_of(struct rate bytes, struct rate packets)
{
	const struct rate rates[RATE_KINDS] = { bytes, packets };
	struct limiter limiter = { 0 };

	limiter_set(&limiter, rates, credits);
	return limiter;
}

/* What queues that always have a frame of @lengths to send pass from @from to @to, as threads that sleep
 * until they may, in whole milliseconds. */
static uint64_t run(struct limiter limiters[], const uint32_t lengths[], int queues, int64_t from, int64_t to,
		    uint64_t passed[])
{
	int64_t wake[QUEUES_MAX] = { 0 };
	uint64_t total = 0;

	for (int64_t now = from; now < to; now += NS_PER_MS)
		for (int i = 0; i < queues; i++) {
			if (now < wake[i])
				continue;
			limiters[i].now.ns = now;
			while (limiter_allows(&limiters[i], lengths[i])) {
				passed[i] += lengths[i];
				total += lengths[i];
			}
			wake[i] = limiters[i].retry.ns;
		}
	return total;
}

/* --- rates ------------------------------------------------------------------------------------ */

static const struct rate rates[] = {
	{ 50000, 50000 },		/* 1 MB/s, in libxl's interval */
	{ 6250000, 50000 },		/* 125 MB/s: a gigabit */
	{ 62500000, 50000 },		/* ten of them */
	{ 125, 1 },			/* a gigabit, in the shortest interval */
	{ 125000000, 1000000 }, { 12500, 1000000 }, { 1, 10 },
};

/* Over five seconds, once the first burst is used up: within 2 % of what was asked for, less the one frame
 * that may be in debt at either end. */
static void rates_are_met_with_any_number_of_queues(void **state)
{
	static const uint32_t lengths[QUEUES_MAX] = { 65535, 60, 1514, 9014 };

	(void)state;
	for (size_t r = 0; r < COUNT_OF(rates); r++)
		for (int queues = 1; queues <= QUEUES_MAX; queues += 3) {
			struct limiter limiters[QUEUES_MAX];
			uint64_t passed[QUEUES_MAX] = { 0 }, wanted = rates[r].units * 5000000 / rates[r].usec;
			uint64_t slack = wanted / 50 + 65535, got;

			setup(NULL);
			for (int i = 0; i < queues; i++)
				limiters[i] = limiter_of(rates[r], (struct rate){ 0, 0 });
			run(limiters, lengths, queues, START, START + 5 * NS_PER_S, passed);
			got = run(limiters, lengths, queues, START + 5 * NS_PER_S, START + 10 * NS_PER_S, passed);
			if (got + slack < wanted || got > wanted + slack)
				fail_msg("rate %zu, %d queues: %lu bytes in 5 s, not %lu", r, queues,
					 (unsigned long)got, (unsigned long)wanted);
		}
}

static void packets_are_counted_as_such(void **state)
{
	static const uint32_t lengths[QUEUES_MAX] = { 65535, 60, 60, 60 };
	struct limiter limiters[QUEUES_MAX];
	uint64_t passed[QUEUES_MAX] = { 0 }, packets = 0;

	(void)state;
	for (int i = 0; i < QUEUES_MAX; i++)
		limiters[i] = limiter_of((struct rate){ 0, 0 }, (struct rate){ 10000, 1000000 });
	run(limiters, lengths, QUEUES_MAX, START, START + 5 * NS_PER_S, passed);
	memset(passed, 0, sizeof passed);
	run(limiters, lengths, QUEUES_MAX, START + 5 * NS_PER_S, START + 10 * NS_PER_S, passed);
	for (int i = 0; i < QUEUES_MAX; i++)
		packets += passed[i] / lengths[i];
	assert_in_range(packets, 49000, 51000);
}

/* Both limits hold: whichever is the lower one decides. */
static void the_lower_of_two_rates_decides(void **state)
{
	static const struct { uint32_t length; uint64_t bytes; } rows[] = {
		{ 60, 60 * 1000 * 5 }, { 10000, 1000000 * 5 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct limiter limiter = limiter_of((struct rate){ 1000000, 1000000 }, (struct rate){ 1000, 1000000 });
		uint64_t passed[1] = { 0 }, got;

		setup(NULL);
		run(&limiter, &rows[i].length, 1, START, START + 5 * NS_PER_S, passed);
		got = run(&limiter, &rows[i].length, 1, START + 5 * NS_PER_S, START + 10 * NS_PER_S, passed);
		assert_in_range(got, rows[i].bytes * 98 / 100, rows[i].bytes * 102 / 100);
	}
}

/* A frame a turn, whatever its size, also for those who always look last. */
static void no_queue_starves_beside_others(void **state)
{
	static const uint32_t lengths[QUEUES_MAX] = { 60, 65535, 1514, 60 };
	struct limiter limiters[QUEUES_MAX];
	uint64_t before[QUEUES_MAX] = { 0 }, after[QUEUES_MAX], frames[QUEUES_MAX];

	(void)state;
	for (int i = 0; i < QUEUES_MAX; i++)
		limiters[i] = limiter_of((struct rate){ 6250, 50000 }, (struct rate){ 0, 0 });
	run(limiters, lengths, QUEUES_MAX, START, START + 5 * NS_PER_S, before);
	memcpy(after, before, sizeof after);
	run(limiters, lengths, QUEUES_MAX, START + 5 * NS_PER_S, START + 65 * NS_PER_S, after);
	for (int i = 0; i < QUEUES_MAX; i++) {
		frames[i] = (after[i] - before[i]) / lengths[i];
		/* 60 s of 125000 bytes/s, 67169 a round; who wakes up late misses a round, not two. */
		assert_in_range(frames[i], 111 / 2, 112);
	}
}

/* --- bursts and debts ------------------------------------------------------------------------- */

static uint64_t burst_after(struct limiter *limiter, int64_t silence, uint32_t length)
{
	uint64_t passed[1] = { 0 };

	while (limiter_allows(limiter, length))		/* use it up */
		;
	limiter->now.ns += silence;
	return run(limiter, &length, 1, limiter->now.ns, limiter->now.ns + 1, passed);
}

static void silence_earns_one_burst_and_no_more(void **state)
{
	struct limiter limiter = limiter_of((struct rate){ 5000000, 50000 }, (struct rate){ 0, 0 });
	struct limiter slow = limiter_of((struct rate){ 1000, 1000 }, (struct rate){ 0, 0 });

	(void)state;
	limiter.now.ns = START;
	assert_in_range(burst_after(&limiter, NS_PER_S, 1000), 4999000, 5001000);
	assert_in_range(burst_after(&limiter, 1000 * NS_PER_S, 1000), 4999000, 5001000);
	setup(NULL);
	slow.now.ns = START;
	assert_in_range(burst_after(&slow, 1000 * NS_PER_S, 1000), CREDIT_BYTES_FLOOR - 1000,
			CREDIT_BYTES_FLOOR + 2000);	/* and the one that was paid for before */
}

/* However large it is beside the burst; the debt is paid before the next. */
static void a_frame_larger_than_the_burst_passes(void **state)
{
	struct limiter limiter = limiter_of((struct rate){ 100, 1000000 }, (struct rate){ 0, 0 });

	(void)state;
	limiter.now.ns = START;
	while (limiter_allows(&limiter, 65535))
		;
	assert_in_range(limiter.retry.ns, START, START + INT64_C(1400) * NS_PER_S);
	limiter.now = limiter.retry;
	assert_true(limiter_allows(&limiter, 65535));
	assert_false(limiter_allows(&limiter, 60));
	assert_true(limiter_waits(&limiter));
}

/* Who asks at the time it was told is not refused again, if nobody else was quicker. */
static void the_time_to_retry_is_right(void **state)
{
	(void)state;
	for (size_t r = 0; r < COUNT_OF(rates); r++) {
		struct limiter limiter = limiter_of(rates[r], (struct rate){ 0, 0 });

		setup(NULL);
		limiter.now.ns = START;
		for (int i = 0; i < 1000; i++) {
			while (limiter_allows(&limiter, 1514))
				;
			assert_true(limiter.retry.ns > limiter.now.ns);
			limiter.now.ns = limiter.retry.ns - 1;
			assert_false(limiter_allows(&limiter, 1514));
			limiter.now = limiter.retry;
			assert_true(limiter_allows(&limiter, 1514));
		}
	}
}

static void absurd_rates_do_no_harm(void **state)
{
	static const struct rate absurd[] = {
		{ 1, RATE_USEC_MAX }, { RATE_UNITS_MAX, 1 }, { RATE_UNITS_MAX, RATE_USEC_MAX }, { 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(absurd); i++) {
		struct limiter limiter = limiter_of(absurd[i], absurd[i]);

		setup(NULL);
		limiter.now.ns = START;
		assert_true(limiter_allows(&limiter, 65535));
		for (int n = 0; n < 100000; n++)
			limiter_allows(&limiter, 65535);
		assert_true(!limiter_waits(&limiter) || limiter.retry.ns > limiter.now.ns);
	}
}

static void no_rate_no_limit(void **state)
{
	struct limiter limiter = limiter_of((struct rate){ 0, 5 }, (struct rate){ 5, 0 });

	(void)state;
	assert_false(limiter.on);
	for (int i = 0; i < 1000; i++)
		assert_true(limiter_allows(&limiter, 65535));
	assert_int_equal(credits[RATE_BYTES].used_until, 0);
}

/* Buckets for new rates: what was used up counts where the rate is still the same. */
static void buckets_follow_their_rates(void **state)
{
	const struct rate before[RATE_KINDS] = { { 1000, 1000 }, { 5, 1000000 } };
	const struct rate after[RATE_KINDS] = { { 1000, 1000 }, { 6, 1000000 } };
	static struct vif_credits one, two;

	(void)state;
	vif_credits_follow(&one, &one, before, before);
	for (int i = 0; i < RATE_KINDS; i++) {
		credit_set(&one.tx[i], 100 + i);
		credit_set(&one.rx[i], 200 + i);
	}
	vif_credits_follow(&two, &one, before, after);
	assert_int_equal(credit_get(&two.tx[RATE_BYTES]), 100);
	assert_int_equal(credit_get(&two.tx[RATE_PACKETS]), 101);
	assert_int_equal(credit_get(&two.rx[RATE_BYTES]), 200);
	assert_int_equal(credit_get(&two.rx[RATE_PACKETS]), CREDIT_FULL);
	assert_int_equal(two.rx_rates[RATE_PACKETS].units, 6);
}

/* What a frame that waits has paid counts for what comes in its place; a larger one pays the rest. */
static void a_turn_is_paid_once(void **state)
{
	const struct rate none[RATE_KINDS] = { { 0, 0 } };
	struct limiter limiter = limiter_of((struct rate){ 1000, 1000 }, (struct rate){ 0, 0 });
	int64_t used;

	(void)state;
	limiter.now.ns = START;
	while (limiter_allows(&limiter, 1000))
		;
	used = credit_get(&credits[RATE_BYTES]);
	assert_true(limiter_begins_to_wait(&limiter));
	assert_false(limiter_allows(&limiter, 60));
	assert_false(limiter_begins_to_wait(&limiter));
	assert_false(limiter_allows(&limiter, 1000));
	limiter_set(&limiter, limiter.rates, credits);
	assert_false(limiter_allows(&limiter, 1000));
	assert_int_equal(credit_get(&credits[RATE_BYTES]), used);
	assert_false(limiter_allows(&limiter, 1500));
	assert_int_equal(credit_get(&credits[RATE_BYTES]), used + 500 * 1000 * TICKS_PER_NS);
	limiter.now = limiter.retry;
	assert_true(limiter_allows(&limiter, 1500));
	assert_false(limiter_holds(&limiter));
	limiter_set(&limiter, none, credits);
	assert_false(limiter.on);
}

static void rates_are_shown_a_second(void **state)
{
	static const struct { struct rate rate; uint64_t a_second; } rows[] = {
		{ { 0, 0 }, 0 }, { { 5, 0 }, 0 }, { { 62500, 50000 }, 1250000 }, { { 1, RATE_USEC_MAX }, 1 },
		{ { 125, 1 }, 125000000 }, { { RATE_UNITS_MAX, 1 }, UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_true(rate_a_second(&rows[i].rate) == rows[i].a_second);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void *take_many(void *argument)
{
	struct limiter limiter = limiter_of((struct rate){ 1000, 1000 }, (struct rate){ 0, 0 });
	uint64_t *passed = argument;

	for (int64_t ms = 0; ms < 2000; ms++) {
		limiter.now.ns = START + ms * NS_PER_MS;
		for (int i = 0; i < 10 && limiter_allows(&limiter, 1000); i++)
			*passed += 1000;
	}
	return NULL;
}

/* Four at once, each at its own pace: nothing is charged twice or not at all. */
static void threads_share_a_bucket(void **state)
{
	uint64_t passed[QUEUES_MAX] = { 0 }, total = 0;
	pthread_t threads[QUEUES_MAX];

	(void)state;
	for (int i = 0; i < QUEUES_MAX; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_many, &passed[i]), 0);
	for (int i = 0; i < QUEUES_MAX; i++) {
		pthread_join(threads[i], NULL);
		total += passed[i];
	}
	/* Two seconds' worth, the first burst, and a frame a thread. */
	assert_in_range(total, 2 * 1000000, 2 * 1000000 + CREDIT_BYTES_FLOOR + (QUEUES_MAX + 1) * 1000);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rates_are_met_with_any_number_of_queues), TEST(packets_are_counted_as_such), TEST(no_queue_starves_beside_others),
		TEST(the_lower_of_two_rates_decides), TEST(silence_earns_one_burst_and_no_more),
		TEST(a_frame_larger_than_the_burst_passes), TEST(the_time_to_retry_is_right),
		TEST(absurd_rates_do_no_harm), TEST(no_rate_no_limit), TEST(buckets_follow_their_rates),
		TEST(a_turn_is_paid_once), TEST(rates_are_shown_a_second), TEST(threads_share_a_bucket),
	};

	return cmocka_run_group_tests_name("credit", tests, NULL, NULL);
}
