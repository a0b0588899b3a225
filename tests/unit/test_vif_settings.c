/* test_vif_settings.c - what the toolstack says of a vif beside its life: queues, rates
 *
 * The world is vif_world.h's. */
#include "vif_world.c"
#include "unit.h"

static void found(void)
{
	tool_attach(7, 0);
	expect("+vif7.0 s2");
}

static void connected(void)
{
	found();
	tool_hotplug(7, 0, "connected");
	front_keys(7, 0);
	front_state(7, 0, 4);
	expect("mtu1500 on up s4");
}

/* --- queues ----------------------------------------------------------------------------------- */

static const char *offered_queues(void)
{
	return fake_store_get("backend/vif/7/0/multi-queue-max-queues");
}

/* A guest takes as many of the queues it was offered as it likes, others each time it connects. */
static void as_many_queues_as_the_guest_wants(void **state)
{
	(void)state;
	found();
	assert_string_equal(offered_queues(), "4");
	tool_hotplug(7, 0, "connected");
	front_keys(7, 0);
	front_queues(7, 0, 4);
	front_state(7, 0, 4);
	expect("q4 mtu1500 on up s4");
	SAME("queues", world.config.queue_count, 4);
	SAME("last ring", world.config.queues[3].rx_ring_ref, 33);
	front_state(7, 0, 6);
	expect("down off s5 s6");
	front_queues(7, 0, 1);
	front_state(7, 0, 1);
	expect("s2");
	front_state(7, 0, 4);
	expect("q1 mtu1500 on up s4");
	SAME("queues", world.config.queue_count, 1);
}

static void the_toolstack_says_how_many_queues(void **state)
{
	(void)state;
	fake_store_setf("2", "backend/vif/7/0/unetback-queues");
	found();
	assert_string_equal(offered_queues(), "2");
	tool_hotplug(7, 0, "connected");
	front_keys(7, 0);
	front_queues(7, 0, 4);
	front_state(7, 0, 4);
	expect("e0 down s5 s6");
	assert_string_equal(back_error(7, 0), "22 vif7.0: multi-queue-num-queues is '4', must be a number from 1 to 2");
	front_queues(7, 0, 2);
	front_state(7, 0, 1);
	expect("s2");
	front_state(7, 0, 4);
	expect("q2 mtu1500 on up s4");
}

static void a_device_without_so_many_queues(void **state)
{
	(void)state;
	found();
	front_keys(7, 0);
	front_queues(7, 0, 3);
	world.fail_queues = -ENOMEM;
	front_state(7, 0, 4);
	expect("e0 down s5 s6");
	assert_non_null(strstr(back_error(7, 0), "the device cannot have 3 queues: "));
}

static void a_word_of_the_toolstack_that_makes_no_sense(void **state)
{
	(void)state;
	fake_store_setf("nine", "backend/vif/7/0/unetback-queues");
	tool_attach(7, 0);
	expect("+vif7.0 e0 down s5 s6");
	assert_string_equal(back_error(7, 0), "22 vif7.0: unetback-queues is 'nine', must be a number from 1 to 8");
}

