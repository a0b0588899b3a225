/* test_hostile.c - hostile frontends against the real unetbackd: nobody else notices
 *
 * Each row of the table is a guest (domain 1) that misbehaves, while a good one (domain 2) passes
 * traffic before, during and after.  Shown for each: the good guest's frames arrive unspoiled and the
 * judge has nothing against its backend; no instance dies; the vif of the bad guest is either closed,
 * with a reason in its error node that names the thing and the value, and nothing of the guest is
 * mapped any more, or it stays connected and every frame is accounted for; and when the toolstack has
 * removed the guest, nothing is left of it. */
#include "simback.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum outcome { CONNECTED, CLOSED, EITHER };

struct row {
	const char *name;
	struct netfront_config config;
	const char *mtu;
	void (*begin)(struct simvif *vif);	/* before it connects */
	void (*attack)(struct simvif *vif);	/* once connected; NULL: connecting is the attack */
	enum outcome outcome;
	const char *reason;			/* in the error node */
	bool judged;				/* it keeps to the protocol so far that it may complain */
	void (*after)(struct simvif *vif);	/* still connected: what else must hold */
};

static struct simguest *good_guest, *bad_guest;
static struct simvif *good, *bad;

static void others_go_on(void)
{
	simvif_exchange(good, 8);
}

/* --- requests by hand ------------------------------------------------------------------------- */

static void at_connecting(struct netfront *fe, enum netfront_point point, void (*act)(struct netfront *))
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

static void too_many_requests(struct simvif *vif)
{
	netfront_judge_off(vif->fe);
	publish(vif, tx_of(vif)->shared->rsp_prod + 300);
}

static void requests_taken_back(struct simvif *vif)
{
	simvif_exchange(vif, 2);
	netfront_judge_off(vif->fe);
	publish(vif, tx_of(vif)->shared->rsp_prod - 1);
}

static void too_many_buffers(struct simvif *vif)
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

static void at_overrun(struct netfront *fe, enum netfront_point point, void *context)
{
	(void)context;
	at_connecting(fe, point, overrun_at_birth);
}

static void slot_over_page_end(struct simvif *vif)
{
	raw_requests(vif, (struct netif_tx_request){ .offset = 4000, .size = 97 }, 1);
}

static void slot_promised(struct simvif *vif)
{
	raw_requests(vif, (struct netif_tx_request){ .flags = NETTXF_more_data, .size = 100 }, 3);
}

static void endless_frame(struct simvif *vif)
{
	raw_requests(vif, (struct netif_tx_request){ .flags = NETTXF_more_data, .size = 1 }, 100);
}

static void extra_promised(struct simvif *vif)
{
	raw_requests(vif, (struct netif_tx_request){ .flags = NETTXF_extra_info, .size = 60 }, 1);
}

static void segments_of_no_size(struct simvif *vif)
{
	static uint8_t bytes[60];
	const struct netfront_frame meta = { .csum_blank = true,
					     .gso_type = XEN_NETIF_GSO_TYPE_TCPV4 };

	assert_true(netfront_send(vif->fe, bytes, sizeof bytes, &meta));
}

/* --- grants ----------------------------------------------------------------------------------- */

static const uint32_t bad_refs[] = { 0, 1, 7, 0x3fff, 0x7fff, 0x8000, 0x7fffffff, 0xffffffff };

static void spoil_tx_refs(struct netfront *fe, enum netfront_point point, void *context)
{
	struct netfront_tx *tx = &fe->queues[0].tx;

	(void)context;
	for (uint32_t i = tx->shared->req_prod; point == NETFRONT_TX_BEFORE_PUBLISH && i != tx->req_prod;
	     i++)
		tx->shared->ring[i % NETFRONT_RING].req.gref = bad_refs[i % 8];
}

static void spoil_rx_refs(struct netfront *fe, enum netfront_point point, void *context)
{
	struct netfront_rx *rx = &fe->queues[0].rx;

	(void)context;
	for (uint32_t i = rx->shared->req_prod; point == NETFRONT_RX_BEFORE_PUBLISH && i != rx->req_prod;
	     i++)
		rx->shared->ring[i % NETFRONT_RING].req.gref = bad_refs[i % 8];
}

