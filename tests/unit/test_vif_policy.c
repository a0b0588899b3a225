/* test_vif_policy.c - the operator's words, right and wrong ones, in XenStore */
#include "../../backend/vif_policy.c"
#include "unit.h"

static struct { const char *key, *value; int error; } store[8];

static void put(const char *key, const char *value, int error)
{
	size_t i = 0;

	while (store[i].key && strcmp(store[i].key, key) != 0)
		assert_true(++i < COUNT_OF(store));
	store[i].key = key;
	store[i].value = value;
	store[i].error = error;
}

/* As xenstore_read() answers; nothing but the backend's folder may be asked. */
static int read_store(void *context, enum vif_key_side side, const char *key, char *value, size_t size)
{
	assert_ptr_equal(context, &store);
	assert_int_equal(side, VIF_KEY_BACKEND);
	memset(value, 0xee, size);
	for (size_t i = 0; i < COUNT_OF(store) && store[i].key; i++)
		if (strcmp(store[i].key, key) == 0) {
			if (store[i].error)
				return store[i].error;
			if (strlen(store[i].value) >= size)
				return -EMSGSIZE;
			memcpy(value, store[i].value, strlen(store[i].value) + 1);
			return 0;
		}
	return -ENOENT;
}

static char why[256];

static struct vif_policy read_policy(const struct vif_policy *defaults)
{
	struct vif_policy policy = *defaults;

	strcpy(why, "what was there before");
	vif_policy_read(read_store, &store, &policy, why, sizeof why);
	return policy;
}

static int setup(void **state)
{
	(void)state;
	memset(store, 0, sizeof store);
	return 0;
}

