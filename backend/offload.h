/* offload.h - netif flags and extras <-> struct virtio_net_hdr_v1
 *
 * Converted once each way.  What netif leaves out (where the checksum belongs, how long the headers
 * are) is found in the frame's own headers; what those do not support is refused, not guessed.
 * Pure; owner thread only. */
#ifndef BACKEND_OFFLOAD_H
#define BACKEND_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"
#include "netif.h"
#include "verdict.h"

struct offload_from_guest {
	bool mended;			/* GSO came without NETTXF_csum_blank */
	bool checksummed;		/* we completed the checksum */
};

/* Fills frame->vnet from a transmit request's @flags and its GSO extra (NULL for none; its type and
 * size have been checked).  @frame's segments hold the bytes.  GSO without NETTXF_csum_blank, which
 * some frontends send, is mended as Linux's xen-netback does; that writes the pseudo header's sum into the
 * frame.  A checksum is completed if it is DHCP's or if @takes (OFFLOAD_* of port.h) has no OFFLOAD_CSUM,
 * unless the frame is to be cut: then frame->vnet says so, whatever @takes.
 * GUEST_TX_SENT or GUEST_TX_BAD_OFFLOAD, also for what we would have to cut into too many pieces. */
enum guest_tx_verdict offload_from_guest(struct frame *frame, uint16_t flags,
					 const struct netif_extra_info *gso, uint32_t takes,
					 struct offload_from_guest *out);

struct offload_to_guest {
	uint16_t flags;			/* NETRXF_csum_blank, NETRXF_data_validated */
	bool has_gso;
	struct netif_extra_info gso;
	bool checksummed;		/* we completed the checksum: this guest wants it whole */
};

/* The same for a frame to a guest with VIF_F_* @features; its bytes lie in one segment.  Completes
 * the checksum if the guest cannot, or if it is DHCP's: clients read raw sockets, where no kernel has looked
 * at what is blank, and call such frames broken.  GUEST_RX_DELIVERED, _NO_OFFLOAD or _BAD_FRAME. */
enum guest_rx_verdict offload_to_guest(struct frame *frame, uint32_t features,
				       struct offload_to_guest *out);

/* The OFFLOAD_* of port.h that a guest with @features can take. */
uint32_t offload_of_features(uint32_t features);

/* Whether a frame behind @vnet is left to be cut, as TCP, and whoever takes OFFLOAD_* @takes does not. */
bool offload_must_cut(const struct virtio_net_hdr_v1 *vnet, uint32_t takes);

/* What is left of a guest's @features under @csum (enum csum_policy): all, or none that leaves a checksum or
 * a cut to the guest. */
uint32_t offload_features_left(uint32_t features, uint32_t csum);

#endif
