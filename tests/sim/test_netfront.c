/* test_netfront.c - the frontend model, and its judge, against a trivial backend */
#include "simtest.h"

#include <stdlib.h>
#include <string.h>

#include "echo_backend.h"
#include "netfront.h"

#define PATIENCE 10000			/* ms */

static struct echo_backend *echo;
static struct simguest *guest;
static struct netfront *fe;
static uint8_t sent[65536], got[65536];
static struct netfront_frame last;	/* of what came back: the last frame, its bytes in got */

static int setup(void **state)
{
	(void)state;
	echo = echo_start(1, 0);
	if (simtest_run("simtoolstack", "create", "1", NULL) != 0 ||
	    simtest_run("simtoolstack", "attach", "1", "0", NULL) != 0)
		return -1;
	guest = simguest_start(1);
	for (uint32_t i = 0; i < sizeof sent; i++)
		sent[i] = (uint8_t)(i * 7 + i / 251);
	memset(sent + 12, 0, 2);	/* no protocol whose offloads the judge knows */
	return guest ? 0 : -1;
}

static int teardown(void **state)
{
	int status;

	(void)state;
	netfront_free(fe);
	fe = NULL;
	simguest_crash(guest);
	status = simtest_run("simtoolstack", "destroy", "1", NULL);
	echo_stop(echo);
	return status == 0 && simtest_idle() ? 0 : -1;
}

static void receive(struct netfront *front, const struct netfront_frame *frame, void *context)
{
	uint32_t at = 0;

	(void)front;
	(void)context;
	last = *frame;
	for (int i = 0; i < frame->iov_count; at += (uint32_t)frame->iov[i++].iov_len)
		memcpy(got + at, frame->iov[i].iov_base, frame->iov[i].iov_len);
}

static void connect_with(struct netfront_config config)
{
	config.hooks.receive = receive;
	fe = netfront_open(guest, &config);
	assert_non_null(fe);
	assert_true(netfront_until_connected(fe, PATIENCE));
}

static void assert_echo(uint32_t length, const struct netfront_frame *meta)
{
	memset(got, 0, sizeof got);
	assert_true(netfront_send(fe, sent, length, meta));
	assert_true(netfront_until_received(fe, fe->stats.rx_frames + 1, PATIENCE));
	assert_true(netfront_until_tx_idle(fe, PATIENCE));
	assert_int_equal(last.length, length);
	assert_memory_equal(got, sent, length);
}

static void assert_clean_end(void)
{
	assert_int_equal(fe->violations, 0);
	assert_true(netfront_close(fe, PATIENCE));
	assert_int_equal(fe->violations, 0);
	assert_int_equal(simtest_count(1, "mapped"), 0);
	assert_int_equal(simtest_count(1, "granted"), 0);
	assert_int_equal(simtest_count(1, "ports"), 0);
}

static const uint32_t lengths[] = { 14, 60, 1514, 4095, 4096, 4097, 8192, 9014, 65535 };

static void frames_of_all_sizes_come_back(void **state)
{
	(void)state;
	connect_with((struct netfront_config){ 0 });
	assert_true(fe->split);
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
		assert_echo(lengths[i], NULL);
	assert_clean_end();
}

static void rings_wrap(void **state)
{
	(void)state;
	connect_with(
		(struct netfront_config){ .first_index = UINT32_MAX - 40, .single_event = true });
	assert_false(fe->split);
	for (int i = 0; i < 50; i++)
		assert_echo(9014, NULL);
	assert_clean_end();
}

static void four_posted_requests_suffice_for_small_frames(void **state)
{
	(void)state;
	connect_with((struct netfront_config){
		.rx_requests = 4, .no_sg = true, .no_rx_notify = true });
	for (int i = 0; i < 50; i++)
		assert_echo(1514, NULL);
	assert_clean_end();
}

static void offloads_go_both_ways(void **state)
{
	const struct netfront_frame gso4 = { .csum_blank = true,
					     .data_validated = true,
					     .gso_type = XEN_NETIF_GSO_TYPE_TCPV4,
					     .gso_size = 1448 };
	const struct netfront_frame validated = { .data_validated = true };

	(void)state;
	connect_with((struct netfront_config){ 0 });
	assert_echo(60000, &gso4);
	assert_true(last.csum_blank && last.data_validated);
	assert_int_equal(last.gso_type, XEN_NETIF_GSO_TYPE_TCPV4);
	assert_int_equal(last.gso_size, 1448);
	assert_int_equal(fe->stats.tx_null, 1);
	assert_echo(100, &validated);
	assert_true(last.data_validated && !last.csum_blank && !last.gso_type);
	assert_clean_end();
}

static void frames_can_be_cut_anywhere(void **state)
{
	static const uint16_t sizes[] = { 1, 13, 0, 4000, 86 },
			      offsets[] = { 4095, 7, 4096, 96, 0 };

	(void)state;
	connect_with((struct netfront_config){ 0 });
	assert_true(netfront_send_cut(fe, sent, 4100, NULL, sizes, offsets, 5));
	assert_true(netfront_until_received(fe, 1, PATIENCE));
	assert_memory_equal(got, sent, 4100);
	assert_clean_end();
}