/* All that may be in use by the backend just now. */
static void revoke_published(struct netfront *fe, enum netfront_point point, void *context)
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

static void give_readonly(struct netfront *fe, enum netfront_point point, void *context)
{
	struct netfront_rx *rx = &fe->queues[0].rx;

	(void)context;
	for (uint32_t i = 0; point == NETFRONT_RX_BEFORE_PUBLISH && i < NETFRONT_RING; i++)
		simguest_grant_again(fe->guest, rx->slots[i].ref, 0, rx->slots[i].frame, true);
}

static void send_much(struct simvif *vif)
{
	for (int i = 0; i < 50; i++) {
		for (int n = 0; n < 10 && simvif_send(vif, 9014); n++)
			continue;
		simback_await(simvif_tx_idle, vif);
	}
}

static void send_and_flood(struct simvif *vif)
{
	send_much(vif);
	simvif_flood(vif, 300, 1514);
}

static bool nothing_is_queued(void *context)
{
	const struct simvif *vif = context;

	return simback_number("stats", vif->name, NULL, "guest_rx_queued_frames") == 0;
}

static long long verdict(const struct simvif *vif, const char *direction, const char *key)
{
	return simback_number("stats", vif->name, direction, key);
}

static void all_sent_have_failed(struct simvif *vif)
{
	assert_int_equal(vif->fe->stats.tx_ok, 0);
	assert_int_equal(verdict(vif, "guest_tx_verdicts", "copy-failed"), vif->fe->stats.tx_frames);
}

static void all_received_have_failed(struct simvif *vif)
{
	simback_await(nothing_is_queued, vif);
	assert_int_equal(vif->fe->stats.rx_frames, 0);
	assert_true(vif->fe->stats.rx_error > 0);
	assert_int_equal(verdict(vif, "guest_rx_verdicts", "copy-failed"), vif->fe->stats.rx_error);
}

static void some_have_failed(struct simvif *vif)
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

static void at_revoke_rings(struct netfront *fe, enum netfront_point point, void *context)
{
	(void)context;
	at_connecting(fe, point, revoke_rings);
}

static void ring_for_reading(struct netfront *fe)
{
	simguest_grant_again(fe->guest, fe->queues[0].rx.ref, 0, fe->queues[0].rx.frame, true);
}

static void at_ring_for_reading(struct netfront *fe, enum netfront_point point, void *context)
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

static void with_helper(struct simvif *vif, void *(*body)(void *), void (*meanwhile)(struct simvif *))
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

/* Fields that are wrong in no way that would be fatal: what is read twice differs, and that is all. */
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

static void mutate_gently(struct simvif *vif)
{
	netfront_judge_off(vif->fe);
	with_helper(vif, rewrite_gently, publish_on_and_on);
}

static void mutate_wildly(struct simvif *vif)
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

static void storm(struct simvif *vif)
{
	with_helper(vif, ring_the_bell, exchange_both);
}

/* --- event channels --------------------------------------------------------------------------- */

static void close_port(struct netfront *fe)
{
	simguest_port_close(fe->guest, fe->queues[0].tx.port);
}

static void at_close_port(struct netfront *fe, enum netfront_point point, void *context)
{
	(void)context;
	at_connecting(fe, point, close_port);
}

static void close_rx_port(struct netfront *fe)
{
	simguest_port_close(fe->guest, fe->queues[0].rx.port);
}

static void at_close_rx_port(struct netfront *fe, enum netfront_point point, void *context)
{
	(void)context;
	at_connecting(fe, point, close_rx_port);
}

static void close_ports_and_flood(struct simvif *vif)
{
	simguest_port_close(vif->fe->guest, vif->fe->queues[0].tx.port);
	simguest_port_close(vif->fe->guest, vif->fe->queues[0].rx.port);
	simvif_flood(vif, 300, 700);
}

/* --- buffers that are not posted -------------------------------------------------------------- */

