/* test_link.c - what the real unetbackd tells guests of their link, by the real kernel's word
 *
 * Shown: a device that is set down and up is carrier 0 and 1 in our folder, and disconnect 1 and 0 in the
 * frontend's, where Windows looks, and frames pass again afterwards; a new instance and a reconnect change
 * nothing of it; the speed of --speed; keys of ours in the frontend's folder can be read by the guest, and
 * go with it; other features at each reconnect; the largest MTU, both ways. */
#include "simback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct simguest *guest;
static struct simvif *vif;

static void open_vif(const struct netfront_config *config, const char *mtu)
{
	guest = simback_guest(1);
	vif = simvif_open(guest, 0, config, mtu);
	simvif_exchange(vif, 2);
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(vif->fe->violations, 0);
	assert_int_equal(vif->spoiled, 0);
	simvif_free(vif);
	simback_destroy(guest);
	simback_await_gone(1);
	return 0;
}

/* --- the link ------------------------------------------------------------------------------------- */

/* "" stands for a key that is not there. */
static bool is(const char *folder, const char *key, const char *wanted)
{
	char path[160], *value;
	bool same;

	snprintf(path, sizeof path, "%s/%s", folder, key);
	value = xs_read(simback_xs(), XBT_NULL, path, NULL);
	same = strcmp(value ? value : "", wanted) == 0;
	free(value);
	return same;
}

static struct { const char *carrier, *disconnect, *shown; } wanted;

static bool is_told(void *context)
{
	(void)context;
	return is(vif->backend, "carrier", wanted.carrier) &&
	       is(vif->fe->path, "disconnect", wanted.disconnect) &&
	       strstr(simback_ask("show", vif->name), wanted.shown);
}

static void set_link(const char *how)
{
	char command[64];

	snprintf(command, sizeof command, "ip link set %s %s", vif->name, how);
	assert_int_equal(system(command), 0);
}

static void await_link(bool up, const char *disconnect)
{
	wanted.carrier = up ? "1" : "0";
	wanted.disconnect = disconnect;
	wanted.shown = up ? "\"link\": \"up\"" : "\"link\": \"down\"";
	simback_await(is_told, NULL);
}

static void set_down_and_up_under_a_guest(void **state)
{
	(void)state;
	open_vif(NULL, NULL);
	await_link(true, "");
	for (int i = 0; i < 3; i++) {
		set_link("down");
		await_link(false, "1");
		set_link("up");
		await_link(true, "0");
		simvif_exchange(vif, 4);
	}
}

static void a_new_instance_and_a_reconnect_keep_it(void **state)
{
	(void)state;
	open_vif(NULL, NULL);
	set_link("down");
	await_link(false, "1");
	simback_kill_instance(vif->name);
	await_link(false, "1");
	assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
	assert_true(netfront_reopen(vif->fe));
	simback_await(simvif_connected, vif);
	await_link(false, "1");
	set_link("up");
	await_link(true, "0");
	simvif_exchange(vif, 4);
}

/* What xenopsd has taken away is not given back by ours. */
static void the_toolstacks_word_stays(void **state)
{
	char path[160];

	(void)state;
	open_vif(NULL, NULL);
	snprintf(path, sizeof path, "%s/disconnect", vif->fe->path);
	assert_true(xs_write(simback_xs(), XBT_NULL, path, "1", 1));
	set_link("down");
	await_link(false, "1");
	set_link("up");
	await_link(true, "1");
}

static bool may_read(const char *folder, const char *key, unsigned int domid)
{
	char path[160];
	unsigned int count = 0;
	struct xs_permissions *permissions;
	bool may;

	snprintf(path, sizeof path, "%s/%s", folder, key);
	permissions = xs_get_permissions(simback_xs(), XBT_NULL, path, &count);
	assert_non_null(permissions);
	may = permissions[0].id == domid || (permissions[0].perms & XS_PERM_READ) != 0;
	for (unsigned int i = 1; i < count; i++)
		may |= permissions[i].id == domid && (permissions[i].perms & XS_PERM_READ) != 0;
	free(permissions);
	return may;
}

static void the_guest_can_read_what_it_is_told(void **state)
{
	(void)state;
	open_vif(NULL, NULL);
	assert_true(is(vif->fe->path, "speed", "25G"));
	set_link("down");
	await_link(false, "1");
	assert_true(may_read(vif->fe->path, "speed", 1));
	assert_true(may_read(vif->fe->path, "disconnect", 1));
	assert_true(may_read(vif->backend, "carrier", 1));
}

/* --- what else is agreed at each connect ------------------------------------------------------------- */

/* As a guest that boots another system each time. */
static void other_features_at_each_reconnect(void **state)
{
	static const struct { bool no_sg, no_gso4, no_csum4, no_rx_notify, single_event; uint32_t rx_requests; } rows[] = {
		{ .no_sg = true, .no_gso4 = true },
		{ .no_csum4 = true },
		{ .single_event = true, .rx_requests = 4 },
		{ .no_sg = true, .no_gso4 = true, .no_csum4 = true, .no_rx_notify = true, .single_event = true },
		{ .no_gso4 = true },
		{ .no_sg = false },
	};

	(void)state;
	open_vif(NULL, NULL);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct netfront_config *config = &vif->fe->config;

		assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
		config->no_sg = rows[i].no_sg;
		config->no_gso4 = rows[i].no_gso4;
		config->no_csum4 = rows[i].no_csum4;
		config->no_rx_notify = rows[i].no_rx_notify;
		config->single_event = rows[i].single_event;
		config->rx_requests = rows[i].rx_requests ? rows[i].rx_requests : NETFRONT_RING;
		assert_true(netfront_reopen(vif->fe));
		simvif_exchange(vif, 4);
		assert_true(!!strstr(simback_ask("show", vif->name), "\"gso-tcpv4\"") == (!rows[i].no_gso4 && !rows[i].no_csum4));
		assert_true(!!strstr(simback_ask("show", vif->name), "\"sg\"") == !rows[i].no_sg);
	}
}

static bool is_at_guest(void *context)
{
	(void)context;
	return vif->at_guest == vif->number;
}

static bool is_at_host(void *context)
{
	(void)context;
	return vif->at_host == vif->number;
}

/* 65535 bytes with the Ethernet header: more a request cannot say. */
static void the_largest_mtu(void **state)
{
	static const uint32_t lengths[] = { 65535, 65534, 61440, 9014, 60, 65535 };

	(void)state;
	open_vif(NULL, "65521");
	assert_int_equal(simback_number("show", vif->name, NULL, "mtu"), 65521);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		simvif_flood(vif, 1, lengths[i]);
		simback_await(is_at_guest, NULL);
		assert_true(simvif_send(vif, lengths[i]));
		simback_await(is_at_host, NULL);
	}
	simback_await(simvif_balanced, vif);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

static int start(void **state)
{
	static const char *const options[] = { "--speed=25G", NULL };

	(void)state;
	return simback_start(options);
}

static int stop(void **state)
{
	(void)state;
	return simback_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(set_down_and_up_under_a_guest),
		TEST(a_new_instance_and_a_reconnect_keep_it),
		TEST(the_toolstacks_word_stays),
		TEST(the_guest_can_read_what_it_is_told),
		TEST(other_features_at_each_reconnect),
		TEST(the_largest_mtu),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
