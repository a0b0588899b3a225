/* tx_twin.h - what a poll of guest_tx has to do, said as simply as can be
 *
 * Reads the ring like guest_tx.c, from netif.h and xen-netback's rules, but a frame at a time,
 * without bursts of copies, with no thought for speed, and never writes. */
#ifndef TX_TWIN_H
#define TX_TWIN_H

#include <stdbool.h>
#include <stdint.h>

#include "../../backend/netif.h"
#include "../../backend/frame.h"

#define TWIN_PAGES 8u			/* pages of the guest that its data lies in */
#define TWIN_SLOTS 24

struct twin_answer { uint16_t id; int16_t status; bool any_error; };

struct twin_frame {
	uint32_t first_index;		/* in the ring */
	uint32_t first_answer, requests;
	bool dropped;
	bool control;			/* edits the multicast list, is no frame */
	bool offload;			/* asks for some: the headers decide */
	bool has_gso, blank;
	struct netif_tx_request slots[TWIN_SLOTS];
	int slot_count, data_slots;
	uint32_t length;
};

struct twin_poll {
	bool fault;			/* behind the frames */
	struct twin_frame frames[NETIF_RING_SIZE];
	int frame_count;
	struct twin_answer answers[NETIF_RING_SIZE];
	uint32_t answer_count;
};

/* Before the first poll: forgets the multicast list. */
void twin_start(void);
void twin_run(struct twin_poll *twin, const struct netif_tx_sring *ring, uint32_t cons, int pages,
	      int burst);
/* Turns the answers of frames whose copies fail into errors: operation @fail counted from @done, all
 * of them if the call fails, and references to nowhere. */
void twin_apply_copies(struct twin_poll *twin, uint32_t done, uint32_t fail, bool call_fails);
/* @bytes are the slots', but for a checksum that was mended. */
void twin_check_bytes(const struct twin_frame *frame, const uint8_t (*pages)[XEN_PAGE],
		      const uint8_t *bytes, const struct virtio_net_hdr_v1 *vnet);

#endif
