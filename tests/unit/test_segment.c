/* test_segment.c - segments are what the sender would have sent itself
 *
 * For every shape of headers, many segment sizes and lengths, all TCP flags that matter and both kinds
 * of checksum, each segment is compared with the frame: the twin blanks in both the fields that may
 * differ, wants the rest to be the same byte for byte, then checks each of those fields by itself, in
 * big endian and byte by byte.  The payloads together must be the frame's.  Identification and sequence
 * number start just below their wrap.  Frame and segments lie in heap blocks of just their length. */
#include "../../backend/segment.c"
#include "frame_specs.h"
#include "frames.c"
#include "unit.h"

#define FIRST_ID 0xfffe
#define FIRST_SEQUENCE 0xfffffff0u

struct sender {
	struct frame_spec spec;
	struct frame_layout at;
	uint16_t size;			/* gso_size */
	uint8_t flags;			/* of TCP */
	uint8_t *frame;			/* partial checksum */
	struct virtio_net_hdr_v1 vnet;
};

static uint32_t get32(const uint8_t *at)
{
	return frame_get16(at) * 65536u + frame_get16(at + 2);
}

/* Fills what frame_build() leaves zero, so that losing it shows. */
static void decorate(struct sender *sender)
{
	uint8_t *ip = sender->frame + sender->at.network;
	uint8_t *tcp = sender->frame + sender->at.transport;

	if (sender->spec.ip_version == 4) {
		ip[1] = 0x2e;
		put16(ip + 4, FIRST_ID);
		put16(ip + 10, 0xdead);	/* senders may leave anything there */
		for (int i = 0; i < sender->spec.ip_options; i++)
			ip[20 + i] = (uint8_t)(0x81 + i);
	} else {
		memcpy(ip + 1, "\x2a\xbc\xde", 3);	/* traffic class, flow label */
	}
	memcpy(tcp, "\x12\x34\x56\x78", 4);
	put16(tcp + 4, FIRST_SEQUENCE >> 16);
	put16(tcp + 6, FIRST_SEQUENCE & 0xffff);
	memcpy(tcp + 8, "\x9a\xbc\xde\xf0", 4);
	tcp[12] |= 0x0f;		/* reserved bits, AccECN among them */
	tcp[13] = sender->flags;
	memcpy(tcp + 14, "\x43\x21", 2);
	memcpy(tcp + 18, "\x00\x07", 2);
	for (int i = 0; i < sender->spec.tcp_options; i++)
		tcp[20 + i] = (uint8_t)(0x41 + i);
}

static struct sender sender_make(const struct frame_spec *spec, uint32_t payload, uint16_t size,
				 uint8_t flags)
{
	struct sender sender = { .spec = *spec, .size = size, .flags = flags };

	sender.spec.payload = payload;
	sender.frame = malloc(frame_spec_length(&sender.spec));
	frame_build(sender.frame, &sender.spec, &sender.at);
	decorate(&sender);
	frame_blank_checksum(sender.frame, &sender.spec, &sender.at);
	sender.vnet = (struct virtio_net_hdr_v1){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = spec->ip_version == 4 ? VIRTIO_NET_HDR_GSO_TCPV4
						  : VIRTIO_NET_HDR_GSO_TCPV6,
		.hdr_len = htole16((uint16_t)sender.at.payload),
		.gso_size = htole16(size),
		.csum_start = htole16((uint16_t)sender.at.transport),
		.csum_offset = htole16((uint16_t)(sender.at.checksum - sender.at.transport)),
	};
	return sender;
}

/* --- the twin --------------------------------------------------------------------------------- */

static void blank_what_may_differ(uint8_t *head, const struct sender *sender)
{
	uint8_t *ip = head + sender->at.network, *tcp = head + sender->at.transport;

	if (sender->spec.ip_version == 4) {
		memset(ip + 2, 0, 4);
		memset(ip + 10, 0, 2);
	} else {
		memset(ip + 4, 0, 2);
	}
	memset(tcp + 4, 0, 4);
	tcp[13] = 0;
	memset(tcp + 16, 0, 2);
}

static void check_ip(const struct sender *sender, const uint8_t *out, uint32_t length, uint32_t number)
{
	const uint8_t *ip = out + sender->at.network;
	const char *name = sender->spec.name;

	if (sender->spec.ip_version == 6) {
		SAME(name, frame_get16(ip + 4), length - sender->at.network - 40);
		return;
	}
	SAME(name, frame_get16(ip + 2), length - sender->at.network);
	SAME(name, frame_get16(ip + 4), (FIRST_ID + number) % 65536);
	SAME(name, naive_sum(0, ip, sender->at.transport - sender->at.network), 0xffff);
}

