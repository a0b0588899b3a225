/* test_queue_pair_sleep.c - what a pair does before it sleeps: wakes a guest that has stalled, announces one
 *
 * Time passes by setting what is due to long ago. */
#include "../../backend/queue_pair.c"
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

/* --- stalls ------------------------------------------------------------------------------------ */

/* The guest posts nothing for the stall time: it is told of once, woken each time, and the sleep is no longer than
 * until the next time.  When it posts again that is over. */
static void a_guest_that_takes_no_frames_is_woken(void **state)
{
	(void)state;
	pair_config.stall_ms = 5000;
	open_pair();
	fake_port_give(pair.port, bytes, 200, 0, NULL);
	assert_int_equal(queue_pair_poll(&pair), 1);
	assert_false(queue_pair_arm(&pair));
	assert_in_range(queue_pair_timeout(&pair), 4000, 5000);
	SAME("nothing yet", pair_state.rx_stalls + pair_state.rx_stalled, 0);
	for (uint64_t wakes = 2; wakes < 5; wakes++) {	/* opening was the first event */
		pair.stall.next.ns = 1;			/* long ago */
		assert_in_range(queue_pair_timeout(&pair), 4000, 5000);
		assert_in_range(queue_pair_timeout(&pair), 4000, 5000);
		SAME("woken", fake.notified[FAKE_LOCAL(WORLD_RX_PORT)], wakes);
	}
	SAME("stalls", pair_state.rx_stalls, 1);
	SAME("stalled", pair_state.rx_stalled, 1);
	SAME("needed", pair_state.rx_slots_needed, 1);
	SAME("posted", pair_state.rx_req_prod - pair_state.rx_req_cons, 0);
	world_rx_post(1);
	assert_int_equal(queue_pair_poll(&pair), 1);
	assert_int_equal(queue_pair_timeout(&pair), -1);
	SAME("stalled", pair_state.rx_stalled, 0);
	SAME("stalls", pair_state.rx_stalls, 1);
	queue_pair_close(&pair);
}

/* Neither do they who cannot tell that they post, nor frames that wait for credit. */
static void who_else_waits_is_no_stall(void **state)
{
	struct vif_live live;

	for (int limited = 0; limited < 2; limited++) {
		setup(state);
		pair_config.stall_ms = 5000;
		live = pair_config.live;
		if (limited)
			live.rx_rates[RATE_PACKETS] = (struct rate){ 1, 60000000 };
		else
			pair_config.features &= ~VIF_F_RX_NOTIFY;
		vif_common_set_live(&pair_common, &live);
		open_pair();
		world_rx_post(limited ? 8 : 0);
		for (int i = 0; i < 8; i++)
			fake_port_give(pair.port, bytes, 200, 0, NULL);
		while (queue_pair_poll(&pair) > 0)
			;
		assert_false(queue_pair_arm(&pair));
		queue_pair_timeout(&pair);
		assert_true(rx_queue_count(&pair.rx.queue) > 0);
		assert_false(pair.stall.waits);
		queue_pair_close(&pair);
		pair_finish(state);
	}
}

/* --- announcements ---------------------------------------------------------------------------- */

/* Frames that were sent, from the last look on; both kinds. */
static int announcements_sent(void)
{
	struct fake_port *port = fake_port_of(pair.port);
	int count = port->sent_count;

	for (int i = 0; i < count; i++) {
		const struct fake_sent *sent = &port->sent[i];

		assert_int_equal(sent->length, ANNOUNCE_LENGTH);
		assert_int_equal(sent->vnet.flags | sent->vnet.gso_type, 0);
		assert_memory_equal(sent->bytes, "\xff\xff\xff\xff\xff\xff" "\x00\x16\x3e\x07\x08\x09", 12);
		assert_memory_equal(sent->bytes + 12, i % 3 ? "\x08\x06" : "\x80\x35", 2);
		if (i % 3)
			assert_memory_equal(sent->bytes + 28, pair_config.announce.addresses[i % 3 - 1], 4);
	}
	fake_port_forget_sent(pair.port);
	return count;
}