static void post_nothing(struct simvif *vif)
{
	vif->fe->frozen_rx = true;
}

static bool some_are_too_old(void *context)
{
	return verdict(context, "guest_rx_verdicts", "too-old") > 0;
}

/* The limits that main() sets. */
static void limits_hold(struct simvif *vif)
{
	assert_true(simback_number("stats", vif->name, NULL, "guest_rx_queued_frames") <= 64);
	assert_true(simback_number("stats", vif->name, NULL, "guest_rx_queued_bytes") <= 131072);
}

static void flood_small(struct simvif *vif)
{
	for (int i = 0; i < 10; i++) {
		simvif_flood(vif, 200, 60);
		limits_hold(vif);
		others_go_on();
	}
}

static void flood_large(struct simvif *vif)
{
	for (int i = 0; i < 10; i++) {
		simvif_flood(vif, 60, 9014);
		limits_hold(vif);
		others_go_on();
	}
}

static void the_queue_was_full_of_frames(struct simvif *vif)
{
	simback_await(some_are_too_old, vif);
	assert_true(verdict(vif, "guest_rx_verdicts", "queue-full-frames") > 0);
	vif->fe->frozen_rx = false;
	netfront_rx_refill(vif->fe);
	simvif_exchange(vif, 8);
}

static void the_queue_was_full_of_bytes(struct simvif *vif)
{
	simback_await(some_are_too_old, vif);
	assert_true(verdict(vif, "guest_rx_verdicts", "queue-full-bytes") > 0);
	vif->fe->frozen_rx = false;
	netfront_rx_refill(vif->fe);
	simvif_exchange(vif, 8);
}

/* Frames of three slots never fit into one buffer; those of one pass once these are too old. */
static void one_buffer_is_enough(struct simvif *vif)
{
	simback_await(some_are_too_old, vif);
	simback_await(nothing_is_queued, vif);
	simvif_exchange(vif, 8);
}

static void flood_one(struct simvif *vif)
{
	simvif_exchange(vif, 8);
	flood_large(vif);
}

/* --- XenStore --------------------------------------------------------------------------------- */

static void write_state(struct simvif *vif, const char *value)
{
	char path[96];

	snprintf(path, sizeof path, "%s/state", vif->fe->path);
	assert_true(xs_write(simback_xs(), XBT_NULL, path, value, (unsigned int)strlen(value)));
}

/* Ends in Closed, from where a frontend can come back. */
static void rewrite_state(struct simvif *vif)
{
	static const char *const values[] = { "4", "5", "6", "1", "4", "9", "2", "junk", "3", "",
					      "0", "4", "7", "00000000000000000000004", "8", "6" };

	for (int i = 0; i < 4000; i++) {
		write_state(vif, values[i % 16]);
		if (i % 500 == 0)
			simvif_exchange(good, 4);
	}
	write_state(vif, "6");
	vif->fe->state = XenbusStateClosed;
	simback_await(simvif_closed, vif);
	assert_int_equal(simtest_count(1, "mapped"), 0);
	assert_true(netfront_reopen(vif->fe));
	simback_await(simvif_connected, vif);
	simvif_exchange(vif, 8);
}

static void remove_frontend(struct netfront *fe)
{
	assert_true(xs_rm(fe->xs, XBT_NULL, fe->path));
}

static void at_remove_frontend(struct netfront *fe, enum netfront_point point, void *context)
{
	(void)context;
	at_connecting(fe, point, remove_frontend);
}

static bool says_connected(void *context)
{
	const struct simvif *vif = context;

	return vif->fe->state == XenbusStateConnected;
}

/* While the backend is at it. */
static void vanish(struct simvif *vif)
{
	simback_await(says_connected, vif);
	remove_frontend(vif->fe);
}

static void vanish_connected(struct simvif *vif)
{
	remove_frontend(vif->fe);
}

/* --- the table -------------------------------------------------------------------------------- */

#define HOOK(function) .config.hooks.at = function
#define KEY(key, text) { key, text }

