/* test_log.c - lines are whole or cut, and no guest can make many of them */
#include "../../backend/log.c"
#include "unit.h"

#define MS(ms) ((struct mono){ (ms) * NS_PER_MS })

static char last[LOG_LINE_MAX];
static enum log_level last_level;
static int lines;

static void to_test(enum log_level level, const char *line)
{
	lines++;
	last_level = level;
	snprintf(last, sizeof last, "%s", line);
}

static int setup(void **state)
{
	(void)state;
	lines = 0;
	log_set_sink(to_test);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_set_sink(NULL);
	return 0;
}

static void lines_reach_the_sink_with_their_level(void **state)
{
	(void)state;
	log_error("%s: %u > %u", "vif7.0", 5u, 4u);
	assert_string_equal(last, "vif7.0: 5 > 4");
	assert_int_equal(last_level, LOG_LEVEL_ERROR);
	log_debug("x");
	assert_int_equal(last_level, LOG_LEVEL_DEBUG);
	assert_int_equal(lines, 2);
}

static void long_lines_are_cut(void **state)
{
	char text[2 * LOG_LINE_MAX];

	(void)state;
	memset(text, 'y', sizeof text);
	text[sizeof text - 1] = 0;
	log_info("%s", text);
	assert_int_equal(strlen(last), LOG_LINE_MAX - 1);
}

/* Lines let through of @calls made every @every_ms. */
struct limit_row { const char *name; int calls; int64_t every_ms; int passed; };
static const struct limit_row limit_rows[] = {
	{ "burst at once", 5, 0, 5 },
	{ "one over", 6, 0, 5 },
	{ "a flood at once", 100000, 0, 5 },
	{ "one an interval", 50, LOG_LIMIT_INTERVAL_MS, 50 },
	{ "two an interval, 10 intervals", 20, LOG_LIMIT_INTERVAL_MS / 2, 5 + 9 },
	{ "a flood for 10 intervals", 100001, LOG_LIMIT_INTERVAL_MS / 10000, 5 + 10 },
};

/* Of the caller's own lines: one about those left out does not count. */
static int passed_of(int calls, int64_t every_ms, struct mono from)
{
	struct log_limiter limiter = { 0 };
	int passed = 0;

	for (int call = 0; call < calls; call++) {
		last[0] = 0;
		log_limited(&limiter, (struct mono){ from.ns + call * every_ms * NS_PER_MS },
			    LOG_LEVEL_WARNING, "line");
		passed += strcmp(last, "line") == 0;
	}
	return passed;
}

static void the_limiter_lets_through_what_it_promises(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(limit_rows); i++) {
		const struct limit_row *row = &limit_rows[i];

		SAME(row->name, passed_of(row->calls, row->every_ms, MS(0)), row->passed);
	}
}

static void a_machine_that_is_up_for_long_makes_no_difference(void **state)
{
	(void)state;
	SAME("year", passed_of(100, 0, MS(INT64_C(365) * 24 * 3600 * 1000)), 5);
}

static void the_first_line_after_a_silence_says_how_many_were_left_out(void **state)
{
	struct log_limiter limiter = { 0 };

	(void)state;
	for (int i = 0; i < 12; i++)
		log_limited(&limiter, MS(0), LOG_LEVEL_WARNING, "line");
	assert_int_equal(lines, 5);
	lines = 0;
	log_limited(&limiter, MS(LOG_LIMIT_INTERVAL_MS), LOG_LEVEL_WARNING, "line");
	assert_int_equal(lines, 2);
	assert_int_equal(limiter.suppressed, 0);
	lines = 0;
	log_limited(&limiter, MS(10 * LOG_LIMIT_INTERVAL_MS), LOG_LEVEL_WARNING, "line");
	assert_int_equal(lines, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_reach_the_sink_with_their_level),
		TEST(long_lines_are_cut),
		TEST(the_limiter_lets_through_what_it_promises),
		TEST(a_machine_that_is_up_for_long_makes_no_difference),
		TEST(the_first_line_after_a_silence_says_how_many_were_left_out),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
