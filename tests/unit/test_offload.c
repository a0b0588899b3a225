/* test_offload.c - netif flags and virtio headers say the same thing, both ways
 *
 * From the guest: headers are found wherever the frame is cut into segments, and GSO frames without
 * the checksum flag are mended to what the sender should have left (naive pseudo header).  To the
 * guest: for every set of features the frame is either passed with the flags that set allows, or
 * its checksum is completed (equal to the naive one), or it is refused. */
#include "../../backend/offload.c"
#include "frame_specs.h"
#include "frames.c"
#include "unit.h"

#define CUTS_MAX 18

/* A frame over separate heap blocks, so that ASan watches each end. */
struct cut_frame {
	struct frame frame;
	struct segment segments[CUTS_MAX];
};

static void cut_add(struct cut_frame *cut, const uint8_t *bytes, uint32_t length)
{
	struct segment *segment = &cut->segments[cut->frame.segment_count++];

	segment->data = malloc(length);
	segment->length = length;
	memcpy(segment->data, bytes, length);
	cut->frame.length += length;
}

/* @first bytes, then pieces of @piece bytes as long as there is room, then the rest. */
static void cut_make(struct cut_frame *cut, const uint8_t *bytes, uint32_t length, uint32_t first,
		     uint32_t piece)
{
	*cut = (struct cut_frame){ 0 };
	cut->frame.segments = cut->segments;
	memset(&cut->frame.vnet, 0xee, sizeof cut->frame.vnet);
	for (uint32_t at = 0, n = first; at < length; at += n, n = piece) {
		if (n == 0)
			n = piece;
		if (n > length - at || cut->frame.segment_count == CUTS_MAX - 1)
			n = length - at;
		cut_add(cut, bytes + at, n);
	}
}

static void cut_join(const struct cut_frame *cut, uint8_t *out)
{
	for (int i = 0; i < cut->frame.segment_count; i++) {
		memcpy(out, cut->segments[i].data, cut->segments[i].length);
		out += cut->segments[i].length;
	}
}

static void cut_free(struct cut_frame *cut)
{
	for (int i = 0; i < cut->frame.segment_count; i++)
		free(cut->segments[i].data);
}

static struct netif_extra_info gso_extra(uint8_t type, uint16_t size)
{
	return (struct netif_extra_info){
		.type = XEN_NETIF_EXTRA_TYPE_GSO, .u.gso = { .type = type, .size = size },
	};
}

static uint8_t gso_type_of(const struct frame_spec *spec)
{
	return spec->ip_version == 4 ? XEN_NETIF_GSO_TYPE_TCPV4 : XEN_NETIF_GSO_TYPE_TCPV6;
}

/* --- from the guest --------------------------------------------------------------------------- */

