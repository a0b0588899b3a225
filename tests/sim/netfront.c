/* netfront.c - rings, events and judgement of the frontend model; see netfront.h */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "netfront.h"

void netfront_violation(struct netfront *fe, const char *format, ...)
{
	char text[sizeof fe->first_violation];
	va_list arguments;

	if (!fe->judge)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (fe->violations++ > 0)
		return;
	strcpy(fe->first_violation, text);
	fprintf(stderr, "netfront %u.%u: violation: %s\n", fe->guest->domid, fe->config.handle,
		text);
}

void netfront_judge_off(struct netfront *fe)
{
	fe->judge = false;
}

void netfront_at(struct netfront *fe, enum netfront_point point)
{
	if (fe->config.hooks.at)
		fe->config.hooks.at(fe, point, fe->config.hooks.context);
}

void netfront_slots_create(struct netfront *fe, struct netfront_slot slots[NETFRONT_RING])
{
	for (uint32_t i = 0; i < NETFRONT_RING; i++) {
		slots[i].frame = simguest_page_alloc(fe->guest);
		slots[i].ref = simguest_grant(fe->guest, fe->backend_domid, slots[i].frame, false);
		simguest_revoke(fe->guest, slots[i].ref);
		slots[i].used = slots[i].granted = false;
	}
}

void netfront_revoke(struct netfront *fe, struct netfront_slot *slot, const char *what)
{
	if (slot->staged)
		return;
	if (slot->granted && !simguest_revoke(fe->guest, slot->ref))
		netfront_violation(fe, "%s: grant %u is still in use", what, slot->ref);
	slot->granted = false;
}

void netfront_slots_free(struct netfront *fe, struct netfront_slot slots[NETFRONT_RING])
{
	for (uint32_t i = 0; i < NETFRONT_RING; i++) {
		slots[i].staged = false;
		netfront_revoke(fe, &slots[i], "closing");
		if (simguest_grant_free(fe->guest, slots[i].ref))
			simguest_page_free(fe->guest, slots[i].frame);
	}
}

static void on_event(void *context, uint32_t port)
{
	struct netfront_queue *queue = context;
	struct netfront *fe = queue->fe;
	bool work = false;

	fe->stats.events++;
	netfront_at(fe, NETFRONT_ON_EVENT);
	if (!fe->rings)
		return;
	if (port == queue->tx.port)
		work |= netfront_tx_poll(queue);
	if (port == queue->rx.port)
		work |= netfront_rx_poll(queue);
	if (!work)
		fe->stats.events_without_work++;
}

static int port_create(struct netfront_queue *queue, uint32_t *port)
{
	int number = simguest_port_alloc(queue->fe->guest, queue->fe->backend_domid);

	if (number < 0)
		return -1;
	*port = (uint32_t)number;
	simguest_handle(queue->fe->guest, *port, (struct simguest_handler){ on_event, queue });
	return 0;
}

static int queue_create(struct netfront *fe, struct netfront_queue *queue, uint32_t first)
{
	struct netfront_tx *tx = &queue->tx;
	struct netfront_rx *rx = &queue->rx;

	*queue = (struct netfront_queue){ .fe = fe, .index = (uint32_t)(queue - fe->queues) };
	tx->frame = simguest_page_alloc(fe->guest);
	rx->frame = simguest_page_alloc(fe->guest);
	tx->ref = simguest_grant(fe->guest, fe->backend_domid, tx->frame, false);
	rx->ref = simguest_grant(fe->guest, fe->backend_domid, rx->frame, false);
	tx->shared = simguest_page(fe->guest, tx->frame);
	rx->shared = simguest_page(fe->guest, rx->frame);
	tx->shared->req_prod = tx->shared->rsp_prod = first;
	rx->shared->req_prod = rx->shared->rsp_prod = first;
	tx->shared->req_event = tx->shared->rsp_event = first + 1;
	rx->shared->req_event = rx->shared->rsp_event = first + 1;
	tx->req_prod = tx->rsp_cons = rx->req_prod = rx->rsp_cons = first;
	netfront_slots_create(fe, tx->slots);
	netfront_slots_create(fe, rx->slots);
	for (uint32_t i = 0; i < NETFRONT_RING; i++)
		tx->free[i] = (uint16_t)(NETFRONT_RING - 1 - i);
	tx->free_count = NETFRONT_RING;
	if (port_create(queue, &tx->port) != 0)
		return -1;
	rx->port = tx->port;
	return fe->split ? port_create(queue, &rx->port) : 0;
}

