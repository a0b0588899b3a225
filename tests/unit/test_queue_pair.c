/* test_queue_pair.c - a pair opens whole or not at all, serves both ways, and gives everything back
 *
 * Opening is made to fail at each step in turn; nothing may stay open, mapped or shared, and the
 * event descriptor, which is taken over, must be closed. */
#include <errno.h>
#include <fcntl.h>

#include "../../backend/pages.c"
#include "../../backend/queue_pair.c"
#include "../../ovs-glue/ports.h"
#include "pair.c"
#include "unit.h"

static struct queue_pair pair;
static uint8_t bytes[3000];

static int setup(void **state)
{
	memset(bytes, 0x33, sizeof bytes);
	return pair_prepare(state);
}

static void open_pair(void)
{
	char why[160] = "";

	if (queue_pair_open(&pair, &pair_setup, why, sizeof why) != 0)
		fail_msg("%s", why);
}

static int open_error(void)
{
	char why[160] = "";
	int error = queue_pair_open(&pair, &pair_setup, why, sizeof why);

	if (error && !why[0])
		fail_msg("error %d without a sentence", error);
	SAME("event descriptor closed", fcntl(pair_setup.evtchn_fd, F_GETFD), -1);
	queue_pair_close(&pair);	/* once too often */
	return error;
}

static int refuse(const struct port_config *config, struct port **port)
{
	(void)config;
	(void)port;
	return -EMFILE;
}

static int refuse_offloads(struct port *port, uint32_t offloads)
{
	(void)port;
	(void)offloads;
	return -ENOTTY;
}

static struct port_class broken_class;

static int open_without_offloads(const struct port_config *config, struct port **port)
{
	int error = fake_port_class.open(config, port);

	if (!error)
		(*port)->class = &broken_class;
	return error;
}

static void map_0(void) { fake.fail_map = 0; }
static void map_1(void) { fake.fail_map = 1; }
static void bind_0(void) { fake.fail_bind = 0; }
static void bind_1(void) { fake.fail_bind = 1; }
static void tx_overrun(void) { world->tx_ring->req_prod = WORLD_START + 257; }
static void rx_overrun(void) { world->rx_ring->req_prod = WORLD_START - 1; }
static void few_pages(void) { pair_config.guest_tx_pages = TX_PAGES_MIN - 1; }
static void port_refuses(void)
{
	broken_class = fake_port_class;
	broken_class.open = refuse;
	pair_setup.port_class = &broken_class;
}

static void a_failure_at_each_step_leaves_nothing_open(void **state)
{
	static const struct { const char *name; void (*breaks)(void); int error; } rows[] = {
		{ "tx ring not mapped", map_0, -EINVAL },
		{ "rx ring not mapped", map_1, -EINVAL },
		{ "tx port not bound", bind_0, -ENOENT },
		{ "rx port not bound", bind_1, -ENOENT },
		{ "tx ring overrun", tx_overrun, -EPROTO },
		{ "rx ring overrun", rx_overrun, -EPROTO },
		{ "too few pages", few_pages, -ENOMEM },
		{ "port refuses", port_refuses, -EMFILE },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		setup(state);
		rows[i].breaks();
		SAME(rows[i].name, open_error(), rows[i].error);
		pair_finish(state);
	}
}

static void a_port_that_cannot_set_offloads_is_closed_again(void **state)
{
	(void)state;
	broken_class = fake_port_class;
	broken_class.open = open_without_offloads;
	broken_class.set_offloads = refuse_offloads;
	pair_setup.port_class = &broken_class;
	assert_int_equal(open_error(), -ENOTTY);
}

static void opening_wakes_the_guest_once_a_channel(void **state)
{
	for (int split = 0; split < 2; split++) {
		setup(state);
		if (!split)
			pair_config.queues[1].rx_port = WORLD_TX_PORT;
		open_pair();
		SAME("tx", fake.notified[FAKE_LOCAL(WORLD_TX_PORT)], 1);
		SAME("rx", fake.notified[FAKE_LOCAL(WORLD_RX_PORT)], split);
		SAME("offloads", fake_port_of(pair.port)->offloads,
		     OFFLOAD_CSUM | OFFLOAD_TSO4 | OFFLOAD_TSO6);
		SAME("cleared", pair_state.tx_frames, 0);
		SAME("limit", pair_state.rx_limit_frames, QUEUE_FRAMES_DEFAULT);
		queue_pair_close(&pair);
		pair_finish(state);
	}
}