static void check_vnet(const struct frame_spec *spec, const struct frame_layout *at,
		       const struct virtio_net_hdr_v1 *vnet, bool gso)
{
	SAME(spec->name, vnet->flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
	SAME(spec->name, le16toh(vnet->csum_start), at->transport);
	SAME(spec->name, le16toh(vnet->csum_start) + le16toh(vnet->csum_offset), at->checksum);
	SAME(spec->name, vnet->gso_type, !gso ? VIRTIO_NET_HDR_GSO_NONE :
	     spec->ip_version == 4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6);
	SAME(spec->name, le16toh(vnet->gso_size), gso ? 1000 : 0);
	SAME(spec->name, le16toh(vnet->hdr_len), gso ? at->payload : 0);
	SAME(spec->name, vnet->num_buffers, 0);
}

static const struct virtio_net_hdr_v1 valid = { .flags = VIRTIO_NET_HDR_F_DATA_VALID };

/* One spec, cut at @first and then each @piece: partial, GSO, GSO to be mended, partial for a port that takes
 * whole checksums only, which a frame that is to be cut still leaves to who cuts it. */
static void check_cut(const struct frame_spec *spec, uint32_t first, uint32_t piece)
{
	struct netif_extra_info gso = gso_extra(gso_type_of(spec), 1000);
	bool can_gso = spec->protocol == IPPROTO_TCP;
	uint8_t whole[2048], partial[2048], joined[2048];
	struct frame_layout at;
	struct offload_from_guest out;
	struct cut_frame cut;

	frame_build(whole, spec, &at);
	memcpy(partial, whole, sizeof partial);
	frame_blank_checksum(partial, spec, &at);
	for (int round = 0; round < 5; round++) {
		bool with_gso = round % 3 > 0, mend = round == 2, complete = round == 3;
		enum guest_tx_verdict verdict;

		cut_make(&cut, mend ? whole : partial, at.length, first, piece);
		verdict = offload_from_guest(&cut.frame, mend ? 0 : NETTXF_csum_blank,
					     with_gso ? &gso : NULL,
					     round < 3 ? OFFLOAD_ALL : OFFLOAD_ALL & ~OFFLOAD_CSUM, &out);
		SAME(spec->name, verdict,
		     with_gso && !can_gso ? GUEST_TX_BAD_OFFLOAD : GUEST_TX_SENT);
		if (verdict == GUEST_TX_SENT) {
			SAME(spec->name, out.mended, mend);
			SAME(spec->name, out.checksummed, complete);
			if (complete)
				assert_memory_equal(&cut.frame.vnet, &valid, sizeof valid);
			else
				check_vnet(spec, &at, &cut.frame.vnet, with_gso);
			cut_join(&cut, joined);
			assert_memory_equal(joined, complete ? whole : partial, at.length);
		}
		cut_free(&cut);
	}
}

static void headers_cut_at_every_byte_make_no_difference(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(frame_specs); i++) {
		uint32_t length = frame_spec_length(&frame_specs[i]);

		for (uint32_t first = 1; first <= length && first < 300; first++) {
			check_cut(&frame_specs[i], first, 4096);
			check_cut(&frame_specs[i], first, 1);
			check_cut(&frame_specs[i], first, 7);
		}
	}
}

static void flags_without_offload_are_passed_on(void **state)
{
	static const struct { const char *name; uint16_t flags; uint8_t vnet; } rows[] = {
		{ "nothing", 0, 0 },
		{ "validated", NETTXF_data_validated, VIRTIO_NET_HDR_F_DATA_VALID },
		{ "not ours", NETTXF_more_data | NETTXF_extra_info | 0xff00, 0 },
	};
	static const uint8_t junk[14];
	const struct virtio_net_hdr_v1 zero = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct virtio_net_hdr_v1 want = zero;
		struct offload_from_guest out;
		struct cut_frame cut;

		want.flags = rows[i].vnet;
		cut_make(&cut, junk, sizeof junk, 14, 1);
		SAME(rows[i].name, offload_from_guest(&cut.frame, rows[i].flags, NULL, 0, &out),
		     GUEST_TX_SENT);
		assert_memory_equal(&cut.frame.vnet, &want, sizeof want);
		assert_false(out.mended || out.checksummed);
		cut_free(&cut);
	}
}

static void offloads_of_other_frames_are_refused(void **state)
{
	static const struct {
		struct frame_spec spec;
		uint16_t flags;
		uint8_t gso;
	} rows[] = {
		{ { "arp, csum", 0, 0, 0, 0, 0, 0, 46 }, NETTXF_csum_blank, 0 },
		{ { "icmp, csum", 0, 4, 0, 0, IPPROTO_ICMP, 0, 46 }, NETTXF_csum_blank, 0 },
		{ { "udp4, gso", 0, 4, 0, 0, IPPROTO_UDP, 0, 3000 }, NETTXF_csum_blank, 1 },
		{ { "tcp4, gso 6", 0, 4, 0, 0, IPPROTO_TCP, 0, 3000 }, NETTXF_csum_blank, 2 },
		{ { "tcp6, gso 4", 0, 6, 0, 0, IPPROTO_TCP, 0, 3000 }, NETTXF_csum_blank, 1 },
		{ { "no payload, gso", 0, 4, 0, 0, IPPROTO_TCP, 0, 0 }, NETTXF_csum_blank, 1 },
		{ { "arp, gso to be mended", 0, 0, 0, 0, 0, 0, 46 }, 0, 1 },
		{ { "icmp, gso to be mended", 0, 4, 0, 0, IPPROTO_ICMP, 0, 46 }, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct netif_extra_info gso = gso_extra(rows[i].gso, 1448);
		uint8_t bytes[4096];
		struct offload_from_guest out;
		struct frame_layout at;
		struct cut_frame cut;

		frame_build(bytes, &rows[i].spec, &at);
		cut_make(&cut, bytes, at.length, 3, 1000);
		SAME(rows[i].spec.name,
		     offload_from_guest(&cut.frame, rows[i].flags, rows[i].gso ? &gso : NULL,
					0, &out), GUEST_TX_BAD_OFFLOAD);
		assert_false(out.mended || out.checksummed);
		cut_free(&cut);
	}
}

static struct virtio_net_hdr_v1 vnet_of(const struct frame_spec *spec,
					const struct frame_layout *at, bool gso)
{
	struct virtio_net_hdr_v1 vnet = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.csum_start = htole16((uint16_t)at->transport),
		.csum_offset = htole16((uint16_t)(at->checksum - at->transport)),
	};

	if (gso) {
		vnet.gso_type = spec->ip_version == 4 ? VIRTIO_NET_HDR_GSO_TCPV4
						      : VIRTIO_NET_HDR_GSO_TCPV6;
		vnet.gso_size = htole16(1440);
		vnet.hdr_len = htole16((uint16_t)at->payload);
	}
	return vnet;
}

