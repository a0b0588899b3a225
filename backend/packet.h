/* packet.h - where the headers of a frame are
 *
 * netif says "the checksum is blank" but not where it belongs, and "segment this" but not how long
 * the headers are.  This finds Ethernet (with up to two VLAN tags), IPv4 with options, IPv6 with
 * extension headers, TCP and UDP.  Pure; reads only the bytes it is given. */
#ifndef BACKEND_PACKET_H
#define BACKEND_PACKET_H

#include <stdint.h>

#include "frame.h"

/* As many first bytes as any header chain we follow can take: 14 + 2 * 4 + 60 + 60 for IPv4; IPv6
 * with more extension headers than fit is answered like an unknown protocol. */
#define PACKET_HEAD_MAX 256

struct packet_layout {
	uint16_t network;		/* offset of the IP header */
	uint16_t transport;		/* offset of the TCP or UDP header */
	uint16_t payload;		/* offset behind it */
	uint16_t checksum;		/* offset of the checksum field in the transport header */
	uint8_t ip_version;		/* 4 or 6 */
	uint8_t protocol;		/* IPPROTO_TCP or IPPROTO_UDP */
};

/* The frame's first bytes, PACKET_HEAD_MAX at most, in one piece: where they lie if the first segment holds
 * them all (the common case), else gathered in @buffer.  A header may be split at any byte (XSA-423). */
const uint8_t *packet_head(const struct frame *frame, uint8_t buffer[PACKET_HEAD_MAX], uint32_t *have);

/* Parses @head, the first @have bytes of a frame.  0, or -EINVAL if they are not TCP or UDP over IP,
 * are a fragment of it, or end too early. */
int packet_parse(const uint8_t *head, uint32_t have, struct packet_layout *layout);

#endif
