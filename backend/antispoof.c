/* antispoof.c - whether a frame claims to come from somebody else; see antispoof.h */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "antispoof.h"

#define ETHERNET_HEADER 14

#define TYPE_IPV4 0x0800
#define TYPE_ARP  0x0806
#define TYPE_RARP 0x8035
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define TYPE_QINQ 0x88a8
#define TYPE_QINQ_OLD 0x9100

#define ARP_BYTES 28			/* of IPv4 over Ethernet (RFC 826) */
#define IPV4_HEADER 20
#define IPV6_HEADER 40

/* ICMPv6 (RFC 4861, 2710, 3810). */
#define LISTENER_REPORT 131
#define LISTENER_DONE 132
#define ROUTER_SOLICITATION 133
#define NEIGHBOUR_SOLICITATION 135
#define NEIGHBOUR_ADVERTISEMENT 136
#define REDIRECT 137
#define LISTENER_REPORT_2 143

struct claim {
	const struct antispoof *rules;
	const uint8_t *mac, *head;
	uint32_t have, at;		/* @at: of the header in hand */
};

static bool has(const struct claim *c, uint32_t bytes)
{
	return c->at <= c->have && c->have - c->at >= bytes;
}

static uint32_t be16(const uint8_t *at)
{
	return at[0] * 256u + at[1];
}

static bool is_mac(const struct claim *c, const uint8_t *at)
{
	return memcmp(at, c->mac, 6) == 0;
}

/* --- addresses -------------------------------------------------------------------------------- */

static bool is_in(const uint8_t *address, const struct antispoof_address *of)
{
	uint32_t whole = of->prefix / 8u, rest = of->prefix % 8u;

	if (memcmp(address, of->bytes, whole) != 0)
		return false;
	return rest == 0 || (address[whole] ^ of->bytes[whole]) >> (8 - rest) == 0;
}

static bool is_listed(const struct claim *c, const uint8_t *address, int version)
{
	for (uint32_t i = 0; i < c->rules->count; i++)
		if (c->rules->addresses[i].version == version && is_in(address, &c->rules->addresses[i]))
			return true;
	return false;
}

static bool is_zero(const uint8_t *at, uint32_t length)
{
	while (length > 0 && at[length - 1] == 0)
		length--;
	return length == 0;
}

static bool allows4(const struct claim *c, const uint8_t *address)
{
	return !c->rules->listed || is_listed(c, address, 4);
}

static bool allows6(const struct claim *c, const uint8_t *address)
{
	const uint8_t *mac = c->mac;
	const uint8_t own[16] = {
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5],
	};

	return !c->rules->listed || memcmp(address, own, sizeof own) == 0 || is_listed(c, address, 6);
}

/* --- ARP -------------------------------------------------------------------------------------- */

/* The sender's MAC, and address: 0.0.0.0 asks whether an address is free, and says nothing. */
static bool check_arp(const struct claim *c)
{
	const uint8_t *arp = c->head + c->at;

	if (!has(c, ARP_BYTES) || be16(arp + 2) != TYPE_IPV4 || arp[4] != 6 || arp[5] != 4 ||
	    !is_mac(c, arp + 8))
		return false;
	return is_zero(arp + 14, 4) || allows4(c, arp + 14);
}

/* --- IPv4 ------------------------------------------------------------------------------------- */

static bool is_dhcp_client(const struct claim *c)
{
	const uint8_t *ip = c->head + c->at;
	uint32_t length = (ip[0] & 15u) * 4u;

	return is_zero(ip + 12, 4) && ip[9] == IPPROTO_UDP && (be16(ip + 6) & 0x3fff) == 0 &&
	       length >= IPV4_HEADER && has(c, length + 4) && be16(ip + length) == 68 &&
	       be16(ip + length + 2) == 67;
}

static bool check_ipv4(const struct claim *c)
{
	const uint8_t *ip = c->head + c->at;

	if (!c->rules->listed)
		return true;
	if (!has(c, IPV4_HEADER) || ip[0] >> 4 != 4)
		return false;
	return allows4(c, ip + 12) || is_dhcp_client(c);
}

/* --- IPv6 ------------------------------------------------------------------------------------- */

/* Source and target link-layer addresses (RFC 4861 4.6.1) behind @at, which is @end bytes from the start. */
static bool check_options(const struct claim *c, uint32_t at, uint32_t end)
{
	while (at < end) {
		uint32_t length;

		if (at + 2 > c->have)
			return false;
		length = c->head[at + 1] * 8u;
		if (length == 0 || at + length > end)
			return true;	/* the receiver must not take such a message (4.6) */
		if (c->head[at] == 1 || c->head[at] == 2)
			if (at + 8 > c->have || !is_mac(c, c->head + at + 2))
				return false;
		at += length;
	}
	return true;
}

