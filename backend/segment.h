/* segment.h - cuts a large TCP frame into segments, for a receiver that does not
 *
 * Takes one frame that asks for segmentation (virtio GSO of TCPv4 or TCPv6) in one piece of memory and
 * gives its segments one at a time.  Each has the frame's Ethernet header, VLAN tags, IP header with
 * options or extensions and TCP header with options, and of these changed only: IPv4 total length,
 * identification (one more each) and header checksum; IPv6 payload length; TCP sequence number and
 * checksum; FIN and PSH, which are left to the last segment; CWR, which is the first one's (RFC 3168
 * section 6.1.2).  The urgent pointer stays as it is: senders do not ask for segmentation then.
 *
 * How long the packet is, is told by the frame's length, not by its IP header (so does Linux).
 * Pure: no memory of its own, no state but struct segmentation.  A struct segment (frame.h) is
 * something else: a piece of memory. */
#ifndef BACKEND_SEGMENT_H
#define BACKEND_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"
#include "packet.h"

#define SEGMENT_IP_MAX 65535	/* bytes of an IP packet, header and all: what its length can say */

enum segment_checksum {
	SEGMENT_CHECKSUM_PARTIAL,	/* the pseudo header's sum, as NEEDS_CSUM defines it */
	SEGMENT_CHECKSUM_WHOLE,
};

struct segmentation {
	/* Read by the caller after segment_begin(). */
	struct virtio_net_hdr_v1 vnet;	/* of each segment */
	uint32_t count;			/* segments in all: a sender may ask for one a byte */
	uint32_t length_max;		/* bytes of the largest, which is the first */

	/* Private. */
	const uint8_t *frame;
	uint32_t length;
	struct packet_layout layout;
	uint16_t size;			/* payload bytes of each segment but the last */
	bool whole;
	uint32_t next;			/* number of the segment that comes next */
	uint32_t at;			/* where its payload starts in @frame */
	uint32_t sum;			/* of the pseudo header without a length, not folded */
};

/* Starts to cut @frame, @length bytes behind @vnet, which has to ask for it: gso_type (ECN or not),
 * gso_size, NEEDS_CSUM with csum_start and csum_offset at the TCP header that packet_parse() finds, and
 * the pseudo header's sum in there.  The caller keeps @frame as it is until the last segment_next().
 * @room: bytes of the buffers that segment_next() will get.
 *
 * 0; or, with nothing begun:
 *	-EOPNOTSUPP	no segmentation of TCP is asked for
 *	-EINVAL		headers and @vnet do not fit each other, or there is nothing to cut
 *	-EMSGSIZE	the IP packet is longer than SEGMENT_IP_MAX, or a segment than @room */
int segment_begin(struct segmentation *s, const uint8_t *frame, uint32_t length,
		  const struct virtio_net_hdr_v1 *vnet, enum segment_checksum checksum, uint32_t room);

/* Writes the next segment to @out, which must not overlap the frame, and returns its length; 0 after
 * the last one, and then always. */
uint32_t segment_next(struct segmentation *s, uint8_t *out);

#endif
