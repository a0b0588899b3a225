/* netfront_rx.c - frames to the guest: posted pages, and judging what comes back in them
 *
 * Request i names page i modulo 256, and its response must come in that very slot: extras overlay
 * the id, so position is all there is.  A page is granted while it is posted.  Behind the bytes
 * that a response announces the page must be as we posted it, which is filled with a pattern. */
#include <string.h>

#include "netfront.h"

#define POISON 0xa5

#define KNOWN_FLAGS (NETRXF_data_validated | NETRXF_csum_blank | NETRXF_more_data | \
		     NETRXF_extra_info)

static void post(struct netfront_queue *queue)
{
	struct netfront *fe = queue->fe;
	struct netfront_rx *rx = &queue->rx;
	uint32_t id = rx->req_prod % NETFRONT_RING;
	struct netfront_slot *slot = &rx->slots[id];

	if (!fe->config.no_tail_check)
		memset(simguest_page(fe->guest, slot->frame), POISON, SIM_PAGE);
	if (!slot->staged)
		simguest_grant_again(fe->guest, slot->ref, fe->backend_domid, slot->frame, false);
	slot->used = slot->granted = true;
	rx->shared->ring[id].req =
		(struct netif_rx_request){ .id = (uint16_t)id, .gref = slot->ref };
	rx->req_prod++;
}