/* Who may leave what undone, under each policy, for a port that cannot cut and one that can. */
static void each_policy_takes_and_asks_what_it_should(void **state)
{
	static const struct { uint32_t csum, port, features, asked, takes, left; } rows[] = {
		{ CSUM_AUTO, OFFLOAD_ALL, VIF_F_ALL, OFFLOAD_ALL, OFFLOAD_ALL, VIF_F_ALL },
		{ CSUM_AUTO, OFFLOAD_CSUM, VIF_F_ALL, OFFLOAD_ALL, OFFLOAD_CSUM, VIF_F_ALL },
		{ CSUM_AUTO, OFFLOAD_ALL, VIF_F_SG, 0, OFFLOAD_ALL, VIF_F_SG },
		{ CSUM_COMPLETE, OFFLOAD_ALL, VIF_F_ALL, OFFLOAD_ALL, 0, VIF_F_SG | VIF_F_RX_NOTIFY },
		{ CSUM_COMPLETE, OFFLOAD_ALL, 0, OFFLOAD_ALL, 0, 0 },
		{ CSUM_OFF, OFFLOAD_ALL, VIF_F_ALL, 0, 0, VIF_F_SG | VIF_F_RX_NOTIFY },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		setup(state);
		broken_class = fake_port_class;
		broken_class.offloads = rows[i].port;
		pair_setup.port_class = &broken_class;
		pair_config.csum = rows[i].csum;
		pair_config.features = rows[i].features;
		open_pair();
		SAME("asked", fake_port_of(pair.port)->offloads, rows[i].asked);
		SAME("takes", pair.tx.takes, rows[i].takes);
		SAME("features", pair.rx.features, rows[i].left);
		queue_pair_close(&pair);
		pair_finish(state);
	}
}

static void post_work(void)
{
	memcpy(world_tx_page(), bytes, 100);
	world_tx_slot(100, 0, 0);
	world_tx_publish();
	world_rx_post(1);
	fake_port_give(pair.port, bytes, 200, 0, NULL);
}

static void frames_move_both_ways_and_work_is_seen_when_armed(void **state)
{
	int16_t statuses[NETIF_RING_SIZE];

	(void)state;
	open_pair();
	assert_int_equal(queue_pair_poll(&pair), 0);
	assert_false(queue_pair_arm(&pair));
	assert_int_equal(queue_pair_timeout(&pair), -1);
	post_work();
	assert_true(queue_pair_arm(&pair));
	pair.visit.readable = true;
	assert_int_equal(queue_pair_poll(&pair), 3);
	assert_int_equal(queue_pair_poll(&pair), 0);
	assert_false(pair.visit.readable);
	assert_false(queue_pair_arm(&pair));
	assert_int_equal(world_tx_answers(statuses), 1);
	assert_memory_equal(fake_port_of(pair.port)->sent[0].bytes, bytes, 100);
	assert_int_equal(world_rx_published(), 1);
	assert_memory_equal(world_rx_page(0), bytes, 200);
	queue_pair_close(&pair);
}

/* A process died: its successor starts at the last published answer and serves what is open. */
static void a_successor_serves_what_was_left(void **state)
{
	int16_t statuses[NETIF_RING_SIZE];
	int end = pair_event_end;

	(void)state;
	open_pair();
	post_work();
	queue_pair_poll(&pair);
	queue_pair_close(&pair);
	world_tx_slot(60, 0, 0);
	world_tx_slot(70, 0, 0);
	world_tx_publish();
	close(end);
	pair_setup.evtchn_fd = fake_evtchn_fd(&pair_event_end);
	open_pair();
	assert_int_equal(queue_pair_poll(&pair), 2);
	assert_int_equal(world_tx_answers(statuses), 3);
	queue_pair_close(&pair);
}

static void broken_rings_are_told_by_name_and_number(void **state)
{
	char text[160];

	(void)state;
	open_pair();
	world_tx_slot(1000, 3097, 0);
	world_tx_publish();
	assert_int_equal(queue_pair_poll(&pair), -EPROTO);
	queue_pair_fault(&pair, text, sizeof text);
	assert_string_equal(text,
			    "guest_tx: slot crosses its page: offset + size: 4097, limit 4096");
	queue_pair_close(&pair);
	pair_finish(state);
	setup(state);
	open_pair();
	fake_port_give(pair.port, bytes, 200, 0, NULL);
	world->rx_ring->req_prod = WORLD_START + 300;
	assert_int_equal(queue_pair_poll(&pair), -EPROTO);
	queue_pair_fault(&pair, text, sizeof text);
	assert_string_equal(text, "guest_rx: requests in the ring: 300, limit 256");
	queue_pair_close(&pair);
}

static void sleeps_are_as_long_as_frames_may_wait(void **state)
{
	(void)state;
	open_pair();
	fake_port_give(pair.port, bytes, 200, 0, NULL);
	assert_int_equal(queue_pair_poll(&pair), 1);
	assert_in_range(queue_pair_timeout(&pair), 1, QUEUE_AGE_MS_DEFAULT + 1);
	pair.rx_notify = false;
	assert_int_equal(queue_pair_timeout(&pair), RX_DRAIN_MS);
	rx_queue_peek(&pair.rx.queue, 0)->queued.ns = 1;	/* long ago */
	assert_int_equal(queue_pair_timeout(&pair), -1);
	assert_int_equal(pair_state.rx_verdicts[GUEST_RX_TOO_OLD], 1);
	queue_pair_close(&pair);
}

