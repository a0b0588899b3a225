/* test_guest_rx.c - frames lie in the guest's buffers as netif.h wants them, or are counted
 *
 * A naive reader does what a frontend does: walks the answers of one frame by their flags, takes
 * the extra behind the first, puts the bytes together, and compares everything with what was sent.
 * Protocol.md 1.6. */
#include "rx_world.c"

static void every_length_arrives(void **state)
{
	(void)state;
	for (uint32_t length = 14; length < 2048; length++)
		check_frame(length, length % 64);
	for (uint32_t page = 4096; page < LENGTH_MAX; page += 4096)
		for (uint32_t length = page - 2; length <= page + 2; length++)
			check_frame(length, (length * 64) % 4096);
	for (uint32_t length = 2048; length <= LENGTH_MAX; length += 1499)
		check_frame(length, 2048);
	for (uint32_t length = 65534; length <= LENGTH_MAX; length++)
		check_frame(length, 4095);
	assert_int_equal(world_rx_verdict(GUEST_RX_DELIVERED), world->state.rx_frames);
}

/* Granted sources are cut at pages, plain ones are not; both arrive. */
static void every_offset_in_granted_and_plain_memory(void **state)
{
	for (int granted = 0; granted < 2; granted++) {
		fake_port_granted = granted;
		setup(state);
		for (uint32_t offset = 0; offset < 4096; offset += 61) {
			check_frame(60, offset);
			check_frame(5000, offset);
		}
		check_frame(4096, 4095);
		world_teardown(state);
	}
	fake_port_granted = true;
}

/* --- offloads --------------------------------------------------------------------------------- */

static void check_gso(const struct frame_spec *spec)
{
	static struct received got;
	static uint8_t frame[65557];
	struct frame_layout at;
	struct virtio_net_hdr_v1 vnet;
	int data;

	frame_build(frame, spec, &at);
	frame_blank_checksum(frame, spec, &at);
	vnet = vnet_of(spec, &at, true);
	data = (int)((at.length + 4095) / 4096);
	fake_port_give(world->port, frame, at.length, 2048, &vnet);
	SAME(spec->name, guest_rx_receive(&world->rx, RX_BURST), 1);
	world_rx_post(data);
	SAME("the extra needs a slot", guest_rx_deliver(&world->rx), 0);
	SAME("armed", guest_rx_arm(&world->rx), false);
	SAME("for", world->rx_ring->req_event, world->rx.ring.cons + (uint32_t)data + 1);
	world_rx_post(1);
	SAME(spec->name, guest_rx_deliver(&world->rx), 1);
	read_frame(&got);
	SAME(spec->name, got.slots, data + 1);
	SAME(spec->name, got.has_extra, true);
	SAME(spec->name, got.extra.type, XEN_NETIF_EXTRA_TYPE_GSO);
	SAME(spec->name, got.extra.u.gso.size, 1440);
	SAME(spec->name, got.extra.u.gso.type, spec->ip_version == 4 ? XEN_NETIF_GSO_TYPE_TCPV4
								     : XEN_NETIF_GSO_TYPE_TCPV6);
	SAME(spec->name, got.extra.u.gso.features, 0);
	SAME(spec->name, got.flags, NETRXF_csum_blank | NETRXF_data_validated);
	SAME(spec->name, got.length, at.length);
	assert_memory_equal(got.bytes, frame, at.length);
}

static void segmented_frames_have_their_extra_behind_the_first_slot(void **state)
{
	static const uint32_t payloads[] = {
		2000, 4096 - 54, 4096 - 53, 20000, 65535 - 40, 65535 - 54,
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(payloads); i++) {
		const struct frame_spec four = { "tso4", 0, 4, 0, 0, IPPROTO_TCP, 0, payloads[i] };
		const struct frame_spec six = { "tso6", 0, 6, 0, 0, IPPROTO_TCP, 0, payloads[i] };

		check_gso(&four);
		if (payloads[i] <= 65535 - 54)
			check_gso(&six);
	}
	assert_int_equal(world->state.rx_gso_frames, 11);
}

