/* fuzz_offload.c - any bytes for packet_parse(), both directions of offload, segmentation
 *
 * A twin parses by asking for one byte at a time, and says "no" as soon as one is missing; it must
 * agree with packet_parse() for every input.  Then the same bytes come from a guest, cut into segments
 * anywhere, and go to a guest with any features behind any virtio header: headers must point inside
 * the frame, nothing but a checksum field may change, and the checksums must be the naive ones.  What
 * asks for segmentation is cut: payloads must be the frame's, and each checksum must be right where the
 * frame's was. */
#include <endian.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "../../backend/offload.h"
#include "../../backend/packet.h"
#include "../../backend/port.h"
#include "../../backend/segment.h"
#include "../../backend/vif_config.h"
#include "fuzz.h"

#define SEGMENTS_MAX 19

/* --- the twin --------------------------------------------------------------------------------- */

struct bytes { const uint8_t *data; uint32_t length; bool missing; };

static uint32_t byte_at(struct bytes *bytes, uint32_t at)
{
	if (at < bytes->length && at < PACKET_HEAD_MAX)
		return bytes->data[at];
	bytes->missing = true;
	return 0;
}

static uint32_t word_at(struct bytes *bytes, uint32_t at)
{
	return byte_at(bytes, at) * 256 + byte_at(bytes, at + 1);
}

static void need(struct bytes *bytes, uint32_t end)
{
	if (end > 0)
		byte_at(bytes, end - 1);
}

static bool twin_ipv6(struct bytes *b, uint32_t *at, uint32_t *protocol)
{
	need(b, *at + 40);
	*protocol = byte_at(b, *at + 6);
	*at += 40;
	while (!b->missing && (*protocol == 0 || *protocol == 43 || *protocol == 60 ||
			       *protocol == 44)) {
		bool fragment = *protocol == 44;

		need(b, *at + 8);
		if (fragment && (word_at(b, *at + 2) & ~6u) != 0)
			return false;
		*protocol = byte_at(b, *at);
		*at += fragment ? 8 : 8 * (1 + byte_at(b, *at + 1));
	}
	return true;
}

static bool twin_parse(const uint8_t *data, uint32_t length, struct packet_layout *out)
{
	struct bytes b = { data, length, false };
	uint32_t at = 12, protocol = 0, header, type = word_at(&b, at);

	for (int tags = 0; tags < 2 && (type == 0x8100 || type == 0x88a8); tags++)
		type = word_at(&b, at += 4);
	at += 2;
	out->network = (uint16_t)at;
	if (type == 0x0800 && byte_at(&b, at) / 16 == 4) {
		header = byte_at(&b, at) % 16 * 4;
		need(&b, at + header);
		if (header < 20 || (word_at(&b, at + 6) & ~0xc000u) != 0)
			return false;
		protocol = byte_at(&b, at + 9);
		at += header;
		out->ip_version = 4;
	} else if (type == 0x86dd && byte_at(&b, at) / 16 == 6) {
		if (!twin_ipv6(&b, &at, &protocol))
			return false;
		out->ip_version = 6;
	}
	out->transport = (uint16_t)at;
	out->protocol = (uint8_t)protocol;
	if (b.missing || (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP))
		return false;
	out->checksum = protocol == IPPROTO_TCP ? 16 : 6;
	header = protocol == IPPROTO_TCP ? byte_at(&b, at + 12) / 16 * 4 : 8;
	need(&b, at + header);
	if (protocol == IPPROTO_TCP && header < 20)
		return false;
	out->payload = (uint16_t)(at + header);
	return !b.missing;
}

/* Big endian, carry added at once. */
static uint16_t twin_sum(uint32_t sum, const uint8_t *data, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++) {
		sum += i % 2 ? data[i] : data[i] * 256u;
		sum = sum > 0xffff ? sum - 0xffff : sum;
	}
	return (uint16_t)sum;
}

static uint16_t twin_pseudo(const uint8_t *frame, uint32_t length, const struct packet_layout *layout)
{
	uint32_t rest = length - layout->transport;
	uint8_t tail[4] = { 0, layout->protocol, (uint8_t)(rest >> 8), (uint8_t)rest };
	const uint8_t *ip = frame + layout->network;
	uint16_t sum = layout->ip_version == 4 ? twin_sum(0, ip + 12, 8) : twin_sum(0, ip + 8, 32);

	return twin_sum(sum, tail, sizeof tail);
}

