/* test_vif_keys.c - what a guest may write into XenStore, and what becomes of it
 *
 * A frontend is a list of keys.  Each row changes the keys of a modern Linux frontend. */
#include "../../backend/vif_keys.c"
#include "unit.h"
#include "frontend_keys.h"

#define QUEUES_MAX 4

static struct vif_config config;
static char why[256];

static int read_config(void)
{
	memset(&config, 0x5a, sizeof config);
	why[0] = '\0';
	return vif_keys_read(read_store, &store, QUEUES_MAX, &config, why, sizeof why);
}

static void the_toolstack_says_the_mac(void **state)
{
	static const uint8_t mac[6] = { 0x00, 0x16, 0x3e, 0x0a, 0xff, 0x01 }, none[6];
	static const char *const wrong[] = { "", "00:16:3e:0a:ff", "00:16:3e:0a:ff:01:02", "00-16-3e-0a-ff-01",
					     "00:16:3e:0a:ff:0g", "zz:16:3e:0a:ff:01\n" };

	(void)state;
	modern_frontend();
	put_in(VIF_KEY_BACKEND, "mac", "00:16:3E:0a:ff:1");
	assert_int_equal(read_config(), 0);
	assert_memory_equal(config.mac, mac, sizeof mac);
	put_in(VIF_KEY_BACKEND, "mac", NONE);
	assert_int_equal(read_config(), 0);
	assert_memory_equal(config.mac, none, sizeof none);
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		put_in(VIF_KEY_BACKEND, "mac", wrong[i]);
		SAME(wrong[i], read_config(), -EINVAL);
		assert_non_null(strstr(why, "mac is '"));
	}
}

static void a_modern_frontend_gets_all(void **state)
{
	(void)state;
	modern_frontend();
	assert_int_equal(read_config(), 0);
	SAME("modern", config.features, VIF_F_ALL);
	SAME("modern", config.mtu, 1500);
	SAME("modern", config.queue_count, 1);
	SAME("modern", config.queues[0].tx_ring_ref, 9);
	SAME("modern", config.queues[0].rx_ring_ref, 768);
	SAME("modern", config.queues[0].tx_port, 15);
	SAME("modern", config.queues[0].rx_port, 16);
}

static void the_least_a_frontend_can_write(void **state)
{
	(void)state;
	store_count = 0;
	put("tx-ring-ref", "1");
	put("rx-ring-ref", "4294967295");
	put("event-channel", "131071");
	put("request-rx-copy", "1");
	assert_int_equal(read_config(), 0);
	SAME("least", config.features, VIF_F_CSUM_IPV4);
	SAME("least", config.queues[0].rx_ring_ref, UINT32_MAX);
	SAME("least", config.queues[0].tx_port, 131071);
	SAME("least", config.queues[0].rx_port, 131071);
}

/* --- each key alone --------------------------------------------------------------------------- */

/* No key takes any of these. */
static const char *const junk[] = {
	"", " ", "x", "-1", "+1", " 1", "1 ", "1\n", "\t1", "1x", "x1", "0x1", "1.0", "1,2", "1e3",
	"4294967296", "18446744073709551616", "99999999999999999999999999999999999999999999999999999999999",
	"9999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999",
	"\xff\xfe", "\x1b[31m", "%s%n", "true", "one", "1\xc2\xa0", "\xd9\xa1",
};

static void expect_refused(const char *key, const char *value)
{
	if (read_config() != -EINVAL)
		fail_msg("%s '%s' was accepted", key, value);
	if (!strstr(why, key))
		fail_msg("%s '%s': the reason does not name the key: %s", key, value, why);
	for (const char *c = why; *c; c++)
		if (*c < ' ' || *c > '~')
			fail_msg("%s: byte 0x%02x in the reason", key, (unsigned char)*c);
}

static void junk_in_any_key_is_refused_by_name(void **state)
{
	(void)state;
	for (size_t k = 0; k < COUNT_OF(keys); k++)
		for (size_t j = 0; j < COUNT_OF(junk); j++) {
			modern_frontend();
			put_in(keys[k].side, keys[k].name, junk[j]);
			expect_refused(keys[k].name, junk[j]);
			assert_non_null(strstr(why, "must be a number from "));
		}
}

