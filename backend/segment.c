/* segment.c - cuts a large TCP frame into segments; see segment.h
 *
 * Headers are copied from the frame for each segment and then changed, so there is no template to
 * keep.  The pseudo header is not summed up again: its sum is taken from the frame's checksum field, and
 * only the length in it is replaced.  That is right also behind an IPv6 routing header, where the
 * destination that counts is not the one in the IP header, and it is what a receiver that cuts the
 * frame itself would do.  The IPv4 header's checksum is new: its old value is not looked at. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "checksum.h"
#include "segment.h"

#define IPV6_HEADER 40

#define TCP_FIN 0x01
#define TCP_PSH 0x08
#define TCP_CWR 0x80

/* Where fields lie in their headers. */
#define IPV4_LENGTH   2
#define IPV4_ID       4
#define IPV4_CHECKSUM 10
#define IPV6_LENGTH   4
#define TCP_SEQUENCE  4
#define TCP_FLAGS     13

static uint16_t be16_get(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof value);
	return ntohs(value);
}

static void be16_put(uint8_t *at, uint32_t value)
{
	uint16_t network = htons((uint16_t)value);

	memcpy(at, &network, sizeof network);
}

/* --- beginning -------------------------------------------------------------------------------- */

/* The IP version that @vnet asks to be cut, or 0. */
static int version_asked(const struct virtio_net_hdr_v1 *vnet)
{
	switch (vnet->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_TCPV4:
		return 4;
	case VIRTIO_NET_HDR_GSO_TCPV6:
		return 6;
	default:
		return 0;
	}
}

static bool fits(const struct virtio_net_hdr_v1 *vnet, const struct packet_layout *layout,
		 uint32_t length)
{
	return vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM && vnet->gso_size != 0 &&
	       layout->protocol == IPPROTO_TCP && layout->ip_version == version_asked(vnet) &&
	       le16toh(vnet->csum_start) == layout->transport &&
	       le16toh(vnet->csum_offset) == layout->checksum &&
	       length > layout->payload;
}

static void set_vnet(struct segmentation *s)
{
	memset(&s->vnet, 0, sizeof s->vnet);
	if (s->whole) {
		s->vnet.flags = VIRTIO_NET_HDR_F_DATA_VALID;
		return;
	}
	s->vnet.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	s->vnet.csum_start = htole16(s->layout.transport);
	s->vnet.csum_offset = htole16(s->layout.checksum);
}

/* In memory order, as checksum.h has it; to take away is to add the complement. */
static uint32_t sum_without_length(const struct segmentation *s)
{
	uint16_t sum, length = htons((uint16_t)(s->length - s->layout.transport));

	memcpy(&sum, s->frame + s->layout.transport + s->layout.checksum, sizeof sum);
	return (uint32_t)sum + (uint16_t)~length;
}

int segment_begin(struct segmentation *s, const uint8_t *frame, uint32_t length,
		  const struct virtio_net_hdr_v1 *vnet, enum segment_checksum checksum, uint32_t room)
{
	uint32_t payload;

	*s = (struct segmentation){ .frame = frame, .length = length };
	if (version_asked(vnet) == 0)
		return -EOPNOTSUPP;
	if (packet_parse(frame, length, &s->layout) != 0 || !fits(vnet, &s->layout, length))
		return -EINVAL;
	payload = length - s->layout.payload;
	s->size = le16toh(vnet->gso_size);
	s->length_max = s->layout.payload + (payload < s->size ? payload : s->size);
	if (length - s->layout.network > SEGMENT_IP_MAX || s->length_max > room)
		return -EMSGSIZE;
	s->whole = checksum == SEGMENT_CHECKSUM_WHOLE;
	s->count = (payload + s->size - 1) / s->size;
	s->at = s->layout.payload;
	s->sum = sum_without_length(s);
	set_vnet(s);
	return 0;
}

/* --- a segment -------------------------------------------------------------------------------- */

static void set_ipv4(const struct segmentation *s, uint8_t *out, uint32_t length)
{
	uint8_t *ip = out + s->layout.network;
	uint32_t header = s->layout.transport - s->layout.network;
	uint16_t sum;

	be16_put(ip + IPV4_LENGTH, length - s->layout.network);
	be16_put(ip + IPV4_ID, be16_get(ip + IPV4_ID) + s->next);	/* wraps */
	memset(ip + IPV4_CHECKSUM, 0, sizeof sum);
	sum = (uint16_t)~checksum_fold(checksum_add(0, ip, header));
	memcpy(ip + IPV4_CHECKSUM, &sum, sizeof sum);
}

static void set_ipv6(const struct segmentation *s, uint8_t *out, uint32_t length)
{
	be16_put(out + s->layout.network + IPV6_LENGTH, length - s->layout.network - IPV6_HEADER);
}

static void set_tcp(const struct segmentation *s, uint8_t *out, uint32_t length)
{
	uint8_t *tcp = out + s->layout.transport;
	uint32_t sequence;
	uint16_t sum;

	memcpy(&sequence, tcp + TCP_SEQUENCE, sizeof sequence);
	sequence = htonl(ntohl(sequence) + (s->at - s->layout.payload));	/* wraps */
	memcpy(tcp + TCP_SEQUENCE, &sequence, sizeof sequence);
	if (s->next > 0)
		tcp[TCP_FLAGS] &= (uint8_t)~TCP_CWR;
	if (s->next + 1 < s->count)
		tcp[TCP_FLAGS] &= (uint8_t)~(TCP_FIN | TCP_PSH);
	sum = checksum_fold((uint64_t)s->sum + htons((uint16_t)(length - s->layout.transport)));
	memcpy(tcp + s->layout.checksum, &sum, sizeof sum);
	if (s->whole)
		checksum_complete(out, length, s->layout.transport, s->layout.checksum);
}

uint32_t segment_next(struct segmentation *s, uint8_t *out)
{
	uint32_t header = s->layout.payload;
	uint32_t payload = s->length - s->at < s->size ? s->length - s->at : s->size;

	if (s->next == s->count)
		return 0;
	memcpy(out, s->frame, header);
	memcpy(out + header, s->frame + s->at, payload);
	if (s->layout.ip_version == 4)
		set_ipv4(s, out, header + payload);
	else
		set_ipv6(s, out, header + payload);
	set_tcp(s, out, header + payload);
	s->at += payload;
	s->next++;
	return header + payload;
}
