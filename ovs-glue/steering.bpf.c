/* steering.bpf.c - which queue of a TAP a frame towards the guest goes to
 *
 * Runs in the kernel for every frame that enters the TAP (TUNSETSTEERINGEBPF).  The TAP's own choice
 * follows the guest: it moves a flow to the queue the guest last answered on, and frames of the flow
 * that still wait in the old queue are then overtaken.  This one only looks at the frame, so a flow stays
 * where it is for as long as the number of queues does; what the kernel does with the result is modulo
 * the number of queues.
 *
 * A flow is: addresses, protocol and ports of TCP and UDP over IPv4 and IPv6 (behind up to two VLAN tags);
 * the addresses alone of fragments, of other protocols and behind IPv6 extension headers; the MACs of
 * everything else.  Compiled by clang for the BPF machine and loaded by steering.c. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

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

SEC("socket")
int steer(struct __sk_buff *skb)
{
	__u32 at = ETH_HLEN, hash;
	__be16 type = 0;

	bpf_skb_load_bytes(skb, at - sizeof type, &type, sizeof type);
#pragma unroll
	for (int i = 0; i < VLAN_TAGS_MAX; i++)
		if (type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD)) {
			at += VLAN_TAG_BYTES;
			bpf_skb_load_bytes(skb, at - sizeof type, &type, sizeof type);
		}
	if (type == bpf_htons(ETH_P_IP))
		hash = hash_ipv4(skb, at);
	else if (type == bpf_htons(ETH_P_IPV6))
		hash = hash_ipv6(skb, at);
	else
		hash = hash_macs(skb);
	return finish(hash) >> 1;	/* never negative */
}