static void each_key_keeps_its_range(void **state)
{
	(void)state;
	for (size_t k = 0; k < COUNT_OF(keys); k++) {
		const uint64_t outside[] = { (uint64_t)keys[k].min - 1, (uint64_t)keys[k].max + 1 };

		for (size_t i = 0; i < COUNT_OF(outside); i++) {
			char value[32];

			if (i == 0 && keys[k].min == 0)
				continue;
			modern_frontend();
			snprintf(value, sizeof value, "%llu", (unsigned long long)outside[i]);
			put_in(keys[k].side, keys[k].name, value);
			expect_refused(keys[k].name, value);
		}
	}
}

static void reasons_name_key_value_and_range(void **state)
{
	static const struct { const char *key, *value, *why; } rows[] = {
		{ "tx-ring-ref", "0", "tx-ring-ref is '0', must be a number from 1 to 4294967295" },
		{ "rx-ring-ref", "7 ", "rx-ring-ref is '7 ', must be a number from 1 to 4294967295" },
		{ "event-channel-tx", "131072",
		  "event-channel-tx is '131072', must be a number from 1 to 131071" },
		{ "feature-sg", "2", "feature-sg is '2', must be a number from 0 to 1" },
		{ "feature-sg", "\x1b[2J", "feature-sg is '\\x1b[2J', must be a number from 0 to 1" },
		{ "feature-sg", "\\", "feature-sg is '\\x5c', must be a number from 0 to 1" },
		{ "tx-ring-ref", NONE, "tx-ring-ref is missing, must be a number from 1 to 4294967295" },
		{ "rx-ring-ref", NONE, "rx-ring-ref is missing, must be a number from 1 to 4294967295" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		modern_frontend();
		put(rows[i].key, rows[i].value);
		assert_int_equal(read_config(), -EINVAL);
		assert_string_equal(why, rows[i].why);
	}
}

static void a_read_that_fails_is_told_apart(void **state)
{
	static const struct { int error, result; const char *why; } rows[] = {
		{ -EMSGSIZE, -EINVAL, "feature-sg is too long, must be a number from 0 to 1" },
		{ -EILSEQ, -EINVAL, "feature-sg has a NUL in it, must be a number from 0 to 1" },
		{ -EACCES, -EACCES, "feature-sg cannot be read: Permission denied" },
		{ -EIO, -EIO, "feature-sg cannot be read: Input/output error" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		modern_frontend();
		find(VIF_KEY_FRONTEND, "feature-sg")->error = rows[i].error;
		SAME(rows[i].why, read_config(), rows[i].result);
		assert_string_equal(why, rows[i].why);
	}
}

/* As a guest with @count queues has it; what an earlier connection left beside them means nothing. */
static void queues(uint32_t count)
{
	static const char *const names[] = { "tx-ring-ref", "rx-ring-ref", "event-channel-tx", "event-channel-rx" };
	static char keys_of[32][32], values_of[32][8], number[12];

	snprintf(number, sizeof number, "%u", count);
	put("multi-queue-num-queues", number);
	for (uint32_t i = 0; i < count * 4; i++) {
		snprintf(keys_of[i], sizeof keys_of[i], "queue-%u/%s", i / 4, names[i % 4]);
		snprintf(values_of[i], sizeof values_of[i], "%u", 100 + i);
		put(keys_of[i], values_of[i]);
	}
}

static void several_queues(void **state)
{
	(void)state;
	for (uint32_t count = 2; count <= QUEUES_MAX; count++) {
		modern_frontend();
		queues(count);
		assert_int_equal(read_config(), 0);
		SAME("count", config.queue_count, count);
		for (uint32_t i = 0; i < count; i++) {
			SAME("tx ref", config.queues[i].tx_ring_ref, 100 + 4 * i);
			SAME("rx port", config.queues[i].rx_port, 103 + 4 * i);
		}
	}
}

static void one_queue_needs_no_folder(void **state)
{
	(void)state;
	modern_frontend();
	put("multi-queue-num-queues", "1");
	assert_int_equal(read_config(), 0);
	SAME("count", config.queue_count, 1);
	SAME("tx ref", config.queues[0].tx_ring_ref, 9);
}

static void bad_queues_are_refused_by_name(void **state)
{
	static const struct { const char *key, *value, *why; } rows[] = {
		{ "multi-queue-num-queues", "0", "multi-queue-num-queues is '0', must be a number from 1 to 4" },
		{ "multi-queue-num-queues", "5", "multi-queue-num-queues is '5', must be a number from 1 to 4" },
		{ "multi-queue-num-queues", "4 ", "multi-queue-num-queues is '4 ', must be a number from 1 to 4" },
		{ "multi-queue-num-queues", "four",
		  "multi-queue-num-queues is 'four', must be a number from 1 to 4" },
		{ "multi-queue-num-queues", "4294967297",
		  "multi-queue-num-queues is '4294967297', must be a number from 1 to 4" },
		{ "queue-2/tx-ring-ref", NONE,
		  "queue-2/tx-ring-ref is missing, must be a number from 1 to 4294967295" },
		{ "queue-3/rx-ring-ref", "-1",
		  "queue-3/rx-ring-ref is '-1', must be a number from 1 to 4294967295" },
		{ "queue-1/event-channel-rx", NONE,
		  "queue-1/event-channel-rx is missing, must be a number from 1 to 131071" },
		{ "queue-1/event-channel-tx", "107",
		  "queue-1/event-channel-tx and event-channel-rx are both 107, they must differ" },
		{ "queue-0/rx-ring-ref", "100",
		  "queue-0/tx-ring-ref and rx-ring-ref are both 100, they must differ" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		modern_frontend();
		queues(4);
		put(rows[i].key, rows[i].value);
		SAME(rows[i].why, read_config(), -EINVAL);
		assert_string_equal(why, rows[i].why);
	}
}

static void the_toolstack_limits_the_queues(void **state)
{
	static const struct { const char *value; int error; uint32_t queues_max; } rows[] = {
		{ NONE, 0, 3 }, { "1", 0, 1 }, { "8", 0, 8 }, { "9", -EINVAL, 0 }, { "0", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint32_t queues_max = 3;

		modern_frontend();
		put_in(VIF_KEY_BACKEND, "unetback-queues", rows[i].value);
		SAME(rows[i].value == NONE ? "none" : rows[i].value,
		     vif_keys_read_queues_max(read_store, &store, &queues_max, why, sizeof why), rows[i].error);
		if (rows[i].error == 0)
			SAME(rows[i].value == NONE ? "none" : rows[i].value, queues_max, rows[i].queues_max);
	}
}

/* A guest may change its keys between our reads: each is read once, and what was read counts. */
static void each_key_is_read_once(void **state)
{
	(void)state;
	modern_frontend();
	assert_int_equal(read_config(), 0);
	assert_int_equal(reads, COUNT_OF(keys) + COUNT_OF(queue_keys) + 2);	/* queues, MAC */
	reads = 0;
	queues(3);
	assert_int_equal(read_config(), 0);
	assert_int_equal(reads, COUNT_OF(keys) + 3 * COUNT_OF(queue_keys) + 2);
}

/* Keys that are not a backend's: the toolstack's words to the guest, and what some drivers write that never was
 * part of netif.h.  Whatever they say changes nothing. */
static void what_is_not_ours_changes_nothing(void **state)
{
	static const char *const names[] = {
		"mac", "mtu", "handle", "backend", "backend-id", "trusted", "vifname", "feature-persistent",
		"feature-smart-poll", "feature-netmap", "feature-rx-flip", "feature-gso-tcpv4-prefix",
		"feature-gso-tcpv6-prefix", "no-such-key",
	};
	struct vif_config without;

	(void)state;
	modern_frontend();
	assert_int_equal(read_config(), 0);
	without = config;
	for (size_t n = 0; n < COUNT_OF(names); n++)
		for (size_t j = 0; j < COUNT_OF(junk); j++) {
			modern_frontend();
			put(names[n], junk[j]);
			SAME(names[n], read_config(), 0);
			assert_memory_equal(&config, &without, sizeof config);
		}
}

/* --- keys together ---------------------------------------------------------------------------- */

static void rings_and_channels_must_make_sense(void **state)
{
	static const struct {
		const char *tx_ref, *rx_ref, *tx, *rx, *both;
		int error;
		uint32_t tx_port, rx_port;
		const char *why;
	} rows[] = {
		{ "8", "9", "1", "2", NONE, 0, 1, 2, "" },
		{ "8", "9", "1", "2", "3", 0, 1, 2, "" },
		{ "8", "9", NONE, NONE, "3", 0, 3, 3, "" },
		{ "8", "9", "1", NONE, "3", 0, 3, 3, "" },	/* what an older driver left */
		{ "8", "9", NONE, "2", "3", 0, 3, 3, "" },
		{ "8", "8", "1", "2", NONE, -EINVAL, 0, 0,
		  "tx-ring-ref and rx-ring-ref are both 8, they must differ" },
		{ "8", "008", "1", "2", NONE, -EINVAL, 0, 0,
		  "tx-ring-ref and rx-ring-ref are both 8, they must differ" },
		{ "8", "9", "5", "5", NONE, -EINVAL, 0, 0,
		  "event-channel-tx and event-channel-rx are both 5, they must differ" },
		{ "8", "9", "5", "5", "6", -EINVAL, 0, 0,
		  "event-channel-tx and event-channel-rx are both 5, they must differ" },
		{ "8", "9", NONE, NONE, NONE, -EINVAL, 0, 0,
		  "event-channel is missing, must be a number from 1 to 131071" },
		{ "8", "9", "1", NONE, NONE, -EINVAL, 0, 0,
		  "event-channel-rx is missing, must be a number from 1 to 131071" },
		{ "8", "9", NONE, "2", NONE, -EINVAL, 0, 0,
		  "event-channel-tx is missing, must be a number from 1 to 131071" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char row[16];

		snprintf(row, sizeof row, "row %zu", i);
		modern_frontend();
		put("tx-ring-ref", rows[i].tx_ref);
		put("rx-ring-ref", rows[i].rx_ref);
		put("event-channel-tx", rows[i].tx);
		put("event-channel-rx", rows[i].rx);
		put("event-channel", rows[i].both);
		SAME(row, read_config(), rows[i].error);
		assert_string_equal(why, rows[i].why);
		if (rows[i].error == 0) {
			SAME(row, config.queues[0].tx_port, rows[i].tx_port);
			SAME(row, config.queues[0].rx_port, rows[i].rx_port);
		}
	}
}

static void a_frontend_that_flips_pages_is_told_so(void **state)
{
	static const char *const values[] = { NONE, "0" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		modern_frontend();
		put("request-rx-copy", values[i]);
		assert_int_equal(read_config(), -EINVAL);
		assert_non_null(strstr(why, "request-rx-copy is missing or 0, must be 1"));
		assert_non_null(strstr(why, "flip"));
	}
}

/* All values of all features, against a second reading of netif.h and of Linux's fix_features. */
static uint32_t features_naively(const int v[6])
{
	bool sg = v[0] == 1, csum4 = v[1] != 1, csum6 = v[2] == 1;

	return (sg ? VIF_F_SG : 0) | (csum4 ? VIF_F_CSUM_IPV4 : 0) | (csum6 ? VIF_F_CSUM_IPV6 : 0) |
	       (v[3] == 1 && sg && csum4 ? VIF_F_GSO_TCPV4 : 0) |
	       (v[4] == 1 && sg && csum6 ? VIF_F_GSO_TCPV6 : 0) | (v[5] == 1 ? VIF_F_RX_NOTIFY : 0);
}

static void every_mix_of_features(void **state)
{
	static const char *const names[6] = {
		"feature-sg", "feature-no-csum-offload", "feature-ipv6-csum-offload",
		"feature-gso-tcpv4", "feature-gso-tcpv6", "feature-rx-notify",
	};
	static const char *const values[3] = { "0", "1", NONE };

	(void)state;
	for (int mix = 0; mix < 729; mix++) {
		int chosen[6], rest = mix;

		modern_frontend();
		for (int i = 0; i < 6; i++, rest /= 3) {
			chosen[i] = rest % 3;
			put(names[i], values[chosen[i]]);
		}
		assert_int_equal(read_config(), 0);
		SAME("features", config.features, features_naively(chosen));
	}
}

static void mtu_is_the_toolstacks_word(void **state)
{
	static const struct { const char *row, *mtu, *sg; int error; uint32_t got; } rows[] = {
		{ "none", NONE, "1", 0, 1500 },
		{ "jumbo", "9000", "1", 0, 9000 },
		{ "jumbo in one slot", "9000", "0", 0, 1500 },
		{ "jumbo in one slot, sg missing", "9000", NONE, 0, 1500 },
		{ "small in one slot", "1280", "0", 0, 1280 },
		{ "least", "68", "1", 0, 68 },
		{ "most", "65521", "1", 0, 65521 },
		{ "too small", "67", "1", -EINVAL, 0 },
		{ "too large", "65522", "1", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		modern_frontend();
		put_in(VIF_KEY_BACKEND, "mtu", rows[i].mtu);
		put("mtu", "68");		/* the frontend's copy is not looked at */
		put("feature-sg", rows[i].sg);
		SAME(rows[i].row, read_config(), rows[i].error);
		if (rows[i].error == 0)
			SAME(rows[i].row, config.mtu, rows[i].got);
	}
}

/* --- the rest --------------------------------------------------------------------------------- */

static void quoting_is_bounded_and_plain(void **state)
{
	static const struct { const char *value; size_t size; const char *quoted; } rows[] = {
		{ "", 8, "" }, { "abc", 16, "abc" }, { "a\nb", 16, "a\\x0ab" }, { "\x7f", 8, "\\x7f" },
		{ "\xff\xff", 8, "\\xff" }, { "abcdefgh", 8, "abcd" }, { "a\\b", 16, "a\\x5cb" },
		{ "abc", 1, "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char out[17];

		memset(out, '!', sizeof out);
		vif_keys_quote(rows[i].value, out, rows[i].size);
		assert_string_equal(out, rows[i].quoted);
		assert_int_equal(out[rows[i].size], '!');
	}
}

static void a_short_reason_is_cut_not_overrun(void **state)
{
	char small[24];

	(void)state;
	modern_frontend();
	put("tx-ring-ref", "nonsense");
	memset(small, '!', sizeof small);
	assert_int_equal(vif_keys_read(read_store, &store, QUEUES_MAX, &config, small, sizeof small - 1), -EINVAL);
	assert_int_equal(strlen(small), sizeof small - 2);
	assert_int_equal(small[sizeof small - 1], '!');
}

/* What the issue promises to advertise, and nothing that is not there yet. */
static void the_offer_is_what_we_can_do(void **state)
{
	static const struct { const char *name, *value; } rows[] = {
		{ "feature-sg", "1" }, { "feature-gso-tcpv4", "1" }, { "feature-gso-tcpv6", "1" },
		{ "feature-ipv6-csum-offload", "1" }, { "feature-no-csum-offload", "0" }, { "feature-rx-copy", "1" },
		{ "feature-rx-flip", "0" }, { "feature-split-event-channels", "1" },
		{ "multi-queue-max-queues", NULL }, { "feature-multicast-control", "1" },
		{ "feature-dynamic-multicast-control", "1" }, { "feature-ctrl-ring", "1" },
		{ "feature-xdp-headroom", "1" },
	};
	size_t count = 0;

	(void)state;
	for (const struct vif_offer *offer = vif_offers; offer->name; offer++, count++) {
		assert_true(count < COUNT_OF(rows));
		assert_string_equal(offer->name, rows[count].name);
		assert_true(offer->value == rows[count].value || strcmp(offer->value, rows[count].value) == 0);
	}
	assert_int_equal(count, COUNT_OF(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_modern_frontend_gets_all),
		cmocka_unit_test(the_least_a_frontend_can_write),
		cmocka_unit_test(junk_in_any_key_is_refused_by_name),
		cmocka_unit_test(each_key_keeps_its_range),
		cmocka_unit_test(reasons_name_key_value_and_range),
		cmocka_unit_test(a_read_that_fails_is_told_apart),
		cmocka_unit_test(several_queues),
		cmocka_unit_test(one_queue_needs_no_folder),
		cmocka_unit_test(bad_queues_are_refused_by_name),
		cmocka_unit_test(the_toolstack_limits_the_queues),
		cmocka_unit_test(each_key_is_read_once),
		cmocka_unit_test(what_is_not_ours_changes_nothing),
		cmocka_unit_test(rings_and_channels_must_make_sense),
		cmocka_unit_test(a_frontend_that_flips_pages_is_told_so),
		cmocka_unit_test(every_mix_of_features),
		cmocka_unit_test(mtu_is_the_toolstacks_word),
		cmocka_unit_test(the_toolstack_says_the_mac),
		cmocka_unit_test(quoting_is_bounded_and_plain),
		cmocka_unit_test(a_short_reason_is_cut_not_overrun),
		cmocka_unit_test(the_offer_is_what_we_can_do),
	};

	return cmocka_run_group_tests_name("vif_keys", tests, NULL, NULL);
}
