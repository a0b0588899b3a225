/* hostile.c - what a guest can do to its rings, grants and event channels; see hostile.h */
#include "hostile.h"

#include <pthread.h>

struct simvif *neighbour;

void others_go_on(void)
{
	simvif_exchange(neighbour, 8);
}

/* --- requests by hand ------------------------------------------------------------------------- */

void at_connecting(struct netfront *fe, enum netfront_point point, void (*act)(struct netfront *))
{
	if (point == NETFRONT_CONNECTING)
		act(fe);
}

static struct netfront_tx *tx_of(struct simvif *vif)
{
	return &vif->fe->queues[0].tx;
}

static void publish(struct simvif *vif, uint32_t req_prod)
{
	__atomic_store_n(&tx_of(vif)->shared->req_prod, req_prod, __ATOMIC_RELEASE);
	simguest_notify(vif->fe->guest, tx_of(vif)->port);
}

/* A request that the model knows nothing of: nobody waits for its answer. */
static void raw_requests(struct simvif *vif, struct netif_tx_request request, uint32_t count)
{
	struct netfront_tx *tx = tx_of(vif);

	netfront_judge_off(vif->fe);
	request.gref = tx->slots[0].ref;
	simguest_grant_again(vif->fe->guest, request.gref, 0, tx->slots[0].frame, true);
	for (uint32_t i = 0; i < count; i++)
		tx->shared->ring[(tx->req_prod + i) % NETFRONT_RING].req = request;
	publish(vif, tx->req_prod + count);
}

void too_many_requests(struct simvif *vif)
{
	netfront_judge_off(vif->fe);
	publish(vif, tx_of(vif)->shared->rsp_prod + 300);
}

void requests_taken_back(struct simvif *vif)
{
	simvif_exchange(vif, 2);
	netfront_judge_off(vif->fe);
	publish(vif, tx_of(vif)->shared->rsp_prod - 1);
}

void too_many_buffers(struct simvif *vif)
{
	netfront_judge_off(vif->fe);
	vif->fe->queues[0].rx.shared->req_prod = vif->fe->queues[0].rx.shared->rsp_prod + 257;
	simvif_flood(vif, 10, 60);
}

static void overrun_at_birth(struct netfront *fe)
{
	netfront_judge_off(fe);
	fe->queues[0].tx.shared->req_prod += 300;
}

void at_overrun(struct netfront *fe, enum netfront_point point, void *context)
{
	(void)context;
	at_connecting(fe, point, overrun_at_birth);
}

void slot_over_page_end(struct simvif *vif)
{
	raw_requests(vif, (struct netif_tx_request){ .offset = 4000, .size = 97 }, 1);
}

void later_slot_over_page_end(struct simvif *vif)
{
	static const uint8_t bytes[197];
	static const uint16_t sizes[] = { 100, 97 }, offsets[] = { 0, 4000 };

	assert_true(netfront_send_cut(vif->fe, bytes, sizeof bytes, NULL, sizes, offsets, 2));
}

void slot_promised(struct simvif *vif)
{
	raw_requests(vif, (struct netif_tx_request){ .flags = NETTXF_more_data, .size = 100 }, 3);
}

void endless_frame(struct simvif *vif)
{
	raw_requests(vif, (struct netif_tx_request){ .flags = NETTXF_more_data, .size = 1 }, 100);
}

void extra_promised(struct simvif *vif)
{
	raw_requests(vif, (struct netif_tx_request){ .flags = NETTXF_extra_info, .size = 60 }, 1);
}

void segments_of_no_size(struct simvif *vif)
{
	static uint8_t bytes[60];
	const struct netfront_frame meta = { .csum_blank = true,
					     .gso_type = XEN_NETIF_GSO_TYPE_TCPV4 };

	assert_true(netfront_send(vif->fe, bytes, sizeof bytes, &meta));
}

/* --- grants ----------------------------------------------------------------------------------- */

static const uint32_t bad_refs[] = { 0, 1, 7, 0x3fff, 0x7fff, 0x8000, 0x7fffffff, 0xffffffff };

