/* guest_tx.h - frames leaving the guest
 *
 * One object a queue.  Owner thread only; never blocks, allocates or logs; every call is bounded by
 * its burst, whatever the guest wrote. */
#ifndef BACKEND_GUEST_TX_H
#define BACKEND_GUEST_TX_H

#include "antispoof.h"
#include "cutter.h"
#include "events.h"
#include "frame.h"
#include "gcopy.h"
#include "limiter.h"
#include "port.h"
#include "ring.h"
#include "vif_state.h"

#define TX_BURST 64			/* frames a poll */
#define TX_PAGES_MIN NETIF_SLOTS_MAX	/* one frame must fit */
#define TX_PAGES_MAX 128		/* slots with data a poll are as many as pages, and so are the operations */

/* Of a consumed frame until it is answered and sent. */
struct tx_frame {
	struct frame frame;
	uint16_t first_answer, answers;	/* in guest_tx.answers */
	uint16_t operations, first_operation;
	uint16_t flags;			/* NETTXF_*, of the first slot */
	bool has_gso;
	struct netif_extra_info gso;
};

struct guest_tx {
	struct ring_tx ring;
	struct gcopy *copy;		/* shared with guest_rx: each resets it first */
	struct events *events;
	struct port *port;
	struct queue_state *state;
	uint32_t takes;			/* OFFLOAD_*: what may be left undone in what is sent on */
	struct cutter *cutter;		/* for frames that the port does not take uncut */
	struct antispoof antispoof;	/* off, or what the guest may say it is */
	uint8_t mac[6];			/* the guest's */
	struct multicast *multicast;	/* of the vif, edited by the guest's extras */
	struct limiter limiter;		/* what the guest may send; frames beyond it stay in the ring */

	int page_count;			/* buffers borrowed from the port for good */
	struct page_buffer pages[TX_PAGES_MAX];

	/* Of the poll in hand. */
	int slots_used;			/* with data; never more than there are pages */
	int page;			/* pages[] that the next slot goes to, if it fits */
	uint32_t page_fill;		/* bytes of it in use */
	int frame_count;
	uint32_t answer_count;
	struct tx_frame frames[TX_BURST];
	struct segment segments[TX_PAGES_MAX];
	struct netif_tx_response answers[NETIF_RING_SIZE];

	const char *fault;		/* what the guest broke; NULL while all is well */
	uint32_t fault_got, fault_limit;
};

/* Borrows @pages page buffers of @port; ring, copy, events, state and port have been set.
 * 0 or -ENOMEM. */
int guest_tx_open(struct guest_tx *tx, int pages);
void guest_tx_close(struct guest_tx *tx);

/* Moves one burst: the number of requests consumed; 0 when there is nothing to do; -EPROTO when the
 * guest broke the ring: tx->fault says how, nothing may be called any more but close. */
int guest_tx_poll(struct guest_tx *tx);

/* Sends @bytes, at most a page, into the port as if they were the guest's, between polls; they are none of its
 * frames and have no verdict.  Whether the port took them. */
bool guest_tx_send_own(struct guest_tx *tx, const uint8_t *bytes, uint32_t length);

/* Asks for an event at the next request; true if one is there already.  While the limiter waits neither:
 * time is what is waited for. */
bool guest_tx_arm(struct guest_tx *tx);

#endif