/* A driver that is loaded again may be another one: nothing is kept of what the last one could do. */
static void other_features_at_each_reconnect(void **state)
{
	static const struct { const char *sg, *gso4, *no_csum, *mtu; uint32_t features, effective; } rows[] = {
		{ NULL, NULL, NULL, "9000", VIF_F_CSUM_IPV4 | VIF_F_RX_NOTIFY, 1500 },
		{ "1", "1", NULL, "9000", VIF_F_SG | VIF_F_GSO_TCPV4 | VIF_F_CSUM_IPV4 | VIF_F_RX_NOTIFY, 9000 },
		{ "1", NULL, "1", "9000", VIF_F_SG | VIF_F_RX_NOTIFY, 9000 },
		{ "0", NULL, "1", NULL, VIF_F_RX_NOTIFY, 1500 },
		{ "1", "1", NULL, "65521", VIF_F_SG | VIF_F_GSO_TCPV4 | VIF_F_CSUM_IPV4 | VIF_F_RX_NOTIFY, 65521 },
	};
	char words[32];

	(void)state;
	found();
	tool_hotplug(7, 0, "connected");
	front_keys(7, 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		front_set(7, 0, "feature-sg", rows[i].sg);
		front_set(7, 0, "feature-gso-tcpv4", rows[i].gso4);
		front_set(7, 0, "feature-no-csum-offload", rows[i].no_csum);
		fake_store_setf(rows[i].mtu, "backend/vif/7/0/mtu");
		front_state(7, 0, 4);
		snprintf(words, sizeof words, "mtu%u on up s4", rows[i].effective);
		expect(words);
		SAME("features", world.config.features, rows[i].features);
		SAME("mtu", look(7, 0)->config->mtu, rows[i].effective);
		front_state(7, 0, 6);
		expect("down off s5 s6");
		front_state(7, 0, 1);
		expect("s2");
	}
}

/* As with libxl, which only reads it when the vif is attached: the next connect has it. */
static void another_mtu_counts_from_the_next_connect(void **state)
{
	(void)state;
	connected();
	fake_store_setf("9000", "backend/vif/7/0/mtu");
	expect("");
	SAME("mtu", look(7, 0)->config->mtu, 1500);
	front_state(7, 0, 6);
	expect("down off s5 s6");
	front_state(7, 0, 1);
	expect("s2");
	front_state(7, 0, 4);
	expect("mtu9000 on up s4");
}

/* --- what changes while connected ------------------------------------------------------------- */

static void a_rate_is_followed_live(void **state)
{
	(void)state;
	fake_store_setf("1000,50000", "backend/vif/7/0/rate");
	connected();
	SAME("rate", world.config.live.tx_rates[RATE_BYTES].units, 1000);
	fake_store_setf("2000,50000", "backend/vif/7/0/rate");
	expect("live");
	SAME("rate", world.config.live.tx_rates[RATE_BYTES].units, 2000);
	fake_store_setf("2000,50000", "backend/vif/7/0/rate");	/* written again: nothing is new */
	expect("");
	fake_store_setf("500,1000000", "backend/vif/7/0/unetback-rate-packets-rx");
	expect("live");
	SAME("rate", world.config.live.rx_rates[RATE_PACKETS].units, 500);
	fake_store_setf(NULL, "backend/vif/7/0/rate");
	expect("live");
	SAME("rate", world.config.live.tx_rates[RATE_BYTES].units, 0);
}

static void the_guest_switches_its_filter_on_and_off(void **state)
{
	(void)state;
	connected();
	SAME("fresh", world.config.fresh, 1);
	SAME("off", world.config.live.multicast_control, 0);
	for (int i = 0; i < 3; i++) {
		front_set(7, 0, "request-multicast-control", "1");
		expect("live");
		SAME("on", world.config.live.multicast_control, 1);
		front_set(7, 0, "request-multicast-control", i % 2 ? NULL : "0");
		expect("live");
		SAME("off", world.config.live.multicast_control, 0);
	}
	front_set(7, 0, "request-multicast-control", "1");
	expect("live");
	world_end();			/* the next daemon: nothing of the list is known any more */
	world_start();
	expect("~vif7.0 +vif7.0 mtu1500 on up");
	SAME("fresh", world.config.fresh, 0);
	SAME("on", world.config.live.multicast_control, 1);
}

