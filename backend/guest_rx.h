/* guest_rx.h - frames on their way to the guest
 *
 * One object a queue.  Owner thread only; never blocks, allocates or logs; every call is bounded by
 * its bursts. */
#ifndef BACKEND_GUEST_RX_H
#define BACKEND_GUEST_RX_H

#include "cutter.h"
#include "events.h"
#include "gcopy.h"
#include "hash.h"
#include "limiter.h"
#include "offload.h"
#include "port.h"
#include "ring.h"
#include "rx_queue.h"
#include "vif_state.h"

#define RX_BURST 64			/* frames read from the port, and frames delivered, a poll */

#define RX_EXTRAS_MAX 3			/* GSO, hash, XDP */
/* Slots that the largest frame takes: 17 pages of data behind any headroom, and the extras. */
#define RX_SLOTS_MAX (17 + RX_EXTRAS_MAX)

/* Of a frame, or of a segment of one, from its plan until its answers are published. */
struct rx_frame {
	struct frame *frame;		/* to be released then; NULL: more segments of it follow */
	bool is_piece;
	uint16_t first_answer, slots, extras;	/* extras stand behind the first slot */
	uint16_t first_operation, operations;
};

struct guest_rx {
	struct ring_rx ring;
	struct gcopy *copy;		/* shared with guest_tx: each resets it first */
	struct events *events;
	struct port *port;
	struct queue_state *state;
	uint32_t features;		/* VIF_F_* that the guest has and is to have */
	uint32_t mtu;			/* of the vif: longer frames are only for guests that cut them */
	struct cutter *cutter;		/* for frames that the guest does not take uncut */
	struct hash_config hash;	/* the guest's; which frames are told their hash */
	uint32_t headroom;		/* bytes to be left free before a frame in its first page */
	const struct multicast *multicast;	/* of the vif */
	bool multicast_control;		/* only multicast frames of that list */
	struct limiter limiter;		/* what the guest may be sent; frames beyond it stay queued */

	/* The frame at the head of the queue, while some of its segments are delivered and some are not. */
	const struct frame *cutting;
	struct segmentation cut;
	bool cut_failed;		/* one of its segments could not be copied */

	/* Of the poll in hand. */
	int frame_count;
	uint32_t answer_count;
	struct rx_frame frames[RX_BURST];
	union ring_rx_answer answers[NETIF_RING_SIZE];

	const char *fault;		/* as in guest_tx.h */
	uint32_t fault_got, fault_limit;

	struct rx_queue queue;
};

/* Reads at most @max frames, and at most a burst, from the port into the queue.  How many came. */
int guest_rx_receive(struct guest_rx *rx, int max);

/* Delivers one burst from the queue into the guest's buffers: the number of frames and segments, 0 when the queue
 * is empty or the guest has posted too few, -EPROTO when the guest broke the ring. */
int guest_rx_deliver(struct guest_rx *rx);

/* If frames wait for buffers: asks for an event when enough are posted; true if they are already. */
bool guest_rx_arm(struct guest_rx *rx);

/* Buffers that the frame at the head needs; 0 if none waits for buffers: there is no frame, or it waits for
 * credit. */
uint32_t guest_rx_slots_wanted(const struct guest_rx *rx);

/* Drops frames that waited longer than the age limit; @now also stamps new ones.  For when frames
 * stay queued after a poll. */
void guest_rx_age(struct guest_rx *rx, struct mono now);

/* Drops all that is queued, as @verdict. */
void guest_rx_flush(struct guest_rx *rx, enum guest_rx_verdict verdict);

#endif
