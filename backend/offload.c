/* offload.c - netif flags <-> virtio_net_hdr; see offload.h */
#include <endian.h>
#include <netinet/in.h>
#include <string.h>

#include "checksum.h"
#include "offload.h"
#include "packet.h"
#include "port.h"
#include "vif_config.h"

/* Linux's TCP_MIN_GSO_SIZE (net/tcp.h): no sender has a reason for less, and each piece costs us a system
 * call. */
#define CUT_SIZE_MIN 8

#define GSO_TYPE(vnet) ((vnet)->gso_type & ~VIRTIO_NET_HDR_GSO_ECN)

/* Writes @length bytes at @offset of the frame, wherever its segments are split. */
static void frame_write(struct frame *frame, uint32_t offset, const uint8_t *bytes, uint32_t length)
{
	for (int i = 0; i < frame->segment_count && length > 0; i++) {
		struct segment *segment = &frame->segments[i];
		uint32_t n;

		if (offset >= segment->length) {
			offset -= segment->length;
			continue;
		}
		n = segment->length - offset < length ? segment->length - offset : length;
		memcpy(segment->data + offset, bytes, n);
		bytes += n;
		length -= n;
		offset = 0;
	}
}

/* The same as checksum_complete(), wherever the segments are split: behind an odd number of bytes the sum's
 * two bytes change places (RFC 1071, 2.B). */
static void frame_complete(struct frame *frame, uint32_t start, uint32_t offset)
{
	uint32_t skip = start, summed = 0;
	uint64_t sum = 0;
	uint16_t part;

	for (int i = 0; i < frame->segment_count; i++) {
		const struct segment *segment = &frame->segments[i];
		uint32_t before = skip < segment->length ? skip : segment->length;

		part = checksum_fold(checksum_add(0, segment->data + before, segment->length - before));
		sum += summed % 2 ? __builtin_bswap16(part) : part;
		summed += segment->length - before;
		skip -= before;
	}
	part = (uint16_t)~checksum_fold(sum);
	if (part == 0)
		part = 0xffff;
	frame_write(frame, start + offset, (const uint8_t *)&part, sizeof part);
}

static uint32_t be16(const uint8_t *at)
{
	return at[0] * 256u + at[1];
}

/* DHCP (RFC 2131) and DHCPv6 (RFC 8415), by port.  @head holds the frame as far as @layout says. */
static bool is_dhcp(const uint8_t *head, const struct packet_layout *layout)
{
	uint32_t low = layout->ip_version == 4 ? 67 : 546;
	uint32_t from = be16(head + layout->transport), to = be16(head + layout->transport + 2);

	return layout->protocol == IPPROTO_UDP &&
	       (from == low || from == low + 1 || to == low || to == low + 1);
}

/* A frame whose headers agree with the segmentation asked for. */
static bool gso_fits(const struct packet_layout *layout, const struct frame *frame, uint8_t type)
{
	return layout->protocol == IPPROTO_TCP &&
	       layout->ip_version == (type == XEN_NETIF_GSO_TYPE_TCPV4 ? 4 : 6) &&
	       frame->length > layout->payload;
}

static void set_checksum(struct virtio_net_hdr_v1 *vnet, const struct packet_layout *layout)
{
	vnet->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	vnet->csum_start = htole16(layout->transport);
	vnet->csum_offset = htole16(layout->checksum);
}

static void set_gso(struct virtio_net_hdr_v1 *vnet, const struct packet_layout *layout,
		    const struct netif_extra_info *gso)
{
	vnet->gso_type = gso->u.gso.type == XEN_NETIF_GSO_TYPE_TCPV4 ? VIRTIO_NET_HDR_GSO_TCPV4
								     : VIRTIO_NET_HDR_GSO_TCPV6;
	vnet->gso_size = htole16(gso->u.gso.size);
	vnet->hdr_len = htole16(layout->payload);
}

enum guest_tx_verdict offload_from_guest(struct frame *frame, uint16_t flags,
					 const struct netif_extra_info *gso, uint32_t takes,
					 struct offload_from_guest *out)
{
	uint8_t buffer[PACKET_HEAD_MAX];
	struct packet_layout layout;
	const uint8_t *head;
	uint32_t have;

	*out = (struct offload_from_guest){ false, false };
	memset(&frame->vnet, 0, sizeof frame->vnet);
	if (!(flags & NETTXF_csum_blank) && !gso) {
		if (flags & NETTXF_data_validated)
			frame->vnet.flags = VIRTIO_NET_HDR_F_DATA_VALID;
		return GUEST_TX_SENT;
	}
	head = packet_head(frame, buffer, &have);
	if (packet_parse(head, have, &layout) != 0)
		return GUEST_TX_BAD_OFFLOAD;
	if (gso && !gso_fits(&layout, frame, gso->u.gso.type))
		return GUEST_TX_BAD_OFFLOAD;
	set_checksum(&frame->vnet, &layout);
	if (gso)
		set_gso(&frame->vnet, &layout, gso);
	if (gso && gso->u.gso.size < CUT_SIZE_MIN && offload_must_cut(&frame->vnet, takes))
		return GUEST_TX_BAD_OFFLOAD;
	if (!(flags & NETTXF_csum_blank)) {
		uint16_t sum = checksum_pseudo_header(head, &layout, frame->length);

		frame_write(frame, layout.transport + layout.checksum, (uint8_t *)&sum, sizeof sum);
		out->mended = true;
	}
	if (!gso && (!(takes & OFFLOAD_CSUM) || is_dhcp(head, &layout))) {
		frame_complete(frame, layout.transport, layout.checksum);
		frame->vnet = (struct virtio_net_hdr_v1){ .flags = VIRTIO_NET_HDR_F_DATA_VALID };
		out->checksummed = true;
	}
	return GUEST_TX_SENT;
}