static void check_tcp(const struct sender *sender, const uint8_t *out, uint32_t length, uint32_t number,
		      bool whole)
{
	const uint8_t *tcp = out + sender->at.transport;
	uint32_t before = number * sender->size;
	bool last = before + sender->size >= sender->spec.payload;
	struct frame_layout at = sender->at;
	const char *name = sender->spec.name;
	uint8_t flags = sender->flags;

	at.length = length;
	flags &= number == 0 ? 0xff : 0x7f;
	flags &= last ? 0xff : 0xf6;
	SAME(name, get32(tcp + 4), FIRST_SEQUENCE + before);
	SAME(name, tcp[13], flags);
	SAME(name, frame_get16(out + at.checksum),
	     whole ? naive_checksum(out, &sender->spec, &at)
		   : naive_pseudo_header(out, &sender->spec, &at));
}

static void check_segment(const struct sender *sender, const uint8_t *out, uint32_t length,
			  uint32_t number, bool whole)
{
	uint8_t want[PACKET_HEAD_MAX], got[PACKET_HEAD_MAX];

	memcpy(want, sender->frame, sender->at.payload);
	memcpy(got, out, sender->at.payload);
	blank_what_may_differ(want, sender);
	blank_what_may_differ(got, sender);
	assert_memory_equal(got, want, sender->at.payload);
	check_ip(sender, out, length, number);
	check_tcp(sender, out, length, number, whole);
}

static void check_vnet(const struct sender *sender, const struct virtio_net_hdr_v1 *vnet, bool whole)
{
	struct virtio_net_hdr_v1 want = { .flags = VIRTIO_NET_HDR_F_DATA_VALID };

	if (!whole)
		want = (struct virtio_net_hdr_v1){
			.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
			.csum_start = sender->vnet.csum_start,
			.csum_offset = sender->vnet.csum_offset,
		};
	assert_memory_equal(vnet, &want, sizeof want);
}

/* Cuts the frame and puts it together again. */
static void check_cut(const struct sender *sender, bool whole)
{
	const char *name = sender->spec.name;
	uint32_t left = sender->spec.payload, number = 0, head = sender->at.payload;
	uint32_t largest = head + (left < sender->size ? left : sender->size);
	uint8_t *joined = malloc(left), *original = malloc(sender->at.length);
	struct segmentation s;
	uint8_t none;

	memcpy(original, sender->frame, sender->at.length);
	SAME(name, segment_begin(&s, sender->frame, sender->at.length, &sender->vnet,
				 whole ? SEGMENT_CHECKSUM_WHOLE : SEGMENT_CHECKSUM_PARTIAL, largest), 0);
	SAME(name, s.length_max, largest);
	check_vnet(sender, &s.vnet, whole);
	for (; left > 0; number++) {
		uint32_t payload = left < sender->size ? left : sender->size;
		uint8_t *out = malloc(head + payload);

		memset(out, 0xee, head + payload);
		SAME(name, segment_next(&s, out), head + payload);
		check_segment(sender, out, head + payload, number, whole);
		memcpy(joined + (sender->spec.payload - left), out + head, payload);
		left -= payload;
		free(out);
	}
	SAME(name, s.count, number);
	SAME(name, segment_next(&s, &none), 0);
	SAME(name, segment_next(&s, &none), 0);
	assert_memory_equal(joined, sender->frame + head, sender->spec.payload);
	assert_memory_equal(sender->frame, original, sender->at.length);
	free(original);
	free(joined);
}

static void check_both(const struct frame_spec *spec, uint32_t payload, uint16_t size, uint8_t flags)
{
	struct sender sender = sender_make(spec, payload, size, flags);

	check_cut(&sender, false);
	check_cut(&sender, true);
	free(sender.frame);
}

/* --- what is cut ------------------------------------------------------------------------------ */

static void every_shape_in_every_size(void **state)
{
	static const uint16_t sizes[] = { 1, 2, 3, 7, 88, 535, 1447, 1448, 8960, 65535 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(frame_specs); i++) {
		if (frame_specs[i].protocol != IPPROTO_TCP)
			continue;
		for (size_t j = 0; j < COUNT_OF(sizes); j++) {
			const uint32_t payloads[] = {
				1, 2, sizes[j] - 1u, sizes[j], sizes[j] + 1u, 2u * sizes[j] - 1,
				2u * sizes[j], 2u * sizes[j] + 1, 5u * sizes[j] + 3,
			};

			for (size_t k = 0; k < COUNT_OF(payloads); k++)
				if (payloads[k] > 0 && payloads[k] < 65000)
					check_both(&frame_specs[i], payloads[k], sizes[j], 0x18);
		}
	}
}

static void every_set_of_flags(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags <= 0xff; flags++)
		for (uint32_t segments = 1; segments <= 4; segments++) {
			check_both(&frame_specs[0], segments * 9, 9, (uint8_t)flags);
			check_both(&frame_specs[8], segments * 9 - 1, 9, (uint8_t)flags);
		}
}

