/* test_vif_keys_live.c - what the toolstack and the guest may change while the guest is connected */
#include "../../backend/vif_keys.c"
#include "unit.h"
#include "frontend_keys.h"

static char why[256];

static void rates_are_pairs_of_numbers(void **state)
{
	static const struct { const char *value; uint64_t units, usec; } rows[] = {
		{ "1250000,50000", 1250000, 50000 }, { "1,1", 1, 1 },
		{ "9007199254740992,4294967295", RATE_UNITS_MAX, RATE_USEC_MAX },
		{ "0,50000", 0, 0 }, { "50000,0", 0, 0 }, { "50000", 0, 0 }, { "", 0, 0 }, { "1,2,3", 0, 0 },
		{ "1, 2", 0, 0 }, { "-1,5", 0, 0 }, { "1,5 ", 0, 0 }, { "0x10,5", 0, 0 }, { "1;5", 0, 0 },
		{ "9007199254740993,1", 0, 0 }, { "1,4294967296", 0, 0 },
		{ "99999999999999999999999,1", 0, 0 }, { "unlimited", 0, 0 },
	};

	(void)state;
	for (size_t key = 0; key < COUNT_OF(rate_keys); key++)
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			struct vif_live live;
			struct rate rate;

			modern_frontend();
			memset(&live, 0x5a, sizeof live);
			put_in(VIF_KEY_BACKEND, rate_keys[key].name, rows[i].value);
			vif_keys_read_live(read_store, &store, &live, why, sizeof why);
			memcpy(&rate, (char *)&live + rate_keys[key].into, sizeof rate);
			SAME(rows[i].value, rate.units, rows[i].units);
			SAME(rows[i].value, rate.usec, rows[i].usec);
			SAME("told", why[0] != '\0', rows[i].units == 0);
			assert_true(why[0] == '\0' || strncmp(why, rate_keys[key].name, strlen(rate_keys[key].name)) == 0);
		}
}

static void multicast_control_is_a_wish(void **state)
{
	static const struct { const char *value; uint32_t on; bool told; } rows[] = {
		{ "1", 1, false }, { "0", 0, false }, { NONE, 0, false }, { "2", 0, true }, { "yes", 0, true },
	};
	struct vif_live live;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		modern_frontend();
		memset(&live, 0x5a, sizeof live);
		put("request-multicast-control", rows[i].value);
		vif_keys_read_live(read_store, &store, &live, why, sizeof why);
		SAME("row", live.multicast_control, rows[i].on);
		SAME("told", why[0] != '\0', rows[i].told);
	}
}

static void without_a_key_there_is_no_rate(void **state)
{
	static const struct rate none;
	struct vif_live live;

	(void)state;
	modern_frontend();
	memset(&live, 0x5a, sizeof live);
	vif_keys_read_live(read_store, &store, &live, why, sizeof why);
	assert_string_equal(why, "");
	for (size_t key = 0; key < COUNT_OF(rate_keys); key++)
		assert_memory_equal((char *)&live + rate_keys[key].into, &none, sizeof none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_pairs_of_numbers),
		cmocka_unit_test(without_a_key_there_is_no_rate),
		cmocka_unit_test(multicast_control_is_a_wish),
	};

	return cmocka_run_group_tests_name("vif_keys_live", tests, NULL, NULL);
}
