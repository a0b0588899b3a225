/* test_hostile.c - hostile frontends against the real unetbackd: nobody else notices
 *
 * Each row of the table is a guest (domain 1) that misbehaves, while a good one (domain 2) passes
 * traffic before, during and after.  Shown for each: the good guest's frames arrive unspoiled and
 * the judge has nothing against its backend; no instance dies; the vif of the bad guest is either
 * closed, with a reason in its error node that names the thing and the value, and nothing of the
 * guest is mapped any more, or it stays connected and every frame is accounted for; and when the
 * toolstack has removed the guest, nothing is left of it. */
#include "hostile.h"

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
	bool judged;				/* its own judge has something to judge */
	void (*after)(struct simvif *vif);	/* still connected: what else must hold */
};

static struct simguest *good_guest, *bad_guest;
static struct simvif *bad;

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
			simvif_exchange(neighbour, 4);
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
	{ "a later slot over the end of its page", .attack = later_slot_over_page_end,
	  .outcome = CLOSED, .reason = "offset + size: 4097, limit 4096" },
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
	{ "a ring granted for reading", HOOK(at_ring_for_reading), .judged = true,
	  .outcome = CLOSED, .reason = "cannot map rx-ring-ref " },
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
	  .outcome = CLOSED },
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
	simback_await(simvif_balanced, neighbour);
	if (row->judged)
		assert_int_equal(bad->fe->violations, 0);
	assert_int_equal(simback_number("show", neighbour->name, "instance", "restarts"), 0);
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

/* One frontend after the other in the same domain, each with one key that makes no sense; at last
 * one without fault. */
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
		simvif_exchange(neighbour, 1);
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
	simvif_exchange(neighbour, 2);
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
	neighbour = simvif_open(good_guest, 0, NULL, NULL);
	simvif_exchange(neighbour, 8);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	assert_int_equal(neighbour->fe->violations, 0);
	assert_true(netfront_close(neighbour->fe, SIMBACK_PATIENCE));
	simvif_free(neighbour);
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
