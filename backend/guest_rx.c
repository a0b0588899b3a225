/* guest_rx.c - frames on their way to the guest
 *
 * Two steps that need not keep pace: receive (port to queue, offloads and limits checked) and deliver
 * (queue to the guest's posted buffers) in phases: plan (requests of the ring to copies and answers),
 * copy (one call), judge, publish (all answers, then one event at most), release.
 *
 * A frame is packed into as few slots as it needs, 4096 bytes each; behind the first slot stand the
 * extras, if there are any, in the order of their types (netif.h).  A guest that runs an XDP program asks for
 * headroom: the first page is then filled from there on, and extra and offset both say so.  (xen-netback leaves
 * it in every page and counts it as bytes, which its netfront puts up with for frames of one slot only.)  The answer stands in the slot of its request: Linux's
 * netfront looks at the place, not at the id.  Only the slots that the frame at the head needs are
 * waited for: iPXE never posts more than four.
 *
 * A frame that is left to be cut, but not by this guest, goes in segments.  It stays at the head of the queue until the
 * last one is planned, for which it may take several polls, and has one verdict like any other: delivered, if
 * all its segments were.
 *
 * Requests consumed are answered before the call returns, so nothing is in flight between polls. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "guest_rx.h"
#include "oversize.h"

static int fault(struct guest_rx *rx)
{
	rx->fault = "requests in the ring";
	rx->fault_got = rx->ring.prod_seen - rx->ring.cons;
	rx->fault_limit = NETIF_RING_SIZE;
	return -EPROTO;
}

static void finish(struct guest_rx *rx, struct frame *frame, enum guest_rx_verdict verdict)
{
	state_add(&rx->state->rx_verdicts[verdict], 1);
	if (rx->cutting == frame) {	/* it was dropped between two of its segments */
		rx->cutting = NULL;
		rx->cut_failed = false;
	}
	rx->port->class->release(rx->port, frame);
}

static void show_queue(struct guest_rx *rx)
{
	state_set(&rx->state->rx_queued_frames, rx_queue_count(&rx->queue));
	state_set(&rx->state->rx_queued_bytes, rx->queue.bytes);
}

/* --- receive ---------------------------------------------------------------------------------- */

static bool is_cut(const struct guest_rx *rx, const struct frame *frame)
{
	return frame->vnet.gso_type != VIRTIO_NET_HDR_GSO_NONE &&
	       offload_must_cut(&frame->vnet, offload_of_features(rx->features));
}

/* What this guest can take at all, whatever it posts. */
static enum guest_rx_verdict check_length(const struct guest_rx *rx, struct frame *frame)
{
	if (frame->length < FRAME_LENGTH_MIN)
		return GUEST_RX_BAD_FRAME;
	if (frame->length > FRAME_LENGTH_MAX_GUEST_RX)
		return GUEST_RX_TOO_LARGE;
	if (oversize_is(frame, rx->mtu) && !oversize_leave_to_cut(frame, rx->mtu))
		return GUEST_RX_TOO_LONG;
	if (rx->headroom + frame->length > XEN_PAGE && !(rx->features & VIF_F_SG) && !is_cut(rx, frame))
		return GUEST_RX_TOO_LARGE;
	return GUEST_RX_DELIVERED;
}

static bool is_filtered(const struct guest_rx *rx, const struct frame *frame)
{
	const uint8_t *to = frame->segments[0].data;

	return rx->multicast_control && multicast_is(to) && !multicast_has(rx->multicast, to);
}

static void enqueue(struct guest_rx *rx, struct frame *frame)
{
	enum guest_rx_verdict verdict = check_length(rx, frame);

	if (verdict == GUEST_RX_DELIVERED && is_filtered(rx, frame))
		verdict = GUEST_RX_FILTERED;
	if (verdict == GUEST_RX_DELIVERED)
		verdict = rx_queue_push(&rx->queue, frame);
	if (verdict != GUEST_RX_DELIVERED)
		finish(rx, frame, verdict);
}

int guest_rx_receive(struct guest_rx *rx, int max)
{
	struct frame *frames[RX_BURST];
	int n = rx->port->class->recv(rx->port, frames, max < RX_BURST ? max : RX_BURST);

	if (n == 0)
		return 0;
	state_add(&rx->state->rx_frames, (uint64_t)n);
	for (int i = 0; i < n; i++)
		enqueue(rx, frames[i]);
	show_queue(rx);
	return n;
}

/* --- deliver: the plan ------------------------------------------------------------------------ */

/* Bytes of it that are delivered at once: all, or at most a segment's, with two VLAN tags. */
static uint32_t length_at_once(const struct guest_rx *rx, const struct frame *frame)
{
	uint32_t most = rx->mtu + 14 + 2 * 4;

	return frame->length > most && is_cut(rx, frame) ? most : frame->length;
}

