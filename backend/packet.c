/* packet.c - finds the headers of a frame; see packet.h */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "packet.h"

#define ETHERNET_HEADER 14
#define VLAN_TAG 4
#define VLAN_TAGS_MAX 2

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define TYPE_QINQ 0x88a8

struct cursor {
	const uint8_t *head;
	uint32_t have, at;
};

static bool has(const struct cursor *c, uint32_t bytes)
{
	return c->at <= c->have && c->have - c->at >= bytes;
}

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* Moves to the network header and returns its Ethernet type; 0 if the frame ends before. */
static uint16_t parse_ethernet(struct cursor *c)
{
	uint16_t type;

	if (!has(c, ETHERNET_HEADER))
		return 0;
	type = be16(c->head + 12);
	c->at = ETHERNET_HEADER;
	for (int tags = 0; tags < VLAN_TAGS_MAX && (type == TYPE_VLAN || type == TYPE_QINQ); tags++) {
		if (!has(c, VLAN_TAG))
			return 0;
		type = be16(c->head + c->at + 2);
		c->at += VLAN_TAG;
	}
	return type;
}

/* Both move to the transport header and return its protocol; -1 if there is none to be found. */
static int parse_ipv4(struct cursor *c)
{
	const uint8_t *ip = c->head + c->at;
	uint32_t length;

	if (!has(c, 20) || ip[0] >> 4 != 4)
		return -1;
	length = (ip[0] & 15u) * 4u;
	/* Offset or "more fragments": the checksum of a part cannot be told (so does Linux's
	 * skb_checksum_setup). */
	if (length < 20 || !has(c, length) || (be16(ip + 6) & 0x3fff) != 0)
		return -1;
	c->at += length;
	return ip[9];
}

static int parse_ipv6(struct cursor *c)
{
	int protocol;

	if (!has(c, 40) || c->head[c->at] >> 4 != 6)
		return -1;
	protocol = c->head[c->at + 6];
	c->at += 40;
	while (protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING ||
	       protocol == IPPROTO_DSTOPTS || protocol == IPPROTO_FRAGMENT) {
		const uint8_t *extension = c->head + c->at;
		uint32_t length;

		if (!has(c, 8))		/* each turn moves on by 8 or more: the head bounds the loop */
			return -1;
		if (protocol == IPPROTO_FRAGMENT && (be16(extension + 2) & 0xfff9) != 0)
			return -1;
		length = protocol == IPPROTO_FRAGMENT ? 8 : (extension[1] + 1u) * 8u;
		protocol = extension[0];
		c->at += length;
	}
	return protocol;
}

static int parse_transport(struct cursor *c, struct packet_layout *layout)
{
	uint32_t length = 8;

	if (layout->protocol == IPPROTO_TCP) {
		if (!has(c, 20))
			return -EINVAL;
		length = (uint32_t)(c->head[c->at + 12] >> 4) * 4u;
		if (length < 20)
			return -EINVAL;
		layout->checksum = 16;
	} else if (layout->protocol == IPPROTO_UDP) {
		layout->checksum = 6;
	} else {
		return -EINVAL;
	}
	if (!has(c, length))
		return -EINVAL;
	layout->payload = (uint16_t)(c->at + length);
	return 0;
}

int packet_parse(const uint8_t *head, uint32_t have, struct packet_layout *layout)
{
	struct cursor c = { head, have < PACKET_HEAD_MAX ? have : PACKET_HEAD_MAX, 0 };
	uint16_t type = parse_ethernet(&c);
	int protocol = -1;

	layout->network = (uint16_t)c.at;
	if (type == TYPE_IPV4) {
		layout->ip_version = 4;
		protocol = parse_ipv4(&c);
	} else if (type == TYPE_IPV6) {
		layout->ip_version = 6;
		protocol = parse_ipv6(&c);
	}
	if (protocol < 0)
		return -EINVAL;
	layout->protocol = (uint8_t)protocol;
	layout->transport = (uint16_t)c.at;
	return parse_transport(&c, layout);
}

const uint8_t *packet_head(const struct frame *frame, uint8_t buffer[PACKET_HEAD_MAX], uint32_t *have)
{
	uint32_t filled = 0;

	*have = frame->length < PACKET_HEAD_MAX ? frame->length : PACKET_HEAD_MAX;
	if (frame->segments[0].length >= *have)
		return frame->segments[0].data;
	for (int i = 0; i < frame->segment_count && filled < *have; i++) {
		const struct segment *segment = &frame->segments[i];
		uint32_t n = *have - filled < segment->length ? *have - filled : segment->length;

		memcpy(buffer + filled, segment->data, n);
		filled += n;
	}
	return buffer;
}
