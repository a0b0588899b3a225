/* test_guest_rx_cut.c - a guest that cuts no frames gets segments, and no guest gets a frame above its MTU
 *
 * The frontend's reader of rx_world.c takes segment after segment, however few buffers are posted at a
 * time; each must fit the MTU, have a right checksum as far as this guest takes it partial or not, and
 * all payloads together must be the frame's.  That segments are right in every field is test_segment.c's. */
#include "rx_world.c"

#include "../../backend/vif_config.h"

static uint8_t frame[70000];

static struct frame_layout give_gso(const struct frame_spec *spec, uint16_t size)
{
	struct virtio_net_hdr_v1 vnet;
	struct frame_layout at;

	frame_build(frame, spec, &at);
	frame_blank_checksum(frame, spec, &at);
	vnet = vnet_of(spec, &at, true);
	vnet.gso_size = size;
	fake_port_give(world->port, frame, at.length, 64, &vnet);
	SAME(spec->name, guest_rx_receive(&world->rx, RX_BURST), 1);
	return at;
}

/* What the guest has got of a frame. */
struct joined { uint32_t payload, segments; };

static void take_segment(const struct frame_spec *spec, const struct frame_layout *at, struct joined *joined)
{
	static struct received got;
	struct frame_layout mine = *at;
	bool partial = world->rx.features & (spec->ip_version == 4 ? VIF_F_CSUM_IPV4 : VIF_F_CSUM_IPV6);

	read_frame(&got);
	mine.length = got.length;
	SAME(spec->name, got.failed || got.has_extra, false);
	SAME(spec->name, got.length > at->payload && got.length <= world->rx.mtu + at->network, true);
	SAME(spec->name, got.flags, NETRXF_data_validated | (partial ? NETRXF_csum_blank : 0));
	SAME(spec->name, frame_get16(got.bytes + at->checksum),
	     partial ? naive_pseudo_header(got.bytes, spec, &mine) : naive_checksum(got.bytes, spec, &mine));
	assert_memory_equal(got.bytes + at->payload, frame + at->payload + joined->payload,
			    got.length - at->payload);
	joined->payload += got.length - at->payload;
	joined->segments++;
}

/* All of it, @buffers posted at a time. */
static void take_all(const struct frame_spec *spec, const struct frame_layout *at, int buffers, uint32_t size)
{
	struct joined joined = { 0, 0 };
	uint64_t delivered = world_rx_verdict(GUEST_RX_DELIVERED), bytes_before = world->state.rx_bytes;

	while (joined.payload < spec->payload) {
		SAME("still queued", world->state.rx_queued_frames, 1);
		SAME("not yet judged", world_rx_verdict(GUEST_RX_DELIVERED), delivered);
		world_rx_post(buffers);
		while (guest_rx_deliver(&world->rx) > 0)
			;
		while (world_rx_published() > 0)
			take_segment(spec, at, &joined);
	}
	SAME(spec->name, joined.payload, spec->payload);
	SAME(spec->name, joined.segments, (spec->payload + size - 1) / size);
	SAME("one verdict", world_rx_verdict(GUEST_RX_DELIVERED), delivered + 1);
	SAME("bytes of the frame", world->state.rx_bytes - bytes_before, at->length);
	SAME("segments", world->state.rx_segments, joined.segments);
	world->state.rx_segments = 0;
}

static void new_ring(void **state)
{
	world_teardown(state);
	setup(state);
	world->rx.mtu = 1500;
}

static void every_guest_gets_what_it_takes(void **state)
{
	static const uint32_t features[] = { 0, VIF_F_SG, VIF_F_SG | VIF_F_CSUM_IPV4, VIF_F_SG | VIF_F_CSUM_IPV6 };
	static const int buffers[] = { 1, 37, 256 };

	for (size_t i = 0; i < COUNT_OF(frame_specs); i++)
		for (size_t j = 0; j < COUNT_OF(features) * COUNT_OF(buffers); j++) {
			struct frame_spec spec = frame_specs[i];
			struct frame_layout at;

			if (spec.protocol != IPPROTO_TCP)
				continue;
			new_ring(state);
			world->rx.features = features[j % COUNT_OF(features)];
			spec.payload = 65000;
			at = give_gso(&spec, 1000);
			take_all(&spec, &at, buffers[j / COUNT_OF(features)], 1000);
		}
}

