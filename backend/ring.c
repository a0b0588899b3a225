/* ring.c - accessors of the shared rings; see ring.h
 *
 * The rings differ only in the types of their slots; what is alike stands in macros-free helpers
 * over the four shared indices (struct indices), which lie at the same place in all. */
#include <errno.h>
#include <string.h>

#include "ring.h"

#define SLOT(index) ((index) & (NETIF_RING_SIZE - 1))

/* The head of every Xen ring page (ring.h, DEFINE_RING_TYPES). */
struct indices {
	uint32_t req_prod, req_event;
	uint32_t rsp_prod, rsp_event;
};
_Static_assert(offsetof(struct netif_tx_sring, req_prod) == offsetof(struct indices, req_prod) &&
	       offsetof(struct netif_tx_sring, rsp_event) == offsetof(struct indices, rsp_event) &&
	       offsetof(struct netif_rx_sring, req_prod) == offsetof(struct indices, req_prod) &&
	       offsetof(struct netif_rx_sring, rsp_event) == offsetof(struct indices, rsp_event),
	       "the indices of both rings lie alike");
_Static_assert(offsetof(struct xen_netif_ctrl_sring, req_prod) == offsetof(struct indices, req_prod) &&
	       offsetof(struct xen_netif_ctrl_sring, rsp_event) == offsetof(struct indices, rsp_event),
	       "and those of the control ring");

static uint32_t load_acquire(const uint32_t *shared)
{
	return __atomic_load_n(shared, __ATOMIC_ACQUIRE);
}

static void store_release(uint32_t *shared, uint32_t value)
{
	__atomic_store_n(shared, value, __ATOMIC_RELEASE);
}

/* Copies a slot word by word with volatile reads: the compiler can neither read the guest's memory
 * again later nor read it in a way that tears a word.  (XSA-155)  @to may be aligned to 2 bytes only,
 * as an extra is. */
static void copy_once(void *to, const void *shared, size_t bytes)
{
	const volatile uint32_t *from = shared;
	uint8_t *out = to;

	for (size_t i = 0; i < bytes / sizeof *from; i++) {
		uint32_t word = from[i];

		memcpy(out + i * sizeof word, &word, sizeof word);
	}
}

static int available(const struct indices *shared, uint32_t size, uint32_t cons, uint32_t *prod_seen)
{
	uint32_t n;

	*prod_seen = load_acquire(&shared->req_prod);
	n = *prod_seen - cons;
	return n <= size ? (int)n : -EPROTO;
}

static void attach(const struct indices *shared, uint32_t *cons, uint32_t *rsp)
{
	*cons = *rsp = load_acquire(&shared->rsp_prod);
}

/* Makes all responses up to @now visible; true if rsp_event lies in those just published. */
static bool publish(struct indices *shared, uint32_t before, uint32_t now)
{
	uint32_t event;

	store_release(&shared->rsp_prod, now);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* publish before we ask who waits */
	event = __atomic_load_n(&shared->rsp_event, __ATOMIC_RELAXED);
	return now - event < now - before;
}

static void arm(struct indices *shared, uint32_t event)
{
	__atomic_store_n(&shared->req_event, event, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* ask for the event before the last look */
}

#define TX_INDICES(ring) ((struct indices *)(ring)->shared)
#define RX_INDICES(ring) ((struct indices *)(ring)->shared)

int ring_tx_attach(struct ring_tx *ring, void *page)
{
	ring->shared = page;
	attach(TX_INDICES(ring), &ring->cons, &ring->rsp);
	return ring_tx_available(ring) < 0 ? -EPROTO : 0;
}

int ring_rx_attach(struct ring_rx *ring, void *page)
{
	ring->shared = page;
	attach(RX_INDICES(ring), &ring->cons, &ring->rsp);
	return ring_rx_available(ring) < 0 ? -EPROTO : 0;
}

int ring_tx_available(struct ring_tx *ring)
{
	return available(TX_INDICES(ring), NETIF_RING_SIZE, ring->cons, &ring->prod_seen);
}

int ring_rx_available(struct ring_rx *ring)
{
	return available(RX_INDICES(ring), NETIF_RING_SIZE, ring->cons, &ring->prod_seen);
}

void ring_tx_fetch(const struct ring_tx *ring, uint32_t ahead, struct netif_tx_request *request)
{
	copy_once(request, &ring->shared->ring[SLOT(ring->cons + ahead)], sizeof *request);
}

void ring_tx_fetch_extra(const struct ring_tx *ring, uint32_t ahead, struct netif_extra_info *extra)
{
	copy_once(extra, &ring->shared->ring[SLOT(ring->cons + ahead)], sizeof *extra);
}

void ring_rx_fetch(const struct ring_rx *ring, uint32_t ahead, struct netif_rx_request *request)
{
	copy_once(request, &ring->shared->ring[SLOT(ring->cons + ahead)], sizeof *request);
}

bool ring_tx_respond(struct ring_tx *ring, const struct netif_tx_response *responses, uint32_t n)
{
	uint32_t before = ring->rsp;

	for (uint32_t i = 0; i < n; i++)
		memcpy(&ring->shared->ring[SLOT(before + i)], &responses[i], sizeof responses[i]);
	ring->rsp = before + n;
	return publish(TX_INDICES(ring), before, ring->rsp);
}

bool ring_rx_respond(struct ring_rx *ring, const union ring_rx_answer *answers, uint32_t n)
{
	uint32_t before = ring->rsp;

	for (uint32_t i = 0; i < n; i++)
		memcpy(&ring->shared->ring[SLOT(before + i)], &answers[i], sizeof answers[i]);
	ring->rsp = before + n;
	return publish(RX_INDICES(ring), before, ring->rsp);
}

int ring_tx_arm(struct ring_tx *ring, uint32_t n)
{
	arm(TX_INDICES(ring), ring->cons + n);
	return ring_tx_available(ring);
}

int ring_rx_arm(struct ring_rx *ring, uint32_t n)
{
	arm(RX_INDICES(ring), ring->cons + n);
	return ring_rx_available(ring);
}

/* --- the control ring ------------------------------------------------------------------------- */

#define CONTROL_INDICES(ring) ((struct indices *)(ring)->shared)
#define CONTROL_SLOT(index) ((index) & (NETIF_CONTROL_RING_SIZE - 1))

int ring_control_attach(struct ring_control *ring, void *page)
{
	ring->shared = page;
	attach(CONTROL_INDICES(ring), &ring->cons, &ring->rsp);
	return ring_control_available(ring) < 0 ? -EPROTO : 0;
}

int ring_control_available(struct ring_control *ring)
{
	return available(CONTROL_INDICES(ring), NETIF_CONTROL_RING_SIZE, ring->cons, &ring->prod_seen);
}

void ring_control_fetch(struct ring_control *ring, struct xen_netif_ctrl_request *request)
{
	copy_once(request, &ring->shared->ring[CONTROL_SLOT(ring->cons)], sizeof *request);
	ring->cons++;
}

bool ring_control_respond(struct ring_control *ring, const struct xen_netif_ctrl_response *response)
{
	uint32_t before = ring->rsp++;

	memcpy(&ring->shared->ring[CONTROL_SLOT(before)], response, sizeof *response);
	return publish(CONTROL_INDICES(ring), before, ring->rsp);
}

int ring_control_arm(struct ring_control *ring)
{
	arm(CONTROL_INDICES(ring), ring->cons + 1);
	return ring_control_available(ring);
}
