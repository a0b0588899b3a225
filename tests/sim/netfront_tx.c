/* netfront_tx.c - frames from the guest: slots, extras, and judging the answers
 *
 * Every data slot has a page of its own and an id; a page is granted, read-only, from the moment
 * its request is written until its response, when the grant must be free again.  Ids are taken
 * from a stack, so that they come in no particular order. */
#include <string.h>

#include "netfront.h"

static struct netfront_queue *queue_of(struct netfront *fe)
{
	return fe->rings ? &fe->queues[fe->tx_queue % fe->queue_count] : NULL;
}

static uint32_t ring_room(const struct netfront_tx *tx)
{
	return NETFRONT_RING - (tx->req_prod - tx->rsp_cons);
}

uint32_t netfront_tx_room(const struct netfront *fe)
{
	struct netfront_queue *queue = queue_of((struct netfront *)fe);

	return queue ? ring_room(&queue->tx) / (NETFRONT_SLOTS + 1) : 0;
}

int netfront_tx_pages(struct netfront *fe, struct iovec iov[NETFRONT_SLOTS])
{
	struct netfront_queue *queue = queue_of(fe);
	int count = 0;

	if (!queue)
		return 0;
	for (uint32_t n = queue->tx.free_count; n > 0 && count < NETFRONT_SLOTS; n--, count++) {
		const struct netfront_slot *slot = &queue->tx.slots[queue->tx.free[n - 1]];

		iov[count] = (struct iovec){ simguest_page(fe->guest, slot->frame), SIM_PAGE };
	}
	return count;
}

static uint16_t flags_of(const struct netfront_frame *frame)
{
	return (uint16_t)((frame->csum_blank ? NETTXF_csum_blank : 0) |
			  (frame->data_validated ? NETTXF_data_validated : 0) |
			  (frame->gso_type ? NETTXF_extra_info : 0));
}

static union netif_tx_sring_entry *next_entry(struct netfront_tx *tx)
{
	return &tx->shared->ring[tx->req_prod++ % NETFRONT_RING];
}

static void put_request(struct netfront_queue *queue, uint16_t offset, uint16_t size,
			uint16_t flags)
{
	struct netfront_tx *tx = &queue->tx;
	uint16_t id = tx->free[--tx->free_count];
	struct netfront_slot *slot = &tx->slots[id];

	if (!slot->staged)
		simguest_grant_again(queue->fe->guest, slot->ref, queue->fe->backend_domid, slot->frame, true);
	slot->used = slot->granted = true;
	tx->sent[tx->newest++ % NETFRONT_RING] = id;
	next_entry(tx)->req = (struct netif_tx_request){ .gref = slot->ref, .offset = offset,
							 .flags = flags, .id = id, .size = size };
}

static void put_gso(struct netfront_tx *tx, const struct netfront_frame *frame)
{
	struct netif_extra_info extra = { .type = XEN_NETIF_EXTRA_TYPE_GSO };

	extra.u.gso.size = frame->gso_size;
	extra.u.gso.type = frame->gso_type;
	memcpy(&next_entry(tx)->req, &extra, sizeof extra);
	tx->extras++;
}

/* The first request's size is the whole frame's, the others' their own. */
static bool push(struct netfront *fe, const struct netfront_frame *frame, const uint16_t *sizes,
		 const uint16_t *offsets, int count)
{
	struct netfront_queue *queue = queue_of(fe);

	if (!queue || count > NETFRONT_SLOTS ||
	    ring_room(&queue->tx) < (uint32_t)count + 1 || queue->tx.free_count < (uint32_t)count)
		return false;
	for (int i = 0; i < count; i++) {
		uint16_t flags = i == 0 ? flags_of(frame) : 0;

		if (i < count - 1)
			flags |= NETTXF_more_data;
		put_request(queue, offsets[i], i == 0 ? (uint16_t)frame->length : sizes[i], flags);
		if (i == 0 && frame->gso_type)
			put_gso(&queue->tx, frame);
	}
	fe->stats.tx_frames++;
	fe->stats.tx_bytes += frame->length;
	return true;
}

bool netfront_tx_commit(struct netfront *fe, const struct netfront_frame *frame)
{
	uint16_t sizes[NETFRONT_SLOTS], offsets[NETFRONT_SLOTS] = { 0 };
	uint32_t left = frame->length;
	int count = 0;

	if (frame->length == 0 || frame->length > XEN_NETIF_MAX_TX_SIZE)
		return false;
	for (; left > 0; left -= sizes[count++])
		sizes[count] = (uint16_t)(left < SIM_PAGE ? left : SIM_PAGE);
	return push(fe, frame, sizes, offsets, count);
}