static bool needs_checksum(const struct frame *frame)
{
	return frame->vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM;
}

/* The guest takes partial checksums of this frame's protocol and will look for this one where it
 * is.  netif does not say where that is, so its receiver parses as we do and finds the outermost TCP
 * or UDP header; what is blank elsewhere (a tunnel's inner header) netif cannot express. */
static bool guest_takes_partial(const struct frame *frame, uint32_t features, uint32_t start,
				uint32_t offset, struct packet_layout *layout)
{
	if (packet_parse(frame->segments[0].data, frame->length, layout) != 0 ||
	    layout->transport != start || layout->checksum != offset ||
	    is_dhcp(frame->segments[0].data, layout))
		return false;
	return features & (layout->ip_version == 4 ? VIF_F_CSUM_IPV4 : VIF_F_CSUM_IPV6);
}

static enum guest_rx_verdict checksum_to_guest(struct frame *frame, uint32_t features,
					       struct packet_layout *layout,
					       struct offload_to_guest *out)
{
	uint32_t start = le16toh(frame->vnet.csum_start);
	uint32_t offset = le16toh(frame->vnet.csum_offset);

	if (!needs_checksum(frame)) {
		if (frame->vnet.flags & VIRTIO_NET_HDR_F_DATA_VALID)
			out->flags = NETRXF_data_validated;
		return GUEST_RX_DELIVERED;
	}
	if (start + offset + 2 > frame->length)		/* both 16 bit: cannot wrap */
		return GUEST_RX_BAD_FRAME;
	if (guest_takes_partial(frame, features, start, offset, layout)) {
		out->flags = NETRXF_csum_blank | NETRXF_data_validated;
		return GUEST_RX_DELIVERED;
	}
	checksum_complete(frame->segments[0].data, frame->length, start, offset);
	out->flags = NETRXF_data_validated;
	out->checksummed = true;
	return GUEST_RX_DELIVERED;
}

/* @layout: the frame's, if its checksum is left blank. */
static enum guest_rx_verdict gso_to_guest(const struct frame *frame, uint32_t features,
					  const struct packet_layout *layout,
					  struct offload_to_guest *out)
{
	uint32_t feature;

	switch (GSO_TYPE(&frame->vnet)) {
	case VIRTIO_NET_HDR_GSO_NONE:
		return GUEST_RX_DELIVERED;
	case VIRTIO_NET_HDR_GSO_TCPV4:
		feature = VIF_F_GSO_TCPV4;
		out->gso.u.gso.type = XEN_NETIF_GSO_TYPE_TCPV4;
		break;
	case VIRTIO_NET_HDR_GSO_TCPV6:
		feature = VIF_F_GSO_TCPV6;
		out->gso.u.gso.type = XEN_NETIF_GSO_TYPE_TCPV6;
		break;
	default:
		return GUEST_RX_NO_OFFLOAD;
	}
	/* A segmented frame's checksum can only be the guest's. */
	if (!(features & feature) || !(out->flags & NETRXF_csum_blank))
		return GUEST_RX_NO_OFFLOAD;
	if (frame->vnet.gso_size == 0 || !gso_fits(layout, frame, out->gso.u.gso.type))
		return GUEST_RX_BAD_FRAME;
	out->has_gso = true;
	out->gso.type = XEN_NETIF_EXTRA_TYPE_GSO;
	out->gso.u.gso.size = le16toh(frame->vnet.gso_size);
	return GUEST_RX_DELIVERED;
}

enum guest_rx_verdict offload_to_guest(struct frame *frame, uint32_t features,
				       struct offload_to_guest *out)
{
	enum guest_rx_verdict verdict;
	struct packet_layout layout;

	memset(out, 0, sizeof *out);	/* every byte of an answer is seen by the guest (XSA-216) */
	if (GSO_TYPE(&frame->vnet) != VIRTIO_NET_HDR_GSO_NONE && !needs_checksum(frame))
		return GUEST_RX_BAD_FRAME;
	verdict = checksum_to_guest(frame, features, &layout, out);
	if (verdict == GUEST_RX_DELIVERED)
		verdict = gso_to_guest(frame, features, &layout, out);
	return verdict;
}

uint32_t offload_of_features(uint32_t features)
{
	uint32_t offloads = 0;

	if (features & (VIF_F_CSUM_IPV4 | VIF_F_CSUM_IPV6))
		offloads |= OFFLOAD_CSUM;
	if (!(features & VIF_F_SG))
		return offloads;
	if ((features & (VIF_F_GSO_TCPV4 | VIF_F_CSUM_IPV4)) == (VIF_F_GSO_TCPV4 | VIF_F_CSUM_IPV4))
		offloads |= OFFLOAD_TSO4;
	if ((features & (VIF_F_GSO_TCPV6 | VIF_F_CSUM_IPV6)) == (VIF_F_GSO_TCPV6 | VIF_F_CSUM_IPV6))
		offloads |= OFFLOAD_TSO6;
	return offloads;
}

bool offload_must_cut(const struct virtio_net_hdr_v1 *vnet, uint32_t takes)
{
	switch (GSO_TYPE(vnet)) {
	case VIRTIO_NET_HDR_GSO_TCPV4:
		return !(takes & OFFLOAD_TSO4);
	case VIRTIO_NET_HDR_GSO_TCPV6:
		return !(takes & OFFLOAD_TSO6);
	default:
		return false;
	}
}

uint32_t offload_features_left(uint32_t features, uint32_t csum)
{
	if (csum == CSUM_AUTO)
		return features;
	return features & ~(VIF_F_CSUM_IPV4 | VIF_F_CSUM_IPV6 | VIF_F_GSO_TCPV4 | VIF_F_GSO_TCPV6);
}