static void a_guest_without_an_offload_gets_whole_frames_or_none(void **state)
{
	static struct received got;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(frame_specs); i++)
		for (uint32_t features = 0; features <= VIF_F_ALL; features++) {
			const struct frame_spec *spec = &frame_specs[i];
			bool partial = features & (spec->ip_version == 4 ? VIF_F_CSUM_IPV4
									 : VIF_F_CSUM_IPV6);
			uint8_t whole[2048], blank[2048];
			struct frame_layout at;
			struct virtio_net_hdr_v1 vnet;

			frame_build(whole, spec, &at);
			memcpy(blank, whole, sizeof blank);
			frame_blank_checksum(blank, spec, &at);
			vnet = vnet_of(spec, &at, false);
			world->rx.features = features;
			fake_port_give(world->port, blank, at.length, 64, &vnet);
			guest_rx_receive(&world->rx, RX_BURST);
			world_rx_post(1);
			SAME(spec->name, guest_rx_deliver(&world->rx), 1);
			read_frame(&got);
			SAME(spec->name, got.flags, NETRXF_data_validated |
			     (partial ? NETRXF_csum_blank : 0));
			assert_memory_equal(got.bytes, partial ? blank : whole, at.length);
		}
}

/* Frames that are refused when their turn comes: the gauge of the queue must follow. */
static void refused_frames_leave_the_queue_and_take_no_slot(void **state)
{
	const struct frame_spec spec = { "tso4", 0, 4, 0, 0, IPPROTO_TCP, 0, 3000 };
	static struct received got;
	uint8_t frame[4096];
	struct frame_layout at;
	struct virtio_net_hdr_v1 vnet;

	(void)state;
	frame_build(frame, &spec, &at);
	vnet = vnet_of(&spec, &at, true);
	vnet.gso_type = VIRTIO_NET_HDR_GSO_UDP;
	world_rx_post(2);
	fake_port_give(world->port, frame, at.length, 0, &vnet);
	guest_rx_receive(&world->rx, RX_BURST);
	assert_int_equal(guest_rx_deliver(&world->rx), 0);
	assert_int_equal(world->state.rx_queued_frames, 0);
	world_check();
	vnet.gso_size = 0;
	fake_port_give(world->port, frame, at.length, 0, &vnet);
	vnet.csum_start = 0xffff;
	vnet.gso_type = 0;
	fake_port_give(world->port, frame, at.length, 0, &vnet);
	fake_port_give(world->port, bytes, 500, 0, NULL);
	guest_rx_receive(&world->rx, RX_BURST);
	assert_int_equal(guest_rx_deliver(&world->rx), 1);
	read_frame(&got);
	assert_int_equal(got.length, 500);
	assert_int_equal(world_rx_verdict(GUEST_RX_NO_OFFLOAD), 2);
	assert_int_equal(world_rx_verdict(GUEST_RX_BAD_FRAME), 1);
}

/* --- what a guest can take -------------------------------------------------------------------- */

static void lengths_a_guest_cannot_take_are_dropped(void **state)
{
	static const struct {
		const char *name;
		uint32_t length, features;
		enum guest_rx_verdict verdict;
	} rows[] = {
		{ "13 bytes", 13, VIF_F_ALL, GUEST_RX_BAD_FRAME },
		{ "14 bytes", 14, 0, GUEST_RX_DELIVERED },
		{ "a page, no sg", 4096, VIF_F_ALL & ~VIF_F_SG, GUEST_RX_DELIVERED },
		{ "over a page, no sg", 4097, VIF_F_ALL & ~VIF_F_SG, GUEST_RX_TOO_LARGE },
		{ "over a page, sg alone", 4097, VIF_F_SG, GUEST_RX_DELIVERED },
		{ "the largest", LENGTH_MAX, VIF_F_SG, GUEST_RX_DELIVERED },
		{ "over the largest", LENGTH_MAX + 1, VIF_F_ALL, GUEST_RX_TOO_LARGE },
		{ "all of a reservation", 17 * 4096, VIF_F_ALL, GUEST_RX_TOO_LARGE },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		setup(state);
		world->rx.features = rows[i].features;
		world_rx_post(20);
		give(rows[i].length, 0);
		SAME(rows[i].name, guest_rx_deliver(&world->rx),
		     rows[i].verdict == GUEST_RX_DELIVERED);
		SAME(rows[i].name, world_rx_verdict(rows[i].verdict), 1);
		world_teardown(state);
	}
}

/* iPXE: four requests at a time, no offload, one channel. */
static void a_guest_with_four_buffers_is_served(void **state)
{
	static struct received got;

	(void)state;
	world->rx.features = 0;
	for (int i = 0; i < 10; i++)
		give(1514, 0);
	for (int i = 0; i < 10; i++) {
		if (world_rx_published() == 0) {
			world_rx_post(i < 8 ? 4 : 2);
			SAME("deliver", guest_rx_deliver(&world->rx), i < 8 ? 4 : 2);
		}
		read_frame(&got);
		SAME("length", got.length, 1514);
	}
	SAME("empty", guest_rx_deliver(&world->rx), 0);
}