/* As many segments as fit are delivered at once, of several frames and with whole frames between. */
static void segments_and_frames_keep_their_order(void **state)
{
	const struct frame_spec six = { "tso6", 1, 6, 0, 0, IPPROTO_TCP, 12, 3000 };
	static struct received got;
	struct frame_layout at;

	(void)state;
	world->rx.mtu = 1500;
	world->rx.features = VIF_F_SG | VIF_F_CSUM_IPV4 | VIF_F_GSO_TCPV4;
	for (int i = 0; i < 3; i++) {
		give(100, 0);
		at = give_gso(&six, 1400);
	}
	world_rx_post(256);
	assert_int_equal(guest_rx_deliver(&world->rx), 12);
	for (int i = 0; i < 3; i++) {
		struct joined joined = { 0, 0 };

		read_frame(&got);
		assert_int_equal(got.length, 100);
		while (joined.payload < 3000)
			take_segment(&six, &at, &joined);
		assert_int_equal(joined.segments, 3);
	}
	assert_int_equal(world_rx_verdict(GUEST_RX_DELIVERED), 6);
	assert_false(guest_rx_arm(&world->rx));
}

static void a_guest_without_gso_gets_other_frames_as_ever(void **state)
{
	new_ring(state);
	world->rx.mtu = 9000;
	world->rx.features = VIF_F_SG;
	for (uint32_t length = 14; length <= 9018; length += 107)
		check_frame(length, length % 64);
}

/* A sender whose segments are larger than this vif's MTU is not cut off. */
static void segments_fit_the_mtu(void **state)
{
	static const struct { uint32_t mtu; uint16_t size; } rows[] = {
		{ 1500, 1449 }, { 1500, 8948 }, { 1500, 65535 }, { 576, 1448 }, { 9000, 65535 }, { 68, 1 },
		{ 120, 1448 }, { 4080, 65535 },	/* a tag's bytes are in a slot of their own */
	};
	const struct frame_spec spec = { "tso4", 1, 4, 0, 0, IPPROTO_TCP, 12, 20011 };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint32_t most = rows[i].mtu - 20 - 32;
		struct frame_layout at;

		new_ring(state);
		world->rx.features = VIF_F_SG;
		world->rx.mtu = rows[i].mtu;
		at = give_gso(&spec, rows[i].size);
		take_all(&spec, &at, 7, rows[i].size < most ? rows[i].size : most);
	}
}

static void what_cannot_be_cut_is_dropped(void **state)
{
	static const struct {
		const char *name;
		uint8_t flags, gso_type;
		uint16_t size;
		uint32_t mtu, payload;
		enum guest_rx_verdict verdict;
	} rows[] = {
		{ "udp fragments", 1, VIRTIO_NET_HDR_GSO_UDP, 1000, 1500, 3000, GUEST_RX_NO_OFFLOAD },
		{ "udp segments", 1, 5, 1000, 1500, 3000, GUEST_RX_NO_OFFLOAD },
		{ "size 0", 1, VIRTIO_NET_HDR_GSO_TCPV4, 0, 1500, 3000, GUEST_RX_BAD_FRAME },
		{ "checksum not left", 0, VIRTIO_NET_HDR_GSO_TCPV4, 1000, 1500, 3000, GUEST_RX_BAD_FRAME },
		{ "of the other version", 1, VIRTIO_NET_HDR_GSO_TCPV6, 1000, 1500, 3000, GUEST_RX_BAD_FRAME },
		{ "headers alone fill the mtu", 1, VIRTIO_NET_HDR_GSO_TCPV4, 1000, 92, 3000, GUEST_RX_TOO_LONG },
		{ "longer than a packet", 1, VIRTIO_NET_HDR_GSO_TCPV4, 1000, 1500, 65444, GUEST_RX_TOO_LARGE },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct frame_spec spec = { "", 0, 4, 40, 0, IPPROTO_TCP, 12, rows[i].payload };
		struct virtio_net_hdr_v1 vnet;
		struct frame_layout at;

		new_ring(state);
		world->rx.features = VIF_F_SG;
		world->rx.mtu = rows[i].mtu;
		frame_build(frame, &spec, &at);
		vnet = vnet_of(&spec, &at, true);
		vnet.flags = rows[i].flags;
		vnet.gso_type = rows[i].gso_type;
		vnet.gso_size = rows[i].size;
		fake_port_give(world->port, frame, at.length, 0, &vnet);
		guest_rx_receive(&world->rx, RX_BURST);
		world_rx_post(20);
		SAME(rows[i].name, guest_rx_deliver(&world->rx), 0);
		SAME(rows[i].name, world_rx_verdict(rows[i].verdict), 1);
		SAME(rows[i].name, world->state.rx_queued_frames, 0);
	}
}