/* As Linux's netfront does when an XDP program is attached and when it goes. */
static void an_xdp_program_comes_and_goes(void **state)
{
	(void)state;
	connected();
	for (int i = 0; i < 3; i++) {
		front_set(7, 0, "xdp-headroom", "256");
		front_state(7, 0, 7);
		expect("live s8");
		SAME("headroom", world.config.live.xdp_headroom, 256);
		front_state(7, 0, 4);
		expect("s4");
		front_set(7, 0, "xdp-headroom", "0");
		front_state(7, 0, 7);
		expect("live s8");
		SAME("headroom", world.config.live.xdp_headroom, 0);
		front_state(7, 0, 4);
		expect("s4");
	}
	front_state(7, 0, 7);
	expect("s8");
	front_state(7, 0, 5);			/* it closes in the middle */
	expect("down off s5");
	front_state(7, 0, 6);
	expect("s6");
}

static void headroom_asked_for_before_connecting(void **state)
{
	(void)state;
	found();
	tool_hotplug(7, 0, "connected");
	front_keys(7, 0);
	front_set(7, 0, "xdp-headroom", "256");
	front_state(7, 0, 4);
	expect("mtu1500 on up s4");
	SAME("headroom", world.config.live.xdp_headroom, 256);
	front_set(7, 0, "xdp-headroom", "32768");	/* more than a page has: none, and said */
	front_state(7, 0, 7);
	expect("live s8");
	SAME("headroom", world.config.live.xdp_headroom, 0);
	assert_non_null(strstr(look(7, 0)->ignored, "xdp-headroom is '32768', must be a number from 0 to 2048"));
	world_end();				/* the next daemon finds it there */
	world_start();
	expect("~vif7.0 s8");
	front_state(7, 0, 4);
	expect("s4 +vif7.0 mtu1500 on up");
}

static void the_guests_hash_reaches_the_device(void **state)
{
	struct hash_config hash = { .algorithm = HASH_TOEPLITZ, .types = HASH_IPV4 };

	(void)state;
	vifs_hashed(world.vifs, 7, 0, &hash);			/* nobody there yet */
	found();
	tool_hotplug(7, 0, "connected");
	front_keys(7, 0);
	front_set(7, 0, "ctrl-ring-ref", "77");
	front_set(7, 0, "event-channel-ctrl", "78");
	front_state(7, 0, 4);
	expect("mtu1500 on up s4");
	SAME("ring", world.config.control_ring_ref, 77);
	SAME("channel", world.config.control_port, 78);
	vifs_hashed(world.vifs, 7, 0, &hash);
	expect("hash");
	hash.algorithm = HASH_NONE;
	vifs_hashed(world.vifs, 7, 0, &hash);
	expect("nohash");
	front_state(7, 0, 6);
	expect("down off s5 s6");
	vifs_hashed(world.vifs, 7, 0, &hash);			/* too late */
	expect("");
}

static void a_control_ring_needs_its_channel(void **state)
{
	(void)state;
	found();
	front_keys(7, 0);
	front_set(7, 0, "ctrl-ring-ref", "77");
	front_state(7, 0, 4);
	expect("e0 down s5 s6");
	assert_non_null(strstr(back_error(7, 0), "ctrl-ring-ref is 77 and event-channel-ctrl 0, there must be both"));
	front_set(7, 0, "event-channel-ctrl", "3");		/* the tx queue's */
	front_state(7, 0, 1);
	expect("s2");
	front_state(7, 0, 4);
	expect("e0 down s5 s6");
	assert_non_null(strstr(back_error(7, 0), "event-channel-ctrl is 3, as a channel of queue 0"));
}

