/* test_packet.c - headers are found where the builder put them, and nowhere else
 *
 * Each chain is cut at every length: it must parse exactly when all its headers are there, reading
 * only what it was given (each cut is a heap block of its own, so ASan watches its end). */
#include "../../backend/packet.c"
#include "frame_specs.h"
#include "frames.c"
#include "unit.h"

static int parse_cut(const uint8_t *frame, uint32_t have, struct packet_layout *layout)
{
	uint8_t *cut = malloc(have ? have : 1);
	int result;

	memcpy(cut, frame, have);
	result = packet_parse(cut, have, layout);
	free(cut);
	return result;
}

static void headers_are_found_as_soon_as_all_are_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(frame_specs); i++) {
		const struct frame_spec *spec = &frame_specs[i];
		uint8_t frame[2048];
		struct frame_layout want;

		frame_build(frame, spec, &want);
		for (uint32_t have = 0; have <= want.length; have++) {
			struct packet_layout got;
			int result = parse_cut(frame, have, &got);

			SAME(spec->name, result, have < want.payload ? -EINVAL : 0);
			if (result)
				continue;
			SAME(spec->name, got.network, want.network);
			SAME(spec->name, got.transport, want.transport);
			SAME(spec->name, got.transport + got.checksum, want.checksum);
			SAME(spec->name, got.payload, want.payload);
			SAME(spec->name, got.ip_version, spec->ip_version);
			SAME(spec->name, got.protocol, spec->protocol);
		}
	}
}

/* One byte of a good frame changed: @at counts from the network header; -1: the type. */
struct bad_byte { const char *name; int spec; int at; uint8_t value; };
#define IP4 1
#define IP6 7
#define IP6_EXTENSION 9
static const struct bad_byte bad_bytes[] = {
	{ "arp", IP4, -1, 0x06 },
	{ "version 5 in IPv4", IP4, 0, 0x55 },
	{ "version 6 in IPv4's type", IP4, 0, 0x65 },
	{ "header length 4", IP4, 0, 0x44 },
	{ "header length 0", IP4, 0, 0x40 },
	{ "icmp", IP4, 9, 1 },
	{ "gre", IP4, 9, 47 },
	{ "later fragment", IP4, 7, 1 },
	{ "later fragment, high bit", IP4, 6, 0x10 },
	{ "first fragment", IP4, 6, 0x20 },
	{ "tcp offset 4", IP4, 20 + 12, 0x40 },
	{ "tcp offset 0", IP4, 20 + 12, 0x00 },
	{ "version 4 in IPv6's type", IP6, 0, 0x40 },
	{ "icmp6", IP6, 6, 58 },
	{ "no next header", IP6, 6, 59 },
	{ "authentication header", IP6, 6, 51 },
	{ "unknown behind extension", IP6_EXTENSION, 40, 200 },
	{ "extension longer than the head", IP6_EXTENSION, 41, 255 },
	{ "extension ends at the frame's end", IP6_EXTENSION, 41, 9 },
};

static void what_is_not_tcp_or_udp_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad_bytes); i++) {
		const struct bad_byte *row = &bad_bytes[i];
		uint8_t frame[2048];
		struct frame_layout layout;
		struct packet_layout got;

		frame_build(frame, &frame_specs[row->spec], &layout);
		frame[row->at < 0 ? 13 : (int)layout.network + row->at] = row->value;
		SAME(row->name, parse_cut(frame, layout.length, &got), -EINVAL);
	}
}

static void three_vlan_tags_are_too_many(void **state)
{
	const struct frame_spec spec = { "three", 3, 4, 0, 0, IPPROTO_UDP, 0, 64 };
	uint8_t frame[256];
	struct frame_layout layout;
	struct packet_layout got;

	(void)state;
	frame_build(frame, &spec, &layout);
	assert_int_equal(packet_parse(frame, layout.length, &got), -EINVAL);
}

/* A fragment's checksum spans the whole datagram: only one that is the whole may pass. */
static void ipv6_fragments_pass_only_if_they_are_the_whole(void **state)
{
	static const struct { const char *name; uint16_t field; int result; } rows[] = {
		{ "atomic", 0x0000, 0 },
		{ "atomic, reserved bits", 0x0006, 0 },
		{ "first of many", 0x0001, -EINVAL },
		{ "last of many", 0x0008, -EINVAL },
		{ "middle", 0xfff9, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t frame[2048];
		struct frame_layout layout;
		struct packet_layout got;

		frame_build(frame, &frame_specs[IP6_EXTENSION], &layout);
		frame[layout.network + 6] = IPPROTO_FRAGMENT;
		frame[layout.network + 42] = (uint8_t)(rows[i].field >> 8);
		frame[layout.network + 43] = (uint8_t)rows[i].field;
		SAME(rows[i].name, packet_parse(frame, layout.length, &got), rows[i].result);
	}
}

/* A chain of extensions that never ends is bounded by the head. */
static void endless_extensions_end_with_the_head(void **state)
{
	static uint8_t frame[65535];
	struct packet_layout got;

	(void)state;
	memset(frame, 0, sizeof frame);
	frame[12] = 0x86;
	frame[13] = 0xdd;
	frame[14] = 0x60;
	frame[20] = IPPROTO_HOPOPTS;	/* each extension names a hop-by-hop header next (0) */
	assert_int_equal(packet_parse(frame, sizeof frame, &got), -EINVAL);
}

/* Random bytes behind a plausible start: no answer is checked but that it is one and in bounds. */
static void random_bytes_never_point_outside(void **state)
{
	uint64_t seed = 0x5eed;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		uint8_t frame[300];
		uint32_t have;
		struct packet_layout got;

		for (size_t i = 0; i < sizeof frame; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			frame[i] = (uint8_t)(seed >> 56) & (seed >> 40 & 1 ? 0xff : 0x3c);
		}
		have = (uint32_t)(seed >> 33) % sizeof frame;
		memcpy(frame + 12, round & 1 ? "\x08\x00\x45" : "\x86\xdd\x60", 3);
		if (packet_parse(frame, have, &got) == 0)
			SAME("payload", got.payload <= have && got.payload <= PACKET_HEAD_MAX &&
			     got.transport + got.checksum + 2 <= got.payload &&
			     got.network + 20 <= got.transport, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_found_as_soon_as_all_are_there),
		cmocka_unit_test(what_is_not_tcp_or_udp_is_refused),
		cmocka_unit_test(three_vlan_tags_are_too_many),
		cmocka_unit_test(ipv6_fragments_pass_only_if_they_are_the_whole),
		cmocka_unit_test(endless_extensions_end_with_the_head),
		cmocka_unit_test(random_bytes_never_point_outside),
	};

	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