/* One segment lost is the frame lost, whichever it was and however many polls it took; the next frame's
 * verdict is its own. */
static void a_failed_copy_fails_its_frame_alone(void **state)
{
	const struct frame_spec spec = { "tso4", 0, 4, 0, 0, IPPROTO_TCP, 0, 5000 };

	for (uint32_t failing = 0; failing < 10; failing++)
		for (int buffers = 1; buffers <= 10; buffers++) {
			new_ring(state);
			world->rx.features = VIF_F_SG;
			give_gso(&spec, 1000);
			give_gso(&spec, 1000);
			fake.fail_operation = failing;
			fake.fail_status = GNTST_bad_gntref;
			for (int posted = 0; posted < 10; posted += buffers) {
				world_rx_post(buffers);
				while (guest_rx_deliver(&world->rx) > 0)
					;
				world_rx_seen(world_rx_published());
			}
			SAME("failed", world_rx_verdict(GUEST_RX_COPY_FAILED), 1);
			SAME("delivered", world_rx_verdict(GUEST_RX_DELIVERED), 1);
			SAME("bytes", world->state.rx_bytes, 5054);
		}
}

/* Dropped between two segments, of old age or when the guest goes: the next frame starts at its first. */
static void a_frame_dropped_half_way_leaves_no_trace(void **state)
{
	const struct frame_spec spec = { "tso4", 0, 4, 0, 0, IPPROTO_TCP, 0, 5000 };

	for (int flush = 0; flush < 2; flush++)
		for (int failed = 0; failed < 2; failed++) {
			struct frame_layout at;

			new_ring(state);
			world->rx.features = VIF_F_SG;
			world->rx.queue.limits.age_ms = 100;
			give_gso(&spec, 1000);
			if (failed)
				fake.fail_operation = 0;
			fake.fail_status = GNTST_bad_gntref;
			world_rx_post(2);
			SAME("two", guest_rx_deliver(&world->rx), 2);
			world_rx_seen(2);
			if (flush)
				guest_rx_flush(&world->rx, GUEST_RX_DISCONNECTED);
			guest_rx_age(&world->rx, MS(1000));
			guest_rx_age(&world->rx, MS(2000));
			SAME("verdict", world_rx_verdict(flush ? GUEST_RX_DISCONNECTED : GUEST_RX_TOO_OLD), 1);
			world->state.rx_segments = 0;
			at = give_gso(&spec, 1000);
			take_all(&spec, &at, 4, 1000);
		}
}

/* Once it has begun to go a frame is paid for, whatever it takes. */
static void a_frame_is_paid_for_once(void **state)
{
	const struct frame_spec spec = { "tso4", 0, 4, 0, 0, IPPROTO_TCP, 0, 60000 };
	const struct rate rates[RATE_KINDS] = { [RATE_BYTES] = { 1, 1000000 }, [RATE_PACKETS] = { 1, 1000000 } };
	struct credit credits[RATE_KINDS] = { { CREDIT_FULL }, { CREDIT_FULL } };
	struct frame_layout at;

	new_ring(state);
	world->rx.features = VIF_F_SG;
	limiter_set(&world->rx.limiter, rates, credits);
	limiter_begin(&world->rx.limiter, MS(100000));
	at = give_gso(&spec, 1000);
	take_all(&spec, &at, 5, 1000);
	give_gso(&spec, 1000);
	world_rx_post(5);
	assert_int_equal(guest_rx_deliver(&world->rx), 0);
	assert_int_equal(world->state.rx_no_credit, 1);
	guest_rx_flush(&world->rx, GUEST_RX_DISCONNECTED);
}

