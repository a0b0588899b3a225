/* test_key_names.c - names that are there are asked for, most of the others are not */
#include "../../backend/key_names.c"
#include <errno.h>

#include "unit.h"

static const char *const *folder;		/* ended by NULL; NULL: cannot be listed */

int xenstore_children(struct xenstore *store, const char *path, void (*each)(void *context, const char *name),
		      void *context)
{
	assert_null(store);
	assert_string_equal(path, "backend/vif/1/0");
	for (const char *const *name = folder; name && *name; name++)
		each(context, *name);
	return folder ? 0 : -EACCES;
}

static struct key_names listed(const char *const *names)
{
	struct key_names result = { .listed = true, .bits = { 1 } };

	folder = names;
	key_names_list(&result, NULL, "backend/vif/1/0");
	return result;
}

static const char *const all[] = {
	"frontend", "frontend-id", "online", "state", "mac", "mtu", "ip", "rate", "hotplug-status", "script",
	"unetback-csum", "unetback-queues", "unetback-rate-rx", "feature-sg", "request-rx-copy", "", NULL
};

static void what_is_there_is_asked_for(void **state)
{
	const struct key_names names = listed(all);

	(void)state;
	for (const char *const *name = all; *name; name++)
		SAME(*name, key_names_may_have(&names, *name), true);
}

/* Of the names that unetbackd looks for none falls together with one of an ordinary folder, else nothing is won. */
static void what_is_not_there_is_not(void **state)
{
	static const char *const few[] = { "state", "mac", "online", "frontend", "hotplug-status", NULL };
	static const char *const absent[] = { "mtu", "ip", "rate", "unetback-csum", "unetback-rate-rx", "xdp-headroom" };
	const struct key_names names = listed(few), none = listed(few + COUNT_OF(few) - 1);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(absent); i++) {
		SAME(absent[i], key_names_may_have(&names, absent[i]), false);
		SAME(absent[i], key_names_may_have(&none, absent[i]), false);
	}
}

static void any_name_may_be_in_a_folder_that_is_not_listed(void **state)
{
	const struct key_names unlisted = listed(NULL), zero = { 0 }, names = listed(all);

	(void)state;
	assert_true(key_names_may_have(&unlisted, "rate"));
	assert_true(key_names_may_have(&zero, "rate"));
	assert_true(key_names_may_have(&names, "queue-0/tx-ring-ref"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_asked_for),
		cmocka_unit_test(what_is_not_there_is_not),
		cmocka_unit_test(any_name_may_be_in_a_folder_that_is_not_listed),
	};

	return cmocka_run_group_tests_name("key_names", tests, NULL, NULL);
}