/* A typing error lifts the limit and is said, once. */
static void a_rate_that_is_none_is_said(void **state)
{
	(void)state;
	connected();
	fake_store_setf("1000", "backend/vif/7/0/rate");
	expect("");
	SAME("warnings", world.lines[LOG_LEVEL_WARNING], 1);
	assert_non_null(strstr(look(7, 0)->ignored, "rate is '1000', must be BYTES,MICROSECONDS"));
	fake_store_setf("1", "backend/vif/7/0/something");
	expect("");
	SAME("warnings", world.lines[LOG_LEVEL_WARNING], 1);
	fake_store_setf("1000,1000", "backend/vif/7/0/rate");
	expect("live");
	assert_string_equal(look(7, 0)->ignored, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* --- offloads --------------------------------------------------------------------------------- */

/* What is written is read again at each connect: the guest is offered and served accordingly. */
static void the_toolstack_says_who_does_checksums(void **state)
{
	(void)state;
	fake_store_setf("off", "backend/vif/7/0/unetback-csum");
	connected();
	assert_string_equal(fake_store_get("backend/vif/7/0/feature-no-csum-offload"), "1");
	assert_string_equal(fake_store_get("backend/vif/7/0/feature-gso-tcpv4"), "0");
	SAME("csum", world.config.csum, CSUM_OFF);
	front_state(7, 0, 6);
	expect("down off s5 s6");
	fake_store_setf("complet", "backend/vif/7/0/unetback-csum");
	front_state(7, 0, 1);
	expect("s2");
	assert_string_equal(fake_store_get("backend/vif/7/0/feature-no-csum-offload"), "0");
	assert_string_equal(fake_store_get("backend/vif/7/0/feature-gso-tcpv4"), "1");
	SAME("lines", world.lines[LOG_LEVEL_WARNING], 1);
	assert_string_equal(look(7, 0)->policy_ignored, "unetback-csum is 'complet', must be auto, complete or "
			    "off; it is auto now");
	fake_store_setf("complete", "backend/vif/7/0/unetback-csum");
	front_state(7, 0, 4);
	expect("mtu1500 on up s4");
	SAME("csum", world.config.csum, CSUM_COMPLETE);
	assert_string_equal(look(7, 0)->policy_ignored, "");
}

/* --- announcements ---------------------------------------------------------------------------- */

/* Once the script has put the device where it belongs; once a connection, and not because we come again. */
static void a_guest_is_announced_when_its_device_is_in_place(void **state)
{
	(void)state;
	world_end();
	world.announce_times = 5;
	world_start();
	fake_store_setf("10.1.2.3 fe80::1 10.1.2.4", "backend/vif/7/0/ip");
	found();
	front_keys(7, 0);
	front_state(7, 0, 4);
	expect("mtu1500 on");
	SAME("none yet", world.config.live.announcements, 0);
	tool_hotplug(7, 0, "connected");
	expect("up s4 live");
	SAME("one", world.config.live.announcements, 1);
	SAME("times", world.config.announce.times, 5);
	SAME("addresses", world.config.announce.count, 2);
	SAME("the second", world.config.announce.addresses[1][3], 4);
	fake_store_setf("2000,1000", "backend/vif/7/0/rate");
	expect("live");
	SAME("not again", world.config.live.announcements, 1);
	front_state(7, 0, 6);
	expect("down off s5 s6");
	front_state(7, 0, 1);
	expect("s2");
	front_state(7, 0, 4);
	expect("mtu1500 on up s4 live");
	SAME("of a new connection", world.config.live.announcements, 1);
	world_end();
	world_start();
	expect("~vif7.0 +vif7.0 mtu1500 on up");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(as_many_queues_as_the_guest_wants), TEST(the_toolstack_says_how_many_queues),
		TEST(a_device_without_so_many_queues), TEST(a_word_of_the_toolstack_that_makes_no_sense),
		TEST(other_features_at_each_reconnect), TEST(another_mtu_counts_from_the_next_connect),
		TEST(a_rate_is_followed_live), TEST(a_rate_that_is_none_is_said),
		TEST(the_guest_switches_its_filter_on_and_off), TEST(the_guests_hash_reaches_the_device),
		TEST(an_xdp_program_comes_and_goes), TEST(headroom_asked_for_before_connecting),
		TEST(a_control_ring_needs_its_channel),
		TEST(the_toolstack_says_who_does_checksums),
		TEST(a_guest_is_announced_when_its_device_is_in_place),
	};

	return cmocka_run_group_tests_name("vif_settings", tests, NULL, NULL);
}