static uint32_t data_slots(const struct guest_rx *rx, const struct frame *frame)
{
	return (rx->headroom + length_at_once(rx, frame) + XEN_PAGE - 1) / XEN_PAGE;
}

/* Slots that it needs, or its next segment, extras included; an upper bound that needs no look into the frame. */
static uint32_t slots_needed(const struct guest_rx *rx, const struct frame *frame)
{
	return data_slots(rx, frame) + (frame->vnet.gso_type != VIRTIO_NET_HDR_GSO_NONE && !is_cut(rx, frame)) +
	       hash_is_on(&rx->hash) + (rx->headroom > 0);
}

/* Operations for one slot's bytes, to @to in the guest's page: a granted source must not cross pages, a plain
 * one may. */
static void plan_copy(struct guest_rx *rx, const struct segment *segment, uint32_t offset,
		      uint32_t ref, uint32_t to, uint32_t length)
{
	uint32_t done = 0;

	while (done < length) {
		const uint8_t *data = segment->data + offset + done;
		uint32_t in_page = (uint32_t)((uintptr_t)segment->data % XEN_PAGE) + offset + done;
		uint32_t n = length - done;
		uint32_t gref = GREF_NONE;

		if (segment->grefs) {
			gref = segment->grefs[in_page / XEN_PAGE];
			if (n > XEN_PAGE - in_page % XEN_PAGE)
				n = XEN_PAGE - in_page % XEN_PAGE;
		}
		gcopy_to_guest(rx->copy, ref, (uint16_t)(to + done), data, gref, (uint16_t)n);
		done += n;
	}
}

/* The frame's bytes from @offset on, to @to of the next page; how many those are. */
static uint32_t plan_slot(struct guest_rx *rx, const struct frame *frame, uint32_t offset, uint32_t to,
			  uint16_t flags)
{
	struct netif_rx_response *response = &rx->answers[rx->answer_count++].response;
	uint32_t left = frame->length - offset;
	uint32_t length = left < XEN_PAGE - to ? left : XEN_PAGE - to;
	struct netif_rx_request request;

	ring_rx_fetch(&rx->ring, 0, &request);
	ring_rx_consume(&rx->ring, 1);
	plan_copy(rx, frame->segments, offset, request.gref, to, length);
	response->id = request.id;
	response->offset = (uint16_t)to;
	response->flags = flags;
	response->status = (int16_t)length;
	if (offset + length < frame->length)
		response->flags |= NETRXF_more_data;
	return length;
}

/* What is told of a frame besides its bytes. */
struct extras {
	struct netif_extra_info list[RX_EXTRAS_MAX];
	uint16_t count;
};

static bool make_hash(struct guest_rx *rx, const struct frame *frame, struct netif_extra_info *extra)
{
	uint32_t type, value;

	if (!hash_is_on(&rx->hash) ||
	    !hash_frame(&rx->hash, frame->segments[0].data, frame->length, &type, &value))
		return false;
	memset(extra, 0, sizeof *extra);
	extra->type = XEN_NETIF_EXTRA_TYPE_HASH;
	extra->u.hash.algorithm = HASH_TOEPLITZ;
	extra->u.hash.type = (uint8_t)__builtin_ctz(type);	/* _XEN_NETIF_CTRL_HASH_TYPE_*: the bit's number */
	for (int i = 0; i < 4; i++)
		extra->u.hash.value[i] = (uint8_t)(value >> 8 * i);
	state_add(&rx->state->rx_hashed, 1);
	return true;
}

static void make_extras(struct guest_rx *rx, const struct frame *frame, const struct offload_to_guest *offload,
			struct extras *extras)
{
	extras->count = 0;
	if (offload->has_gso)
		extras->list[extras->count++] = offload->gso;
	if (make_hash(rx, frame, &extras->list[extras->count]))
		extras->count++;
	if (rx->headroom > 0) {
		struct netif_extra_info *xdp = &extras->list[extras->count++];

		memset(xdp, 0, sizeof *xdp);
		xdp->type = NETIF_EXTRA_TYPE_XDP;
		xdp->u.pad[0] = (uint16_t)rx->headroom;
	}
}

static void plan_extras(struct guest_rx *rx, struct extras *extras)
{
	for (uint16_t i = 0; i < extras->count; i++) {
		if (i + 1 < extras->count)
			extras->list[i].flags |= XEN_NETIF_EXTRA_FLAG_MORE;
		rx->answers[rx->answer_count++].extra = extras->list[i];
	}
	ring_rx_consume(&rx->ring, extras->count);	/* their buffers are not used */
}

