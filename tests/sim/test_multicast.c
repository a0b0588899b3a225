/* test_multicast.c - a guest that filters multicast, served by the real unetbackd
 *
 * Shown: the list may be edited before the filter is on, over any queue; the filter goes on and off while
 * connected; broadcast and unicast always pass; what is filtered is counted as such; 64 addresses and no
 * more; a new connection begins with an empty list. */
#include "simback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t one[6] = { 0x01, 0, 0x5e, 1, 2, 3 }, other[6] = { 0x33, 0x33, 0, 0, 0, 9 };
static const uint8_t everybody[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t guests_own[6] = { 0x00, 0x16, 0x3e, 0, 1, 0 };

static struct simguest *guest;
static struct simvif *vif;

static int setup(void **state)
{
	const struct netfront_config config = { .queues = 2 };

	(void)state;
	guest = simback_guest(1);
	vif = simvif_open(guest, 0, &config, NULL);
	simvif_exchange(vif, 2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(vif->fe->violations, 0);
	assert_int_equal(vif->spoiled, 0);
	simback_await(simvif_balanced, vif);
	simvif_free(vif);
	simback_destroy(guest);
	return 0;
}

/* An address into the list or out of it; whether that was answered OKAY. */
static bool edit(uint8_t type, const uint8_t mac[6])
{
	struct netif_extra_info extra = { .type = type };
	uint64_t okay = vif->fe->stats.tx_ok;

	memcpy(extra.u.mcast.addr, mac, 6);
	vif->fe->tx_queue ^= 1;
	assert_true(netfront_send_extra(vif->fe, &extra));
	simback_await(simvif_tx_idle, vif);
	return vif->fe->stats.tx_ok == okay + 1;
}

#define ADD XEN_NETIF_EXTRA_TYPE_MCAST_ADD
#define DEL XEN_NETIF_EXTRA_TYPE_MCAST_DEL

static const char *awaited;

static bool shows(void *context)
{
	(void)context;
	return strstr(simback_ask("show", vif->name), awaited);
}

static void filter(bool on)
{
	char path[96];

	snprintf(path, sizeof path, "%s/request-multicast-control", vif->fe->path);
	assert_true(xs_write(simback_xs(), XBT_NULL, path, on ? "1" : "0", 1));
	awaited = on ? "\"multicast_filter\": true" : "\"multicast_filter\": false";
	simback_await(shows, NULL);
}

static long long filtered(void)
{
	const char *at = simback_ask("stats", vif->name);
	long long sum = 0;

	while ((at = strstr(at, "\"filtered\":"))) {
		at += strlen("\"filtered\":");
		sum += strtoll(at, NULL, 10);
	}
	return sum;
}

static bool is_filtered(void *wanted)
{
	return filtered() == *(long long *)wanted;
}

static bool is_at_guest(void *context)
{
	(void)context;
	return vif->at_guest == vif->number;
}

static void send_to(const uint8_t mac[6], bool passes)
{
	long long wanted = filtered() + 1;

	memcpy(vif->to, mac, 6);
	simvif_flood(vif, 1, 60);
	if (passes)
		simback_await(is_at_guest, NULL);
	else
		simback_await(is_filtered, &wanted);
	memcpy(vif->to, everybody, 6);
}

static void the_filter_goes_on_and_off(void **state)
{
	(void)state;
	send_to(one, true);
	assert_true(edit(ADD, one));
	for (int i = 0; i < 3; i++) {
		filter(true);
		send_to(one, true);
		send_to(other, false);
		send_to(everybody, true);
		send_to(guests_own, true);
		assert_true(edit(ADD, other));
		send_to(other, true);
		assert_true(edit(DEL, other));
		send_to(other, false);
		filter(false);
		send_to(other, true);
	}
	awaited = "\"01:00:5e:01:02:03\"";
	simback_await(shows, NULL);
}

static void sixty_four_addresses_fit(void **state)
{
	uint8_t mac[6] = { 0x01, 0, 0x5e, 0, 0, 0 };

	(void)state;
	for (int i = 0; i < 64; i++) {
		mac[5] = (uint8_t)i;
		assert_true(edit(ADD, mac));
	}
	mac[5] = 64;
	assert_false(edit(ADD, mac));
	assert_false(edit(ADD, guests_own));
	assert_true(edit(DEL, one));			/* never an error */
	filter(true);
	send_to(mac, false);
	mac[5] = 63;
	send_to(mac, true);
}

static void a_new_connection_begins_with_an_empty_list(void **state)
{
	(void)state;
	assert_true(edit(ADD, one));
	assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
	assert_true(netfront_reopen(vif->fe));
	simvif_exchange(vif, 2);
	filter(true);
	send_to(one, false);
	assert_true(edit(ADD, one));
	send_to(one, true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int start(void **state)
{
	static const char *const options[] = { "--queues=2", NULL };

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
		TEST(the_filter_goes_on_and_off),
		TEST(sixty_four_addresses_fit),
		TEST(a_new_connection_begins_with_an_empty_list),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