/* --- DHCP -------------------------------------------------------------------------------------- */

static const struct { const char *name; struct frame_spec spec; uint16_t from, to; bool is; } dhcp_rows[] = {
	{ "discover", { "", 0, 4, 0, 0, IPPROTO_UDP, 0, 300 }, 68, 67, true },
	{ "offer", { "", 0, 4, 0, 0, IPPROTO_UDP, 0, 300 }, 67, 68, true },
	{ "relayed", { "", 0, 4, 0, 0, IPPROTO_UDP, 0, 301 }, 67, 67, true },
	{ "to a client, tagged", { "", 2, 4, 12, 0, IPPROTO_UDP, 0, 301 }, 9999, 68, true },
	{ "from a client", { "", 0, 4, 0, 0, IPPROTO_UDP, 0, 301 }, 68, 9999, true },
	{ "solicit", { "", 0, 6, 0, 0, IPPROTO_UDP, 0, 99 }, 546, 547, true },
	{ "reply behind extensions", { "", 1, 6, 0, 3, IPPROTO_UDP, 0, 99 }, 547, 546, true },
	{ "below", { "", 0, 4, 0, 0, IPPROTO_UDP, 0, 300 }, 66, 66, false },
	{ "above", { "", 0, 4, 0, 0, IPPROTO_UDP, 0, 300 }, 69, 69, false },
	{ "above, high byte", { "", 0, 4, 0, 0, IPPROTO_UDP, 0, 300 }, 67 + 256, 68 + 256, false },
	{ "ports of 6 on 4", { "", 0, 4, 0, 0, IPPROTO_UDP, 0, 300 }, 546, 547, false },
	{ "ports of 4 on 6", { "", 0, 6, 0, 0, IPPROTO_UDP, 0, 300 }, 67, 68, false },
	{ "below 6", { "", 0, 6, 0, 0, IPPROTO_UDP, 0, 300 }, 545, 545, false },
	{ "above 6", { "", 0, 6, 0, 0, IPPROTO_UDP, 0, 300 }, 548, 548, false },
	{ "tcp", { "", 0, 4, 0, 0, IPPROTO_TCP, 0, 300 }, 68, 67, false },
};

/* A row's frame, with a whole checksum and with a blank one. */
static void dhcp_build(size_t row, uint8_t *whole, uint8_t *partial, struct frame_layout *at)
{
	const struct frame_spec *spec = &dhcp_rows[row].spec;

	frame_build(whole, spec, at);
	put16(whole + at->transport, dhcp_rows[row].from);
	put16(whole + at->transport + 2, dhcp_rows[row].to);
	put16(whole + at->checksum, naive_checksum(whole, spec, at));
	memcpy(partial, whole, at->length);
	frame_blank_checksum(partial, spec, at);
}