/* Frames behind the first that does not fit wait, too: order is kept. */
static void the_frame_at_the_head_decides(void **state)
{
	static struct received got;

	(void)state;
	give(9000, 0);
	give(60, 0);
	world_rx_post(2);
	assert_int_equal(guest_rx_deliver(&world->rx), 0);
	assert_int_equal(world_rx_published(), 0);
	assert_false(guest_rx_arm(&world->rx));
	assert_int_equal(world->rx_ring->req_event, WORLD_START + 3);
	assert_int_equal(world->state.rx_no_slots, 1);
	world_rx_post(1);
	assert_true(guest_rx_arm(&world->rx));		/* came between the look and the arming */
	assert_int_equal(guest_rx_deliver(&world->rx), 1);
	read_frame(&got);
	assert_int_equal(got.length, 9000);
	assert_false(guest_rx_arm(&world->rx));
	assert_int_equal(world->rx_ring->req_event, WORLD_START + 4);
	world_rx_post(1);
	assert_int_equal(guest_rx_deliver(&world->rx), 1);
	world->rx_ring->req_event = 5;
	assert_false(guest_rx_arm(&world->rx));		/* nothing waits: no event is asked for */
	assert_int_equal(world->rx_ring->req_event, 5);
}

static void an_overrun_is_fatal(void **state)
{
	(void)state;
	give(60, 0);
	world->rx_ring->req_prod = WORLD_START + 257;
	assert_true(guest_rx_arm(&world->rx));
	assert_int_equal(guest_rx_deliver(&world->rx), -EPROTO);
	assert_string_equal(world->rx.fault, "requests in the ring");
	assert_int_equal(world->rx.fault_got, 257);
	assert_int_equal(fake.copy_operations, 0);
}

/* --- batches, failures, limits ---------------------------------------------------------------- */

static void bursts_of_the_largest_frames_fit_the_batch(void **state)
{
	static struct received got;
	int delivered = 0, n;

	(void)state;
	for (int i = 0; i < 15; i++)
		give(LENGTH_MAX, 2048 + 64);	/* each slot takes two operations */
	world_rx_post(255);
	while ((n = guest_rx_deliver(&world->rx)) > 0)
		delivered += n;
	assert_int_equal(n, 0);
	assert_int_equal(delivered, 15);
	for (int i = 0; i < 15; i++) {
		read_frame(&got);
		SAME("length", got.length, LENGTH_MAX);
		assert_memory_equal(got.bytes, bytes, LENGTH_MAX);
	}
}

static void give_three(void)	/* 1 slot, 3 and an extra, 1: of 2, 3 and 1 operations */
{
	const struct frame_spec spec = { "tso4", 0, 4, 0, 0, IPPROTO_TCP, 0, 9000 };
	struct frame_layout at;
	struct virtio_net_hdr_v1 vnet;
	uint8_t frame[9100];

	frame_build(frame, &spec, &at);
	frame_blank_checksum(frame, &spec, &at);
	vnet = vnet_of(&spec, &at, true);
	give(1000, 4000);
	fake_port_give(world->port, frame, at.length, 0, &vnet);
	give(2000, 0);
}

static void a_failed_copy_costs_its_frame_only(void **state)
{
	static const int frame_of_operation[] = { 0, 0, 1, 1, 1, 2 };
	static struct received got;

	for (uint32_t failing = 0; failing < COUNT_OF(frame_of_operation); failing++)
		for (int16_t status = GNTST_eagain; status < GNTST_okay; status++) {
			setup(state);
			fake.fail_operation = failing;
			fake.fail_status = status;
			give_three();
			world_rx_post(6);
			SAME("deliver", guest_rx_deliver(&world->rx), 3);
			for (int i = 0; i < 3; i++) {
				read_frame(&got);
				SAME("failed", got.failed, i == frame_of_operation[failing]);
				SAME("no part of it", got.failed && got.length > 0, 0);
				SAME("extra", got.has_extra, i == 1);
				SAME("slots", got.slots, i == 1 ? 4 : 1);
			}
			SAME("verdict", world_rx_verdict(GUEST_RX_COPY_FAILED), 1);
			SAME("verdict", world_rx_verdict(GUEST_RX_DELIVERED), 2);
			world_teardown(state);
		}
}

