/* simfront_offload.c - offloads of netif and of virtio-net, both ways
 *
 * netif says that a checksum is blank, not where: that has to be found in the frame.  Headers may
 * be spread over slots, so the first bytes are gathered before they are read. */
#include <netinet/in.h>
#include <string.h>

#include "simfront.h"

#define HEADERS 256u

static uint32_t gather(const struct netfront_frame *frame, uint8_t bytes[HEADERS])
{
	uint32_t have = 0;

	for (int i = 0; i < frame->iov_count && have < HEADERS; i++) {
		size_t n = frame->iov[i].iov_len;

		if (n > HEADERS - have)
			n = HEADERS - have;
		memcpy(bytes + have, frame->iov[i].iov_base, n);
		have += (uint32_t)n;
	}
	return have;
}

/* Past IPv6 extension headers; the transport protocol, or -1. */
static int skip_ipv6(const uint8_t *bytes, uint32_t have, uint32_t *at)
{
	int next = bytes[*at + 6];

	*at += 40;
	while (next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING || next == IPPROTO_DSTOPTS) {
		if (*at + 8 > have)
			return -1;
		next = bytes[*at];
		*at += 8 + 8u * bytes[*at + 1];
	}
	return next;
}

/* The transport protocol, or -1; where its header starts in *@at. */
static int find_transport(const uint8_t *bytes, uint32_t have, uint32_t *at)
{
	uint32_t type_at = 12;

	while (type_at + 6 <= have && bytes[type_at] == 0x81 && bytes[type_at + 1] == 0)
		type_at += 4;
	*at = type_at + 2;
	if (*at + 40 > have && *at + 20 > have)
		return -1;
	if (bytes[type_at] == 0x08 && bytes[type_at + 1] == 0x00) {
		int protocol = bytes[*at + 9];

		*at += 4u * (bytes[*at] & 15);
		return protocol;
	}
	if (bytes[type_at] == 0x86 && bytes[type_at + 1] == 0xdd && *at + 40 <= have)
		return skip_ipv6(bytes, have, at);
	return -1;
}

void simfront_to_netif(const struct virtio_net_hdr *header, struct netfront_frame *frame)
{
	frame->csum_blank = header->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM;
	frame->data_validated = header->flags &
				(VIRTIO_NET_HDR_F_NEEDS_CSUM | VIRTIO_NET_HDR_F_DATA_VALID);
	switch (header->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_TCPV4:
		frame->gso_type = XEN_NETIF_GSO_TYPE_TCPV4;
		break;
	case VIRTIO_NET_HDR_GSO_TCPV6:
		frame->gso_type = XEN_NETIF_GSO_TYPE_TCPV6;
		break;
	default:
		frame->gso_type = XEN_NETIF_GSO_TYPE_NONE;
	}
	frame->gso_size = header->gso_size;
}

bool simfront_to_virtio(const struct netfront_frame *frame, struct virtio_net_hdr *header)
{
	uint8_t bytes[HEADERS];
	uint32_t have, at;
	int protocol;

	*header = (struct virtio_net_hdr){ 0 };
	if (!frame->csum_blank) {
		header->flags = frame->data_validated ? VIRTIO_NET_HDR_F_DATA_VALID : 0;
		return true;
	}
	have = gather(frame, bytes);
	protocol = find_transport(bytes, have, &at);
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return false;
	header->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	header->csum_start = (uint16_t)at;
	header->csum_offset = protocol == IPPROTO_TCP ? 16 : 6;
	if (!frame->gso_type)
		return true;
	if (protocol != IPPROTO_TCP || at + 13 > have)
		return false;
	header->gso_type = frame->gso_type == XEN_NETIF_GSO_TYPE_TCPV4 ? VIRTIO_NET_HDR_GSO_TCPV4
								       : VIRTIO_NET_HDR_GSO_TCPV6;
	header->gso_size = frame->gso_size;
	header->hdr_len = (uint16_t)(at + 4u * (bytes[at + 12] >> 4));
	return true;
}