static struct rx_frame *plan_frame(struct guest_rx *rx, struct frame *frame,
				   const struct offload_to_guest *offload)
{
	struct rx_frame *planned = &rx->frames[rx->frame_count++];
	uint16_t flags = offload->flags;
	struct extras extras;
	uint32_t at;

	make_extras(rx, frame, offload, &extras);
	if (extras.count > 0)
		flags |= NETRXF_extra_info;

	planned->frame = frame;
	planned->is_piece = false;
	planned->first_answer = (uint16_t)rx->answer_count;
	planned->first_operation = (uint16_t)rx->copy->count;
	at = plan_slot(rx, frame, 0, rx->headroom, flags);
	plan_extras(rx, &extras);
	planned->extras = extras.count;
	while (at < frame->length)
		at += plan_slot(rx, frame, at, 0, 0);
	planned->slots = (uint16_t)(rx->answer_count - planned->first_answer);
	planned->operations = (uint16_t)(rx->copy->count - planned->first_operation);
	if (offload->has_gso)
		state_add(&rx->state->rx_gso_frames, 1);
	if (offload->checksummed)
		state_add(&rx->state->rx_checksummed, 1);
	return planned;
}

/* Segments larger than the MTU, which their sender thought was larger, are made smaller. */
static enum guest_rx_verdict begin_cut(struct guest_rx *rx, const struct frame *frame)
{
	bool partial = rx->features & (frame->vnet.gso_type & VIRTIO_NET_HDR_GSO_TCPV4 ? VIF_F_CSUM_IPV4
										       : VIF_F_CSUM_IPV6);
	enum segment_checksum checksum = partial ? SEGMENT_CHECKSUM_PARTIAL : SEGMENT_CHECKSUM_WHOLE;
	struct virtio_net_hdr_v1 vnet = frame->vnet;
	const uint8_t *bytes = frame->segments[0].data;
	int error = segment_begin(&rx->cut, bytes, frame->length, &vnet, checksum, CUTTER_FRAME_MAX);
	uint32_t most = rx->mtu + rx->cut.layout.network;

	if (!error && rx->cut.length_max > most) {
		if (rx->cut.layout.payload >= most)
			return GUEST_RX_TOO_LONG;
		vnet.gso_size = htole16((uint16_t)(most - rx->cut.layout.payload));
		error = segment_begin(&rx->cut, bytes, frame->length, &vnet, checksum, CUTTER_FRAME_MAX);
	}
	return !error ? GUEST_RX_DELIVERED : error == -EMSGSIZE ? GUEST_RX_TOO_LARGE : GUEST_RX_BAD_FRAME;
}

/* The next segment of the frame at the head of the queue; false if there is no memory for it in this poll. */
static bool plan_piece(struct guest_rx *rx, struct frame *frame)
{
	enum guest_rx_verdict verdict = GUEST_RX_DELIVERED;
	struct offload_to_guest offload;
	struct rx_frame *planned;
	struct frame *piece;

	if (rx->cutting != frame)
		verdict = begin_cut(rx, frame);
	if (verdict != GUEST_RX_DELIVERED) {
		finish(rx, rx_queue_pop(&rx->queue), verdict);
		return true;
	}
	rx->cutting = frame;
	piece = cutter_next(rx->cutter, &rx->cut);
	if (!piece)
		return false;
	offload_to_guest(piece, rx->features, &offload);	/* it has what this guest takes */
	planned = plan_frame(rx, piece, &offload);
	planned->is_piece = true;
	planned->frame = NULL;
	state_add(&rx->state->rx_segments, 1);
	if (rx->cut.next == rx->cut.count) {
		planned->frame = rx_queue_pop(&rx->queue);
		rx->cutting = NULL;
	}
	return true;
}

/* The frame at the head of the queue whole. */
static void plan_whole(struct guest_rx *rx)
{
	struct frame *frame = rx_queue_pop(&rx->queue);
	struct offload_to_guest offload;
	enum guest_rx_verdict verdict = offload_to_guest(frame, rx->features, &offload);

	if (verdict == GUEST_RX_DELIVERED)
		plan_frame(rx, frame, &offload);
	else
		finish(rx, frame, verdict);
}

/* Queue to plan, until the guest's buffers, the batch or the burst are used up. */
static int plan(struct guest_rx *rx)
{
	int available = ring_rx_available(&rx->ring);
	uint32_t slots = available > 0 ? (uint32_t)available : 0;

	if (available < 0)
		return fault(rx);
	cutter_reset(rx->cutter);
	for (int looked_at = 0; looked_at < RX_BURST; looked_at++) {
		struct frame *frame = rx_queue_peek(&rx->queue, 0);

		if (!frame || slots_needed(rx, frame) > slots - rx->answer_count)
			break;
		if (gcopy_room(rx->copy) < 2 * data_slots(rx, frame))
			break;
		/* A frame is paid for with its first segment. */
		if (rx->cutting != frame && !limiter_allows(&rx->limiter, frame->length)) {
			state_add(&rx->state->rx_no_credit, limiter_begins_to_wait(&rx->limiter));
			break;
		}
		if (!is_cut(rx, frame))
			plan_whole(rx);
		else if (!plan_piece(rx, frame))
			break;
	}
	return 0;
}

