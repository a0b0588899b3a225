/* antispoof.h - whether a frame from the guest claims to come from somebody else
 *
 * What is checked: the Ethernet source is the guest's MAC; so are the sender of ARP and RARP and the link-layer
 * addresses that neighbour discovery carries.  With a list of addresses also: the source of IPv4 and IPv6, the
 * sender of ARP, and whom a neighbour advertisement, or a probe for a duplicate, is about.  Beside those of the
 * list are allowed: 0.0.0.0 of a DHCP client and of an ARP probe (RFC 5227), and of IPv6 the link-local
 * address made of the MAC (RFC 4291, appendix A) and :: as far as a host without an address needs it (ICMPv6: duplicate address
 * detection, router solicitation, multicast listener reports).  Other link-local addresses (RFC 7217) must be
 * in the list, fe80::/64 will do.  With a list, what is neither IP nor ARP or RARP does not pass: it cannot be
 * checked.
 *
 * Any number of VLAN tags is looked through.  What ends, or is split into fragments, before it could be
 * checked, is taken for a lie.  Pure; reads only the bytes it is given. */
#ifndef BACKEND_ANTISPOOF_H
#define BACKEND_ANTISPOOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANTISPOOF_ADDRESSES_MAX 32

struct antispoof_address {
	uint8_t bytes[16];		/* of IPv4 the first four */
	uint8_t version;		/* 4 or 6 */
	uint8_t prefix;			/* bits that have to agree */
};

struct antispoof {
	uint32_t on;
	uint32_t listed;		/* 1: only these addresses, be there none */
	uint32_t count;
	struct antispoof_address addresses[ANTISPOOF_ADDRESSES_MAX];
};

/* @head: the first @have bytes of a frame, at least an Ethernet header; all of it, or PACKET_HEAD_MAX. */
bool antispoof_allows(const struct antispoof *rules, const uint8_t mac[6], const uint8_t *head, uint32_t have);

/* "ADDRESS" or "ADDRESS/BITS" of either version, as the toolstack writes them.  False if it is none. */
bool antispoof_parse(const char *text, struct antispoof_address *address);

/* For people, at least 64 bytes. */
void antispoof_format(const struct antispoof_address *address, char *text, size_t size);

#endif
