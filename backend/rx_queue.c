/* rx_queue.c - frames that wait for the guest; see rx_queue.h */
#include <stddef.h>

#include "rx_queue.h"

static struct frame **at(struct rx_queue *queue, uint32_t index)
{
	return &queue->frames[index % QUEUE_FRAMES_LIMIT];
}

enum guest_rx_verdict rx_queue_push(struct rx_queue *queue, struct frame *frame)
{
	uint32_t count = rx_queue_count(queue);

	if (count >= queue->limits.frames || count >= QUEUE_FRAMES_LIMIT)
		return GUEST_RX_QUEUE_FRAMES;
	/* An empty queue takes any frame: a limit below one frame must not stop all traffic. */
	if (count > 0 && (uint64_t)queue->bytes + frame->footprint > queue->limits.bytes)
		return GUEST_RX_QUEUE_BYTES;
	*at(queue, queue->tail++) = frame;
	queue->bytes += frame->footprint;
	return GUEST_RX_DELIVERED;
}

uint32_t rx_queue_room(const struct rx_queue *queue)
{
	uint32_t count = rx_queue_count(queue), frames, large;

	frames = queue->limits.frames > count ? queue->limits.frames - count : 0;
	large = queue->limits.bytes > queue->bytes ? (queue->limits.bytes - queue->bytes) / FRAME_FOOTPRINT_MAX : 0;
	return frames < large ? frames : large;
}

struct frame *rx_queue_peek(const struct rx_queue *queue, uint32_t ahead)
{
	return ahead < rx_queue_count(queue) ? *at((struct rx_queue *)queue, queue->head + ahead)
					     : NULL;
}

struct frame *rx_queue_pop(struct rx_queue *queue)
{
	struct frame *frame = rx_queue_peek(queue, 0);

	if (frame) {
		queue->head++;
		queue->bytes -= frame->footprint;
	}
	return frame;
}

/* Frames are stamped in order, so those without a time are the last ones. */
void rx_queue_stamp(struct rx_queue *queue, struct mono now)
{
	for (uint32_t i = queue->tail; i != queue->head; i--) {
		struct frame *frame = *at(queue, i - 1);

		if (frame->queued.ns != 0)
			break;
		frame->queued = now;
	}
}

struct frame *rx_queue_pop_expired(struct rx_queue *queue, struct mono now)
{
	const struct frame *frame = rx_queue_peek(queue, 0);

	if (!frame || frame->queued.ns == 0 ||
	    mono_ms_between(frame->queued, now) <= queue->limits.age_ms)
		return NULL;
	return rx_queue_pop(queue);
}