void spoil_tx_refs(struct netfront *fe, enum netfront_point point, void *context)
{
	struct netfront_tx *tx = &fe->queues[0].tx;

	(void)context;
	if (point != NETFRONT_TX_BEFORE_PUBLISH)
		return;
	for (uint32_t i = tx->shared->req_prod; i != tx->req_prod; i++)
		tx->shared->ring[i % NETFRONT_RING].req.gref = bad_refs[i % 8];
}

void spoil_rx_refs(struct netfront *fe, enum netfront_point point, void *context)
{
	struct netfront_rx *rx = &fe->queues[0].rx;

	(void)context;
	if (point != NETFRONT_RX_BEFORE_PUBLISH)
		return;
	for (uint32_t i = rx->shared->req_prod; i != rx->req_prod; i++)
		rx->shared->ring[i % NETFRONT_RING].req.gref = bad_refs[i % 8];
}

/* All that may be in use by the backend just now. */
void revoke_published(struct netfront *fe, enum netfront_point point, void *context)
{
	struct netfront_queue *queue = &fe->queues[0];

	(void)context;
	for (uint32_t i = 0; point == NETFRONT_TX_AFTER_PUBLISH && i < NETFRONT_RING; i++)
		if (queue->tx.slots[i].granted)
			simguest_revoke(fe->guest, queue->tx.slots[i].ref);
	for (uint32_t i = 0; point == NETFRONT_RX_AFTER_PUBLISH && i < NETFRONT_RING; i += 2)
		if (queue->rx.slots[i].granted)
			simguest_revoke(fe->guest, queue->rx.slots[i].ref);
}

void give_readonly(struct netfront *fe, enum netfront_point point, void *context)
{
	struct netfront_rx *rx = &fe->queues[0].rx;

	(void)context;
	for (uint32_t i = 0; point == NETFRONT_RX_BEFORE_PUBLISH && i < NETFRONT_RING; i++)
		simguest_grant_again(fe->guest, rx->slots[i].ref, 0, rx->slots[i].frame, true);
}

void send_much(struct simvif *vif)
{
	for (int i = 0; i < 50; i++) {
		for (int n = 0; n < 10 && simvif_send(vif, 9014); n++)
			continue;
		simback_await(simvif_tx_idle, vif);
	}
}

void send_and_flood(struct simvif *vif)
{
	send_much(vif);
	simvif_flood(vif, 300, 1514);
}

bool nothing_is_queued(void *context)
{
	const struct simvif *vif = context;

	return simback_number("stats", vif->name, NULL, "guest_rx_queued_frames") == 0;
}

long long verdict(const struct simvif *vif, const char *direction, const char *key)
{
	return simback_number("stats", vif->name, direction, key);
}

void all_sent_have_failed(struct simvif *vif)
{
	assert_int_equal(vif->fe->stats.tx_ok, 0);
	assert_int_equal(verdict(vif, "guest_tx_verdicts", "copy-failed"),
			 vif->fe->stats.tx_frames);
}

void all_received_have_failed(struct simvif *vif)
{
	simback_await(nothing_is_queued, vif);
	assert_int_equal(vif->fe->stats.rx_frames, 0);
	assert_true(vif->fe->stats.rx_error > 0);
	assert_int_equal(verdict(vif, "guest_rx_verdicts", "copy-failed"), vif->fe->stats.rx_error);
}

void some_have_failed(struct simvif *vif)
{
	simback_await(nothing_is_queued, vif);
	assert_true(verdict(vif, "guest_tx_verdicts", "copy-failed") > 0);
	assert_true(verdict(vif, "guest_rx_verdicts", "copy-failed") > 0);
}

static void revoke_rings(struct netfront *fe)
{
	assert_true(simguest_revoke(fe->guest, fe->queues[0].tx.ref));
	assert_true(simguest_revoke(fe->guest, fe->queues[0].rx.ref));
}

void at_revoke_rings(struct netfront *fe, enum netfront_point point, void *context)
{
	(void)context;
	at_connecting(fe, point, revoke_rings);
}

static void ring_for_reading(struct netfront *fe)
{
	simguest_grant_again(fe->guest, fe->queues[0].rx.ref, 0, fe->queues[0].rx.frame, true);
}