/* A rate that is used up: what is beyond stays where it is, nothing is asked for but time, and with the rate
 * gone all of it passes. */
static void frames_beyond_the_rate_wait(void **state)
{
	struct vif_live live = pair_config.live;
	int64_t first;

	(void)state;
	live.tx_rates[RATE_PACKETS] = live.rx_rates[RATE_PACKETS] = (struct rate){ 1, 1000000 };
	vif_common_set_live(&pair_common, &live);
	open_pair();
	world_rx_post(8);
	for (int i = 0; i < 3; i++) {
		world_tx_slot(60, 0, 0);
		fake_port_give(pair.port, bytes, 200, 0, NULL);
	}
	world_tx_publish();
	while (queue_pair_poll(&pair) > 0)
		;
	first = pair_state.tx_verdicts[GUEST_TX_SENT];
	assert_in_range(first, 1, 2);
	assert_in_range(pair_state.rx_verdicts[GUEST_RX_DELIVERED], 1, 2);
	assert_true(pair_state.tx_no_credit > 0 && pair_state.rx_no_credit > 0);
	assert_false(queue_pair_arm(&pair));
	assert_in_range(queue_pair_timeout(&pair), 0, 1001);
	vif_common_set_live(&pair_common, &pair_config.live);
	while (queue_pair_poll(&pair) > 0)
		;
	assert_int_equal(pair_state.tx_verdicts[GUEST_TX_SENT], 3);
	assert_int_equal(pair_state.rx_verdicts[GUEST_RX_DELIVERED], 3);
	assert_int_equal(queue_pair_timeout(&pair), -1);
	queue_pair_close(&pair);
}

/* A queue in the middle of a poll has not yet heard of the new rate: what it charges at the old one does not
 * hold up the others. */
static void an_old_rate_is_not_charged_to_a_new_bucket(void **state)
{
	struct vif_live live = pair_config.live;
	struct limiter other;

	(void)state;
	live.tx_rates[RATE_BYTES] = (struct rate){ 1, 1000 };
	vif_common_set_live(&pair_common, &live);
	open_pair();
	queue_pair_poll(&pair);
	other = pair.tx.limiter;
	live.tx_rates[RATE_BYTES] = (struct rate){ 6250000, 50000 };
	vif_common_set_live(&pair_common, &live);
	while (limiter_allows(&other, 65535))
		;
	for (int i = 0; i < 3; i++)
		world_tx_slot(60, 0, 0);
	world_tx_publish();
	assert_int_equal(queue_pair_poll(&pair), 3);
	SAME("shown", pair_state.tx_rate_bytes, 125000000);
	SAME("shown", pair_state.rx_rate_bytes, 0);
	queue_pair_close(&pair);
}

/* What waits for credit fills the queue; the rest is not read to be dropped. */
static void the_port_is_left_alone_while_the_queue_is_full(void **state)
{
	struct vif_live live = pair_config.live;

	(void)state;
	live.limits.frames = 10;
	live.rx_rates[RATE_PACKETS] = (struct rate){ 1, 10000000 };
	vif_common_set_live(&pair_common, &live);
	open_pair();
	world_rx_post(100);
	for (int i = 0; i < 100; i++) {
		fake_port_give(pair.port, bytes, 200, 0, NULL);
		pair.visit.readable = true;
		while (queue_pair_poll(&pair) > 0)
			;
	}
	SAME("queued", rx_queue_count(&pair.rx.queue), 10);
	SAME("read", pair_state.rx_frames, 10 + pair_state.rx_verdicts[GUEST_RX_DELIVERED]);
	assert_false(queue_pair_arm(&pair));
	vif_common_set_live(&pair_common, &pair_config.live);
	while (queue_pair_poll(&pair) > 0)
		;
	SAME("delivered", pair_state.rx_verdicts[GUEST_RX_DELIVERED], 100);
	queue_pair_close(&pair);
}

/* Frames wait for credit, and the guest takes back what it had posted: it is listened to again, and no time is
 * waited for that has passed long ago. */