static struct row rows[] = {
	{ "more requests than slots", .attack = too_many_requests, .outcome = CLOSED,
	  .reason = "guest_tx: requests in the ring: 300, limit 256" },
	{ "requests taken back", .attack = requests_taken_back, .outcome = CLOSED,
	  .reason = "guest_tx: requests in the ring: 4294967295, limit 256" },
	{ "more buffers than slots", .attack = too_many_buffers, .outcome = CLOSED,
	  .reason = "guest_rx: requests in the ring: 257, limit 256" },
	{ "more requests than slots when it connects", HOOK(at_overrun), .outcome = CLOSED,
	  .reason = "more requests than slots in the ring of tx-ring-ref" },
	{ "a slot over the end of its page", .attack = slot_over_page_end, .outcome = CLOSED,
	  .reason = "guest_tx: slot crosses its page: offset + size: 4097, limit 4096" },
	{ "a slot promised", .attack = slot_promised, .outcome = CLOSED,
	  .reason = "slot promised but not in the ring: 3" },
	{ "a frame without end", .attack = endless_frame, .outcome = CLOSED,
	  .reason = "slots of a frame: 22, limit 21" },
	{ "an extra promised", .attack = extra_promised, .outcome = CLOSED,
	  .reason = "extra promised but not in the ring" },
	{ "segments of no size", .attack = segments_of_no_size, .outcome = CLOSED,
	  .reason = "GSO size: 0" },
	{ "slots rewritten after they were published", .attack = mutate_gently,
	  .outcome = CONNECTED },
	{ "rings rewritten all the time", .attack = mutate_wildly, .outcome = EITHER },
	{ "requests with bad grants", HOOK(spoil_tx_refs), .attack = send_much, .judged = true,
	  .outcome = CONNECTED, .after = all_sent_have_failed },
	{ "buffers with bad grants", HOOK(spoil_rx_refs), .attack = send_and_flood, .judged = true,
	  .outcome = CONNECTED, .after = all_received_have_failed },
	{ "buffers granted for reading", HOOK(give_readonly), .attack = send_and_flood,
	  .judged = true, .outcome = CONNECTED, .after = all_received_have_failed },
	{ "grants revoked in flight", HOOK(revoke_published), .attack = send_and_flood,
	  .judged = true, .outcome = CONNECTED, .after = some_have_failed },
	{ "a ring that was never granted", .config.override = { KEY("tx-ring-ref", "9999") },
	  .judged = true, .outcome = CLOSED, .reason = "cannot map tx-ring-ref 9999: " },
	{ "a ring beyond the grant table", .config.override = { KEY("rx-ring-ref", "4294967295") },
	  .judged = true, .outcome = CLOSED, .reason = "cannot map rx-ring-ref 4294967295: " },
	{ "rings revoked", HOOK(at_revoke_rings), .judged = true, .outcome = CLOSED,
	  .reason = "cannot map tx-ring-ref " },
	{ "a ring granted for reading", HOOK(at_ring_for_reading), .judged = true, .outcome = CLOSED,
	  .reason = "cannot map rx-ring-ref " },
	{ "one page for both rings",
	  .config.override = { KEY("tx-ring-ref", "77"), KEY("rx-ring-ref", "77") },
	  .judged = true, .outcome = CLOSED,
	  .reason = "tx-ring-ref and rx-ring-ref are both 77, they must differ" },
	{ "a dead event channel", HOOK(at_close_port), .config.single_event = true, .judged = true,
	  .outcome = CLOSED, .reason = "event-channel " },
	{ "a dead event channel of two, tx", HOOK(at_close_port), .judged = true, .outcome = CLOSED,
	  .reason = "event-channel-tx " },
	{ "a dead event channel of two, rx", HOOK(at_close_rx_port), .judged = true,
	  .outcome = CLOSED, .reason = "event-channel-rx " },
	{ "an event channel that does not exist", .config.single_event = true, .judged = true,
	  .config.override = { KEY("event-channel", "4000") }, .outcome = CLOSED,
	  .reason = "event-channel 4000: " },
	{ "event channels closed while connected", .attack = close_ports_and_flood,
	  .outcome = CONNECTED },
	{ "a storm of events", .attack = storm, .judged = true, .outcome = CONNECTED },
	{ "no buffers, small frames", .begin = post_nothing, .attack = flood_small, .judged = true,
	  .outcome = CONNECTED, .after = the_queue_was_full_of_frames },
	{ "no buffers, large frames", .mtu = "9000", .begin = post_nothing, .attack = flood_large,
	  .judged = true, .outcome = CONNECTED, .after = the_queue_was_full_of_bytes },
	{ "one buffer", .mtu = "9000", .config.rx_requests = 1, .attack = flood_one, .judged = true,
	  .outcome = CONNECTED, .after = one_buffer_is_enough },
	{ "a state rewritten thousands of times", .attack = rewrite_state, .judged = true,
	  .outcome = CONNECTED },
	{ "a frontend that vanishes before Connected", HOOK(at_remove_frontend), .judged = true,
	  .outcome = CLOSED, .reason = "tx-ring-ref is missing" },
	{ "a frontend that vanishes at Connected", .begin = vanish, .outcome = CLOSED },
	{ "a frontend that vanishes while connected", .attack = vanish_connected,
	  .outcome = CLOSED },
};
#define ROWS (sizeof rows / sizeof rows[0])