/* However much guest and port can leave undone. */
static void checksums_of_dhcp_are_always_whole(void **state)
{
	uint8_t whole[1024], partial[1024], joined[1024];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(dhcp_rows); i++) {
		struct offload_to_guest to;
		struct offload_from_guest from;
		struct frame_layout at;
		struct cut_frame cut;

		dhcp_build(i, whole, partial, &at);
		for (uint32_t piece = 1; piece < 50; piece++) {
			cut_make(&cut, partial, at.length, 9 + piece, 30);
			SAME(dhcp_rows[i].name, offload_from_guest(&cut.frame, NETTXF_csum_blank, NULL,
								   OFFLOAD_ALL, &from), GUEST_TX_SENT);
			SAME(dhcp_rows[i].name, from.checksummed, dhcp_rows[i].is);
			SAME(dhcp_rows[i].name, cut.frame.vnet.flags, dhcp_rows[i].is ?
			     VIRTIO_NET_HDR_F_DATA_VALID : VIRTIO_NET_HDR_F_NEEDS_CSUM);
			cut_join(&cut, joined);
			assert_memory_equal(joined, dhcp_rows[i].is ? whole : partial, at.length);
			cut_free(&cut);
		}
		cut_make(&cut, partial, at.length, at.length, 1);
		cut.frame.vnet = vnet_of(&dhcp_rows[i].spec, &at, false);
		SAME(dhcp_rows[i].name, offload_to_guest(&cut.frame, VIF_F_ALL, &to), GUEST_RX_DELIVERED);
		SAME(dhcp_rows[i].name, to.checksummed, dhcp_rows[i].is);
		assert_memory_equal(cut.segments[0].data, dhcp_rows[i].is ? whole : partial, at.length);
		cut_free(&cut);
	}
}

static void policies_leave_these_features(void **state)
{
	(void)state;
	for (uint32_t features = 0; features <= VIF_F_ALL; features++) {
		SAME("auto", offload_features_left(features, CSUM_AUTO), features);
		SAME("complete", offload_features_left(features, CSUM_COMPLETE),
		     features & (VIF_F_SG | VIF_F_RX_NOTIFY));
		SAME("off", offload_features_left(features, CSUM_OFF), features & (VIF_F_SG | VIF_F_RX_NOTIFY));
	}
}

/* --- to the guest ----------------------------------------------------------------------------- */

/* The rule, once more: what the guest can do with this frame. */
static bool takes_partial(const struct frame_spec *spec, uint32_t features)
{
	return features & (spec->ip_version == 4 ? VIF_F_CSUM_IPV4 : VIF_F_CSUM_IPV6);
}

static bool takes_gso(const struct frame_spec *spec, uint32_t features)
{
	return takes_partial(spec, features) &&
	       features & (spec->ip_version == 4 ? VIF_F_GSO_TCPV4 : VIF_F_GSO_TCPV6);
}

static void check_to_guest(const struct frame_spec *spec, uint32_t features, bool gso)
{
	uint8_t whole[2048], partial[2048];
	struct frame_layout at;
	struct cut_frame cut;
	struct offload_to_guest out;
	enum guest_rx_verdict verdict;

	frame_build(whole, spec, &at);
	memcpy(partial, whole, sizeof partial);
	frame_blank_checksum(partial, spec, &at);
	cut_make(&cut, partial, at.length, at.length, 1);
	cut.frame.vnet = vnet_of(spec, &at, gso);
	memset(&out, 0xee, sizeof out);
	verdict = offload_to_guest(&cut.frame, features, &out);
	if (gso && !takes_gso(spec, features)) {
		SAME(spec->name, verdict, GUEST_RX_NO_OFFLOAD);
	} else {
		bool passed = takes_partial(spec, features);

		SAME(spec->name, verdict, GUEST_RX_DELIVERED);
		SAME(spec->name, out.flags,
		     passed ? NETRXF_csum_blank | NETRXF_data_validated : NETRXF_data_validated);
		SAME(spec->name, out.checksummed, !passed);
		SAME(spec->name, out.has_gso, gso);
		assert_memory_equal(cut.segments[0].data, passed ? partial : whole, at.length);
	}
	if (out.has_gso) {
		struct netif_extra_info want = gso_extra(gso_type_of(spec), 1440);

		assert_memory_equal(&out.gso, &want, sizeof want);
	}
	cut_free(&cut);
}

static void every_frame_for_every_set_of_features(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(frame_specs); i++)
		for (uint32_t features = 0; features <= VIF_F_ALL; features++) {
			check_to_guest(&frame_specs[i], features, false);
			if (frame_specs[i].protocol == IPPROTO_TCP)
				check_to_guest(&frame_specs[i], features, true);
		}
}

/* A guest looks for the checksum in the outermost TCP or UDP header; where the sender left another
 * one blank (a tunnel's inner header, a protocol netif does not know), it must come whole. */
