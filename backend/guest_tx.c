/* guest_tx.c - frames leaving the guest
 *
 * A poll takes at most TX_BURST frames through five phases: collect (ring to a checked plan of
 * copies), copy (one call), judge (drop frames whose copy failed or whose offload makes no sense),
 * answer (all responses, then one event at most), send.  Every request consumed is answered exactly
 * once, in ring order, before the poll returns: nothing is in flight between polls, so disconnect
 * needs no drain and another process can take the ring over.
 *
 * The guest is answered before the port's system calls: it refills while we send.  So across a crash
 * of this process a frame is sent at most once.
 *
 * What the guest does wrong is either fatal (the ring can no longer be believed: the vif is closed) or
 * a drop (that frame is answered with an error), and the line between them is Linux xen-netback's
 * (netback.c: xenvif_fatal_tx_err and xenvif_tx_err), because frontends live with that one.
 *
 * Not done here: checksums and segmentation (offload.c), anything that blocks. */
#include <errno.h>
#include <string.h>

#include "guest_tx.h"
#include "offload.h"
#include "packet.h"

/* One frame as it stands in the ring, read once. */
struct tx_packet {
	struct netif_tx_request slots[NETIF_SLOTS_FATAL];
	int slot_count;
	int extra_count;		/* they stand behind the first slot */
	uint32_t requests;		/* slots and extras */
	uint32_t length;		/* bytes of the frame, as its first slot says */
	bool has_gso, is_control;	/* is_control: no frame, but changes of the multicast list */
	struct netif_extra_info gso, add, remove;	/* type 0: none */
	enum guest_tx_verdict verdict;	/* GUEST_TX_SENT so far, or why it is dropped */
};

int guest_tx_open(struct guest_tx *tx, int pages)
{
	if (pages > TX_PAGES_MAX)
		pages = TX_PAGES_MAX;
	tx->page_count = tx->port->class->get_buffers(tx->port, tx->pages, pages);
	return tx->page_count >= (int)TX_PAGES_MIN ? 0 : -ENOMEM;
}

void guest_tx_close(struct guest_tx *tx)
{
	if (tx->page_count > 0)
		tx->port->class->put_buffers(tx->port, tx->pages, tx->page_count);
	tx->page_count = 0;
}

static int fault(struct guest_tx *tx, const char *what, uint32_t got, uint32_t limit)
{
	tx->fault = what;
	tx->fault_got = got;
	tx->fault_limit = limit;
	state_add(&tx->state->tx_frames, 1);
	state_add(&tx->state->tx_verdicts[GUEST_TX_RING_BROKEN], 1);
	return -EPROTO;
}

static void drop(struct tx_packet *packet, enum guest_tx_verdict verdict)
{
	if (packet->verdict == GUEST_TX_SENT)
		packet->verdict = verdict;
}

/* --- collect: one frame ----------------------------------------------------------------------- */

static int take_extra(struct guest_tx *tx, struct tx_packet *packet,
		      const struct netif_extra_info *extra)
{
	if (extra->type == XEN_NETIF_EXTRA_TYPE_NONE || extra->type >= NETIF_EXTRA_TYPE_LIMIT)
		return fault(tx, "unknown type of extra", extra->type, NETIF_EXTRA_TYPE_LIMIT - 1);
	if (extra->type == XEN_NETIF_EXTRA_TYPE_GSO) {
		packet->has_gso = true;
		packet->gso = *extra;
	}
	/* A TAP has no use for it: the stack behind computes its own. */
	if (extra->type == XEN_NETIF_EXTRA_TYPE_HASH)
		state_add(&tx->state->tx_hashed, 1);
	if (extra->type == XEN_NETIF_EXTRA_TYPE_MCAST_ADD)
		packet->add = *extra;
	if (extra->type == XEN_NETIF_EXTRA_TYPE_MCAST_DEL)
		packet->remove = *extra;
	packet->is_control = packet->add.type != 0 || packet->remove.type != 0;
	return 0;
}