static void assert_contains(const char *text, const char *words)
{
	if (strstr(text, words))
		return;
	print_error("'%s' is not in '%s'\n", words, text);
	fail();
}

static void assert_closed(struct simvif *vif, const struct row *row)
{
	simback_await(simvif_closed, vif);
	assert_int_equal(simtest_count(vif->domid, "mapped"), 0);
	if (!row->reason)
		return;
	assert_contains(simvif_error(vif), row->reason);
	assert_contains(simvif_error(vif), "22 vif1.0: ");
	assert_null(strstr(simvif_error(vif) + strlen("22 vif1.0: "), vif->name));
	assert_contains(simback_ask("show", vif->name), row->reason);
}

static void assert_connected(struct simvif *vif, const struct row *row)
{
	simback_await(simvif_connected, vif);
	simback_await(simvif_balanced, vif);
	if (row->after)
		row->after(vif);
	simback_await(simvif_balanced, vif);
	assert_string_equal(simvif_error(vif), "");
}

static bool is_settled(void *context)
{
	return simvif_closed(context) || simvif_balanced(context);
}

static void hostile(void **state)
{
	const struct row *row = *state;

	bad = simvif_open(bad_guest, 0, &row->config, row->mtu);
	if (row->begin)
		row->begin(bad);
	others_go_on();
	if (row->attack) {
		simback_await(simvif_connected, bad);
		row->attack(bad);
	}
	others_go_on();
	if (row->outcome == EITHER)
		simback_await(is_settled, bad);
	if (row->outcome == CLOSED || (row->outcome == EITHER && simvif_closed(bad)))
		assert_closed(bad, row);
	else
		assert_connected(bad, row);
	others_go_on();
	simback_await(simvif_balanced, good);
	if (row->judged)
		assert_int_equal(bad->fe->violations, 0);
	assert_int_equal(simback_number("show", good->name, "instance", "restarts"), 0);
	assert_true(simback_number("show", bad->name, "instance", "restarts") <= 0);
}

/* --- keys ------------------------------------------------------------------------------------- */