void at_ring_for_reading(struct netfront *fe, enum netfront_point point, void *context)
{
	(void)context;
	at_connecting(fe, point, ring_for_reading);
}

/* --- a guest with a second processor ---------------------------------------------------------- */

struct helper {
	pthread_t thread;
	struct simvif *vif;
	bool stop;
	uint64_t turns;
};

static bool told_to_stop(struct helper *helper)
{
	helper->turns++;
	return __atomic_load_n(&helper->stop, __ATOMIC_RELAXED);
}

static void with_helper(struct simvif *vif, void *(*body)(void *),
			void (*meanwhile)(struct simvif *))
{
	struct helper helper = { .vif = vif };

	assert_int_equal(pthread_create(&helper.thread, NULL, body, &helper), 0);
	meanwhile(vif);
	__atomic_store_n(&helper.stop, true, __ATOMIC_RELAXED);
	pthread_join(helper.thread, NULL);
	assert_true(helper.turns > 100);
}

/* Numbers of no quality: the same each run, but for the race. */
static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Fields that are wrong in no way that would be fatal: what is read twice differs, no more. */
static void *rewrite_gently(void *argument)
{
	struct helper *helper = argument;
	volatile struct netfront_tx *tx = tx_of(helper->vif);
	volatile struct netif_rx_sring *rx = helper->vif->fe->queues[0].rx.shared;
	uint32_t state = 1;

	while (!told_to_stop(helper)) {
		uint32_t i = next_random(&state) % NETFRONT_RING;
		volatile struct netif_tx_request *request = &tx->shared->ring[i].req;

		request->size = (uint16_t)(next_random(&state) % 2000);
		request->offset = (uint16_t)(next_random(&state) % 2000);
		request->gref = bad_refs[next_random(&state) % 8];
		rx->ring[i].req.gref = bad_refs[next_random(&state) % 8];
		rx->ring[i].req.id = (uint16_t)next_random(&state);
	}
	return NULL;
}

static void *rewrite_wildly(void *argument)
{
	struct helper *helper = argument;
	volatile uint32_t *tx = (volatile uint32_t *)tx_of(helper->vif)->shared;
	volatile uint32_t *rx = (volatile uint32_t *)helper->vif->fe->queues[0].rx.shared;
	uint32_t state = 2;

	while (!told_to_stop(helper)) {
		uint32_t word = next_random(&state) % (SIM_PAGE / 4);

		tx[word] = next_random(&state) << 8 ^ next_random(&state);
		rx[word] = next_random(&state) << 8 ^ next_random(&state);
	}
	return NULL;
}

/* Without looking at the answers: they are rewritten as well. */
static void publish_on_and_on(struct simvif *vif)
{
	struct netfront_tx *tx = tx_of(vif);
	uint32_t prod = tx->req_prod;

	for (int i = 0; i < 2000; i++) {
		uint32_t answered = __atomic_load_n(&tx->shared->rsp_prod, __ATOMIC_ACQUIRE);

		if (prod - answered < NETFRONT_RING - 8)
			prod += 8;
		publish(vif, prod);
		if (i % 40 == 0)
			simvif_flood(vif, 10, 1514);
		if (i % 500 == 0)
			others_go_on();
	}
}

void mutate_gently(struct simvif *vif)
{
	netfront_judge_off(vif->fe);
	with_helper(vif, rewrite_gently, publish_on_and_on);
}

void mutate_wildly(struct simvif *vif)
{
	netfront_judge_off(vif->fe);
	with_helper(vif, rewrite_wildly, publish_on_and_on);
}

static void *ring_the_bell(void *argument)
{
	struct helper *helper = argument;
	const struct netfront_queue *queue = &helper->vif->fe->queues[0];

	while (!told_to_stop(helper)) {
		simguest_notify(helper->vif->fe->guest, queue->tx.port);
		simguest_notify(helper->vif->fe->guest, queue->rx.port);
	}
	return NULL;
}

static void exchange_both(struct simvif *vif)
{
	for (int i = 0; i < 10; i++) {
		others_go_on();
		simvif_exchange(vif, 4);
	}
}

void storm(struct simvif *vif)
{
	with_helper(vif, ring_the_bell, exchange_both);
}