/* The chain of extras behind the first slot; each turn uses up one of the @available requests. */
static int read_extras(struct guest_tx *tx, struct tx_packet *packet, uint32_t available)
{
	struct netif_extra_info extra;
	int error;

	do {
		if (packet->requests >= available)
			return fault(tx, "extra promised but not in the ring", packet->requests,
				     available);
		ring_tx_fetch_extra(&tx->ring, packet->requests, &extra);
		packet->requests++;
		packet->extra_count++;
		error = take_extra(tx, packet, &extra);
		if (error)
			return error;
	} while (extra.flags & XEN_NETIF_EXTRA_FLAG_MORE);
	return 0;
}

static int check_gso(struct guest_tx *tx, const struct tx_packet *packet)
{
	uint8_t type = packet->gso.u.gso.type;

	if (!packet->has_gso || packet->is_control || packet->verdict != GUEST_TX_SENT)
		return 0;		/* it will not be used */
	if (packet->gso.u.gso.size == 0)
		return fault(tx, "GSO size", 0, UINT16_MAX);
	if (type != XEN_NETIF_GSO_TYPE_TCPV4 && type != XEN_NETIF_GSO_TYPE_TCPV6)
		return fault(tx, "unknown GSO type", type, XEN_NETIF_GSO_TYPE_TCPV6);
	return 0;
}

/* The slots behind the first.  The first slot's size is that of the whole frame (netif.h), so each
 * later slot is taken off it and what is left lies in the first.  A chain that is too long is still
 * read to its end, without being kept, so that all of it can be answered. */
static int read_slots(struct guest_tx *tx, struct tx_packet *packet, uint32_t available)
{
	struct netif_tx_request *first = &packet->slots[0];
	struct netif_tx_request slot = *first;

	while (slot.flags & NETTXF_more_data) {
		if (packet->requests >= available)
			return fault(tx, "slot promised but not in the ring", packet->requests,
				     available);
		if (packet->slot_count >= (int)NETIF_SLOTS_FATAL)
			return fault(tx, "slots of a frame", (uint32_t)packet->slot_count + 1,
				     NETIF_SLOTS_FATAL);
		ring_tx_fetch(&tx->ring, packet->requests, &slot);
		packet->requests++;
		if (packet->slot_count >= NETIF_SLOTS_MAX)
			drop(packet, GUEST_TX_TOO_MANY_SLOTS);
		if (slot.size > first->size)
			drop(packet, GUEST_TX_SLOT_TOO_LARGE);
		else
			first->size -= slot.size;
		if ((uint32_t)slot.offset + slot.size > XEN_PAGE)
			return fault(tx, "slot crosses its page: offset + size",
				     (uint32_t)slot.offset + slot.size, XEN_PAGE);
		packet->slots[packet->slot_count++] = slot;
	}
	return 0;
}

static int check_first_slot(struct guest_tx *tx, struct tx_packet *packet, uint32_t total)
{
	const struct netif_tx_request *first = &packet->slots[0];

	if (packet->is_control)
		return 0;
	if (total < FRAME_LENGTH_MIN)
		drop(packet, GUEST_TX_TOO_SHORT);
	if (packet->verdict == GUEST_TX_SENT && (uint32_t)first->offset + first->size > XEN_PAGE)
		return fault(tx, "slot crosses its page: offset + size",
			     (uint32_t)first->offset + first->size, XEN_PAGE);
	return 0;
}

/* Reads the next frame whole, without consuming it.  0, or -EPROTO with tx->fault set. */
static int read_packet(struct guest_tx *tx, struct tx_packet *packet, uint32_t available)
{
	uint32_t total;
	int error = 0;

	packet->slot_count = 1;
	packet->extra_count = 0;
	packet->requests = 1;
	packet->has_gso = packet->is_control = false;
	packet->add.type = packet->remove.type = 0;
	packet->verdict = GUEST_TX_SENT;
	ring_tx_fetch(&tx->ring, 0, &packet->slots[0]);
	total = packet->length = packet->slots[0].size;
	if (packet->slots[0].flags & NETTXF_extra_info)
		error = read_extras(tx, packet, available);
	if (!error && !packet->is_control)
		error = read_slots(tx, packet, available);
	if (!error)
		error = check_first_slot(tx, packet, total);
	if (!error)
		error = check_gso(tx, packet);
	return error;
}