void netfront_rx_fill(struct netfront_queue *queue)
{
	struct netfront *fe = queue->fe;
	struct netfront_rx *rx = &queue->rx;
	uint32_t old = rx->req_prod;

	if (fe->frozen_rx)
		return;
	while (rx->req_prod - rx->rsp_cons < fe->config.rx_requests)
		post(queue);
	if (rx->req_prod == old)
		return;
	netfront_at(fe, NETFRONT_RX_BEFORE_PUBLISH);
	__atomic_store_n(&rx->shared->req_prod, rx->req_prod, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	netfront_at(fe, NETFRONT_RX_AFTER_PUBLISH);
	if (rx->req_prod - __atomic_load_n(&rx->shared->req_event, __ATOMIC_RELAXED) <
	    rx->req_prod - old) {
		fe->stats.notifies++;
		simguest_notify(fe->guest, rx->port);
	}
}

/* A slot of the ring comes back, whatever is in it. */
static union netif_rx_sring_entry take_slot(struct netfront_queue *queue)
{
	struct netfront_rx *rx = &queue->rx;
	uint32_t id = rx->rsp_cons % NETFRONT_RING;

	netfront_at(queue->fe, NETFRONT_ON_RX_RESPONSE);
	netfront_revoke(queue->fe, &rx->slots[id], "rx response");
	rx->slots[id].used = false;
	rx->rsp_cons++;
	return rx->shared->ring[id];
}

static bool tail_is_untouched(const uint8_t *page, uint32_t end)
{
	static uint8_t pattern[SIM_PAGE];

	if (pattern[0] != POISON)
		memset(pattern, POISON, sizeof pattern);
	return memcmp(page + end, pattern, SIM_PAGE - end) == 0;
}

/* The bytes of one response join the frame.  False if it reports an error. */
static bool add_data(struct netfront_queue *queue, uint32_t id,
		     const struct netif_rx_response *response, struct netfront_frame *frame)
{
	struct netfront *fe = queue->fe;
	uint8_t *page = simguest_page(fe->guest, queue->rx.slots[id].frame);

	if (response->id != id)
		netfront_violation(fe, "rx response in slot %u has id %u", id, response->id);
	if (response->flags & ~KNOWN_FLAGS)
		netfront_violation(fe, "rx response has flags %#x", response->flags);
	if (response->status < 0)
		return false;
	if (response->status == 0 || response->offset + response->status > (int)SIM_PAGE) {
		netfront_violation(fe, "rx response: offset %u, status %d", response->offset,
				   response->status);
		return false;
	}
	if (!fe->config.no_tail_check &&
	    !tail_is_untouched(page, response->offset + (uint32_t)response->status))
		netfront_violation(fe, "rx slot %u: bytes behind the frame were written", id);
	if (response->offset != (frame->iov_count == 0 ? frame->headroom : 0))
		netfront_violation(fe, "rx slot %u: data at %u, headroom is %u", id, response->offset,
				   frame->headroom);
	if (frame->iov_count == NETFRONT_SLOTS) {
		netfront_violation(fe, "rx frame of more than %d slots", NETFRONT_SLOTS);
		return false;
	}
	frame->iov[frame->iov_count++] = (struct iovec){ page + response->offset,
							 (size_t)response->status };
	frame->length += (uint32_t)response->status;
	return true;
}

static void take_gso(struct netfront *fe, const struct netif_extra_info *extra,
		     struct netfront_frame *frame)
{
	bool wanted = (extra->u.gso.type == XEN_NETIF_GSO_TYPE_TCPV4 && fe->gso4) ||
		      (extra->u.gso.type == XEN_NETIF_GSO_TYPE_TCPV6 && fe->gso6);

	if (!wanted)
		netfront_violation(fe, "gso type %u, which was not negotiated", extra->u.gso.type);
	if (extra->u.gso.size == 0)
		netfront_violation(fe, "gso size 0");
	frame->gso_type = extra->u.gso.type;
	frame->gso_size = extra->u.gso.size;
}

static void take_hash(struct netfront *fe, const struct netif_extra_info *extra, struct netfront_frame *frame)
{
	if (!fe->hashing || extra->u.hash.algorithm != XEN_NETIF_CTRL_HASH_ALGORITHM_TOEPLITZ ||
	    extra->u.hash.type > 3)
		netfront_violation(fe, "hash of algorithm %u and type %u, which was not asked for",
				   extra->u.hash.algorithm, extra->u.hash.type);
	frame->hashed = true;
	frame->hash_type = extra->u.hash.type;
	for (int i = 0; i < 4; i++)
		frame->hash |= (uint32_t)extra->u.hash.value[i] << 8 * i;
}

/* Any headroom that was ever asked for: frames on their way may have the one before. */
static void take_xdp(struct netfront *fe, const struct netif_extra_info *extra, struct netfront_frame *frame)
{
	frame->headroom = extra->u.pad[0];
	if (frame->headroom == 0 || frame->headroom > SIM_PAGE / 2)
		netfront_violation(fe, "headroom of %u", frame->headroom);
}

static bool incomplete(struct netfront_queue *queue, uint32_t prod)
{
	if (queue->rx.rsp_cons != prod)
		return false;
	netfront_violation(queue->fe, "rx frame is published in part, up to %u", prod);
	return true;
}

static bool take_extras(struct netfront_queue *queue, uint32_t prod, struct netfront_frame *frame)
{
	struct netif_extra_info extra;

	do {
		union netif_rx_sring_entry entry;

		if (incomplete(queue, prod))
			return false;
		entry = take_slot(queue);
		memcpy(&extra, &entry, sizeof extra);
		if (extra.type == XEN_NETIF_EXTRA_TYPE_GSO)
			take_gso(queue->fe, &extra, frame);
		else if (extra.type == XEN_NETIF_EXTRA_TYPE_HASH)
			take_hash(queue->fe, &extra, frame);
		else if (extra.type == XEN_NETIF_EXTRA_TYPE_HASH + 1)
			take_xdp(queue->fe, &extra, frame);
		else
			netfront_violation(queue->fe, "rx extra of type %u", extra.type);
	} while (extra.flags & XEN_NETIF_EXTRA_FLAG_MORE);
	return true;
}

static void check_offloads(struct netfront *fe, const struct netfront_frame *frame)
{
	const uint8_t *bytes = frame->iov[0].iov_base;
	uint32_t type = frame->iov[0].iov_len >= 14 ? (uint32_t)bytes[12] << 8 | bytes[13] : 0;

	if (frame->gso_type && !frame->csum_blank)
		netfront_violation(fe, "gso without csum_blank");
	if (frame->csum_blank && type == 0x0800 && fe->config.no_csum4)
		netfront_violation(fe, "csum_blank over IPv4, which we declined");
	if (frame->csum_blank && type == 0x86dd && fe->config.no_csum6)
		netfront_violation(fe, "csum_blank over IPv6, which we declined");
	if (frame->length < 14 || frame->length > 65535)
		netfront_violation(fe, "rx frame of %u bytes", frame->length);
	if (frame->iov_count > 1 && fe->config.no_sg)
		netfront_violation(fe, "rx frame of %d slots without scatter-gather",
				   frame->iov_count);
}

/* The slots of one frame.  False if it ends before it is whole. */
static bool gather(struct netfront_queue *queue, uint32_t prod, struct netfront_frame *frame,
		   bool *good)
{
	struct netif_rx_response response;
	bool first = true;

	*good = true;
	do {
		uint32_t id = queue->rx.rsp_cons % NETFRONT_RING;

		if (!first && incomplete(queue, prod))
			return false;
		response = take_slot(queue).rsp;
		if (first) {
			frame->csum_blank = response.flags & NETRXF_csum_blank;
			frame->data_validated = response.flags & NETRXF_data_validated;
			if ((response.flags & NETRXF_extra_info) &&
			    !take_extras(queue, prod, frame))
				return false;
		}
		*good &= add_data(queue, id, &response, frame);
		first = false;
	} while (response.flags & NETRXF_more_data);
	return true;
}

static bool take_frame(struct netfront_queue *queue, uint32_t prod)
{
	struct netfront *fe = queue->fe;
	struct netfront_frame frame = { .queue = queue->index };
	bool good;

	if (!gather(queue, prod, &frame, &good))
		return false;
	if (!good) {
		fe->stats.rx_error++;
		return true;
	}
	check_offloads(fe, &frame);
	fe->stats.rx_frames++;
	fe->stats.rx_bytes += frame.length;
	if (fe->config.hooks.receive)
		fe->config.hooks.receive(fe, &frame, fe->config.hooks.context);
	return true;
}

static uint32_t arm(struct netfront_rx *rx)
{
	__atomic_store_n(&rx->shared->rsp_event, rx->rsp_cons + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&rx->shared->rsp_prod, __ATOMIC_ACQUIRE);
}

bool netfront_rx_poll(struct netfront_queue *queue)
{
	struct netfront *fe = queue->fe;
	struct netfront_rx *rx = &queue->rx;
	uint32_t prod = __atomic_load_n(&rx->shared->rsp_prod, __ATOMIC_ACQUIRE);
	bool any = prod != rx->rsp_cons;

	while (fe->rings && prod != rx->rsp_cons) {
		if (prod - rx->rsp_cons > rx->req_prod - rx->rsp_cons) {
			netfront_violation(fe, "rx rsp_prod %u is not in %u..%u", prod,
					   rx->rsp_cons, rx->req_prod);
			return any;
		}
		while (fe->rings && rx->rsp_cons != prod)
			if (!take_frame(queue, prod))
				break;
		if (!fe->rings)
			return any;
		netfront_rx_fill(queue);
		prod = arm(rx);
	}
	return any;
}
