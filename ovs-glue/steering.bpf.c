/* steering.bpf.c - which queue of a TAP a frame towards the guest goes to
 *
 * Runs in the kernel for every frame that enters the TAP (TUNSETSTEERINGEBPF).  The TAP's own choice
 * follows the guest: it moves a flow to the queue the guest last answered on, and frames of the flow
 * that still wait in the old queue are then overtaken.  This one only looks at the frame, so a flow stays
 * where it is for as long as the number of queues does; the kernel takes the result's lower 16 bits modulo
 * the number of queues.
 *
 * A flow is: addresses, protocol and ports of TCP and UDP over IPv4 and IPv6 (behind up to two VLAN tags);
 * the addresses alone of fragments, of other protocols and behind IPv6 extension headers; the MACs of
 * everything else.
 *
 * A guest that has chosen a hash of its own (control ring, netif.h) wants its frames on the queues its
 * mapping says: that is the second program, with the guest's key and mapping in a map.
 *
 * Compiled by clang for the BPF machine and loaded by steering.c. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "steering_hash.h"

#define VLAN_TAGS_MAX 2
#define VLAN_TAG_BYTES 4
#define IPV4_FRAGMENT 0x3fff		/* more fragments, or an offset */

struct ipv4 {
	__u8 version_and_length, tos;
	__be16 total, id, fragment;
	__u8 ttl, protocol;
	__be16 checksum;
	__be32 addresses[2];
};

struct ipv6 {
	__be32 flow;
	__be16 payload;
	__u8 protocol, hops;
	__be32 addresses[8];
};

/* A step of a multiplicative hash (Knuth). */
static __always_inline __u32 mix(__u32 hash, __u32 word)
{
	hash = (hash ^ word) * 0x9e3779b1u;
	return hash ^ (hash >> 15);
}

/* Murmur3's last step: every bit of the result depends on every bit of @hash. */
static __always_inline __u32 finish(__u32 hash)
{
	hash = (hash ^ hash >> 16) * 0x85ebca6bu;
	hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
	return hash ^ hash >> 16;
}

static __always_inline __u32 mix_ports(struct __sk_buff *skb, __u32 at, __u8 protocol, __u32 hash)
{
	__u32 ports;

	hash = mix(hash, protocol);
	if ((protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) &&
	    bpf_skb_load_bytes(skb, at, &ports, sizeof ports) == 0)
		hash = mix(hash, ports);
	return hash;
}

static __always_inline __u32 hash_ipv4(struct __sk_buff *skb, __u32 at)
{
	struct ipv4 ip;
	__u32 hash;

	if (bpf_skb_load_bytes(skb, at, &ip, sizeof ip) != 0)
		return 0;
	hash = mix(mix(0, ip.addresses[0]), ip.addresses[1]);
	if (ip.fragment & bpf_htons(IPV4_FRAGMENT))
		return hash;
	return mix_ports(skb, at + (ip.version_and_length & 15) * 4, ip.protocol, hash);
}

static __always_inline __u32 hash_ipv6(struct __sk_buff *skb, __u32 at)
{
	struct ipv6 ip;
	__u32 hash = 0;

	if (bpf_skb_load_bytes(skb, at, &ip, sizeof ip) != 0)
		return 0;
#pragma unroll
	for (int i = 0; i < 8; i++)
		hash = mix(hash, ip.addresses[i]);
	if (ip.protocol != IPPROTO_TCP && ip.protocol != IPPROTO_UDP)
		return hash;
	return mix_ports(skb, at + sizeof ip, ip.protocol, hash);
}

static __always_inline __u32 hash_macs(struct __sk_buff *skb)
{
	__u32 words[3], hash = 0;

	if (bpf_skb_load_bytes(skb, 0, words, sizeof words) != 0)
		return 0;
#pragma unroll
	for (int i = 0; i < 3; i++)
		hash = mix(hash, words[i]);
	return hash;
}

/* The type behind Ethernet and VLAN tags; *@at moves to where that begins. */
static __always_inline __be16 skip_ethernet(struct __sk_buff *skb, __u32 *at)
{
	__be16 type = 0;

	*at = ETH_HLEN;
	bpf_skb_load_bytes(skb, *at - sizeof type, &type, sizeof type);
#pragma unroll
	for (int i = 0; i < VLAN_TAGS_MAX; i++)
		if (type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD)) {
			*at += VLAN_TAG_BYTES;
			bpf_skb_load_bytes(skb, *at - sizeof type, &type, sizeof type);
		}
	return type;
}