static void prepare_to_announce(uint32_t index)
{
	pair_config.announce = (struct announce){ 3, 2, { { 192, 0, 2, 7 }, { 198, 51, 100, 8 } } };
	pair_config.live.announcements = 41;
	memcpy(pair_config.mac, "\x00\x16\x3e\x07\x08\x09", 6);
	pair_config.queues[0] = pair_config.queues[1];
	pair_setup.index = index;
	vif_common_set_live(&pair_common, &pair_config.live);
}

static void ask_to_announce(void)
{
	pair_config.live.announcements++;
	vif_common_set_live(&pair_common, &pair_config.live);
	assert_int_equal(queue_pair_poll(&pair), 0);
}

/* Once asked, three times, no more often than they are due, and none of it is the guest's. */
static void the_guest_is_announced_when_asked_for(void **state)
{
	(void)state;
	prepare_to_announce(0);
	open_pair();
	assert_int_equal(queue_pair_poll(&pair), 0);
	assert_int_equal(queue_pair_timeout(&pair), -1);
	SAME("nobody has asked", announcements_sent(), 0);
	for (int round = 0; round < 2; round++) {
		ask_to_announce();
		for (int i = 0; i < 3; i++) {
			int timeout = queue_pair_timeout(&pair);

			SAME("sent", announcements_sent(), 3);
			if (i == 2) {
				SAME("no more", timeout, -1);
				break;
			}
			assert_in_range(timeout, 1, ANNOUNCE_INTERVAL_MS);
			assert_in_range(queue_pair_timeout(&pair), 1, ANNOUNCE_INTERVAL_MS);
			SAME("not yet", announcements_sent(), 0);
			pair.announcer.due.ns = 1;		/* long ago */
		}
		SAME("over", queue_pair_timeout(&pair), -1);
		SAME("counted", pair_state.announced, (round + 1) * 9);
		SAME("guest's", pair_state.tx_frames, 0);
	}
	queue_pair_close(&pair);
}

static void switched_off(void) { pair_config.announce.times = 0; }
static void nobody(void) { memset(pair_config.mac, 0, 6); }
static void everybody(void) { memset(pair_config.mac, 0xff, 6); }
static void another_queue(void) { pair_setup.index = 1; }

static void who_is_not_announced(void **state)
{
	static const struct { const char *name; void (*change)(void); } rows[] = {
		{ "switched off", switched_off }, { "no MAC", nobody }, { "a group's MAC", everybody },
		{ "another queue", another_queue },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		setup(state);
		prepare_to_announce(0);
		rows[i].change();
		open_pair();
		ask_to_announce();
		SAME(rows[i].name, queue_pair_timeout(&pair), -1);
		SAME(rows[i].name, fake_port_of(pair.port)->sent_count, 0);
		queue_pair_close(&pair);
		pair_finish(state);
	}
}

/* A port that takes nothing: not counted, and not tried for ever. */
static void what_the_port_does_not_take_is_not_counted(void **state)
{
	(void)state;
	prepare_to_announce(0);
	open_pair();
	fake_port_of(pair.port)->send_verdict = GUEST_TX_PORT_DOWN;
	ask_to_announce();
	for (int i = 0; i < 3; i++) {
		pair.announcer.due.ns = 1;
		queue_pair_timeout(&pair);
	}
	SAME("over", queue_pair_timeout(&pair), -1);
	SAME("counted", pair_state.announced, 0);
	queue_pair_close(&pair);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, pair_finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_guest_that_takes_no_frames_is_woken),
		cmocka_unit_test(who_else_waits_is_no_stall),
		TEST(the_guest_is_announced_when_asked_for),
		cmocka_unit_test(who_is_not_announced),
		TEST(what_the_port_does_not_take_is_not_counted),
	};

	return cmocka_run_group_tests_name("queue_pair_sleep", tests, NULL, NULL);
}
