/* test_rates.c - rates of the real unetbackd, written by the toolstack while frames flow
 *
 * Shown: whatever the rate, every frame arrives, in order; what is beyond the rate waits, in the ring or in
 * the queue, and is counted as waiting; a rate that is changed or taken away is followed at once.  How exact
 * rates are is shown in simulated time (test_credit), not here. */
#include "simback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 60

static struct simguest *guest;
static struct simvif *vif;

static void set_key(const char *key, const char *value)
{
	char path[96];

	snprintf(path, sizeof path, "%s/%s", vif->backend, key);
	if (value)
		assert_true(xs_write(simback_xs(), XBT_NULL, path, value, (unsigned int)strlen(value)));
	else
		assert_true(xs_rm(simback_xs(), XBT_NULL, path));
}

static int setup(void **state)
{
	const struct netfront_config config = { .queues = 4 };

	(void)state;
	guest = simback_guest(1);
	vif = simvif_open(guest, 0, &config, NULL);
	simvif_exchange(vif, 4);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(vif->fe->violations, 0);
	assert_int_equal(vif->spoiled, 0);
	assert_int_equal(vif->reordered, 0);
	simback_await(simvif_balanced, vif);
	simvif_free(vif);
	simback_destroy(guest);
	return 0;
}

/* What `unetback show` says of the vif has @text in it. */
static const char *awaited;

static bool shows(void *context)
{
	const char *text = simback_ask("show", vif->name);

	(void)context;
	return awaited[0] == '!' ? !strstr(text, awaited + 1) : strstr(text, awaited) != NULL;
}

static void await_shown(const char *text)
{
	awaited = text;
	simback_await(shows, NULL);
}

static bool is_at_host(void *context)
{
	(void)context;
	return vif->at_host == vif->number;
}

static bool is_at_guest(void *context)
{
	(void)context;
	return vif->at_guest == vif->number;
}

static bool counts(const char *key)
{
	char quoted[64];
	const char *at = simback_ask("stats", vif->name);

	snprintf(quoted, sizeof quoted, "\"%s\":", key);
	while ((at = strstr(at, quoted))) {
		at += strlen(quoted);
		if (strtoll(at, NULL, 10) > 0)
			return true;
	}
	return false;
}

static bool tx_waits(void *context)
{
	(void)context;
	return counts("guest_tx_no_credit");
}

static bool rx_waits(void *context)
{
	(void)context;
	return counts("guest_rx_no_credit");
}

/* 2 frames a second: what the guest sends stays in its ring, unanswered, until the key goes. */
static void frames_from_the_guest_wait_in_the_ring(void **state)
{
	(void)state;
	set_key("unetback-rate-packets", "2,1000000");
	await_shown("2 packets/s");
	for (int i = 0; i < FRAMES; i++) {
		vif->fe->tx_queue = (uint32_t)i % 4;
		vif->flow = (uint8_t)(i % 4);
		assert_true(simvif_send(vif, 60));
	}
	simback_await(tx_waits, NULL);
	assert_true(vif->at_host < vif->number);
	assert_false(simvif_tx_idle(vif));
	set_key("unetback-rate-packets", NULL);
	simback_await(is_at_host, NULL);
	simback_await(simvif_tx_idle, vif);
	await_shown("!packets/s");
	simvif_exchange(vif, 4);
}

static void frames_to_the_guest_wait_in_the_queue(void **state)
{
	(void)state;
	set_key("unetback-rate-packets-rx", "2,1000000");
	await_shown("2 packets/s");
	simvif_flood(vif, FRAMES, 60);
	simback_await(rx_waits, NULL);
	assert_true(vif->at_guest < vif->number);
	set_key("unetback-rate-packets-rx", "100000,1000000");
	simback_await(is_at_guest, NULL);
	set_key("unetback-rate-packets-rx", NULL);
	simvif_exchange(vif, 4);
}

static bool has_answers(void *context)
{
	netfront_poll(vif->fe);		/* it asked for an event only after several of them */
	return vif->fe->stats.tx_ok == *(const uint64_t *)context;
}

/* A packet a minute: one for the credit there is, one to make debts, and whoever connects again finds them as he
 * left them. */
static void connecting_again_fills_no_bucket(void **state)
{
	uint64_t answered = vif->fe->stats.tx_ok + 2;

	(void)state;
	set_key("unetback-rate-packets", "1,60000000");
	await_shown("packets/s (1 in 60000000 us)");
	for (int i = 0; i < 8; i++)
		assert_true(simvif_send(vif, 60));
	simback_await(has_answers, &answered);
	for (int i = 0; i < 3; i++) {
		assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
		assert_true(netfront_reopen(vif->fe));
		simback_await(simvif_connected, vif);
		assert_false(counts("guest_tx_no_credit"));
		assert_true(simvif_send(vif, 60));
		simback_await(tx_waits, NULL);
		netfront_poll(vif->fe);
	}
	assert_int_equal(vif->fe->stats.tx_ok, answered);
	set_key("unetback-rate-packets", NULL);
	simback_await(is_at_host, NULL);
	simvif_exchange(vif, 4);
}

/* libxl's key, changed again and again under traffic both ways. */
static void a_rate_is_changed_under_traffic(void **state)
{
	static const char *const rates[] = { "125000,50000", "12500000,50000", "1,1000", "nonsense", "640000,1000000" };
	uint64_t sent = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		if (i % 20 == 0) {
			set_key("rate", rates[i / 20 % 5]);
			set_key("unetback-rate-rx", rates[(i / 20 + 1) % 5]);
		}
		vif->fe->tx_queue = (uint32_t)i % 4;
		vif->flow = (uint8_t)(i % 4);
		while (!simvif_send(vif, 1514))
			simback_serve(10);
		sent++;
		simback_serve(0);
	}
	set_key("rate", NULL);
	set_key("unetback-rate-rx", NULL);
	simback_await(is_at_host, NULL);
	simback_await(simvif_tx_idle, vif);
	assert_int_equal(vif->fe->stats.tx_error + vif->fe->stats.tx_dropped, 0);
	assert_true(sent == 200);
	simvif_exchange(vif, 4);
}

static void a_rate_that_is_none_is_shown(void **state)
{
	(void)state;
	set_key("rate", "fast");
	await_shown("rate is 'fast', must be BYTES,MICROSECONDS");
	simvif_exchange(vif, 4);
	set_key("rate", "1250000,50000");
	await_shown("25000000 bytes/s (1250000 in 50000 us)");
	await_shown("!must be BYTES");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int start(void **state)
{
	static const char *const options[] = { "--queues=4", NULL };

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
		TEST(frames_from_the_guest_wait_in_the_ring),
		TEST(frames_to_the_guest_wait_in_the_queue),
		TEST(connecting_again_fills_no_bucket),
		TEST(a_rate_is_changed_under_traffic),
		TEST(a_rate_that_is_none_is_shown),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
