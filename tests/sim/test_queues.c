/* test_queues.c - guests with several queues, served by the real unetbackd
 *
 * Shown: as many queues as both sides want, also after a reconnect with another number; all of them move
 * frames, both ways; a flow stays on its queue and in order while the guest sends on whichever it likes;
 * a queue that breaks closes the vif and not its guest's other one.  An instance that dies under several
 * queues: check_restart.sh. */
#include "simback.h"

#include <stdio.h>
#include <string.h>

#define QUEUES 4
#define FLOWS 64

static struct simguest *guest;
static struct simvif *vif;

static int setup(void **state)
{
	const struct netfront_config config = { .queues = QUEUES };

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
	simvif_free(vif);
	simback_destroy(guest);
	return 0;
}

static long long of_queue(int queue, const char *key)
{
	char section[] = "queue-0";

	section[6] = (char)('0' + queue);
	return simback_number("stats", vif->name, section, key);
}

/* A frame of every flow each way, the guest's over every queue in turn. */
static void send_of_every_flow(void)
{
	for (int flow = 0; flow < FLOWS; flow++) {
		vif->flow = (uint8_t)flow;
		vif->fe->tx_queue = (uint32_t)flow % vif->fe->queue_count;
		assert_true(simvif_send(vif, 60));
		simvif_flood(vif, 1, 60);
	}
}

static bool has_all(void *context)
{
	const uint64_t *frames = context;

	return vif->fe->stats.rx_frames >= *frames && vif->at_host >= vif->number - 1;
}

static void move_frames(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		uint64_t frames = vif->fe->stats.rx_frames + FLOWS;

		send_of_every_flow();
		simback_await(has_all, &frames);
	}
	simback_await(simvif_tx_idle, vif);
	assert_int_equal(vif->spoiled, 0);
	assert_int_equal(vif->reordered, 0);
}

static void every_queue_moves_frames(void **state)
{
	(void)state;
	assert_int_equal(vif->fe->queue_count, QUEUES);
	assert_int_equal(simback_number("show", vif->name, NULL, "queues"), QUEUES);
	move_frames(50);
	for (int queue = 0; queue < QUEUES; queue++) {
		assert_true(of_queue(queue, "guest_tx_frames") >= 50 * FLOWS / QUEUES);
		assert_true(of_queue(queue, "guest_rx_frames") >= 50);
		assert_true(of_queue(queue, "thread_id") > 0);
	}
	assert_int_equal(vif->moved, 0);
	simback_await(simvif_balanced, vif);
}

/* As a driver that is loaded again, with other parameters each time. */
static void another_number_at_each_reconnect(void **state)
{
	static const uint32_t counts[] = { 1, 2, 4, 3, 8, 1, 4 };

	(void)state;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		uint32_t served = counts[i] > QUEUES ? QUEUES : counts[i];

		assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
		vif->fe->config.queues = counts[i];
		memset(vif->to_guest, 0, sizeof vif->to_guest);
		assert_true(netfront_reopen(vif->fe));
		vif->fe->tx_queue = 0;
		simvif_exchange(vif, 1);
		assert_int_equal(vif->fe->queue_count, served);
		assert_int_equal(simback_number("show", vif->name, NULL, "queues"), served);
		move_frames(5);
		assert_int_equal(vif->moved, 0);
	}
}

static void a_broken_queue_closes_its_vif_only(void **state)
{
	const struct netfront_config config = { .queues = 2 };
	struct simvif *other = simvif_open(guest, 1, &config, NULL);
	struct netfront_tx *tx = &vif->fe->queues[2].tx;

	(void)state;
	simvif_exchange(other, 4);
	netfront_judge_off(vif->fe);
	__atomic_store_n(&tx->shared->req_prod, tx->shared->rsp_prod + 1000, __ATOMIC_RELEASE);
	simguest_notify(guest, tx->port);
	simback_await(simvif_closed, vif);
	assert_non_null(strstr(simvif_error(vif), "22 vif1.0: guest_tx: requests in the ring: "));
	assert_int_equal(simback_number("stats", vif->name, "queue-2", "broken"), 1);
	simvif_exchange(other, 20);
	simvif_free(other);
}

static bool is_refused(void *context)
{
	(void)context;
	return strstr(simvif_error(vif), "must be a number from 1 to 4");
}

static void bad_numbers_are_refused(void **state)
{
	static const char *const bad[] = { "0", "5", "many", "" };

	(void)state;
	netfront_judge_off(vif->fe);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
		vif->fe->config.override[0] = (struct netfront_key){ "multi-queue-num-queues", bad[i] };
		assert_true(netfront_reopen(vif->fe));
		simback_await(is_refused, vif);
		simback_await(simvif_closed, vif);
	}
	vif->fe->config.override[0].name = NULL;
	assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
	assert_true(netfront_reopen(vif->fe));
	simvif_exchange(vif, 4);
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
		TEST(every_queue_moves_frames),
		TEST(another_number_at_each_reconnect),
		TEST(a_broken_queue_closes_its_vif_only),
		TEST(bad_numbers_are_refused),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