/* As many as there can be: identification wraps within, all of it in single bytes. */
static void the_longest_packet(void **state)
{
	static const uint16_t sizes[] = { 1, 1448, 65535 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		check_both(&frame_specs[0], SEGMENT_IP_MAX - 40, sizes[i], 0x11);
		check_both(&frame_specs[7], SEGMENT_IP_MAX - 60, sizes[i], 0x11);
		check_both(&frame_specs[4], SEGMENT_IP_MAX - 120, sizes[i], 0x11);
	}
}

/* The checksum is that of the last destination (RFC 8200 section 8.1), which only the sender's sum
 * knows: the difference between the two must be found again in each segment. */
static void a_routed_packet_keeps_its_last_destination(void **state)
{
	const struct frame_spec spec = { "routed", 0, 6, 0, 2, IPPROTO_TCP, 0, 0 };
	const uint16_t difference = 0x1234;
	struct sender sender = sender_make(&spec, 3000, 1000, 0x10);
	struct segmentation s;
	uint8_t out[2000];

	(void)state;
	for (int whole = 0; whole < 2; whole++) {
		frame_blank_checksum(sender.frame, &sender.spec, &sender.at);
		put16(sender.frame + sender.at.checksum,
		      frame_get16(sender.frame + sender.at.checksum) + difference);
		SAME(spec.name, segment_begin(&s, sender.frame, sender.at.length, &sender.vnet,
					      whole ? SEGMENT_CHECKSUM_WHOLE : SEGMENT_CHECKSUM_PARTIAL,
					      sizeof out), 0);
		for (int i = 0; i < 3; i++) {
			struct frame_layout at = sender.at;
			uint8_t change[2];
			uint16_t sum;

			at.length = segment_next(&s, out);
			sum = whole ? (uint16_t)~naive_checksum(out, &sender.spec, &at)
				    : naive_pseudo_header(out, &sender.spec, &at);
			put16(change, difference);
			sum = naive_sum(sum, change, 2);
			SAME(spec.name, frame_get16(out + at.checksum), whole ? (uint16_t)~sum : sum);
		}
	}
	free(sender.frame);
}

/* Identification, ECN and hdr_len are the sender's affair. */
static void what_does_not_matter_makes_no_difference(void **state)
{
	struct sender sender = sender_make(&frame_specs[1], 4000, 1448, 0xd9);

	(void)state;
	sender.vnet.gso_type |= VIRTIO_NET_HDR_GSO_ECN;
	sender.vnet.hdr_len = htole16(0xffff);
	sender.vnet.num_buffers = htole16(7);
	check_cut(&sender, false);
	put16(sender.frame + sender.at.network + 2, 0);		/* nor does the packet's own length */
	check_cut(&sender, true);
	free(sender.frame);
}

/* --- what is refused -------------------------------------------------------------------------- */

struct refusal {
	const char *name;
	int spec;			/* frame_specs[] */
	uint32_t payload;
	int want;
	uint8_t flags, gso_type;
	uint16_t gso_size;
	int start, offset;		/* added to what is right */
	int cut;			/* bytes missing at the frame's end */
	int small;			/* bytes missing in the caller's buffer */
};

