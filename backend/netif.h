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

/* netif.h: "the minimum number of slots a backend must support", called legacy maximum in Linux. */
#define NETIF_SLOTS_MAX XEN_NETIF_NR_SLOTS_MIN
/* Linux xen-netback fatal_skb_slots: more than this is no old frontend, it is an attack. */
#define NETIF_SLOTS_FATAL 20u

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
_Static_assert(NETIF_SLOTS_MAX == 18, "netif.h: XEN_NETIF_NR_SLOTS_MIN");

#endif