/* --- frames above the MTU --------------------------------------------------------------------- */

static void the_mtu_is_kept(void **state)
{
	static const struct { const char *name; int tags; uint32_t mtu, above; bool passes; } rows[] = {
		{ "all of the mtu", 0, 1500, 0, true }, { "a tag's bytes more", 0, 1500, 4, true },
		{ "one more", 0, 1500, 5, false }, { "much more", 0, 1500, 3000, false },
		{ "with a tag", 1, 1500, 0, true }, { "with a tag, one more", 1, 1500, 1, false },
		{ "with two tags", 2, 1500, 0, true }, { "with two tags, one more", 2, 1500, 1, false },
		{ "jumbo", 2, 9000, 0, true }, { "jumbo, one more", 2, 9000, 1, false },
		{ "smallest mtu", 0, 68, 4, true }, { "smallest mtu, one more", 0, 68, 5, false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame_spec spec = { rows[i].name, rows[i].tags, 4, 0, 0, IPPROTO_UDP, 0, 0 };
		static struct received got;
		struct frame_layout at;

		new_ring(state);
		world->rx.mtu = rows[i].mtu;
		spec.payload = rows[i].mtu - 28 + rows[i].above;
		frame_build(frame, &spec, &at);
		fake_port_give(world->port, frame, at.length, 0, NULL);
		guest_rx_receive(&world->rx, RX_BURST);
		world_rx_post(4);
		SAME(rows[i].name, guest_rx_deliver(&world->rx), rows[i].passes);
		SAME(rows[i].name, world_rx_verdict(GUEST_RX_TOO_LONG), !rows[i].passes);
		if (rows[i].passes)
			read_frame(&got);
	}
}

/* TCP segments that somebody merged: a guest that cuts gets them to be cut, one that does not, cut. */
static void merged_tcp_is_cut(void **state)
{
	for (size_t i = 0; i < COUNT_OF(frame_specs); i++)
		for (int blank = 0; blank < 2; blank++)
			for (int cuts = 0; cuts < 2; cuts++) {
				struct frame_spec spec = frame_specs[i];
				static struct received got;
				struct virtio_net_hdr_v1 vnet;
				struct frame_layout at;
				uint32_t size;

				if (spec.protocol != IPPROTO_TCP)
					continue;
				new_ring(state);
				world->rx.features = cuts ? VIF_F_ALL : VIF_F_SG;
				spec.payload = 30000;
				frame_build(frame, &spec, &at);
				if (blank)
					frame_blank_checksum(frame, &spec, &at);
				vnet = vnet_of(&spec, &at, false);
				fake_port_give(world->port, frame, at.length, 0, blank ? &vnet : NULL);
				SAME(spec.name, guest_rx_receive(&world->rx, RX_BURST), 1);
				size = 1500 + at.network - at.payload;
				if (!cuts) {
					take_all(&spec, &at, 9, size);
					continue;
				}
				world_rx_post(9);
				SAME(spec.name, guest_rx_deliver(&world->rx), 1);
				read_frame(&got);
				SAME(spec.name, got.extra.u.gso.size, size);
				SAME(spec.name, got.flags, NETRXF_csum_blank | NETRXF_data_validated);
				frame_blank_checksum(frame, &spec, &at);
				assert_memory_equal(got.bytes, frame, at.length);
			}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_guest_gets_what_it_takes),
		TEST(segments_and_frames_keep_their_order),
		TEST(a_guest_without_gso_gets_other_frames_as_ever),
		TEST(segments_fit_the_mtu),
		TEST(what_cannot_be_cut_is_dropped),
		TEST(a_failed_copy_fails_its_frame_alone),
		TEST(a_frame_dropped_half_way_leaves_no_trace),
		TEST(a_frame_is_paid_for_once),
		TEST(the_mtu_is_kept),
		TEST(merged_tcp_is_cut),
	};

	return cmocka_run_group_tests_name("guest_rx_cut", tests, NULL, NULL);
}
