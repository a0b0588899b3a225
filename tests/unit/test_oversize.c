/* test_oversize.c - which frames above the MTU may be cut, and that the others stay as they are
 *
 * How such frames reach a guest is test_guest_rx_cut.c's. */
#include "../../backend/oversize.c"
#include "frames.c"
#include "unit.h"

struct row {
	const char *name;
	struct frame_spec spec;
	int at;				/* byte behind the network header to be changed, or -1 */
	uint8_t to;
	uint32_t mtu;
	bool mend;			/* the checksum after the change */
	bool want;
};

#define TCP4 { "", 0, 4, 0, 0, IPPROTO_TCP, 0, 3000 }
#define TCP6 { "", 1, 6, 0, 0, IPPROTO_TCP, 12, 3001 }

static const struct row rows[] = {
	{ "tcp4", TCP4, -1, 0, 1500, false, true },
	{ "tcp6", TCP6, -1, 0, 1500, false, true },
	{ "push, ack", TCP4, 33, 0x18, 1500, true, true },
	{ "fin, cwr, ece", TCP4, 33, 0xc1, 1500, true, true },
	{ "syn", TCP4, 33, 0x02, 1500, true, false },
	{ "rst", TCP4, 33, 0x04, 1500, true, false },
	{ "urgent", TCP4, 33, 0x20, 1500, true, false },
	{ "wrong payload", TCP4, 1000, 0xff, 1500, false, false },
	{ "wrong source", TCP4, 12, 0xff, 1500, false, false },
	{ "wrong payload, 6", TCP6, 1000, 0xff, 1500, false, false },
	{ "length of the packet less", TCP4, 3, 0, 1500, true, false },
	{ "length of the packet less, 6", TCP6, 5, 0, 1500, true, false },
	{ "fragment", TCP4, 6, 0x20, 1500, true, false },
	{ "udp", { "", 0, 4, 0, 0, IPPROTO_UDP, 0, 3000 }, -1, 0, 1500, false, false },
	{ "arp", { "", 0, 0, 0, 0, 0, 0, 3000 }, -1, 0, 1500, false, false },
	{ "no payload", { "", 0, 4, 40, 0, IPPROTO_TCP, 40, 0 }, -1, 0, 68, false, false },
	{ "one byte a segment", { "", 0, 4, 40, 0, IPPROTO_TCP, 40, 300 }, -1, 0, 121, false, true },
	{ "no byte a segment", { "", 0, 4, 40, 0, IPPROTO_TCP, 40, 300 }, -1, 0, 120, false, false },
};

static void only_sound_tcp_is_left_to_be_cut(void **state)
{
	static uint8_t bytes[4096], before[4096];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct row *row = &rows[i];
		struct segment segment = { .data = bytes };
		struct frame frame = { .segments = &segment, .segment_count = 1 };
		const struct virtio_net_hdr_v1 none = { 0 };
		struct frame_layout at;

		frame_build(bytes, &row->spec, &at);
		if (row->at >= 0)
			bytes[at.network + (uint32_t)row->at] = row->to;
		if (row->mend)
			put16(bytes + at.checksum, naive_checksum(bytes, &row->spec, &at));
		frame.length = segment.length = at.length;
		memcpy(before, bytes, at.length);
		SAME(row->name, oversize_leave_to_cut(&frame, row->mtu), row->want);
		if (!row->want) {
			assert_memory_equal(&frame.vnet, &none, sizeof none);
			assert_memory_equal(bytes, before, at.length);
			continue;
		}
		frame_blank_checksum(before, &row->spec, &at);
		assert_memory_equal(bytes, before, at.length);
		SAME(row->name, le16toh(frame.vnet.gso_size), row->mtu + at.network - at.payload);
		SAME(row->name, frame.vnet.gso_type, row->spec.ip_version == 4 ? VIRTIO_NET_HDR_GSO_TCPV4
									     : VIRTIO_NET_HDR_GSO_TCPV6);
		SAME(row->name, le16toh(frame.vnet.csum_start), at.transport);
	}
}

/* What was left blank elsewhere, as in a tunnel, cannot be told to who cuts. */
static void a_blank_checksum_must_be_tcps(void **state)
{
	static const struct { uint16_t start, offset; bool want; } places[] = {
		{ 34, 16, true }, { 34, 6, false }, { 54, 16, false }, { 0, 50, false },
	};
	const struct frame_spec spec = TCP4;
	static uint8_t bytes[4096];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		struct segment segment = { .data = bytes };
		struct frame frame = { .segments = &segment, .segment_count = 1 };
		struct frame_layout at;

		frame_build(bytes, &spec, &at);
		frame_blank_checksum(bytes, &spec, &at);
		frame.length = segment.length = at.length;
		frame.vnet.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		frame.vnet.csum_start = htole16(places[i].start);
		frame.vnet.csum_offset = htole16(places[i].offset);
		SAME("place", oversize_leave_to_cut(&frame, 1500), places[i].want);
		SAME("kept", frame_get16(bytes + at.checksum), naive_pseudo_header(bytes, &spec, &at));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_sound_tcp_is_left_to_be_cut),
		cmocka_unit_test(a_blank_checksum_must_be_tcps),
	};

	return cmocka_run_group_tests_name("oversize", tests, NULL, NULL);
}