static const struct refusal refusals[] = {
	{ "nothing wrong", 0, 2000, 0, 1, 1, 1448, 0, 0, 0, 0 },
	{ "nothing wrong, 6", 7, 2000, 0, 1, 4, 1428, 0, 0, 0, 0 },
	{ "other flags beside", 0, 2000, 0, 0xff, 1, 1448, 0, 0, 0, 0 },
	{ "no segmentation", 0, 2000, -EOPNOTSUPP, 1, 0, 1448, 0, 0, 0, 0 },
	{ "ecn alone", 0, 2000, -EOPNOTSUPP, 1, 0x80, 1448, 0, 0, 0, 0 },
	{ "udp fragmentation", 5, 2000, -EOPNOTSUPP, 1, 3, 1448, 0, 0, 0, 0 },
	{ "udp segmentation", 5, 2000, -EOPNOTSUPP, 1, 5, 1448, 0, 0, 0, 0 },
	{ "unknown bit", 0, 2000, -EOPNOTSUPP, 1, 0x41, 1448, 0, 0, 0, 0 },
	{ "checksum not blank", 0, 2000, -EINVAL, 0, 1, 1448, 0, 0, 0, 0 },
	{ "checksum valid", 0, 2000, -EINVAL, 2, 1, 1448, 0, 0, 0, 0 },
	{ "size 0", 0, 2000, -EINVAL, 1, 1, 0, 0, 0, 0, 0 },
	{ "4 as 6", 0, 2000, -EINVAL, 1, 4, 1448, 0, 0, 0, 0 },
	{ "6 as 4", 7, 2000, -EINVAL, 1, 1, 1448, 0, 0, 0, 0 },
	{ "udp as tcp", 5, 2000, -EINVAL, 1, 1, 1448, 0, 0, 0, 0 },
	{ "udp as tcp, 6", 11, 2000, -EINVAL, 1, 4, 1448, 0, 0, 0, 0 },
	{ "start before", 0, 2000, -EINVAL, 1, 1, 1448, -1, 0, 0, 0 },
	{ "start behind", 0, 2000, -EINVAL, 1, 1, 1448, 2, -2, 0, 0 },
	{ "offset behind", 0, 2000, -EINVAL, 1, 1, 1448, 0, 1, 0, 0 },
	{ "offset of udp", 0, 2000, -EINVAL, 1, 1, 1448, 0, -10, 0, 0 },
	{ "no payload", 0, 0, -EINVAL, 1, 1, 1448, 0, 0, 0, 0 },
	{ "no payload, 6", 8, 0, -EINVAL, 1, 4, 1448, 0, 0, 0, 0 },
	{ "options cut off", 1, 10, -EINVAL, 1, 1, 1448, 0, 0, 11, 0 },
	{ "longest", 0, 65495, 0, 1, 1, 1448, 0, 0, 0, 0 },
	{ "one longer", 0, 65496, -EMSGSIZE, 1, 1, 1448, 0, 0, 0, 0 },
	{ "longest, 6", 7, 65475, 0, 1, 4, 65535, 0, 0, 0, 0 },
	{ "one longer, 6", 7, 65476, -EMSGSIZE, 1, 4, 65535, 0, 0, 0, 0 },
	{ "no room", 0, 2000, -EMSGSIZE, 1, 1, 1448, 0, 0, 0, 1 },
	{ "no room, one segment", 0, 1000, -EMSGSIZE, 1, 1, 1448, 0, 0, 0, 1 },
	{ "no room at all", 0, 2000, -EMSGSIZE, 1, 1, 1448, 0, 0, 0, 1502 },
};

static void what_does_not_fit_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		const struct refusal *row = &refusals[i];
		struct sender sender = sender_make(&frame_specs[row->spec], row->payload,
						   row->gso_size, 0x10);
		uint32_t payload = row->payload < row->gso_size ? row->payload : row->gso_size;
		uint32_t length = sender.at.length - (uint32_t)row->cut;
		uint8_t *frame = malloc(length), none;
		struct segmentation s;

		memcpy(frame, sender.frame, length);
		sender.vnet.flags = row->flags;
		sender.vnet.gso_type = row->gso_type;
		sender.vnet.csum_start = htole16((uint16_t)((int)sender.at.transport + row->start));
		sender.vnet.csum_offset = htole16((uint16_t)((int)sender.at.checksum -
							     (int)sender.at.transport + row->offset));
		SAME(row->name, segment_begin(&s, frame, length, &sender.vnet, SEGMENT_CHECKSUM_WHOLE,
					      sender.at.payload + payload - (uint32_t)row->small),
		     row->want);
		if (row->want != 0) {
			SAME(row->name, s.count, 0);
			SAME(row->name, segment_next(&s, &none), 0);
		}
		free(frame);
		free(sender.frame);
	}
}

/* A fragment's bytes are not TCP's; a frame that ends early has none. */
static void broken_headers_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(frame_specs); i++) {
		struct sender sender = sender_make(&frame_specs[i], 100, 10, 0x10);
		struct segmentation s;

		if (sender.spec.protocol == IPPROTO_TCP)
			for (uint32_t length = 0; length <= sender.at.payload; length++) {
				uint8_t *frame = malloc(length + 1);

				memcpy(frame + 1, sender.frame, length);
				SAME(sender.spec.name,
				     segment_begin(&s, frame + 1, length, &sender.vnet,
						   SEGMENT_CHECKSUM_WHOLE, 4096), -EINVAL);
				free(frame);
			}
		if (sender.spec.protocol == IPPROTO_TCP && sender.spec.ip_version == 4) {
			put16(sender.frame + sender.at.network + 6, 0x2000);
			SAME(sender.spec.name,
			     segment_begin(&s, sender.frame, sender.at.length, &sender.vnet,
					   SEGMENT_CHECKSUM_WHOLE, 4096), -EINVAL);
		}
		free(sender.frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shape_in_every_size),
		cmocka_unit_test(every_set_of_flags),
		cmocka_unit_test(the_longest_packet),
		cmocka_unit_test(a_routed_packet_keeps_its_last_destination),
		cmocka_unit_test(what_does_not_matter_makes_no_difference),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(broken_headers_are_refused),
	};

	return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