static void events_are_sent_when_the_guest_asked_for_one(void **state)
{
	for (int32_t event = -2; event <= 9; event++) {
		setup(state);
		world->rx_ring->rsp_event = WORLD_START + (uint32_t)event;
		give_three();
		world_rx_post(10);
		SAME("deliver", guest_rx_deliver(&world->rx), 3);
		SAME("notified", fake.notified[FAKE_LOCAL(WORLD_RX_PORT)],
		     event >= 1 && event <= 6);
		SAME("other port", fake.notified[FAKE_LOCAL(WORLD_TX_PORT)], 0);
		world_teardown(state);
	}
}

static void the_queue_keeps_its_limits(void **state)
{
	(void)state;
	world->rx.queue.limits = (struct queue_limits){ .frames = 3, .bytes = 5000, .age_ms = 100 };
	give(1000, 0);
	give(3000, 0);
	give(1001, 0);				/* over the bytes */
	give(1000, 0);
	give(14, 0);				/* over the frames */
	assert_int_equal(world_rx_verdict(GUEST_RX_QUEUE_BYTES), 1);
	assert_int_equal(world_rx_verdict(GUEST_RX_QUEUE_FRAMES), 1);
	assert_int_equal(world->state.rx_queued_frames, 3);
	assert_int_equal(world->state.rx_queued_bytes, 5000);
	guest_rx_age(&world->rx, MS(1000));
	guest_rx_age(&world->rx, MS(1100));
	assert_int_equal(world->state.rx_queued_frames, 3);
	guest_rx_age(&world->rx, MS(1101));
	assert_int_equal(world->state.rx_queued_frames, 0);
	assert_int_equal(world->state.rx_queued_bytes, 0);
	assert_int_equal(world_rx_verdict(GUEST_RX_TOO_OLD), 3);
	give(60, 0);
	guest_rx_flush(&world->rx, GUEST_RX_DISCONNECTED);
	assert_int_equal(world_rx_verdict(GUEST_RX_DISCONNECTED), 1);
}

static void multicast_is_filtered_when_asked_for(void **state)
{
	static const uint8_t to[][6] = {
		{ 0x01, 0, 0x5e, 0, 0, 1 }, { 0x01, 0, 0x5e, 0, 0, 2 }, { 0x33, 0x33, 0, 0, 0, 1 },
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, { 0x00, 0x16, 0x3e, 0, 0, 1 },
	};
	uint8_t frame[60] = { 0 };

	(void)state;
	multicast_add(&world->multicast, to[0]);
	for (int on = 0; on < 2; on++) {
		world->rx.multicast_control = on;
		for (size_t i = 0; i < COUNT_OF(to); i++) {
			memcpy(frame, to[i], 6);
			fake_port_give(world->port, frame, sizeof frame, 0, NULL);
		}
		guest_rx_receive(&world->rx, RX_BURST);
		assert_int_equal(world->state.rx_queued_frames, on ? COUNT_OF(to) + 3 : COUNT_OF(to));
		assert_int_equal(world_rx_verdict(GUEST_RX_FILTERED), on ? 2 : 0);
	}
	guest_rx_flush(&world->rx, GUEST_RX_DISCONNECTED);
}

static void a_call_is_bounded_by_its_burst(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++)
		fake_port_give(world->port, bytes, 60, 0, NULL);
	world_rx_post(256);
	assert_int_equal(guest_rx_receive(&world->rx, RX_BURST), RX_BURST);
	assert_int_equal(guest_rx_receive(&world->rx, RX_BURST), RX_BURST);
	assert_int_equal(guest_rx_deliver(&world->rx), RX_BURST);
	assert_int_equal(world->state.rx_queued_frames, RX_BURST);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_length_arrives),
		cmocka_unit_test(every_offset_in_granted_and_plain_memory),
		TEST(segmented_frames_have_their_extra_behind_the_first_slot),
		TEST(a_guest_without_an_offload_gets_whole_frames_or_none),
		TEST(refused_frames_leave_the_queue_and_take_no_slot),
		cmocka_unit_test(lengths_a_guest_cannot_take_are_dropped),
		TEST(a_guest_with_four_buffers_is_served),
		TEST(the_frame_at_the_head_decides),
		TEST(an_overrun_is_fatal),
		TEST(bursts_of_the_largest_frames_fit_the_batch),
		cmocka_unit_test(a_failed_copy_costs_its_frame_only),
		cmocka_unit_test(events_are_sent_when_the_guest_asked_for_one),
		TEST(the_queue_keeps_its_limits),
		TEST(multicast_is_filtered_when_asked_for),
		TEST(a_call_is_bounded_by_its_burst),
	};

	return cmocka_run_group_tests_name("guest_rx", tests, NULL, NULL);
}