/* What neighbour discovery says of whom, in @c->at on; @end: of the packet. */
static bool check_discovery(const struct claim *c, uint8_t type, bool unspecified, uint32_t end)
{
	const uint8_t *target = c->head + c->at + 8;
	bool has_target = type == NEIGHBOUR_SOLICITATION || type == NEIGHBOUR_ADVERTISEMENT || type == REDIRECT;
	uint32_t fixed = type == REDIRECT ? 40 : has_target ? 24 : type == ROUTER_SOLICITATION ? 8 : 16;

	if (!has(c, fixed))
		return false;
	if (type == NEIGHBOUR_ADVERTISEMENT || (type == NEIGHBOUR_SOLICITATION && unspecified))
		if (!allows6(c, target))
			return false;
	return check_options(c, c->at + fixed, end);
}

static bool check_icmpv6(const struct claim *c, bool unspecified, bool fragment, uint32_t end)
{
	uint8_t type;

	if (!has(c, 1))
		return false;
	type = c->head[c->at];
	if (unspecified && type != NEIGHBOUR_SOLICITATION && type != ROUTER_SOLICITATION &&
	    (type < LISTENER_REPORT || type > LISTENER_DONE) && type != LISTENER_REPORT_2)
		return false;
	if (type < ROUTER_SOLICITATION || type > REDIRECT)
		return true;
	return !fragment && check_discovery(c, type, unspecified, end);	/* RFC 6980: never in fragments */
}

/* Finds ICMPv6 behind extension headers.  Each turn moves on by 8 or more: the head bounds the loop. */
static bool check_payload(struct claim *c, uint8_t next, bool unspecified, uint32_t end)
{
	bool fragment = false;

	while (next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING || next == IPPROTO_DSTOPTS ||
	       next == IPPROTO_FRAGMENT) {
		const uint8_t *extension = c->head + c->at;

		if (!has(c, 8))
			return false;
		if (next == IPPROTO_FRAGMENT) {
			if (be16(extension + 2) & 0xfff8)
				return !unspecified;	/* the first one was, or will be, looked at */
			fragment |= be16(extension + 2) & 1;
		}
		c->at += next == IPPROTO_FRAGMENT ? 8 : (extension[1] + 1u) * 8u;
		next = extension[0];
	}
	if (next == IPPROTO_ICMPV6)
		return check_icmpv6(c, unspecified, fragment, end);
	return !unspecified;
}

static bool check_ipv6(struct claim *c)
{
	const uint8_t *ip = c->head + c->at;
	bool unspecified;
	uint32_t end;

	if (!has(c, IPV6_HEADER) || ip[0] >> 4 != 6)
		return !c->rules->listed;
	unspecified = c->rules->listed && is_zero(ip + 8, 16);
	if (!unspecified && !allows6(c, ip + 8))
		return false;
	end = c->at + IPV6_HEADER + be16(ip + 4);
	c->at += IPV6_HEADER;
	return check_payload(c, ip[6], unspecified, end);
}

/* --- the frame -------------------------------------------------------------------------------- */

bool antispoof_allows(const struct antispoof *rules, const uint8_t mac[6], const uint8_t *head, uint32_t have)
{
	struct claim c = { rules, mac, head, have, ETHERNET_HEADER };
	uint32_t type;

	if (have < ETHERNET_HEADER || !is_mac(&c, head + 6))
		return false;
	type = be16(head + 12);
	while (type == TYPE_VLAN || type == TYPE_QINQ || type == TYPE_QINQ_OLD) {
		if (!has(&c, 4))
			return false;
		type = be16(head + c.at + 2);
		c.at += 4;
	}
	switch (type) {
	case TYPE_ARP:
	case TYPE_RARP:
		return check_arp(&c);
	case TYPE_IPV4:
		return check_ipv4(&c);
	case TYPE_IPV6:
		return check_ipv6(&c);
	default:
		return !rules->listed;
	}
}

/* --- text ------------------------------------------------------------------------------------- */

bool antispoof_parse(const char *text, struct antispoof_address *address)
{
	char copy[INET6_ADDRSTRLEN + 4], *slash;
	unsigned int bits, most;
	int end = 0;

	if (strlen(text) >= sizeof copy)
		return false;
	memset(address, 0, sizeof *address);
	strcpy(copy, text);
	slash = strchr(copy, '/');
	if (slash)
		*slash++ = '\0';
	address->version = strchr(copy, ':') ? 6 : 4;
	most = address->version == 6 ? 128 : 32;
	if (inet_pton(address->version == 6 ? AF_INET6 : AF_INET, copy, address->bytes) != 1)
		return false;
	address->prefix = (uint8_t)most;
	if (!slash)
		return true;
	if (strspn(slash, "0123456789") != strlen(slash) || sscanf(slash, "%3u%n", &bits, &end) != 1 ||
	    slash[end] != '\0' || bits > most)
		return false;
	address->prefix = (uint8_t)bits;
	return true;
}

void antispoof_format(const struct antispoof_address *address, char *text, size_t size)
{
	char ip[INET6_ADDRSTRLEN] = "";
	bool all = address->prefix == (address->version == 6 ? 128 : 32);

	inet_ntop(address->version == 6 ? AF_INET6 : AF_INET, address->bytes, ip, sizeof ip);
	snprintf(text, size, all ? "%s" : "%s/%u", ip, address->prefix);
}