static void a_checksum_the_guest_would_not_find_is_completed(void **state)
{
	static const struct { const char *name; uint8_t outer, inner; } rows[] = {
		{ "tcp in a udp tunnel", IPPROTO_UDP, IPPROTO_TCP },
		{ "udp in a udp tunnel", IPPROTO_UDP, IPPROTO_UDP },
		{ "tcp in tcp", IPPROTO_TCP, IPPROTO_TCP },
		{ "tcp in gre", 47, IPPROTO_TCP },
		{ "udp in ip", 4, IPPROTO_UDP },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct frame_spec inner = { "inner", 0, 4, 0, 0, rows[i].inner, 0, 500 };
		const struct frame_spec outer = { "outer", 0, 4, 0, 0, rows[i].outer, 0, 600 };
		uint8_t bytes[2048];
		struct frame_layout at, in;
		struct cut_frame cut;
		struct offload_to_guest out;

		frame_build(bytes, &outer, &at);
		frame_build(bytes + at.payload, &inner, &in);	/* both lengths fit 600 bytes */
		frame_blank_checksum(bytes + at.payload, &inner, &in);
		cut_make(&cut, bytes, at.payload + in.length, 4096, 1);
		cut.frame.vnet = vnet_of(&inner, &in, false);
		cut.frame.vnet.csum_start = htole16((uint16_t)(at.payload + in.transport));
		SAME(rows[i].name, offload_to_guest(&cut.frame, VIF_F_ALL, &out),
		     GUEST_RX_DELIVERED);
		SAME(rows[i].name, out.flags & NETRXF_csum_blank, 0);
		SAME(rows[i].name, out.checksummed, true);
		SAME(rows[i].name, frame_get16(cut.segments[0].data + at.payload + in.checksum),
		     naive_checksum(bytes + at.payload, &inner, &in));
		cut_free(&cut);
	}
}

static void headers_of_the_port_that_make_no_sense_are_refused(void **state)
{
	static const struct {
		const char *name;
		struct virtio_net_hdr_v1 vnet;
		enum guest_rx_verdict verdict;
		uint16_t flags;
	} rows[] = {
		{ "plain", { 0 }, GUEST_RX_DELIVERED, 0 },
		{ "valid", { .flags = VIRTIO_NET_HDR_F_DATA_VALID }, GUEST_RX_DELIVERED,
		  NETRXF_data_validated },
		{ "field at the last bytes", { .flags = 1, .csum_start = 34, .csum_offset = 64 },
		  GUEST_RX_DELIVERED, NETRXF_data_validated },
		{ "field one byte outside", { .flags = 1, .csum_start = 34, .csum_offset = 65 },
		  GUEST_RX_BAD_FRAME, 0 },
		{ "start outside", { .flags = 1, .csum_start = 101 }, GUEST_RX_BAD_FRAME, 0 },
		{ "both largest", { .flags = 1, .csum_start = 0xffff, .csum_offset = 0xffff },
		  GUEST_RX_BAD_FRAME, 0 },
		{ "gso without csum", { .gso_type = 1, .gso_size = 1448 }, GUEST_RX_BAD_FRAME, 0 },
		{ "gso size 0", { .flags = 1, .gso_type = 1, .csum_start = 34, .csum_offset = 16 },
		  GUEST_RX_BAD_FRAME, NETRXF_csum_blank | NETRXF_data_validated },
		{ "gso of udp", { .flags = 1, .gso_type = VIRTIO_NET_HDR_GSO_UDP, .gso_size = 9,
		  .csum_start = 34, .csum_offset = 16 }, GUEST_RX_NO_OFFLOAD,
		  NETRXF_csum_blank | NETRXF_data_validated },
		{ "gso with ecn", { .flags = 1, .gso_type = VIRTIO_NET_HDR_GSO_TCPV4 |
		  VIRTIO_NET_HDR_GSO_ECN, .gso_size = 9, .csum_start = 34, .csum_offset = 16 },
		  GUEST_RX_DELIVERED, NETRXF_csum_blank | NETRXF_data_validated },
		{ "ecn alone", { .gso_type = VIRTIO_NET_HDR_GSO_ECN }, GUEST_RX_DELIVERED, 0 },
	};
	const struct frame_spec spec = { "tcp4", 0, 4, 0, 0, IPPROTO_TCP, 0, 100 - 54 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t bytes[100];
		struct frame_layout at;
		struct cut_frame cut;
		struct offload_to_guest out;

		frame_build(bytes, &spec, &at);
		cut_make(&cut, bytes, at.length, at.length, 1);
		cut.frame.vnet = rows[i].vnet;
		SAME(rows[i].name, offload_to_guest(&cut.frame, VIF_F_ALL, &out), rows[i].verdict);
		SAME(rows[i].name, out.flags, rows[i].flags);
		cut_free(&cut);
	}
}

