/* frontend_keys.h - a frontend and its toolstack as a list of keys, for the tests of vif_keys.c
 *
 * For files that include vif_keys.c.  Each test starts from the keys of a modern Linux frontend and changes some. */
#ifndef TESTS_UNIT_FRONTEND_KEYS_H
#define TESTS_UNIT_FRONTEND_KEYS_H

#define KEYS_MAX 48
#define NONE ((const char *)-1)		/* the key is not there */

struct store_key { enum vif_key_side side; const char *key, *value; int error; };
static struct store_key store[KEYS_MAX];
static size_t store_count;
static int reads;

static struct store_key *find(enum vif_key_side side, const char *key)
{
	for (size_t i = 0; i < store_count; i++)
		if (store[i].side == side && strcmp(store[i].key, key) == 0)
			return &store[i];
	return NULL;
}

static void put_in(enum vif_key_side side, const char *key, const char *value)
{
	struct store_key *found = find(side, key);

	if (!found) {
		assert_true(store_count < KEYS_MAX);
		found = &store[store_count++];
	}
	*found = (struct store_key){ side, key, value, value == NONE ? -ENOENT : 0 };
}

static void put(const char *key, const char *value)
{
	put_in(VIF_KEY_FRONTEND, key, value);
}

/* As xenstore_read() answers. */
static int read_store(void *context, enum vif_key_side side, const char *key, char *value,
		      size_t size)
{
	const struct store_key *found = find(side, key);

	assert_ptr_equal(context, &store);
	reads++;
	if (!found)
		return -ENOENT;
	if (found->error)
		return found->error;
	if (strlen(found->value) >= size)
		return -EMSGSIZE;
	memcpy(value, found->value, strlen(found->value) + 1);
	return 0;
}

static void modern_frontend(void)
{
	store_count = 0;
	reads = 0;
	put("tx-ring-ref", "9");
	put("rx-ring-ref", "768");
	put("event-channel-tx", "15");
	put("event-channel-rx", "16");
	put("request-rx-copy", "1");
	put("feature-rx-notify", "1");
	put("feature-sg", "1");
	put("feature-gso-tcpv4", "1");
	put("feature-gso-tcpv6", "1");
	put("feature-ipv6-csum-offload", "1");
}

#endif