static const struct {
	const char *key, *value, *reason;
} absurd_keys[] = {
	{ "tx-ring-ref", NULL, "tx-ring-ref is missing, must be a number from 1 to 4294967295" },
	{ "tx-ring-ref", "", "tx-ring-ref is '', must be a number from 1 to " },
	{ "tx-ring-ref", "0", "tx-ring-ref is '0', must be" },
	{ "tx-ring-ref", "-1", "tx-ring-ref is '-1', must be" },
	{ "rx-ring-ref", NULL, "rx-ring-ref is missing, must be" },
	{ "rx-ring-ref", "4294967296", "rx-ring-ref is '4294967296', must be" },
	{ "rx-ring-ref", " 8", "rx-ring-ref is ' 8', must be" },
	{ "rx-ring-ref", "8\n", "rx-ring-ref is '8\\x0a', must be" },
	{ "rx-ring-ref", "8 8", "rx-ring-ref is '8 8', must be" },
	{ "event-channel-tx", "0", "event-channel-tx is '0', must be a number from 1 to 131071" },
	{ "event-channel-tx", "131072", "event-channel-tx is '131072', must be" },
	{ "event-channel-rx", "five", "event-channel-rx is 'five', must be" },
	{ "event-channel-rx", NULL, "event-channel-rx is missing, must be" },
	{ "request-rx-copy", "0", "request-rx-copy is missing or 0, must be 1" },
	{ "request-rx-copy", NULL, "request-rx-copy is missing or 0, must be 1" },
	{ "request-rx-copy", "2", "request-rx-copy is '2', must be a number from 0 to 1" },
	{ "request-rx-copy", "yes", "request-rx-copy is 'yes', must be" },
	{ "feature-sg", "2", "feature-sg is '2', must be a number from 0 to 1" },
	{ "feature-sg", "", "feature-sg is '', must be" },
	{ "feature-gso-tcpv4", "true", "feature-gso-tcpv4 is 'true', must be" },
	{ "feature-rx-notify", "0x1", "feature-rx-notify is '0x1', must be" },
	{ "feature-rx-notify",
	  "1111111111111111111111111111111111111111111111111111111111111111111111111111111111111",
	  "feature-rx-notify is too long, must be" },
};

/* One frontend after the other in the same domain, each with one key that makes no sense; at last one
 * without fault. */
static void absurd_values(void **state)
{
	(void)state;
	bad = simvif_open(bad_guest, 0, NULL, NULL);
	bad->fe->state = XenbusStateClosed;	/* does not connect by itself */
	for (size_t i = 0; i < sizeof absurd_keys / sizeof absurd_keys[0]; i++) {
		bad->fe->config.override[0] =
			(struct netfront_key){ absurd_keys[i].key, absurd_keys[i].value };
		assert_true(netfront_reopen(bad->fe));
		simback_await(says_connected, bad);
		simback_await(simvif_closed, bad);
		assert_contains(simvif_error(bad), absurd_keys[i].reason);
		assert_int_equal(simtest_count(1, "mapped"), 0);
		simvif_exchange(good, 1);
	}
	bad->fe->config.override[0] = (struct netfront_key){ NULL, NULL };
	assert_true(netfront_reopen(bad->fe));
	simback_await(simvif_connected, bad);
	simvif_exchange(bad, 8);
	assert_string_equal(simvif_error(bad), "");
	assert_int_equal(bad->fe->violations, 0);
}

/* --- worlds ----------------------------------------------------------------------------------- */

static int setup(void **state)
{
	(void)state;
	bad_guest = simback_guest(1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	simvif_free(bad);
	bad = NULL;
	simback_destroy(bad_guest);
	simvif_exchange(good, 2);
	return 0;
}

static int start(void **state)
{
	static const char *const options[] = { "--rx-depth-frames=64", "--rx-depth-bytes=131072",
					       "--rx-age-ms=1000", NULL };

	(void)state;
	if (simback_start(options) != 0)
		return -1;
	good_guest = simback_guest(2);
	good = simvif_open(good_guest, 0, NULL, NULL);
	simvif_exchange(good, 8);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	assert_int_equal(good->fe->violations, 0);
	assert_true(netfront_close(good->fe, SIMBACK_PATIENCE));
	simvif_free(good);
	simback_destroy(good_guest);
	return simback_stop();
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[ROWS + 1] = { { "absurd values of keys", absurd_values, setup,
						teardown, NULL } };

	for (size_t i = 0; i < ROWS; i++)
		tests[i + 1] =
			(struct CMUnitTest){ rows[i].name, hostile, setup, teardown, &rows[i] };
	if (argc > 1)		/* a pattern, to run some of them */
		cmocka_set_test_filter(argv[1]);
	return _cmocka_run_group_tests("hostile", tests, ROWS + 1, start, stop);
}
