/* netif.h - the protocol's types and limits, as the installed Xen headers have them
 *
 * The types come from xen/io/netif.h itself.  What the code relies on is asserted here, so that a
 * header that differs fails the build, and what that header lacks is added with its source. */
#ifndef BACKEND_NETIF_H
#define BACKEND_NETIF_H

#include <stddef.h>
#include <stdint.h>
#include <xen/xen.h>
#include <xen/event_channel.h>
#include <xen/io/netif.h>

#define XEN_PAGE 4096u			/* grants are of 4 KiB pages on every architecture */

#define NETIF_RING_SIZE 256u		/* ring.h: __CONST_RING_SIZE of a page, both rings */
#define NETIF_CONTROL_RING_SIZE 128u	/* likewise, of the control ring */

/* netif.h asks for XEN_NETIF_NR_SLOTS_MIN.  Linux's xen-netback counts only those behind the first
 * (netback.c, xenvif_count_requests), so old frontends with 18 fragments and a head get away with one
 * more: they do here, too. */
#define NETIF_SLOTS_MAX (XEN_NETIF_NR_SLOTS_MIN + 1)
/* Linux's fatal_skb_slots, 20, counted likewise: more is no old frontend, it is an attack. */
#define NETIF_SLOTS_FATAL 21u

/* Linux's netif.h has one more extra, XDP (5), that only backends send; a frontend that does is no
 * broken ring. */
#define NETIF_EXTRA_TYPE_XDP   (XEN_NETIF_EXTRA_TYPE_HASH + 1)	/* u.pad[0]: the headroom */
#define NETIF_EXTRA_TYPE_LIMIT (XEN_NETIF_EXTRA_TYPE_HASH + 2)

_Static_assert(sizeof(struct netif_tx_request) == 12, "netif.h: tx request");
_Static_assert(sizeof(struct netif_tx_response) == 4, "netif.h: tx response");
_Static_assert(sizeof(struct netif_rx_request) == 8, "netif.h: rx request");
_Static_assert(sizeof(struct netif_rx_response) == 8, "netif.h: rx response");
_Static_assert(sizeof(struct netif_extra_info) == 8, "netif.h: an extra fits either slot");
_Static_assert(sizeof(union netif_tx_sring_entry) == 12, "netif.h: tx slot");
_Static_assert(sizeof(union netif_rx_sring_entry) == 8, "netif.h: rx slot");
_Static_assert(offsetof(struct netif_tx_sring, ring) == 64, "ring.h: header of a ring");
_Static_assert(offsetof(struct netif_tx_sring, ring) + NETIF_RING_SIZE * 12 <= XEN_PAGE, "tx ring");
_Static_assert(offsetof(struct netif_rx_sring, ring) + NETIF_RING_SIZE * 8 <= XEN_PAGE, "rx ring");
_Static_assert(sizeof(struct xen_netif_ctrl_request) == 16, "netif.h: control request");
_Static_assert(sizeof(struct xen_netif_ctrl_response) == 12, "netif.h: control response");
_Static_assert(offsetof(struct xen_netif_ctrl_sring, ring) + NETIF_CONTROL_RING_SIZE * 16 <= XEN_PAGE,
	       "control ring");
_Static_assert(NETIF_SLOTS_MAX == 19, "netif.h: XEN_NETIF_NR_SLOTS_MIN");

#endif
