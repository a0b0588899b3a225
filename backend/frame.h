/* frame.h - the one form a frame has between rings and ports
 *
 * A frame is a struct virtio_net_hdr_v1 (12 bytes, little endian, virtio 1.2 section 5.1.6) and the
 * bytes behind it.  Netif flags and extras are converted to it once and back once (offload.h); it is
 * what TAP, packet sockets and virtqueues take as it is.
 *
 * The bytes lie in segments of local memory.  A segment may span pages; where its memory was granted
 * to our own domain (pages.h), @grefs holds a reference for each page it touches, which makes the
 * hypervisor's copy cheaper; else @grefs is NULL.  Memory belongs to the port (port.h). */
#ifndef BACKEND_FRAME_H
#define BACKEND_FRAME_H

#include <linux/virtio_net.h>
#include <stdint.h>

#include "clock.h"

#define FRAME_LENGTH_MIN    14		/* an Ethernet header */
#define FRAME_LENGTH_MAX    65535	/* netif.h: XEN_NETIF_MAX_TX_SIZE */
/* The largest that comes from the switch: an IP packet of 65,535 bytes behind an Ethernet header with
 * two VLAN tags (a merged TCP stream may be that long; frontends take 17 slots of it). */
#define FRAME_LENGTH_MAX_GUEST_RX (65535 + 14 + 2 * 4)
#define FRAME_FOOTPRINT_MAX (18 * 4096)	/* of the largest frame, which may start anywhere in its first page */
#define FRAME_ALIGN         64		/* frames in memory start on a cache line */
#define FRAME_SEGMENTS_MAX  19		/* backend/netif.h: NETIF_SLOTS_MAX */

/* A page of a port's memory: where a transmit slot is copied to. */
struct page_buffer {
	uint8_t *data;			/* 4096 bytes, page aligned */
	uint32_t gref;			/* granted to our own domain, or GREF_NONE */
};
#define GREF_NONE UINT32_MAX		/* this page is plain memory */

struct segment {
	uint8_t *data;
	uint32_t length;
	const uint32_t *grefs;		/* [i]: of the page that @data + i pages lies in; or NULL */
};

struct frame {
	struct virtio_net_hdr_v1 vnet;
	uint16_t segment_count;
	uint32_t length;		/* bytes, Ethernet header and all, without vnet */
	uint32_t footprint;		/* bytes of memory it occupies: what queue limits count */
	struct segment *segments;	/* [segment_count], owned by whoever made the frame */
	struct mono queued;		/* guest_rx: when it was read from the port */
};

#endif
