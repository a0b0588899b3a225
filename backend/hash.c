/* hash.c - the hash by which a guest spreads its frames over its queues; see hash.h
 *
 * Finds the headers by itself, and exactly as steering.bpf.c does: any IP packet has a hash of its
 * addresses, also a fragment or what packet.h knows nothing of; TCP behind IPv6 extension headers counts as
 * such a one. */
#include <netinet/in.h>
#include <string.h>

#define XEN_NETIF_DEFINE_TOEPLITZ	/* netif.h brings the function along */
#include "netif.h"
#include "hash.h"

_Static_assert(HASH_NONE == XEN_NETIF_CTRL_HASH_ALGORITHM_NONE &&
	       HASH_TOEPLITZ == XEN_NETIF_CTRL_HASH_ALGORITHM_TOEPLITZ, "netif.h: algorithms");
_Static_assert(HASH_IPV4 == XEN_NETIF_CTRL_HASH_TYPE_IPV4 && HASH_IPV4_TCP == XEN_NETIF_CTRL_HASH_TYPE_IPV4_TCP &&
	       HASH_IPV6 == XEN_NETIF_CTRL_HASH_TYPE_IPV6 && HASH_IPV6_TCP == XEN_NETIF_CTRL_HASH_TYPE_IPV6_TCP,
	       "netif.h: types");

#define ETHERNET_HEADER 14
#define VLAN_TAG 4
#define VLAN_TAGS_MAX 2
#define INPUT_MAX 36			/* two IPv6 addresses, two ports */

/* What differs between the two. */
struct protocol {
	uint32_t header, addresses, address_bytes;	/* least length; where the addresses are, both together */
	uint32_t type, type_tcp;
};
static const struct protocol ipv4 = { 20, 12, 8, HASH_IPV4, HASH_IPV4_TCP };
static const struct protocol ipv6 = { 40, 8, 32, HASH_IPV6, HASH_IPV6_TCP };

static uint16_t be16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static const struct protocol *find_ip(const uint8_t *head, uint32_t have, uint32_t *at)
{
	uint16_t type;

	*at = ETHERNET_HEADER;
	if (have < *at)
		return NULL;
	type = be16(head + *at - 2);
	for (int i = 0; i < VLAN_TAGS_MAX && (type == 0x8100 || type == 0x88a8); i++) {
		*at += VLAN_TAG;
		if (have < *at)
			return NULL;
		type = be16(head + *at - 2);
	}
	return type == 0x0800 ? &ipv4 : type == 0x86dd ? &ipv6 : NULL;
}

/* Whether TCP's ports follow, and where from the IP header on. */
static bool find_tcp(const struct protocol *protocol, const uint8_t *ip, uint32_t have, uint32_t *at)
{
	bool is_tcp = protocol == &ipv4 ? ip[9] == IPPROTO_TCP && (be16(ip + 6) & 0x3fff) == 0
					: ip[6] == IPPROTO_TCP;

	*at = protocol == &ipv4 ? (ip[0] & 15u) * 4 : protocol->header;
	return is_tcp && have >= *at && have - *at >= 4;
}

bool hash_frame(const struct hash_config *config, const uint8_t *head, uint32_t have, uint32_t *type,
		uint32_t *value)
{
	uint32_t at, ports, length;
	const struct protocol *protocol = find_ip(head, have, &at);
	uint8_t input[INPUT_MAX];

	if (!protocol || have - at < protocol->header)
		return false;
	length = protocol->address_bytes;
	memcpy(input, head + at + protocol->addresses, length);
	*type = protocol->type;
	if ((config->types & protocol->type_tcp) && find_tcp(protocol, head + at, have - at, &ports)) {
		memcpy(input + length, head + at + ports, 4);
		length += 4;
		*type = protocol->type_tcp;
	}
	if (!(config->types & *type))
		return false;
	*value = xen_netif_toeplitz_hash(config->key, HASH_KEY_MAX, input, length);
	return true;
}

bool hash_config_is_good(const struct hash_config *config, uint32_t queues)
{
	if (config->algorithm > HASH_TOEPLITZ || (config->types & ~HASH_TYPES_ALL) != 0 ||
	    config->mapping_size > HASH_MAPPING_MAX)
		return false;
	for (uint32_t i = 0; i < config->mapping_size; i++)
		if (config->mapping[i] >= queues)
			return false;
	return true;
}