static void what_waits_for_credit_may_vanish(void **state)
{
	struct vif_live live = pair_config.live;

	(void)state;
	live.tx_rates[RATE_PACKETS] = live.rx_rates[RATE_PACKETS] = (struct rate){ 1, 1000000 };
	vif_common_set_live(&pair_common, &live);
	open_pair();
	world_rx_post(8);
	for (int i = 0; i < 5; i++) {
		world_tx_slot(60, 0, 0);
		fake_port_give(pair.port, bytes, 200, 0, NULL);
	}
	world_tx_publish();
	while (queue_pair_poll(&pair) > 0)
		;
	assert_false(queue_pair_arm(&pair));
	assert_true(limiter_waits(&pair.tx.limiter) && limiter_waits(&pair.rx.limiter));
	for (uint32_t i = 0; i < NETIF_RING_SIZE; i++)
		world->tx_ring->ring[i].req.size = FRAME_LENGTH_MIN - 1;
	world->rx_ring->req_prod = world->rx_ring->rsp_prod;
	while (queue_pair_poll(&pair) > 0)
		;
	assert_false(queue_pair_arm(&pair));
	SAME("asked for requests", world->tx_ring->req_event, world->tx_prod + 1);
	SAME("asked for buffers", world->rx_ring->req_event, world->rx_ring->rsp_prod + 1);
	assert_in_range(queue_pair_timeout(&pair), 1001, QUEUE_AGE_MS_DEFAULT + 1);
	queue_pair_close(&pair);
}

static void closing_counts_what_is_queued(void **state)
{
	(void)state;
	open_pair();
	for (int i = 0; i < 70; i++)
		fake_port_give(pair.port, bytes, 200, 0, NULL);
	while (queue_pair_poll(&pair) > 0)
		;
	queue_pair_close(&pair);
	queue_pair_close(&pair);
	assert_int_equal(pair_state.rx_verdicts[GUEST_RX_DISCONNECTED], 70);
	assert_int_equal(pair_state.rx_queued_frames, 0);
}

static void events_are_taken_and_unmasked_by_channel(void **state)
{
	(void)state;
	open_pair();
	assert_int_equal(events_take(&pair.events), 0);
	fake_evtchn_fire(pair_event_end, FAKE_LOCAL(WORLD_RX_PORT));
	assert_int_equal(events_take(&pair.events), 1);
	events_unmask(&pair.events);
	events_unmask(&pair.events);
	fake_evtchn_count_unmasked(pair_event_end);
	assert_int_equal(fake.unmasked[FAKE_LOCAL(WORLD_RX_PORT)], 1);
	assert_int_equal(fake.unmasked[FAKE_LOCAL(WORLD_TX_PORT)], 0);
	fake_evtchn_fire(pair_event_end, FAKE_LOCAL(WORLD_TX_PORT));
	fake_evtchn_fire(pair_event_end, FAKE_LOCAL(WORLD_RX_PORT));
	assert_int_equal(events_take(&pair.events) + events_take(&pair.events), 2);
	events_unmask(&pair.events);
	fake_evtchn_count_unmasked(pair_event_end);
	assert_int_equal(fake.unmasked[FAKE_LOCAL(WORLD_RX_PORT)], 2);
	assert_int_equal(fake.unmasked[FAKE_LOCAL(WORLD_TX_PORT)], 1);
	queue_pair_close(&pair);
}

static void the_null_port_takes_everything(void **state)
{
	for (int no_gntalloc = 0; no_gntalloc < 2; no_gntalloc++) {
		int16_t statuses[NETIF_RING_SIZE];

		setup(state);
		if (no_gntalloc) {
			xengntshr_close(pair_setup.pages->gntshr);
			pair_setup.pages->gntshr = NULL;
		}
		pair_setup.port_class = &null_port_class;
		open_pair();
		world_tx_slot(60, 0, 0);
		world_tx_publish();
		SAME("poll", queue_pair_poll(&pair), 1);
		SAME("answers", world_tx_answers(statuses), 1);
		SAME("granted", pair_state.granted_pages, no_gntalloc ? 0 : 64);
		SAME("plain", pair_state.plain_pages, no_gntalloc ? 64 : 0);
		queue_pair_close(&pair);
		pair_finish(state);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, pair_finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_at_each_step_leaves_nothing_open),
		TEST(a_port_that_cannot_set_offloads_is_closed_again),
		cmocka_unit_test(opening_wakes_the_guest_once_a_channel),
		TEST(frames_move_both_ways_and_work_is_seen_when_armed),
		TEST(a_successor_serves_what_was_left),
		TEST(broken_rings_are_told_by_name_and_number),
		TEST(sleeps_are_as_long_as_frames_may_wait),
		TEST(frames_beyond_the_rate_wait),
		TEST(an_old_rate_is_not_charged_to_a_new_bucket),
		TEST(the_port_is_left_alone_while_the_queue_is_full),
		TEST(what_waits_for_credit_may_vanish),
		TEST(closing_counts_what_is_queued),
		TEST(events_are_taken_and_unmasked_by_channel),
		cmocka_unit_test(the_null_port_takes_everything),
		cmocka_unit_test(each_policy_takes_and_asks_what_it_should),
	};

	return cmocka_run_group_tests_name("queue_pair", tests, NULL, NULL);
}
