/* test_xenstore.c - the real xenstored runs in the simulator, and simtoolstack uses it as libxl
 * does */
#include "simtest.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <xenstore.h>

#include "echo_backend.h"

static struct xs_handle *xs;
static struct echo_backend *echo;	/* of the tests that need one */

static int setup(void **state)
{
	(void)state;
	xs = xs_open(0);
	return xs ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	xs_close(xs);
	echo_stop(echo);
	echo = NULL;
	return simtest_idle() ? 0 : -1;
}

static void assert_value(const char *path, const char *expected)
{
	char *value = xs_read(xs, XBT_NULL, path, NULL);

	if (!expected) {
		assert_null(value);
		return;
	}
	assert_non_null(value);
	assert_string_equal(value, expected);
	free(value);
}

static void write_value(const char *path, const char *value)
{
	assert_true(xs_write(xs, XBT_NULL, path, value, (unsigned int)strlen(value)));
}

static void relative_paths_are_domain_0s(void **state)
{
	(void)state;
	write_value("test/key", "value");
	assert_value("/local/domain/0/test/key", "value");
	assert_true(xs_rm(xs, XBT_NULL, "test"));
	assert_value("/local/domain/0/test/key", NULL);
}

static void transactions_conflict(void **state)
{
	struct xs_handle *other = xs_open(0);
	xs_transaction_t transaction = xs_transaction_start(xs);

	(void)state;
	free(xs_read(xs, transaction, "/local/domain/0/test", NULL));
	assert_true(xs_write(xs, transaction, "/local/domain/0/test", "ours", 4));
	assert_true(xs_write(other, XBT_NULL, "/local/domain/0/test", "theirs", 6));
	assert_false(xs_transaction_end(xs, transaction, false));
	assert_int_equal(errno, EAGAIN);
	assert_value("/local/domain/0/test", "theirs");
	assert_true(xs_rm(xs, XBT_NULL, "/local/domain/0/test"));
	xs_close(other);
}

/* The next watch event is for @path. */
static void assert_fires(const char *path)
{
	struct pollfd pollfd = { .fd = xs_fileno(xs), .events = POLLIN };
	unsigned int count;
	char **event;

	assert_int_equal(poll(&pollfd, 1, 10000), 1);
	event = xs_read_watch(xs, &count);
	assert_non_null(event);
	assert_string_equal(event[XS_WATCH_PATH], path);
	free(event);
}

static void watches_fire(void **state)
{
	(void)state;
	assert_true(xs_watch(xs, "backend/vif", "t"));
	assert_fires("backend/vif");
	write_value("/local/domain/0/backend/vif/1/0/state", "1");
	assert_fires("backend/vif/1/0/state");
	assert_true(xs_watch(xs, "@introduceDomain", "i"));
	assert_fires("@introduceDomain");
	assert_true(xs_watch(xs, "@releaseDomain", "r"));
	assert_fires("@releaseDomain");
	assert_true(xs_introduce_domain(xs, 3, 1, 1));
	assert_fires("@introduceDomain");
	assert_true(xs_release_domain(xs, 3));
	assert_fires("@releaseDomain");
	xs_unwatch(xs, "@introduceDomain", "i");
	xs_unwatch(xs, "@releaseDomain", "r");
	xs_unwatch(xs, "backend/vif", "t");
	assert_true(xs_rm(xs, XBT_NULL, "backend"));
}

static void a_device_has_libxls_keys(void **state)
{
	(void)state;
	echo = echo_start(4, 2);
	assert_int_equal(simtest_run("simtoolstack", "create", "4", NULL), 0);
	assert_int_equal(simtest_run("simtoolstack", "attach", "4", "2", "mac=00:16:3e:01:02:03",
				     "bridge=br0.7", "mtu=9000", NULL), 0);
	assert_value("/local/domain/0/backend/vif/4/2/frontend", "/local/domain/4/device/vif/2");
	assert_value("/local/domain/0/backend/vif/4/2/frontend-id", "4");
	assert_value("/local/domain/0/backend/vif/4/2/online", "1");
	assert_value("/local/domain/0/backend/vif/4/2/handle", "2");
	assert_value("/local/domain/0/backend/vif/4/2/mac", "00:16:3e:01:02:03");
	assert_value("/local/domain/0/backend/vif/4/2/bridge", "br0.7");
	assert_value("/local/domain/0/backend/vif/4/2/mtu", "9000");
	assert_value("/local/domain/0/backend/vif/4/2/type", "vif");
	assert_value("/local/domain/0/backend/vif/4/2/hotplug-status", "connected");
	assert_value("/local/domain/0/backend/vif/4/2/state", "2");
	assert_value("/local/domain/4/device/vif/2/backend", "/local/domain/0/backend/vif/4/2");
	assert_value("/local/domain/4/device/vif/2/backend-id", "0");
	assert_value("/local/domain/4/device/vif/2/mac", "00:16:3e:01:02:03");
	assert_value("/local/domain/4/device/vif/2/trusted", "1");
	assert_value("/local/domain/4/device/vif/2/state", "1");
	assert_int_equal(simtest_run("simtoolstack", "destroy", "4", NULL), 0);
	assert_value("/local/domain/0/backend", NULL);
	assert_value("/local/domain/4", NULL);
	assert_value("/libxl/4", NULL);
}

static void a_backend_that_does_not_come_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(simtest_run("simtoolstack", "create", "5", NULL), 0);
	assert_int_equal(simtest_run("simtoolstack", "create", "5", NULL), 1);
	assert_int_equal(simtest_run("simtoolstack", "attach", "5", "0", "timeout=0", NULL), 1);
	assert_value("/local/domain/0/backend", NULL);
	assert_int_equal(simtest_run("simtoolstack", "detach", "5", "0", NULL), 1);
	assert_int_equal(simtest_run("simtoolstack", "destroy", "5", NULL), 0);
}

static void a_script_sees_libxls_environment(void **state)
{
	(void)state;
	echo = echo_start(4, 0);
	assert_int_equal(simtest_run("simtoolstack", "create", "4", NULL), 0);
	assert_int_equal(
		simtest_run("simtoolstack", "attach", "4", "0", "script=/bin/false", NULL), 1);
	assert_value("/local/domain/4/device/vif/0/state", NULL);
	assert_int_equal(
		simtest_run("simtoolstack", "attach", "4", "0", "script=/usr/bin/env", NULL),
		1); /* "env online" is no program: arguments arrive */
	assert_int_equal(simtest_run("simtoolstack", "destroy", "4", NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(relative_paths_are_domain_0s),
		TEST(transactions_conflict),
		TEST(watches_fire),
		TEST(a_device_has_libxls_keys),
		TEST(a_backend_that_does_not_come_is_an_error),
		TEST(a_script_sees_libxls_environment),
	};

	return cmocka_run_group_tests_name("xenstore", tests, simtest_start_with_xenstored,
					   simtest_stop);
}