int netfront_rings_create(struct netfront *fe)
{
	for (uint32_t i = 0; i < fe->queue_count; i++)
		if (queue_create(fe, &fe->queues[i], fe->config.first_index) != 0)
			return -1;
	if (fe->control && netfront_control_create(fe) != 0)
		return -1;
	fe->rings = true;
	return 0;
}

void netfront_ring_free(struct netfront *fe, uint32_t frame, uint32_t ref, const char *what)
{
	if (simguest_grant_free(fe->guest, ref))
		simguest_page_free(fe->guest, frame);
	else
		netfront_violation(fe, "closing: the %s ring is still mapped", what);
}

void netfront_rings_free(struct netfront *fe)
{
	for (uint32_t i = 0; fe->rings && i < fe->queue_count; i++) {
		struct netfront_queue *queue = &fe->queues[i];

		simguest_port_close(fe->guest, queue->tx.port);
		if (queue->rx.port != queue->tx.port)
			simguest_port_close(fe->guest, queue->rx.port);
		netfront_ring_free(fe, queue->tx.frame, queue->tx.ref, "tx");
		netfront_ring_free(fe, queue->rx.frame, queue->rx.ref, "rx");
		netfront_slots_free(fe, queue->tx.slots);
		netfront_slots_free(fe, queue->rx.slots);
	}
	if (fe->rings && fe->control)
		netfront_control_free(fe);
	fe->rings = fe->hashing = false;
}

void netfront_poll(struct netfront *fe)
{
	for (uint32_t i = 0; fe->rings && i < fe->queue_count; i++) {
		netfront_tx_poll(&fe->queues[i]);
		if (fe->rings)		/* a callback may have closed us */
			netfront_rx_poll(&fe->queues[i]);
	}
}

void netfront_rx_refill(struct netfront *fe)
{
	for (uint32_t i = 0; fe->rings && i < fe->queue_count; i++)
		netfront_rx_fill(&fe->queues[i]);
}

void netfront_dispatch(struct netfront *fe)
{
	netfront_xenbus_watch(fe);
	simguest_dispatch(fe->guest);
}

bool netfront_wait(struct netfront *fe, int timeout)
{
	struct pollfd fds[2] = { { .fd = fe->guest->fd, .events = POLLIN },
				 { .fd = netfront_xs_fd(fe), .events = POLLIN } };

	return poll(fds, 2, timeout) > 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool netfront_until(struct netfront *fe, bool (*condition)(struct netfront *, void *),
		    void *context, int timeout)
{
	int64_t end = now_ms() + timeout;

	for (;;) {
		int64_t left = end - now_ms();

		netfront_dispatch(fe);
		if (condition(fe, context))
			return true;
		if (left <= 0)
			return false;
		netfront_wait(fe, (int)left);
	}
}

static bool connected(struct netfront *fe, void *context)
{
	(void)context;
	return fe->state == XenbusStateConnected && fe->backend_state == XenbusStateConnected;
}

bool netfront_until_connected(struct netfront *fe, int timeout)
{
	return netfront_until(fe, connected, NULL, timeout);
}

static bool tx_idle(struct netfront *fe, void *context)
{
	(void)context;
	for (uint32_t i = 0; fe->rings && i < fe->queue_count; i++)
		if (fe->queues[i].tx.req_prod != fe->queues[i].tx.rsp_cons)
			return false;
	return true;
}

bool netfront_until_tx_idle(struct netfront *fe, int timeout)
{
	return netfront_until(fe, tx_idle, NULL, timeout);
}

static bool received(struct netfront *fe, void *frames)
{
	return fe->stats.rx_frames >= *(uint64_t *)frames;
}

bool netfront_until_received(struct netfront *fe, uint64_t frames, int timeout)
{
	return netfront_until(fe, received, &frames, timeout);
}