/* --- frames ----------------------------------------------------------------------------------- */

struct cut_frame {
	struct frame frame;
	struct segment segments[SEGMENTS_MAX];
};

static void cut_add(struct cut_frame *cut, const uint8_t *bytes, uint32_t n)
{
	struct segment *segment = &cut->segments[cut->frame.segment_count++];

	segment->data = malloc(n);		/* of its own: ASan watches each end */
	segment->length = n;
	segment->grefs = NULL;
	memcpy(segment->data, bytes, n);
}

/* Cuts of the lengths that @cuts names, then the rest. */
static void cut_make(struct cut_frame *cut, const uint8_t *bytes, uint32_t length,
		     const uint8_t cuts[], int cut_count)
{
	memset(cut, 0, sizeof *cut);
	cut->frame.segments = cut->segments;
	cut->frame.length = length;
	for (int i = 0; i < cut_count && length > 0; i++) {
		uint32_t n = 1u + cuts[i] < length ? 1u + cuts[i] : length;

		cut_add(cut, bytes, n);
		bytes += n;
		length -= n;
	}
	if (length > 0)
		cut_add(cut, bytes, length);
}

static void cut_join_and_free(struct cut_frame *cut, uint8_t *out)
{
	for (int i = 0; i < cut->frame.segment_count; i++) {
		memcpy(out, cut->segments[i].data, cut->segments[i].length);
		out += cut->segments[i].length;
		free(cut->segments[i].data);
	}
}

static bool same_but_for(const uint8_t *one, const uint8_t *other, uint32_t length, uint32_t field)
{
	return memcmp(one, other, field) == 0 &&
	       memcmp(one + field + 2, other + field + 2, length - field - 2) == 0;
}

static uint16_t at_be(const uint8_t *p)
{
	return (uint16_t)(p[0] * 256 + p[1]);
}

/* --- the checks ------------------------------------------------------------------------------- */

static bool check_parse(const uint8_t *bytes, uint32_t length, struct packet_layout *want)
{
	struct packet_layout got;
	bool good = twin_parse(bytes, length, want);

	CHECK((packet_parse(bytes, length, &got) == 0) == good);
	if (!good)
		return false;
	CHECK(got.network == want->network && got.transport == want->transport);
	CHECK(got.payload == want->payload && got.checksum == want->checksum);
	CHECK(got.ip_version == want->ip_version && got.protocol == want->protocol);
	CHECK(got.payload <= length && got.transport + got.checksum + 2u <= got.payload);
	return true;
}

static void check_segment(const uint8_t *out, uint32_t length, const struct packet_layout *at, bool right)
{
	if (at->ip_version == 4)
		CHECK(twin_sum(0, out + at->network, at->transport - at->network) == 0xffff);
	if (right)
		CHECK(twin_sum(twin_pseudo(out, length, at), out + at->transport,
			       length - at->transport) == 0xffff);
}

/* @right: the frame's checksum field holds its pseudo header's sum. */
static bool check_segmentation(const uint8_t *bytes, uint32_t length,
			       const struct virtio_net_hdr_v1 *vnet, bool right)
{
	struct packet_layout at;
	bool parsed = twin_parse(bytes, length, &at);
	struct segmentation s;
	uint32_t count = 0, done, n;
	uint8_t *out;

	if (segment_begin(&s, bytes, length, vnet, SEGMENT_CHECKSUM_WHOLE, length) != 0)
		return false;
	CHECK(parsed && at.protocol == IPPROTO_TCP && s.length_max <= length);
	out = malloc(s.length_max);
	done = at.payload;
	for (; (n = segment_next(&s, out)) > 0; count++) {
		CHECK(n > at.payload && n <= s.length_max && n - at.payload <= length - done);
		CHECK(n == s.length_max || done + (n - at.payload) == length);
		CHECK(memcmp(out + at.payload, bytes + done, n - at.payload) == 0);
		check_segment(out, n, &at, right);
		done += n - at.payload;
	}
	CHECK(done == length && count == s.count);
	free(out);
	return true;
}

struct from_guest { uint16_t flags; bool has_gso; struct netif_extra_info gso; uint32_t takes; };