static void a_full_ring_refuses_and_recovers(void **state)
{
	uint64_t frames = 0;

	(void)state;
	connect_with((struct netfront_config){ 0 });
	fe->frozen_rx = true;
	for (int round = 0; round < 30; round++) {
		while (netfront_tx_room(fe) > 0 && netfront_send(fe, sent, 9014, NULL))
			frames++;
		assert_true(netfront_until_tx_idle(fe, PATIENCE));
	}
	assert_true(frames > 300);
	fe->frozen_rx = false;
	netfront_rx_refill(fe);
	assert_true(netfront_until_received(fe, 31, PATIENCE));	/* what echo_backend holds */
	assert_int_equal(fe->violations, 0);
}

static void a_frontend_comes_back(void **state)
{
	(void)state;
	connect_with((struct netfront_config){ 0 });
	for (int i = 0; i < 5; i++) {
		assert_echo(1514, NULL);
		assert_clean_end();
		assert_true(netfront_reopen(fe));
		assert_true(netfront_until_connected(fe, PATIENCE));
	}
	assert_clean_end();
}

static void a_crash_leaves_the_domain_for_the_toolstack(void **state)
{
	(void)state;
	connect_with((struct netfront_config){ 0 });
	assert_int_equal(simtest_count(1, "mapped"), 2);
	/* The teardown destroys the domain, with the backend still connected. */
}

/* A frame is echoed by a backend with this fault, and the judge must have something to say. */
static void assert_fault_is_seen(enum echo_fault fault, const char *words)
{
	const struct netfront_frame gso = { .csum_blank = true, .gso_size = 1448,
					    .gso_type = XEN_NETIF_GSO_TYPE_TCPV4 };

	connect_with((struct netfront_config){ 0 });
	assert_echo(100, NULL);
	echo_set_fault(echo, fault);
	assert_true(netfront_send(fe, sent, 5000, &gso));
	for (int i = 0; i < 100 && fe->violations == 0; i++) {
		netfront_dispatch(fe);
		netfront_wait(fe, 100);
	}
	assert_true(fe->violations > 0);
	assert_non_null(strstr(fe->first_violation, words));
	echo_set_fault(echo, ECHO_GOOD);
}

#define FAULT(name, fault, words)		\
	static void name(void **state)		\
	{					\
		(void)state;			\
		assert_fault_is_seen(fault, words); \
	}

FAULT(a_wrong_id_is_seen, ECHO_WRONG_ID, "not in use")
FAULT(too_many_responses_are_seen, ECHO_ANSWER_TWICE, "is not in")
FAULT(a_missing_null_is_seen, ECHO_NO_NULL, "not in use")
FAULT(an_unknown_status_is_seen, ECHO_TX_STATUS, "status 7")
FAULT(a_wrong_rx_id_is_seen, ECHO_RX_ID, "has id")
FAULT(an_unknown_rx_flag_is_seen, ECHO_RX_FLAGS, "has flags")
FAULT(a_written_tail_is_seen, ECHO_RX_TAIL, "behind the frame")
FAULT(a_partial_frame_is_seen, ECHO_RX_PARTIAL, "in part")
FAULT(gso_without_blank_checksum_is_seen, ECHO_RX_BARE_GSO, "gso without csum_blank")
FAULT(an_index_that_goes_back_is_seen, ECHO_INDEX_BACK, "is not in")

static void rings_left_mapped_are_seen(void **state)
{
	(void)state;
	connect_with((struct netfront_config){ 0 });
	echo_set_fault(echo, ECHO_KEEP_MAPPED);
	assert_true(netfront_close(fe, PATIENCE));
	assert_non_null(strstr(fe->first_violation, "still mapped"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(frames_of_all_sizes_come_back),
		TEST(rings_wrap),
		TEST(four_posted_requests_suffice_for_small_frames),
		TEST(offloads_go_both_ways),
		TEST(frames_can_be_cut_anywhere),
		TEST(a_full_ring_refuses_and_recovers),
		TEST(a_frontend_comes_back),
		TEST(a_crash_leaves_the_domain_for_the_toolstack),
		TEST(a_wrong_id_is_seen),
		TEST(too_many_responses_are_seen),
		TEST(a_missing_null_is_seen),
		TEST(an_unknown_status_is_seen),
		TEST(a_wrong_rx_id_is_seen),
		TEST(an_unknown_rx_flag_is_seen),
		TEST(a_written_tail_is_seen),
		TEST(a_partial_frame_is_seen),
		TEST(gso_without_blank_checksum_is_seen),
		TEST(an_index_that_goes_back_is_seen),
		TEST(rings_left_mapped_are_seen),
	};

	return cmocka_run_group_tests_name("netfront", tests, simtest_start_with_xenstored,
					   simtest_stop);
}
