/* test_guest_tx_cut.c - a port that takes no uncut frames, or no blank checksums, gets none
 *
 * For every port there is by offloads: what is sent has a right checksum as far as the port takes it
 * partial, is no longer than it may be, stands in the order it came, and counts once. */
#include "../../backend/guest_tx.c"
#include "frame_specs.h"
#include "frames.c"
#include "unit.h"
#include "world.c"

static uint8_t frame[65536];

static int slots_of(uint32_t length, uint32_t sizes[])
{
	int n = 0;

	for (; length > 0; length -= sizes[n++])
		sizes[n] = length < 4096 ? length : n == 0 ? 1001 : 4096;
	return n;
}

static struct frame_layout post(const struct frame_spec *spec, uint16_t size)
{
	struct netif_extra_info gso = {
		.type = XEN_NETIF_EXTRA_TYPE_GSO,
		.u.gso = { .size = size, .type = spec->ip_version == 4 ? XEN_NETIF_GSO_TYPE_TCPV4
								       : XEN_NETIF_GSO_TYPE_TCPV6 },
	};
	uint32_t sizes[NETIF_SLOTS_MAX];
	struct frame_layout at;

	frame_build(frame, spec, &at);
	frame_blank_checksum(frame, spec, &at);
	world_tx_frame(frame, sizes, slots_of(at.length, sizes), NETTXF_csum_blank, size ? &gso : NULL);
	world_tx_publish();
	return at;
}

static void check_piece(const struct frame_spec *spec, const struct frame_layout *at, uint16_t size, bool whole,
			const struct fake_sent *got, uint32_t payload)
{
	struct frame_layout mine = *at;

	mine.length = got->length;
	SAME(spec->name, got->length, at->payload + (spec->payload - payload < size ? spec->payload - payload : size));
	SAME(spec->name, got->vnet.gso_type, VIRTIO_NET_HDR_GSO_NONE);
	SAME(spec->name, got->vnet.flags, whole ? VIRTIO_NET_HDR_F_DATA_VALID : VIRTIO_NET_HDR_F_NEEDS_CSUM);
	SAME(spec->name, frame_get16(got->bytes + at->checksum),
	     whole ? naive_checksum(got->bytes, spec, &mine) : naive_pseudo_header(got->bytes, spec, &mine));
	assert_memory_equal(got->bytes + at->payload, frame + at->payload + payload, got->length - at->payload);
}

static void every_port_gets_what_it_takes(void **state)
{
	static const uint32_t takes[] = {
		0, OFFLOAD_CSUM, OFFLOAD_CSUM | OFFLOAD_TSO4, OFFLOAD_CSUM | OFFLOAD_TSO6, OFFLOAD_ALL,
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(frame_specs); i++)
		for (size_t j = 0; j < COUNT_OF(takes); j++) {
			struct frame_spec spec = frame_specs[i];
			uint32_t tso = spec.ip_version == 4 ? OFFLOAD_TSO4 : OFFLOAD_TSO6, payload = 0;
			struct fake_port *port = fake_port_of(world->port);
			uint64_t bytes = world->state.tx_bytes, segments = world->state.tx_segments;
			struct frame_layout at;

			if (spec.protocol != IPPROTO_TCP)
				continue;
			spec.payload = 60007;
			world->tx.takes = takes[j];
			at = post(&spec, 800);
			SAME(spec.name, world_tx_run(), 0);
			SAME("bytes", world->state.tx_bytes - bytes, at.length);
			if (takes[j] & tso) {
				SAME(spec.name, port->sent_count, 1);
				SAME(spec.name, port->sent[0].length, at.length);
				SAME("segments", world->state.tx_segments, segments);
			} else {
				SAME(spec.name, port->sent_count, 76);
				SAME("segments", world->state.tx_segments - segments, 76);
				for (int n = 0; n < port->sent_count; n++, payload += 800)
					check_piece(&spec, &at, 800, !(takes[j] & OFFLOAD_CSUM), &port->sent[n], payload);
			}
			fake_port_forget_sent(world->port);
		}
	assert_int_equal(world_tx_verdict(GUEST_TX_SENT), world->state.tx_frames);
}