/* Segmentation of another protocol than the frame is: found by tests/fuzz/fuzz_offload.c. */
static void segmentation_to_the_guest_must_fit_the_frame(void **state)
{
	static const struct {
		struct frame_spec spec;
		uint8_t gso_type;
		enum guest_rx_verdict verdict;
	} rows[] = {
		{ { "tcp4 as 4", 0, 4, 0, 0, IPPROTO_TCP, 0, 99 }, VIRTIO_NET_HDR_GSO_TCPV4,
		  GUEST_RX_DELIVERED },
		{ { "tcp4 as 6", 0, 4, 0, 0, IPPROTO_TCP, 0, 99 }, VIRTIO_NET_HDR_GSO_TCPV6,
		  GUEST_RX_BAD_FRAME },
		{ { "tcp6 as 4", 0, 6, 0, 0, IPPROTO_TCP, 0, 99 }, VIRTIO_NET_HDR_GSO_TCPV4,
		  GUEST_RX_BAD_FRAME },
		{ { "udp4 as tcp", 0, 4, 0, 0, IPPROTO_UDP, 0, 99 }, VIRTIO_NET_HDR_GSO_TCPV4,
		  GUEST_RX_BAD_FRAME },
		{ { "no payload", 0, 4, 0, 0, IPPROTO_TCP, 0, 0 }, VIRTIO_NET_HDR_GSO_TCPV4,
		  GUEST_RX_BAD_FRAME },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t bytes[256];
		struct frame_layout at;
		struct cut_frame cut;
		struct offload_to_guest out;

		frame_build(bytes, &rows[i].spec, &at);
		cut_make(&cut, bytes, at.length, at.length, 1);
		cut.frame.vnet = vnet_of(&rows[i].spec, &at, true);
		cut.frame.vnet.gso_type = rows[i].gso_type;
		SAME(rows[i].spec.name, offload_to_guest(&cut.frame, VIF_F_ALL, &out),
		     rows[i].verdict);
		SAME(rows[i].spec.name, out.has_gso, rows[i].verdict == GUEST_RX_DELIVERED);
		cut_free(&cut);
	}
}

/* What recv() may return is what offload_to_guest() passes without refusing. */
static void offloads_asked_of_the_port_are_those_passed_on(void **state)
{
	(void)state;
	for (uint32_t features = 0; features <= VIF_F_ALL; features++) {
		uint32_t offloads = offload_of_features(features);
		const struct frame_spec tcp[] = { frame_specs[1], frame_specs[7] };

		for (int i = 0; i < 2; i++)
			SAME("gso", !!(offloads & (i ? OFFLOAD_TSO6 : OFFLOAD_TSO4)),
			     features & VIF_F_SG && takes_gso(&tcp[i], features));
		SAME("csum", !!(offloads & OFFLOAD_CSUM),
		     takes_partial(&tcp[0], features) || takes_partial(&tcp[1], features));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_cut_at_every_byte_make_no_difference),
		cmocka_unit_test(flags_without_offload_are_passed_on),
		cmocka_unit_test(offloads_of_other_frames_are_refused),
		cmocka_unit_test(checksums_of_dhcp_are_always_whole),
		cmocka_unit_test(policies_leave_these_features),
		cmocka_unit_test(every_frame_for_every_set_of_features),
		cmocka_unit_test(a_checksum_the_guest_would_not_find_is_completed),
		cmocka_unit_test(headers_of_the_port_that_make_no_sense_are_refused),
		cmocka_unit_test(segmentation_to_the_guest_must_fit_the_frame),
		cmocka_unit_test(offloads_asked_of_the_port_are_those_passed_on),
	};

	return cmocka_run_group_tests_name("offload", tests, NULL, NULL);
}