static void who_does_checksums(void **state)
{
	static const struct { const char *value; int error; uint32_t csum; bool told; } rows[] = {
		{ "auto", 0, CSUM_AUTO, false }, { "complete", 0, CSUM_COMPLETE, false },
		{ "off", 0, CSUM_OFF, false }, { "", -ENOENT, 99, false },
		{ "", 0, 99, true }, { "Auto", 0, 99, true }, { "off ", 0, 99, true }, { "of", 0, 99, true },
		{ "1", 0, 99, true }, { "offoff", 0, 99, true }, { "auto\n\x1b[2J", 0, 99, true },
		{ "", -EMSGSIZE, 99, true }, { "", -EILSEQ, 99, true }, { "", -EACCES, 99, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (uint32_t otherwise = CSUM_AUTO; otherwise <= CSUM_OFF; otherwise++) {
			put("unetback-csum", rows[i].value, rows[i].error);
			SAME(rows[i].value, read_policy(&(struct vif_policy){ .csum = otherwise }).csum,
			     rows[i].csum == 99 ? otherwise : rows[i].csum);
			SAME(rows[i].value, why[0] != '\0', rows[i].told);
			if (rows[i].told) {
				assert_non_null(strstr(why, "unetback-csum is '"));
				assert_non_null(strstr(why, "must be auto, complete or off; it is "));
				assert_non_null(strstr(why, vif_policy_csum_names[otherwise]));
				assert_null(strchr(why, '\n'));
			}
		}
}

static void who_may_be_checked(void **state)
{
	static const struct { const char *value; int error; uint32_t on; bool told; } switches[] = {
		{ "1", 0, 1, false }, { "0", 0, 0, false }, { "", -ENOENT, 99, false }, { "", 0, 99, true },
		{ "2", 0, 99, true }, { "yes", 0, 99, true }, { "01", 0, 99, true }, { "", -EIO, 99, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(switches); i++)
		for (uint32_t otherwise = 0; otherwise < 2; otherwise++) {
			put("unetback-anti-spoof", switches[i].value, switches[i].error);
			SAME(switches[i].value, read_policy(&(struct vif_policy){ .antispoof.on = otherwise }).antispoof.on,
			     switches[i].on == 99 ? otherwise : switches[i].on);
			SAME(switches[i].value, strstr(why, "unetback-anti-spoof is '") != NULL, switches[i].told);
		}
}

#define EIGHT "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 10.0.0.7 10.0.0.8 "

/* A list is a list, however little of it makes sense. */
static void which_addresses_there_are(void **state)
{
	static const struct { const char *value; int error; uint32_t listed, count; const char *told; } lists[] = {
		{ "", -ENOENT, 0, 0, NULL }, { "", 0, 0, 0, NULL }, { "  ", 0, 0, 0, NULL },
		{ "192.0.2.1", 0, 1, 1, NULL }, { " 192.0.2.1  2001:db8::/64\n", 0, 1, 2, NULL },
		{ EIGHT EIGHT EIGHT EIGHT, 0, 1, 32, NULL },
		{ EIGHT EIGHT EIGHT EIGHT "10.0.0.9", 0, 1, 32, "ip is '10.0.0.9', at most 32 addresses are taken" },
		{ "192.0.2.1,192.0.2.2", 0, 1, 0,
		  "ip is '192.0.2.1,192.0.2.2', must be an address, or ADDRESS/BITS; it allows nothing now" },
		{ "192.0.2.1 any", 0, 1, 1, "ip is 'any', must be an address" },
		{ "any 192.0.2.1 \x1b", 0, 1, 1, "it allows nothing now; ip is '\\x1b', must be" },
		{ "", -EMSGSIZE, 1, 0, "ip is 'Message too long', must be addresses; none is allowed now" },
	};

	(void)state;
	for (uint32_t on = 0; on < 2; on++)
		for (size_t i = 0; i < COUNT_OF(lists); i++) {
			struct vif_policy policy;

			put("ip", lists[i].value, lists[i].error);
			policy = read_policy(&(struct vif_policy){ .antispoof.on = on });
			SAME(lists[i].value, policy.antispoof.listed, on ? lists[i].listed : 0);
			SAME(lists[i].value, policy.antispoof.count, on ? lists[i].count : 0);
			SAME(lists[i].value, why[0] != '\0', on && lists[i].told);
			if (on && lists[i].told)
				assert_non_null(strstr(why, lists[i].told));
		}
}

/* However much there is to say. */
static void what_is_told_is_bounded(void **state)
{
	char small[20];

	(void)state;
	put("unetback-csum", "x", 0);
	put("unetback-anti-spoof", "x", 0);
	put("ip", "a b c d e f g h i j k l m n o p q r s t u v w x y z", 0);
	for (size_t size = 1; size <= sizeof small; size++) {
		struct vif_policy policy = { .antispoof.on = 1 };

		memset(small, '!', sizeof small);
		vif_policy_read(read_store, &store, &policy, small, size);
		SAME("length", strlen(small), size - 1);
		SAME("behind", size == sizeof small || small[size] == '!', true);
	}
}

static const char *offered(const char *name, uint32_t csum)
{
	for (const struct vif_offer *offer = vif_offers; offer->name; offer++)
		if (strcmp(offer->name, name) == 0)
			return vif_policy_offered(offer, csum);
	return "not offered";
}

/* What a guest is not to use must be taken back: the key may be there from before. */
static void what_is_offered(void **state)
{
	static const struct { const char *name, *on, *off; } rows[] = {
		{ "feature-sg", "1", "1" }, { "feature-rx-copy", "1", "1" }, { "feature-gso-tcpv4", "1", "0" },
		{ "feature-gso-tcpv6", "1", "0" }, { "feature-ipv6-csum-offload", "1", "0" },
		{ "feature-no-csum-offload", "0", "1" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_string_equal(offered(rows[i].name, CSUM_AUTO), rows[i].on);
		assert_string_equal(offered(rows[i].name, CSUM_COMPLETE), rows[i].on);
		assert_string_equal(offered(rows[i].name, CSUM_OFF), rows[i].off);
	}
	for (uint32_t csum = CSUM_AUTO; csum <= CSUM_OFF; csum++)
		assert_null(offered("multi-queue-max-queues", csum));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(who_does_checksums, setup),
		cmocka_unit_test_setup(who_may_be_checked, setup),
		cmocka_unit_test_setup(which_addresses_there_are, setup),
		cmocka_unit_test_setup(what_is_told_is_bounded, setup),
		cmocka_unit_test(what_is_offered),
	};

	return cmocka_run_group_tests_name("vif_policy", tests, NULL, NULL);
}
