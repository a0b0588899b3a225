/* oversize.c - frames that are longer than a guest's MTU; see oversize.h */
#include <endian.h>
#include <netinet/in.h>
#include <string.h>

#include "checksum.h"
#include "oversize.h"
#include "packet.h"

#define ETHERNET_HEADER 14
#define VLAN_TAG 4

#define TCP_FLAGS 13
#define TCP_SYN_RST_URG 0x26		/* what is not repeated in each segment, or means one place in it */

static uint32_t be16(const uint8_t *at)
{
	return at[0] * 256u + at[1];
}

static bool is_tag(uint32_t type)
{
	return type == 0x8100 || type == 0x88a8;
}

bool oversize_is(const struct frame *frame, uint32_t mtu)
{
	const uint8_t *bytes = frame->segments[0].data;
	uint32_t allowed = mtu + ETHERNET_HEADER + VLAN_TAG;

	if (frame->length <= allowed || frame->vnet.gso_type != VIRTIO_NET_HDR_GSO_NONE)
		return false;
	if (is_tag(be16(bytes + 12)) && is_tag(be16(bytes + 16)))
		allowed += VLAN_TAG;
	return frame->length > allowed;
}

/* What lies behind the packet (padding) would become part of a segment. */
static bool length_is_right(const struct frame *frame, const struct packet_layout *layout)
{
	const uint8_t *ip = frame->segments[0].data + layout->network;
	uint32_t said = layout->ip_version == 4 ? be16(ip + 2) : be16(ip + 4) + 40;

	return said == frame->length - layout->network;
}

static bool checksum_is_right(const struct frame *frame, const struct packet_layout *layout)
{
	const uint8_t *bytes = frame->segments[0].data;
	uint64_t sum = checksum_pseudo_header(bytes, layout, frame->length);

	if (frame->vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		return le16toh(frame->vnet.csum_start) == layout->transport &&
		       le16toh(frame->vnet.csum_offset) == layout->checksum;
	sum = checksum_add(sum, bytes + layout->transport, frame->length - layout->transport);
	return checksum_fold(sum) == 0xffff;
}

static bool may_be_cut(const struct frame *frame, uint32_t mtu, const struct packet_layout *layout)
{
	const uint8_t *bytes = frame->segments[0].data;

	return layout->protocol == IPPROTO_TCP && length_is_right(frame, layout) &&
	       (bytes[layout->transport + TCP_FLAGS] & TCP_SYN_RST_URG) == 0 &&
	       layout->payload < frame->length && layout->payload < mtu + layout->network;
}

bool oversize_leave_to_cut(struct frame *frame, uint32_t mtu)
{
	uint8_t *bytes = frame->segments[0].data;
	struct packet_layout layout;

	if (packet_parse(bytes, frame->length, &layout) != 0 || !may_be_cut(frame, mtu, &layout) ||
	    !checksum_is_right(frame, &layout))
		return false;
	if (!(frame->vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)) {
		uint16_t sum = checksum_pseudo_header(bytes, &layout, frame->length);

		memcpy(bytes + layout.transport + layout.checksum, &sum, sizeof sum);
	}
	frame->vnet = (struct virtio_net_hdr_v1){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = layout.ip_version == 4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6,
		.hdr_len = htole16(layout.payload),
		.gso_size = htole16((uint16_t)(mtu + layout.network - layout.payload)),
		.csum_start = htole16(layout.transport),
		.csum_offset = htole16(layout.checksum),
	};
	return true;
}