SEC("socket")
int steer(struct __sk_buff *skb)
{
	__u32 at, hash;
	__be16 type = skip_ethernet(skb, &at);

	if (type == bpf_htons(ETH_P_IP))
		hash = hash_ipv4(skb, at);
	else if (type == bpf_htons(ETH_P_IPV6))
		hash = hash_ipv6(skb, at);
	else
		hash = hash_macs(skb);
	return finish(hash);
}

/* --- a guest's own hash ----------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct steering_hash);
} guest_hash SEC(".maps");

#define INPUT_MAX 36			/* two IPv6 addresses and two ports */

/* What is hashed of a frame, as it stands in its headers: addresses, then ports if they count.  Bytes. */
static __always_inline __u32 gather(struct __sk_buff *skb, const struct steering_hash *guest, __u8 *input)
{
	__u32 at, length;
	__be16 type = skip_ethernet(skb, &at);
	struct ipv4 ip4;
	struct ipv6 ip6;
	int with_ports;

	if (type == bpf_htons(ETH_P_IP) && bpf_skb_load_bytes(skb, at, &ip4, sizeof ip4) == 0) {
		with_ports = (guest->types & STEERING_HASH_IPV4_TCP) && ip4.protocol == IPPROTO_TCP &&
			     !(ip4.fragment & bpf_htons(IPV4_FRAGMENT));
		if (!with_ports && !(guest->types & STEERING_HASH_IPV4))
			return 0;
		length = sizeof ip4.addresses;
		__builtin_memcpy(input, ip4.addresses, sizeof ip4.addresses);
		at += (ip4.version_and_length & 15) * 4;
	} else if (type == bpf_htons(ETH_P_IPV6) && bpf_skb_load_bytes(skb, at, &ip6, sizeof ip6) == 0) {
		with_ports = (guest->types & STEERING_HASH_IPV6_TCP) && ip6.protocol == IPPROTO_TCP;
		if (!with_ports && !(guest->types & STEERING_HASH_IPV6))
			return 0;
		length = sizeof ip6.addresses;
		__builtin_memcpy(input, ip6.addresses, sizeof ip6.addresses);
		at += sizeof ip6;
	} else {
		return 0;
	}
	if (!with_ports)
		return length;
	if (length == sizeof ip4.addresses)
		bpf_skb_load_bytes(skb, at, input + sizeof ip4.addresses, 4);
	else
		bpf_skb_load_bytes(skb, at, input + sizeof ip6.addresses, 4);
	return length + 4;
}

/* As netif.h and Microsoft's RSS have it: for each bit that is set, 32 bits of the key from that place on. */
static __always_inline __u32 toeplitz(const __u8 *key, const __u8 *input, __u32 length)
{
	__u32 window = (__u32)key[0] << 24 | (__u32)key[1] << 16 | (__u32)key[2] << 8 | key[3], hash = 0;

	for (__u32 i = 0; i < INPUT_MAX; i++) {
		__u8 byte = i < length ? input[i] : 0, next = key[i + 4];

#pragma unroll
		for (int bit = 7; bit >= 0; bit--) {
			hash ^= byte >> bit & 1 ? window : 0;
			window = window << 1 | (next >> bit & 1);
		}
	}
	return hash;
}

SEC("socket")
int steer_by_guest(struct __sk_buff *skb)
{
	__u8 input[INPUT_MAX] = { 0 };
	__u32 zero = 0, hash;
	const struct steering_hash *guest = bpf_map_lookup_elem(&guest_hash, &zero);

	if (!guest)
		return 0;
	hash = gather(skb, guest, input);
	hash = toeplitz(guest->key, input, hash);
	/* Not left to the kernel: of what we return it keeps 16 bits (drivers/net/tun.c). */
	if (guest->mapping_size == 0)
		return guest->queues ? hash % guest->queues : 0;
	return guest->mapping[hash % guest->mapping_size % STEERING_MAPPING_MAX];
}
