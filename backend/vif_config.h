/* vif_config.h - what unetbackd tells an instance about one vif, checked
 *
 * unetbackd builds it from XenStore and its own settings (vif_keys.c), checks every field, and sends
 * it over the channel; the instance checks it again (vif_config_check) because a bug in one process
 * must not become a hole in the other.  Fixed size, no pointers: it is its own wire form, valid only
 * between programs of one build (VIF_CONFIG_VERSION). */
#ifndef BACKEND_VIF_CONFIG_H
#define BACKEND_VIF_CONFIG_H

#include <stdint.h>

#include "announce.h"
#include "antispoof.h"
#include "limiter.h"

#define VIF_CONFIG_VERSION  5
#define VIF_NAME_MAX        16		/* IFNAMSIZ: vif65535.65535 fits */
#define VIF_QUEUES_MAX      8
#define VIFS_PER_GUEST_MAX  16		/* slots in the guest's state memory */

/* What both sides agreed to (netif.h).  Directions: what the GUEST can receive. */
#define VIF_F_SG         (1u << 0)	/* feature-sg: frames of more than one slot */
#define VIF_F_GSO_TCPV4  (1u << 1)	/* feature-gso-tcpv4 */
#define VIF_F_GSO_TCPV6  (1u << 2)	/* feature-gso-tcpv6 */
#define VIF_F_CSUM_IPV4  (1u << 3)	/* NOT feature-no-csum-offload: on unless refused */
#define VIF_F_CSUM_IPV6  (1u << 4)	/* feature-ipv6-csum-offload: off unless asked for */
#define VIF_F_RX_NOTIFY  (1u << 5)	/* feature-rx-notify: guest signals new rx requests */
#define VIF_F_ALL        0x3fu
/* Frames to be cut into segments are larger than a slot and have no checksum yet. */
#define VIF_F_GSO_TCPV4_NEEDS (VIF_F_SG | VIF_F_CSUM_IPV4)
#define VIF_F_GSO_TCPV6_NEEDS (VIF_F_SG | VIF_F_CSUM_IPV6)

/* Who fills in checksums and cuts large TCP frames (vif_policy.h has the words). */
enum csum_policy {
	CSUM_AUTO,		/* what the guest and the port agreed to take undone crosses undone, but DHCP */
	CSUM_COMPLETE,		/* the guest may leave it undone; we do it, both ways, before anybody looks */
	CSUM_OFF,		/* nothing is offered to the guest; what it leaves undone all the same, we do */
};

#define XDP_HEADROOM_MAX 2048u		/* half a page; Linux's limit, 0x7fff, is more than a page has */
#define VIF_REF_MIN  1u			/* reference 0 is the console's in every guest (grant_table.h) */
#define VIF_PORT_MAX 0x1ffffu		/* EVTCHN_FIFO_NR_CHANNELS - 1 (event_channel.h) */

struct queue_config {
	uint32_t tx_ring_ref, rx_ring_ref;	/* grant references of the two ring pages */
	uint32_t tx_port, rx_port;		/* the guest's event ports; equal: one channel for both */
};

/* Depth of the queue towards the guest.  A frame that would exceed either of the first two is
 * dropped at the tail; a frame that has waited longer than the third at the head. */
struct queue_limits {
	uint32_t frames;
	uint32_t bytes;				/* of memory (frame.footprint) */
	uint32_t age_ms;
};
#define QUEUE_FRAMES_DEFAULT 1024
#define QUEUE_FRAMES_LIMIT   8192		/* largest that can be set */
#define QUEUE_BYTES_DEFAULT  (4u << 20)
#define QUEUE_BYTES_MIN      (1u << 17)		/* room for a frame of 65,535 bytes, and then some */
#define QUEUE_BYTES_LIMIT    (64u << 20)
#define QUEUE_AGE_MS_DEFAULT 10000		/* as xen-netback's rx_drain_timeout_msecs */
#define QUEUE_AGE_MS_LIMIT   60000

/* What may change while a vif is connected (MESSAGE_VIF_UPDATE); all else is fixed at connect. */
struct vif_live {
	struct rate tx_rates[RATE_KINDS], rx_rates[RATE_KINDS];	/* of all queues together */
	struct queue_limits limits;
	/* Bytes to be left free before a frame in its first page, for the guest's XDP program (Linux's
	 * netif.h, xdp-headroom; its netfront asks for 256). */
	uint32_t xdp_headroom;
	/* Rises when the guest is to be announced (vif_config.announce): what stands here when its queues start
	 * is past. */
	uint32_t announcements;
	uint32_t multicast_control;	/* 1: only multicast frames of the guest's list (multicast.h) */
};

struct vif_config {
	uint32_t version;
	uint16_t guest;				/* domid of the frontend */
	uint16_t self;				/* our own domid */
	uint32_t handle;			/* N of vifD.N */
	uint32_t slot;				/* index in the guest's state memory */
	char name[VIF_NAME_MAX];
	char port_kind[8];			/* "tap", "null" */
	uint32_t features;			/* VIF_F_* */
	uint32_t csum;				/* enum csum_policy */
	uint32_t mtu;				/* bytes behind the Ethernet header, 68..65535 */
	uint8_t mac[6];				/* the guest's, as the toolstack says; zeros: not said */
	struct antispoof antispoof;		/* needs @mac if on */
	struct announce announce;		/* to whoever @mac matters to */
	uint32_t queue_count;			/* 1..VIF_QUEUES_MAX */
	struct queue_config queues[VIF_QUEUES_MAX];
	uint32_t control_ring_ref, control_port; /* of the control ring; both 0: there is none */
	struct vif_live live;
	uint32_t fresh;				/* 1: the guest has just connected; what an earlier instance
						 * kept for it in the state memory is void */
	uint32_t stall_ms;			/* after which a guest that takes no frames is told of; 0: never */
	uint32_t pin;				/* 1: each queue's thread stays on one CPU */
	uint32_t guest_tx_pages;		/* per queue; see port_config */
	uint32_t guest_rx_granted_bytes;	/* per queue */
};

/* 0, or -EINVAL with a sentence in @why that names the field, its value and the range. */
int vif_config_check(const struct vif_config *config, char *why, unsigned int why_size);

#endif
