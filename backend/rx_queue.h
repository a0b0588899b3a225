/* rx_queue.h - the queue of frames that wait for the guest
 *
 * One accounting unit (memory) and three limits: frames and bytes drop at the tail, age drops at the
 * head.  What is over a limit that was lowered live stays queued; only new frames meet the new limit.
 * Pure: no clock, no port.  The owner gives every frame that is dropped or taken back to its port. */
#ifndef BACKEND_RX_QUEUE_H
#define BACKEND_RX_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"
#include "verdict.h"
#include "vif_config.h"

struct rx_queue {
	struct queue_limits limits;	/* in force; the owner may change them at any time */
	uint32_t head, tail;		/* free-running */
	uint32_t bytes;			/* sum of footprints */
	struct frame *frames[QUEUE_FRAMES_LIMIT];
};

static inline uint32_t rx_queue_count(const struct rx_queue *queue)
{
	return queue->tail - queue->head;
}

/* Frames that are sure to find room, whatever their size. */
uint32_t rx_queue_room(const struct rx_queue *queue);
/* Takes @frame: GUEST_RX_DELIVERED, or the verdict that says which limit it met. */
enum guest_rx_verdict rx_queue_push(struct rx_queue *queue, struct frame *frame);
struct frame *rx_queue_peek(const struct rx_queue *queue, uint32_t ahead);	/* NULL past the end */
struct frame *rx_queue_pop(struct rx_queue *queue);				/* NULL when empty */

/* Stamps all frames that have no time yet; call when frames stay queued after a poll. */
void rx_queue_stamp(struct rx_queue *queue, struct mono now);
/* The oldest frame if it waited longer than the age limit (popped), else NULL. */
struct frame *rx_queue_pop_expired(struct rx_queue *queue, struct mono now);

#endif
