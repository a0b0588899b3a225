/* test_stall.c - a guest that stops taking frames, look by look, with any time there is */
#include <stdio.h>

#include "../../backend/stall.c"
#include "unit.h"

#define WAITS true
#define IDLE  false
#define LAST  0xffffffffu		/* indices wrap */

struct look {
	int64_t ms;
	bool waiting;
	uint32_t prod, cons;
	enum stall_step step;
	bool stalled;
};

/* The stall time is 100 ms. */
static const struct look lives[][10] = {
	{	/* begins, is told of once a stall time, and ends when the guest posts */
		{ 1000, WAITS, LAST, LAST, STALL_NOTHING, false },
		{ 1099, WAITS, LAST, LAST, STALL_NOTHING, false },
		{ 1100, WAITS, LAST, LAST, STALL_BEGINS, true },
		{ 1199, WAITS, LAST, LAST, STALL_NOTHING, true },
		{ 1250, WAITS, LAST, LAST, STALL_GOES_ON, true },
		{ 1349, WAITS, LAST, LAST, STALL_NOTHING, true },
		{ 1350, WAITS, LAST, LAST, STALL_GOES_ON, true },
		{ 1351, IDLE, LAST + 1, LAST + 1, STALL_ENDS, false },
		{ 9999, IDLE, LAST + 1, LAST + 1, STALL_NOTHING, false },
	}, {	/* a guest that posts now and then is only slow */
		{ 1000, WAITS, 7, 5, STALL_NOTHING, false },
		{ 1090, WAITS, 8, 5, STALL_NOTHING, false },
		{ 1180, WAITS, 9, 5, STALL_NOTHING, false },
		{ 1270, WAITS, 9, 6, STALL_NOTHING, false },
		{ 1369, WAITS, 9, 6, STALL_NOTHING, false },
		{ 1370, WAITS, 9, 6, STALL_BEGINS, true },
	}, {	/* too few posted: it ends, and begins again a stall time later */
		{ 1000, WAITS, 7, 5, STALL_NOTHING, false },
		{ 1100, WAITS, 7, 5, STALL_BEGINS, true },
		{ 1150, WAITS, 8, 5, STALL_ENDS, false },
		{ 1249, WAITS, 8, 5, STALL_NOTHING, false },
		{ 1250, WAITS, 8, 5, STALL_BEGINS, true },
	}, {	/* what waited grew too old, in time or before it: the next that waits finds the guest as it was */
		{ 1000, WAITS, 7, 7, STALL_NOTHING, false },
		{ 1050, IDLE, 7, 7, STALL_NOTHING, false },
		{ 1200, IDLE, 7, 7, STALL_NOTHING, false },
		{ 1300, WAITS, 7, 7, STALL_BEGINS, true },
		{ 1350, IDLE, 7, 7, STALL_NOTHING, true },
		{ 1700, IDLE, 7, 7, STALL_NOTHING, true },
		{ 1701, WAITS, 7, 7, STALL_GOES_ON, true },
		{ 1702, IDLE, 8, 7, STALL_ENDS, false },
	}, {	/* the guest takes its requests back, which it may: that is a sign of it, too */
		{ 1000, WAITS, 7, 5, STALL_NOTHING, false },
		{ 1099, WAITS, 5, 5, STALL_NOTHING, false },
		{ 1198, WAITS, 5, 5, STALL_NOTHING, false },
		{ 1199, WAITS, 5, 5, STALL_BEGINS, true },
	}, {	/* nothing waits: never */
		{ 1000, IDLE, 7, 7, STALL_NOTHING, false },
		{ 9000, IDLE, 7, 7, STALL_NOTHING, false },
	},
};

static void every_life_is_told_as_written(void **state)
{
	(void)state;
	for (size_t life = 0; life < COUNT_OF(lives); life++) {
		struct stall stall = { .after_ms = 100 };

		for (const struct look *look = lives[life]; look->ms; look++) {
			char row[40];
			struct mono now = { look->ms * NS_PER_MS };

			snprintf(row, sizeof row, "life %zu, %lld ms", life, (long long)look->ms);
			SAME(row, stall_look(&stall, look->waiting, look->prod, look->cons, now), look->step);
			SAME(row, stall.stalled, look->stalled);
		}
	}
}

static void without_a_time_there_are_none(void **state)
{
	(void)state;
	for (size_t life = 0; life < COUNT_OF(lives); life++) {
		struct stall stall = { .after_ms = 0 };

		for (const struct look *look = lives[life]; look->ms; look++)
			SAME("step", stall_look(&stall, look->waiting, look->prod, look->cons,
						(struct mono){ look->ms * NS_PER_MS }), STALL_NOTHING);
		assert_false(stall.waits || stall.stalled);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_life_is_told_as_written),
		cmocka_unit_test(without_a_time_there_are_none),
	};

	return cmocka_run_group_tests_name("stall", tests, NULL, NULL);
}
