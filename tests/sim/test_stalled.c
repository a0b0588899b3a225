/* test_stalled.c - guests that stop taking frames, and the real unetbackd that tells of it and wakes them
 *
 * Shown: a stall is counted once and shown with its numbers, the guest's receive channel fires again and again,
 * the vif stays connected with its carrier, and when the guest posts buffers everything that waited arrives. */
#include "simback.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

static struct simguest *guest;
static struct simvif *vif;
static bool recovers;			/* an event has the guest post buffers again */

/* A frontend that sleeps over buffers to be posted does so when it is woken. */
static void at(struct netfront *fe, enum netfront_point point, void *context)
{
	(void)context;
	if (point != NETFRONT_ON_EVENT || !recovers)
		return;
	fe->frozen_rx = false;
	netfront_rx_refill(fe);
}

static void connect_guest(const struct netfront_config *wanted, const char *mtu)
{
	struct netfront_config config = *wanted;

	config.hooks.at = at;
	guest = simback_guest(1);
	vif = simvif_open(guest, 0, &config, mtu);
	simvif_exchange(vif, 4);
}

static int setup(void **state)
{
	const struct netfront_config config = { .queues = 1 };

	(void)state;
	recovers = false;
	connect_guest(&config, NULL);
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

static long long stat_of(const char *key)
{
	return simback_number("stats", vif->name, "queue-0", key);
}

static bool is_stalled(void *context)
{
	(void)context;
	return stat_of("guest_rx_stalled") == 1;
}

static bool is_not_stalled(void *context)
{
	(void)context;
	return stat_of("guest_rx_stalled") == 0;
}

static bool was_woken_twice(void *context)
{
	return vif->fe->stats.events >= *(uint64_t *)context + 2;
}

static bool is_at_guest(void *context)
{
	(void)context;
	return vif->at_guest == vif->number;
}

static bool has_carrier(void)
{
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", vif->name);
	assert_int_equal(ioctl(vif->wire, SIOCGIFFLAGS, &request), 0);
	return request.ifr_flags & IFF_RUNNING;
}

static void assert_shown(const char *text)
{
	assert_non_null(strstr(simback_ask("show", vif->name), text));
	assert_non_null(strstr(simback_ask("list", NULL), text));
}

/* All buffers are used up, and then some frames wait. */
static void stall(int frames)
{
	vif->fe->frozen_rx = true;
	simvif_flood(vif, NETFRONT_RING + frames, 60);
	simback_await(is_stalled, NULL);
}

static void a_stall_is_told_and_nothing_else(void **state)
{
	uint64_t events;

	(void)state;
	stall(20);
	assert_shown("the guest to post receive buffers in queue 0: 0 posted, 1 needed");
	assert_int_equal(stat_of("guest_rx_stalls"), 1);
	simback_serve(0);
	events = vif->fe->stats.events;
	simback_await(was_woken_twice, &events);
	assert_int_equal(stat_of("guest_rx_stalls"), 1);
	assert_true(simvif_connected(vif));
	assert_true(has_carrier());
	assert_string_equal(simvif_error(vif), "");
	assert_int_equal(stat_of("too-old"), 0);
	vif->fe->frozen_rx = false;
	netfront_rx_refill(vif->fe);
	simback_await(is_not_stalled, NULL);
	simback_await(is_at_guest, NULL);
	assert_null(strstr(simback_ask("show", vif->name), "receive buffers"));
	simvif_exchange(vif, 4);
}

/* The event that ends it is ours: nothing else comes. */
static void a_guest_that_lost_an_event_recovers(void **state)
{
	(void)state;
	for (int i = 1; i <= 3; i++) {
		recovers = false;
		stall(20);
		recovers = true;
		simback_await(is_at_guest, NULL);
		simback_await(is_not_stalled, NULL);
		assert_int_equal(stat_of("guest_rx_stalls"), i);
	}
	simvif_exchange(vif, 4);
}

/* iPXE posts four buffers and no more: a frame of five waits for ever, and it is said what for. */
static void too_few_buffers_are_counted(void **state)
{
	const struct netfront_config config = { .queues = 1, .rx_requests = 4 };

	(void)state;
	connect_guest(&config, "18000");
	simvif_flood(vif, 1, 4 * 4096 + 1);
	simback_await(is_stalled, NULL);
	assert_shown("the guest to post receive buffers in queue 0: 4 posted, 5 needed");
	assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
	assert_int_equal(stat_of("disconnected"), 1);
	teardown(state);
}

/* It is forgotten with the connection, and the queue begins anew. */
static void a_stalled_guest_connects_again(void **state)
{
	(void)state;
	stall(20);
	assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
	vif->fe->frozen_rx = false;
	assert_true(netfront_reopen(vif->fe));
	simback_await(simvif_connected, vif);
	simback_await(is_not_stalled, NULL);
	assert_int_equal(stat_of("guest_rx_stalls"), 0);
	simvif_exchange(vif, 4);
}

static int start(void **state)
{
	static const char *const options[] = { "--rx-stall-ms=50", "--rx-age-ms=60000", NULL };

	(void)state;
	return simback_start(options);
}

static int stop(void **state)
{
	(void)state;
	return simback_stop();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stall_is_told_and_nothing_else),
		TEST(a_guest_that_lost_an_event_recovers),
		cmocka_unit_test(too_few_buffers_are_counted),
		TEST(a_stalled_guest_connects_again),
	};

	return cmocka_run_group_tests_name("stall", tests, start, stop);
}