/* --- deliver: judge, publish, release --------------------------------------------------------- */

/* A frame one of whose copies failed is answered with an error in each of its data slots. */
static void answer_error(struct guest_rx *rx, const struct rx_frame *planned)
{
	for (uint16_t i = 0; i < planned->slots; i++)
		if (i == 0 || i > planned->extras)
			rx->answers[planned->first_answer + i].response.status = NETIF_RSP_ERROR;
}

static enum guest_rx_verdict judge(struct guest_rx *rx, const struct rx_frame *planned)
{
	for (uint16_t i = 0; i < planned->operations; i++) {
		if (gcopy_ok(rx->copy, planned->first_operation + i))
			continue;
		answer_error(rx, planned);
		return GUEST_RX_COPY_FAILED;
	}
	return GUEST_RX_DELIVERED;
}

static void publish(struct guest_rx *rx)
{
	struct queue_state *state = rx->state;

	if (ring_rx_respond(&rx->ring, rx->answers, rx->answer_count)) {
		events_notify_rx(rx->events);
		state_add(&state->rx_notifies, 1);
	}
	state_add(&state->rx_slots, rx->answer_count);
	state_add(&state->rx_polls, 1);
	state_set(&state->rx_req_prod, rx->ring.prod_seen);
	state_set(&state->rx_req_cons, rx->ring.cons);
	state_set(&state->rx_rsp_prod, rx->ring.rsp);
}

/* A frame that went in segments is judged with the last of them.  Returns the bytes delivered. */
static uint32_t settle(struct guest_rx *rx, const struct rx_frame *planned, enum guest_rx_verdict verdict)
{
	uint32_t length;

	if (planned->is_piece) {
		rx->cut_failed |= verdict != GUEST_RX_DELIVERED;
		if (!planned->frame)
			return 0;
		verdict = rx->cut_failed ? GUEST_RX_COPY_FAILED : GUEST_RX_DELIVERED;
		rx->cut_failed = false;
	}
	length = verdict == GUEST_RX_DELIVERED ? planned->frame->length : 0;
	finish(rx, planned->frame, verdict);
	return length;
}

int guest_rx_deliver(struct guest_rx *rx)
{
	enum guest_rx_verdict verdicts[RX_BURST];
	uint64_t bytes = 0;
	int error;

	if (rx_queue_count(&rx->queue) == 0)
		return 0;
	rx->frame_count = 0;
	rx->answer_count = 0;
	gcopy_reset(rx->copy);
	error = plan(rx);
	show_queue(rx);			/* also when all it did was to drop */
	if (error || rx->frame_count == 0)
		return error;
	gcopy_run(rx->copy);
	for (int i = 0; i < rx->frame_count; i++)
		verdicts[i] = judge(rx, &rx->frames[i]);
	publish(rx);
	for (int i = 0; i < rx->frame_count; i++)
		bytes += settle(rx, &rx->frames[i], verdicts[i]);
	state_add(&rx->state->rx_bytes, bytes);
	return rx->frame_count;
}

bool guest_rx_arm(struct guest_rx *rx)
{
	const struct frame *frame = rx_queue_peek(&rx->queue, 0);
	int available;

	if (!frame || limiter_waits(&rx->limiter))
		return false;
	available = ring_rx_arm(&rx->ring, slots_needed(rx, frame));
	if (available >= 0 && (uint32_t)available < slots_needed(rx, frame)) {
		state_add(&rx->state->rx_no_slots, 1);
		return false;
	}
	return true;
}

uint32_t guest_rx_slots_wanted(const struct guest_rx *rx)
{
	const struct frame *frame = rx_queue_peek(&rx->queue, 0);

	return frame && !limiter_waits(&rx->limiter) ? slots_needed(rx, frame) : 0;
}

void guest_rx_age(struct guest_rx *rx, struct mono now)
{
	struct frame *frame;

	rx_queue_stamp(&rx->queue, now);
	while ((frame = rx_queue_pop_expired(&rx->queue, now)) != NULL)
		finish(rx, frame, GUEST_RX_TOO_OLD);
	show_queue(rx);
}

void guest_rx_flush(struct guest_rx *rx, enum guest_rx_verdict verdict)
{
	struct frame *frame;

	while ((frame = rx_queue_pop(&rx->queue)) != NULL)
		finish(rx, frame, verdict);
	show_queue(rx);
}