/* --- collect: the plan ------------------------------------------------------------------------ */

static void put_answer(struct guest_tx *tx, uint16_t id, int16_t status)
{
	struct netif_tx_response *answer = &tx->answers[tx->answer_count++];

	answer->id = id;
	answer->status = status;
}

/* In ring order: the first slot, its extras (which are only acknowledged), the other slots. */
static void put_answers(struct guest_tx *tx, const struct tx_packet *packet, int16_t status)
{
	put_answer(tx, packet->slots[0].id, status);
	for (int i = 0; i < packet->extra_count; i++)
		put_answer(tx, 0, NETIF_RSP_NULL);
	for (int i = 1; i < packet->slot_count; i++)
		put_answer(tx, packet->slots[i].id, status);
}

/* Where @length bytes go: behind the slot before if its page has room (see gcopy.h), on a cache line
 * of their own; else to the next page.  No slot is split, so there are never more pages than slots. */
static void plan_copy(struct guest_tx *tx, const struct netif_tx_request *slot, struct segment *segment)
{
	uint32_t at = (tx->page_fill + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;

	if (at + slot->size > XEN_PAGE) {
		tx->page++;
		at = 0;
	}
	gcopy_from_guest(tx->copy, slot->gref, slot->offset, &tx->pages[tx->page], (uint16_t)at,
			 slot->size);
	*segment = (struct segment){ tx->pages[tx->page].data + at, slot->size, NULL };
	tx->page_fill = at + slot->size;
}

/* One operation a slot; empty slots are legal (XSA-448) and cost nothing. */
static void plan_copies(struct guest_tx *tx, const struct tx_packet *packet, struct tx_frame *planned)
{
	struct frame *frame = &planned->frame;

	frame->segments = &tx->segments[tx->slots_used];
	frame->segment_count = 0;
	frame->length = 0;
	planned->first_operation = (uint16_t)tx->copy->count;
	for (int i = 0; i < packet->slot_count; i++) {
		const struct netif_tx_request *slot = &packet->slots[i];

		if (slot->size == 0)
			continue;
		plan_copy(tx, slot, &frame->segments[frame->segment_count++]);
		frame->length += slot->size;
		tx->slots_used++;
	}
	planned->operations = (uint16_t)(tx->copy->count - planned->first_operation);
}

static void plan_frame(struct guest_tx *tx, const struct tx_packet *packet)
{
	struct tx_frame *planned = &tx->frames[tx->frame_count++];

	planned->first_answer = (uint16_t)tx->answer_count;
	planned->flags = packet->slots[0].flags;
	planned->has_gso = packet->has_gso;
	planned->gso = packet->gso;
	plan_copies(tx, packet, planned);
	put_answers(tx, packet, NETIF_RSP_OKAY);
	planned->answers = (uint16_t)(tx->answer_count - planned->first_answer);
}

static void count_verdict(struct guest_tx *tx, enum guest_tx_verdict verdict)
{
	state_add(&tx->state->tx_verdicts[verdict], 1);
}

/* As xen-netback: an address that cannot be added is an error, one that is not there to be removed is not;
 * of both in one request only the addition is done. */
static void control(struct guest_tx *tx, const struct tx_packet *packet)
{
	bool okay = true;

	if (packet->add.type != 0)
		okay = multicast_add(tx->multicast, packet->add.u.mcast.addr);
	else
		multicast_remove(tx->multicast, packet->remove.u.mcast.addr);
	if (!okay)
		state_add(&tx->state->tx_multicast_refused, 1);
	put_answers(tx, packet, okay ? NETIF_RSP_OKAY : NETIF_RSP_ERROR);
	count_verdict(tx, GUEST_TX_CONTROL);
}

/* Ring to plan, until the burst, the slots or the ring are used up. */
static int collect(struct guest_tx *tx)
{
	int available = ring_tx_available(&tx->ring);
	struct tx_packet packet;
	int error;

	if (available < 0)
		return fault(tx, "requests in the ring",
			     tx->ring.prod_seen - tx->ring.cons, NETIF_RING_SIZE);
	while (available > 0 && tx->frame_count < TX_BURST &&
	       tx->slots_used + NETIF_SLOTS_MAX <= tx->page_count) {
		error = read_packet(tx, &packet, (uint32_t)available);
		if (error)
			return error;
		if (packet.verdict == GUEST_TX_SENT && !packet.is_control &&
		    !limiter_allows(&tx->limiter, packet.length)) {
			state_add(&tx->state->tx_no_credit, limiter_begins_to_wait(&tx->limiter));
			break;
		}
		ring_tx_consume(&tx->ring, packet.requests);
		available -= (int)packet.requests;
		state_add(&tx->state->tx_frames, 1);
		if (packet.is_control) {
			control(tx, &packet);
		} else if (packet.verdict == GUEST_TX_SENT) {
			plan_frame(tx, &packet);
		} else {
			put_answers(tx, &packet, NETIF_RSP_ERROR);
			count_verdict(tx, packet.verdict);
		}
	}
	return 0;
}

/* --- judge, answer, send ---------------------------------------------------------------------- */

static bool all_copied(const struct guest_tx *tx, const struct tx_frame *planned)
{
	for (uint16_t i = 0; i < planned->operations; i++)
		if (!gcopy_ok(tx->copy, planned->first_operation + i))
			return false;
	return true;
}

static void answer_error(struct guest_tx *tx, const struct tx_frame *planned)
{
	for (uint16_t i = 0; i < planned->answers; i++) {
		struct netif_tx_response *answer = &tx->answers[planned->first_answer + i];

		if (answer->status != NETIF_RSP_NULL)
			answer->status = NETIF_RSP_ERROR;
	}
}

static bool is_spoofed(const struct guest_tx *tx, const struct frame *frame)
{
	uint8_t buffer[PACKET_HEAD_MAX];
	uint32_t have;
	const uint8_t *head = packet_head(frame, buffer, &have);

	return !antispoof_allows(&tx->antispoof, tx->mac, head, have);
}

static enum guest_tx_verdict judge(struct guest_tx *tx, struct tx_frame *planned)
{
	struct offload_from_guest offload;
	enum guest_tx_verdict verdict;

	if (!all_copied(tx, planned))
		return GUEST_TX_COPY_FAILED;
	if (tx->antispoof.on && is_spoofed(tx, &planned->frame))
		return GUEST_TX_SPOOFED;
	verdict = offload_from_guest(&planned->frame, planned->flags,
				     planned->has_gso ? &planned->gso : NULL, tx->takes, &offload);
	if (offload.mended)
		state_add(&tx->state->tx_gso_checksum_fixup, 1);
	if (offload.checksummed)
		state_add(&tx->state->tx_checksummed, 1);
	if (planned->has_gso && verdict == GUEST_TX_SENT)
		state_add(&tx->state->tx_gso_frames, 1);
	return verdict;
}

/* Puts the frames that may go on into @good; the others are counted and answered with an error. */
static int judge_all(struct guest_tx *tx, struct frame *good[TX_BURST])
{
	int n = 0;

	for (int i = 0; i < tx->frame_count; i++) {
		struct tx_frame *planned = &tx->frames[i];
		enum guest_tx_verdict verdict = judge(tx, planned);

		if (verdict == GUEST_TX_SENT) {
			good[n++] = &planned->frame;
		} else {
			answer_error(tx, planned);
			count_verdict(tx, verdict);
		}
	}
	return n;
}

static void answer(struct guest_tx *tx)
{
	struct queue_state *state = tx->state;

	if (ring_tx_respond(&tx->ring, tx->answers, tx->answer_count)) {
		events_notify_tx(tx->events);
		state_add(&state->tx_notifies, 1);
	}
	state_add(&state->tx_slots, tx->answer_count);
	state_add(&state->tx_polls, 1);
	state_set(&state->tx_req_prod, tx->ring.prod_seen);
	state_set(&state->tx_req_cons, tx->ring.cons);
	state_set(&state->tx_rsp_prod, tx->ring.rsp);
}

/* Segments of one frame, a burst at a time.  It counts once, as what became of its first segment that was not
 * sent; what is behind that one is not tried. */
static enum guest_tx_verdict send_cut(struct guest_tx *tx, const struct frame *frame)
{
	bool partial = tx->takes & OFFLOAD_CSUM;
	enum guest_tx_verdict verdicts[CUTTER_PIECES_MAX];
	struct frame *pieces[CUTTER_PIECES_MAX];
	struct segmentation s;
	int n;

	if (segment_begin(&s, cutter_flat(tx->cutter, frame), frame->length, &frame->vnet,
			  partial ? SEGMENT_CHECKSUM_PARTIAL : SEGMENT_CHECKSUM_WHOLE, CUTTER_FRAME_MAX) != 0)
		return GUEST_TX_BAD_OFFLOAD;
	do {
		cutter_reset(tx->cutter);
		for (n = 0; n < CUTTER_PIECES_MAX && (pieces[n] = cutter_next(tx->cutter, &s)); n++)
			;
		if (n > 0)
			tx->port->class->send(tx->port, pieces, n, verdicts);
		for (int i = 0; i < n; i++) {
			if (verdicts[i] != GUEST_TX_SENT)
				return verdicts[i];
			state_add(&tx->state->tx_segments, 1);
		}
	} while (n > 0);
	return GUEST_TX_SENT;
}

/* In order: what the port takes as it is in runs, the rest in segments. */
static void send_each(struct guest_tx *tx, struct frame *const frames[], int n,
		      enum guest_tx_verdict verdicts[])
{
	for (int i = 0; i < n; ) {
		int end = i;

		while (end < n && !offload_must_cut(&frames[end]->vnet, tx->takes))
			end++;
		if (end > i)
			tx->port->class->send(tx->port, frames + i, end - i, verdicts + i);
		if (end < n) {
			verdicts[end] = send_cut(tx, frames[end]);
			end++;
		}
		i = end;
	}
}

static void send_all(struct guest_tx *tx, struct frame *const frames[], int n)
{
	enum guest_tx_verdict verdicts[TX_BURST];
	uint64_t bytes = 0;

	if (n == 0)
		return;
	send_each(tx, frames, n, verdicts);
	for (int i = 0; i < n; i++) {
		count_verdict(tx, verdicts[i]);
		if (verdicts[i] == GUEST_TX_SENT)
			bytes += frames[i]->length;
	}
	state_add(&tx->state->tx_bytes, bytes);
}

int guest_tx_poll(struct guest_tx *tx)
{
	struct frame *good[TX_BURST];
	int error, n;

	tx->slots_used = tx->frame_count = tx->page = 0;
	tx->page_fill = 0;
	tx->answer_count = 0;
	gcopy_reset(tx->copy);
	error = collect(tx);
	if (tx->answer_count > 0) {	/* also what came before the fault */
		gcopy_run(tx->copy);
		n = judge_all(tx, good);
		answer(tx);
		send_all(tx, good, n);
	}
	return error ? error : (int)tx->answer_count;
}

bool guest_tx_send_own(struct guest_tx *tx, const uint8_t *bytes, uint32_t length)
{
	struct segment segment = { tx->pages[0].data, length, NULL };	/* free between polls */
	struct frame frame = { .segment_count = 1, .length = length, .segments = &segment };
	struct frame *const frames[] = { &frame };
	enum guest_tx_verdict verdict;

	memcpy(segment.data, bytes, length);
	tx->port->class->send(tx->port, frames, 1, &verdict);
	return verdict == GUEST_TX_SENT;
}

bool guest_tx_arm(struct guest_tx *tx)
{
	if (limiter_waits(&tx->limiter))
		return false;
	/* A count that makes no sense is left to the next poll, which says so. */
	return ring_tx_arm(&tx->ring, 1) != 0;
}