static void checksums_are_filled_in(void **state)
{
	struct fake_port *port = fake_port_of(world->port);

	(void)state;
	world->tx.takes = 0;
	for (size_t i = 0; i < COUNT_OF(frame_specs); i++) {
		struct frame_layout at = post(&frame_specs[i], 0);

		SAME(frame_specs[i].name, world_tx_run(), 0);
		SAME(frame_specs[i].name, port->sent_count, 1);
		frame_build(frame, &frame_specs[i], &at);
		SAME(frame_specs[i].name, port->sent[0].length, at.length);
		assert_memory_equal(port->sent[0].bytes, frame, at.length);
		SAME(frame_specs[i].name, port->sent[0].vnet.flags, VIRTIO_NET_HDR_F_DATA_VALID);
		fake_port_forget_sent(world->port);
	}
	assert_int_equal(world->state.tx_checksummed, COUNT_OF(frame_specs));
}

/* Large frames between small ones, in one poll. */
static void frames_and_segments_keep_their_order(void **state)
{
	static const uint32_t sizes[] = { 60 };
	const struct frame_spec spec = { "tso4", 0, 4, 0, 0, IPPROTO_TCP, 0, 3000 };
	struct fake_port *port = fake_port_of(world->port);
	static const int expected[] = { 0, 1, 0, 0, 1, 1, 0 };	/* 1: a large one */
	uint8_t small[60] = { 0 };
	int sent = 0;

	(void)state;
	world->tx.takes = OFFLOAD_CSUM;
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		small[20] = (uint8_t)i;
		if (expected[i])
			post(&spec, 1000);
		else
			world_tx_frame(small, sizes, 1, 0, NULL);
	}
	world_tx_publish();
	assert_int_equal(world_tx_run(), 0);
	for (size_t i = 0; i < COUNT_OF(expected); i++)
		for (int n = 0; n < (expected[i] ? 3 : 1); n++, sent++) {
			SAME("length", port->sent[sent].length, expected[i] ? 1054 : 60);
			if (!expected[i])
				SAME("which", port->sent[sent].bytes[20], i);
			else
				SAME("which segment", frame_get16(port->sent[sent].bytes + 40), 1000 * n);
		}
	assert_int_equal(port->sent_count, sent);
	assert_int_equal(world_tx_verdict(GUEST_TX_SENT), COUNT_OF(expected));
}

/* No frame counts as sent of which a part was not; what cannot be sent is not tried on and on. */
static void a_port_that_refuses_a_segment(void **state)
{
	const struct frame_spec spec = { "tso4", 0, 4, 0, 0, IPPROTO_TCP, 0, 60000 };
	struct fake_port *port = fake_port_of(world->port);

	(void)state;
	world->tx.takes = 0;
	port->send_verdict = GUEST_TX_PORT_FULL;
	post(&spec, 200);
	assert_int_equal(world_tx_run(), 0);
	assert_int_equal(world_tx_verdict(GUEST_TX_PORT_FULL), 1);
	assert_int_equal(world_tx_verdict(GUEST_TX_SENT), 0);
	assert_int_equal(world->state.tx_bytes, 0);
	assert_int_equal(world->state.tx_segments, 0);
	assert_int_equal(port->sent_count, CUTTER_PIECES_MAX);
	port->send_verdict = GUEST_TX_SENT;
}

/* A guest must not make us do a system call for every byte; as long as the kernel cuts it is free to. */
static void segments_of_a_few_bytes_are_refused(void **state)
{
	static const struct { uint32_t takes; uint16_t size; enum guest_tx_verdict verdict; } rows[] = {
		{ 0, 7, GUEST_TX_BAD_OFFLOAD }, { 0, 8, GUEST_TX_SENT }, { 0, 1, GUEST_TX_BAD_OFFLOAD },
		{ OFFLOAD_CSUM | OFFLOAD_TSO6, 7, GUEST_TX_BAD_OFFLOAD }, { OFFLOAD_ALL, 1, GUEST_TX_SENT },
	};
	const struct frame_spec spec = { "tso4", 0, 4, 0, 0, IPPROTO_TCP, 0, 1000 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t before = world_tx_verdict(rows[i].verdict);

		world->tx.takes = rows[i].takes;
		post(&spec, rows[i].size);
		SAME("poll", world_tx_run(), 0);
		SAME("verdict", world_tx_verdict(rows[i].verdict), before + 1);
		fake_port_forget_sent(world->port);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_port_gets_what_it_takes),
		TEST(checksums_are_filled_in),
		TEST(frames_and_segments_keep_their_order),
		TEST(a_port_that_refuses_a_segment),
		TEST(segments_of_a_few_bytes_are_refused),
	};

	return cmocka_run_group_tests_name("guest_tx_cut", tests, NULL, NULL);
}