/* Publishes what was written, and tells whether the backend asked to hear of it. */
static bool publish(struct netfront_tx *tx)
{
	uint32_t old = tx->shared->req_prod, new = tx->req_prod;

	__atomic_store_n(&tx->shared->req_prod, new, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return new - __atomic_load_n(&tx->shared->req_event, __ATOMIC_RELAXED) < new - old;
}

void netfront_tx_flush(struct netfront *fe)
{
	struct netfront_queue *queue = queue_of(fe);
	bool notify;

	if (!queue || queue->tx.shared->req_prod == queue->tx.req_prod)
		return;
	netfront_at(fe, NETFRONT_TX_BEFORE_PUBLISH);
	notify = publish(&queue->tx);
	netfront_at(fe, NETFRONT_TX_AFTER_PUBLISH);
	if (notify) {
		fe->stats.notifies++;
		simguest_notify(fe->guest, queue->tx.port);
	}
}

bool netfront_send_cut(struct netfront *fe, const void *bytes, uint32_t length,
		       const struct netfront_frame *meta, const uint16_t *sizes,
		       const uint16_t *offsets, int count)
{
	struct netfront_frame frame = meta ? *meta : (struct netfront_frame){ 0 };
	struct iovec pages[NETFRONT_SLOTS];
	const uint8_t *from = bytes;

	if (netfront_tx_pages(fe, pages) < count)
		return false;
	for (int i = 0; i < count; i++) {
		if (offsets[i] + sizes[i] <= (int)SIM_PAGE)
			memcpy((uint8_t *)pages[i].iov_base + offsets[i], from, sizes[i]);
		from += sizes[i];
	}
	frame.length = length;
	if (!push(fe, &frame, sizes, offsets, count))
		return false;
	netfront_tx_flush(fe);
	return true;
}

bool netfront_send(struct netfront *fe, const void *bytes, uint32_t length,
		   const struct netfront_frame *meta)
{
	uint16_t sizes[NETFRONT_SLOTS], offsets[NETFRONT_SLOTS] = { 0 };
	int count = 0;

	if (length == 0 || length > XEN_NETIF_MAX_TX_SIZE)
		return false;
	for (uint32_t left = length; left > 0; left -= sizes[count++])
		sizes[count] = (uint16_t)(left < SIM_PAGE ? left : SIM_PAGE);
	return netfront_send_cut(fe, bytes, length, meta, sizes, offsets, count);
}

bool netfront_send_extra(struct netfront *fe, const struct netif_extra_info *extra)
{
	struct netfront_queue *queue = queue_of(fe);

	if (!queue || ring_room(&queue->tx) < 2 || queue->tx.free_count == 0)
		return false;
	put_request(queue, 0, 0, NETTXF_extra_info);
	memcpy(&next_entry(&queue->tx)->req, extra, sizeof *extra);
	queue->tx.extras++;
	netfront_tx_flush(fe);
	return true;
}

static void count_status(struct netfront *fe, int16_t status)
{
	switch (status) {
	case NETIF_RSP_OKAY:
		fe->stats.tx_ok++;
		break;
	case NETIF_RSP_ERROR:
		fe->stats.tx_error++;
		break;
	case NETIF_RSP_DROPPED:
		fe->stats.tx_dropped++;
		break;
	default:
		netfront_violation(fe, "tx response has status %d", status);
	}
}

static void take_null(struct netfront_queue *queue)
{
	queue->fe->stats.tx_null++;
	if (queue->tx.extras == 0)
		netfront_violation(queue->fe, "tx response RSP_NULL, but no extra waits for one");
	else
		queue->tx.extras--;
}

static void take_response(struct netfront_queue *queue, const struct netif_tx_response *response)
{
	struct netfront *fe = queue->fe;
	struct netfront_tx *tx = &queue->tx;
	struct netfront_slot *slot;

	if (response->status == NETIF_RSP_NULL) {
		take_null(queue);
		return;
	}
	slot = &tx->slots[response->id % NETFRONT_RING];
	if (response->id >= NETFRONT_RING || !slot->used) {
		netfront_violation(fe, "tx response for id %u, which is not in use", response->id);
		return;
	}
	if (!fe->config.any_order && tx->sent[tx->oldest % NETFRONT_RING] != response->id)
		netfront_violation(fe, "tx response for id %u before that for id %u", response->id,
				   tx->sent[tx->oldest % NETFRONT_RING]);
	tx->oldest++;
	count_status(fe, response->status);
	netfront_revoke(fe, slot, "tx response");
	slot->used = false;
	tx->free[tx->free_count++] = response->id;
}

/* Linux asks to be woken when half of what is outstanding has been answered. */
static uint32_t arm(struct netfront_tx *tx)
{
	uint32_t cons = tx->rsp_cons;

	__atomic_store_n(&tx->shared->rsp_event, cons + ((tx->req_prod - cons) >> 1) + 1,
			 __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&tx->shared->rsp_prod, __ATOMIC_ACQUIRE);
}

bool netfront_tx_poll(struct netfront_queue *queue)
{
	struct netfront *fe = queue->fe;
	struct netfront_tx *tx = &queue->tx;
	uint32_t prod = __atomic_load_n(&tx->shared->rsp_prod, __ATOMIC_ACQUIRE);
	bool any = prod != tx->rsp_cons;

	while (prod != tx->rsp_cons) {
		if (prod - tx->rsp_cons > tx->req_prod - tx->rsp_cons) {
			netfront_violation(fe, "tx rsp_prod %u is not in %u..%u", prod,
					   tx->rsp_cons, tx->req_prod);
			return any;
		}
		while (tx->rsp_cons != prod) {
			struct netif_tx_response response =
				tx->shared->ring[tx->rsp_cons % NETFRONT_RING].rsp;

			netfront_at(fe, NETFRONT_ON_TX_RESPONSE);
			tx->rsp_cons++;
			take_response(queue, &response);
		}
		prod = arm(tx);
	}
	return any;
}