static bool twin_is_dhcp(const uint8_t *bytes, const struct packet_layout *at)
{
	for (int i = 0; i < 4 && at->protocol == IPPROTO_UDP; i += 2) {
		uint32_t port = bytes[at->transport + i] * 256u + bytes[at->transport + i + 1];

		if (at->ip_version == 4 ? port == 67 || port == 68 : port == 546 || port == 547)
			return true;
	}
	return false;
}

static bool from_guest_is_good(const struct from_guest *in, bool parsed, uint32_t length,
			       const struct packet_layout *at)
{
	if (!(in->flags & NETTXF_csum_blank) && !in->has_gso)
		return true;
	if (!parsed)
		return false;
	return !in->has_gso || (at->protocol == IPPROTO_TCP && length > at->payload &&
				at->ip_version == (in->gso.u.gso.type == XEN_NETIF_GSO_TYPE_TCPV4 ? 4 : 6));
}

static void check_vnet(const struct virtio_net_hdr_v1 *vnet, const struct from_guest *in, bool completed,
		       const struct packet_layout *at)
{
	bool offload = !completed && ((in->flags & NETTXF_csum_blank) || in->has_gso);

	CHECK((vnet->flags == VIRTIO_NET_HDR_F_NEEDS_CSUM) == offload);
	CHECK((vnet->gso_type != VIRTIO_NET_HDR_GSO_NONE) == in->has_gso);
	if (!offload)
		return;
	CHECK(le16toh(vnet->csum_start) == at->transport && le16toh(vnet->csum_offset) == at->checksum);
	if (in->has_gso)
		CHECK(le16toh(vnet->hdr_len) == at->payload &&
		      le16toh(vnet->gso_size) == in->gso.u.gso.size);
}

static void check_from_guest(const uint8_t *bytes, uint32_t length, const struct from_guest *in,
			     const uint8_t cuts[], int cut_count)
{
	struct packet_layout at;
	bool parsed = twin_parse(bytes, length, &at), completed, mended;
	struct offload_from_guest out;
	uint8_t *after = malloc(length);
	struct cut_frame cut;
	enum guest_tx_verdict verdict;

	cut_make(&cut, bytes, length, cuts, cut_count);
	verdict = offload_from_guest(&cut.frame, in->flags, in->has_gso ? &in->gso : NULL, in->takes, &out);
	mended = out.mended;
	completed = verdict == GUEST_TX_SENT && in->flags & NETTXF_csum_blank && !in->has_gso &&
		    (!(in->takes & OFFLOAD_CSUM) || twin_is_dhcp(bytes, &at));
	CHECK(out.checksummed == completed);
	CHECK((verdict == GUEST_TX_SENT) == from_guest_is_good(in, parsed, length, &at));
	CHECK(verdict == GUEST_TX_SENT || verdict == GUEST_TX_BAD_OFFLOAD);
	cut_join_and_free(&cut, after);
	if (verdict == GUEST_TX_SENT) {
		check_vnet(&cut.frame.vnet, in, completed, &at);
		CHECK(mended == (in->has_gso && !(in->flags & NETTXF_csum_blank)));
	}
	if (completed) {
		uint16_t sum = (uint16_t)~twin_sum(0, bytes + at.transport, length - at.transport);

		CHECK(same_but_for(after, bytes, length, at.transport + at.checksum));
		CHECK(at_be(after + at.transport + at.checksum) == (sum ? sum : 0xffff));
	} else if (verdict == GUEST_TX_SENT && mended) {
		CHECK(same_but_for(after, bytes, length, at.transport + at.checksum));
		CHECK(at_be(after + at.transport + at.checksum) == twin_pseudo(bytes, length, &at));
	} else {
		CHECK(memcmp(after, bytes, length) == 0);
	}
	if (verdict == GUEST_TX_SENT)
		CHECK(check_segmentation(after, length, &cut.frame.vnet, mended) == in->has_gso);
	free(after);
}

