/* net_link.h - network devices, by rtnetlink
 *
 * What the kernel knows of one device, and the few changes we make to it.  Netlink and not sysfs,
 * because /sys/class/net shows the network namespace it was mounted in, not ours, and because the
 * number of queues of a TAP that somebody serves is told nowhere else.
 *
 * All return 0 or -errno and log nothing: the caller knows what it wanted. */
#ifndef OVS_GLUE_NET_LINK_H
#define OVS_GLUE_NET_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define NET_LINK_MAC_BYTES 6

/* What `ip -d link show` says of a TUN or TAP.  All zero for other kinds. */
struct net_link_tun {
	uint8_t type;			/* IFF_TUN, IFF_TAP */
	uint8_t packet_info;		/* 1: made without IFF_NO_PI */
	uint8_t vnet_header;
	uint8_t persistent;
	uint8_t multi_queue;
	bool owned;			/* a user or group other than root may open it */
	uint32_t queues, disabled_queues;	/* that programs hold open; multi_queue only */
};

struct net_link {
	int ifindex;
	uint32_t flags;			/* IFF_* */
	char kind[16];			/* "tun", "veth", ...; "" for hardware and old drivers */
	uint8_t mac[NET_LINK_MAC_BYTES];
	uint32_t mtu, mtu_max;		/* mtu_max 0: the kernel does not say */
	uint32_t queue_length;		/* txqueuelen */
	bool carrier;
	uint64_t rx_dropped, tx_dropped;	/* the kernel's view */
	struct net_link_tun tun;
};

/* -ENODEV if there is no such device. */
int net_link_get(const char *name, struct net_link *link);

/* Sets MAC and queue length and sets the device up, in one step. */
int net_link_bring_up(int ifindex, const uint8_t mac[NET_LINK_MAC_BYTES], uint32_t queue_length);
int net_link_set_mtu(int ifindex, uint32_t mtu);

/* Deletes the device even if programs hold it open.  -ENODEV if it is gone already. */
int net_link_delete(int ifindex);

#endif