/* A guest that is told "the checksum is blank" or "cut this" must be able to do it. */
static void check_flags_to_guest(const struct offload_to_guest *out, uint32_t features, bool parsed,
				 const uint8_t *bytes, const struct packet_layout *at,
				 const struct virtio_net_hdr_v1 *vnet)
{
	CHECK((out->flags & ~(NETRXF_csum_blank | NETRXF_data_validated)) == 0);
	if (out->flags & NETRXF_csum_blank) {
		CHECK(parsed && features & (at->ip_version == 4 ? VIF_F_CSUM_IPV4 : VIF_F_CSUM_IPV6));
		CHECK(!twin_is_dhcp(bytes, at));
		CHECK(vnet->csum_start == at->transport && vnet->csum_offset == at->checksum);
	}
	if (!out->has_gso)
		return;
	CHECK(out->flags & NETRXF_csum_blank && out->gso.u.gso.size > 0);
	CHECK(out->gso.type == XEN_NETIF_EXTRA_TYPE_GSO && out->gso.flags == 0);
	CHECK(at->protocol == IPPROTO_TCP);
	CHECK(out->gso.u.gso.type ==
	      (at->ip_version == 4 ? XEN_NETIF_GSO_TYPE_TCPV4 : XEN_NETIF_GSO_TYPE_TCPV6));
	CHECK(features & (at->ip_version == 4 ? VIF_F_GSO_TCPV4 : VIF_F_GSO_TCPV6));
}

static void check_to_guest(const uint8_t *bytes, uint32_t length, uint32_t features,
			   const struct virtio_net_hdr_v1 *vnet)
{
	struct packet_layout at;
	bool parsed = twin_parse(bytes, length, &at);
	uint32_t start = le16toh(vnet->csum_start), field = start + le16toh(vnet->csum_offset);
	uint8_t *after = malloc(length);
	struct offload_to_guest out;
	struct cut_frame cut;
	enum guest_rx_verdict verdict;

	check_segmentation(bytes, length, vnet, false);
	cut_make(&cut, bytes, length, NULL, 0);
	cut.frame.vnet = *vnet;
	memset(&out, 0xee, sizeof out);
	verdict = offload_to_guest(&cut.frame, features, &out);
	cut_join_and_free(&cut, after);
	CHECK(verdict == GUEST_RX_DELIVERED || verdict == GUEST_RX_NO_OFFLOAD ||
	      verdict == GUEST_RX_BAD_FRAME);
	if (verdict == GUEST_RX_DELIVERED)
		check_flags_to_guest(&out, features, parsed, bytes, &at, vnet);
	if (out.checksummed) {
		uint16_t sum = (uint16_t)~twin_sum(0, bytes + start, length - start);
		uint16_t got = at_be(after + field);

		CHECK(field + 2 <= length && same_but_for(after, bytes, length, field));
		CHECK(got == (sum ? sum : 0xffff));
	} else {
		CHECK(memcmp(after, bytes, length) == 0);
	}
	free(after);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* Features, flags, GSO, cuts and the virtio header come first, then the frame. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct from_guest in = { .gso = { .type = XEN_NETIF_EXTRA_TYPE_GSO } };
	struct virtio_net_hdr_v1 vnet = { 0 };
	struct packet_layout layout;
	uint8_t cuts[SEGMENTS_MAX - 1], *bytes;
	uint32_t features = fuzz_u8(&input) & VIF_F_ALL, length;
	uint8_t choice = fuzz_u8(&input);
	int cut_count = choice % SEGMENTS_MAX;

	in.flags = fuzz_u8(&input);
	in.takes = in.flags & 0x80 ? 0 : OFFLOAD_ALL;
	in.flags &= NETTXF_csum_blank | NETTXF_data_validated;
	in.has_gso = choice & 0x80;
	in.gso.u.gso.type = choice & 0x40 ? XEN_NETIF_GSO_TYPE_TCPV6 : XEN_NETIF_GSO_TYPE_TCPV4;
	in.gso.u.gso.size = (uint16_t)(1 + fuzz_u8(&input));
	fuzz_bytes(&input, cuts, (size_t)cut_count);
	fuzz_bytes(&input, (uint8_t *)&vnet, sizeof vnet);
	length = input.left < 4096 ? (uint32_t)input.left : 4096;
	bytes = malloc(length + 1);
	length = (uint32_t)fuzz_bytes(&input, bytes, length);
	check_parse(bytes, length, &layout);
	if (length >= FRAME_LENGTH_MIN) {
		check_from_guest(bytes, length, &in, cuts, cut_count);
		check_to_guest(bytes, length, features, &vnet);
		/* Rarely does chance put the checksum where it belongs. */
		if (twin_parse(bytes, length, &layout)) {
			vnet.flags |= VIRTIO_NET_HDR_F_NEEDS_CSUM;
			vnet.csum_start = htole16(layout.transport);
			vnet.csum_offset = htole16(layout.checksum);
			check_to_guest(bytes, length, features, &vnet);
		}
	}
	free(bytes);
	return 0;
}
