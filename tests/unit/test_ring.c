/* test_ring.c - indices are bounded, slots are read once, events follow ring.h
 *
 * Everything runs across the wrap of the indices at 2^32.  Notification is compared with Xen's own
 * macro (RING_PUSH_RESPONSES_AND_CHECK_NOTIFY) for every rsp_event around the published range. */
#include <errno.h>

#include "../../backend/ring.c"
#include "unit.h"

#define START 0xfffffff0u	/* 16 below the wrap */

static _Alignas(4096) uint8_t page[4096];
static struct netif_tx_sring *const tx_shared = (struct netif_tx_sring *)page;
static struct netif_rx_sring *const rx_shared = (struct netif_rx_sring *)page;

static void fresh(uint32_t at)
{
	memset(page, 0xa5, sizeof page);
	tx_shared->req_prod = tx_shared->rsp_prod = at;
	tx_shared->req_event = tx_shared->rsp_event = at + 1;
}

static void attach_starts_at_the_last_published_response(void **state)
{
	struct ring_tx tx;
	struct ring_rx rx;

	(void)state;
	fresh(START);
	tx_shared->req_prod = START + 3;
	assert_int_equal(ring_tx_attach(&tx, page), 0);
	assert_int_equal(tx.cons, START);
	assert_int_equal(tx.rsp, START);
	assert_int_equal(ring_tx_available(&tx), 3);
	assert_int_equal(ring_rx_attach(&rx, page), 0);
	assert_int_equal(rx.cons, START);
	assert_int_equal(ring_rx_available(&rx), 3);
}

static void more_requests_than_slots_are_refused(void **state)
{
	static const struct { const char *name; uint32_t ahead; int result; } rows[] = {
		{ "none", 0, 0 },
		{ "one", 1, 1 },
		{ "past the wrap", 17, 17 },
		{ "all slots", 256, 256 },
		{ "one too many", 257, -EPROTO },
		{ "behind us", 0xffffffff, -EPROTO },
		{ "half the numbers", 0x80000000, -EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ring_tx tx;
		struct ring_rx rx;

		fresh(START);
		tx_shared->req_prod = START + rows[i].ahead;
		SAME(rows[i].name, ring_tx_attach(&tx, page), rows[i].result < 0 ? -EPROTO : 0);
		SAME(rows[i].name, ring_rx_attach(&rx, page), rows[i].result < 0 ? -EPROTO : 0);
		SAME(rows[i].name, ring_tx_available(&tx), rows[i].result);
		SAME(rows[i].name, ring_rx_available(&rx), rows[i].result);
		SAME(rows[i].name, tx.prod_seen, START + rows[i].ahead);
	}
}

static void consumed_requests_do_not_make_room_for_more(void **state)
{
	struct ring_tx tx;

	(void)state;
	fresh(START);
	tx_shared->req_prod = START + 256;
	assert_int_equal(ring_tx_attach(&tx, page), 0);
	ring_tx_consume(&tx, 200);
	assert_int_equal(ring_tx_available(&tx), 56);
	tx_shared->req_prod = START + 200 + 257;
	assert_int_equal(ring_tx_available(&tx), -EPROTO);
}

static void fetch_reads_the_slot_ahead_across_the_wrap(void **state)
{
	struct ring_tx tx;
	struct ring_rx rx;

	(void)state;
	fresh(START);
	ring_tx_attach(&tx, page);
	for (uint32_t i = 0; i < 256; i++) {
		struct netif_tx_request request, want = {
			.gref = i * 77, .offset = (uint16_t)i, .flags = 1, .id = (uint16_t)(i + 9),
			.size = 1500,
		};

		tx_shared->ring[(START + i) % 256].req = want;
		ring_tx_fetch(&tx, i, &request);
		assert_memory_equal(&request, &want, sizeof want);
	}
	ring_rx_attach(&rx, page);
	for (uint32_t i = 0; i < 256; i++) {
		struct netif_rx_request request, want = { .id = (uint16_t)i, .gref = i + 4000 };

		rx_shared->ring[(START + i) % 256].req = want;
		ring_rx_consume(&rx, 1);
		ring_rx_fetch(&rx, UINT32_MAX, &request);	/* the one just consumed */
		assert_memory_equal(&request, &want, sizeof want);
	}
}

/* An extra is aligned to 2 bytes only: UBSan watches. */
static void extras_may_be_fetched_to_any_place_they_may_stand(void **state)
{
	_Alignas(8) struct { uint16_t before; struct netif_extra_info extra; } at;
	const struct netif_extra_info want = {
		.type = XEN_NETIF_EXTRA_TYPE_GSO, .u.gso = { .size = 1448, .type = 1 },
	};
	struct ring_tx tx;

	(void)state;
	fresh(START);
	ring_tx_attach(&tx, page);
	memcpy(page + 64 + (START + 2) % 256 * 12, &want, sizeof want);
	ring_tx_fetch_extra(&tx, 2, &at.extra);
	assert_memory_equal(&at.extra, &want, sizeof want);
}

/* Xen's macro, word for word in meaning. */
static bool naive_notify(uint32_t old, uint32_t new, uint32_t event)
{
	for (uint32_t i = old; i != new; i++)
		if (i + 1 == event)
			return true;
	return false;
}

static void notified_exactly_when_the_event_lies_in_the_published_range(void **state)
{
	struct netif_tx_response tx_answers[256] = { 0 };
	union ring_rx_answer rx_answers[256] = { 0 };
	static const uint32_t counts[] = { 0, 1, 2, 15, 16, 17, 64, 255, 256 };

	(void)state;
	for (size_t c = 0; c < COUNT_OF(counts); c++)
		for (int32_t event = -300; event <= 300; event++) {
			uint32_t n = counts[c], at = START + (uint32_t)event;
			struct ring_tx tx;
			struct ring_rx rx;

			fresh(START);
			tx_shared->rsp_event = at;
			ring_tx_attach(&tx, page);
			SAME("tx", ring_tx_respond(&tx, tx_answers, n),
			     naive_notify(START, START + n, at));
			SAME("tx", tx_shared->rsp_prod, START + n);
			fresh(START);
			rx_shared->rsp_event = at;
			ring_rx_attach(&rx, page);
			SAME("rx", ring_rx_respond(&rx, rx_answers, n),
			     naive_notify(START, START + n, at));
			SAME("rx", rx.rsp, START + n);
		}
}

static void answers_lie_in_order_and_nothing_else_is_touched(void **state)
{
	struct netif_tx_response tx_answers[20];
	union ring_rx_answer rx_answers[20];
	struct ring_tx tx;
	struct ring_rx rx;
	uint8_t before[4096];

	(void)state;
	for (uint16_t i = 0; i < 20; i++) {
		tx_answers[i] = (struct netif_tx_response){ .id = i, .status = (int16_t)-i };
		rx_answers[i].response = (struct netif_rx_response){
			.id = i, .status = (int16_t)i,
		};
	}
	fresh(START);
	ring_tx_attach(&tx, page);
	memcpy(before, page, sizeof page);
	ring_tx_respond(&tx, tx_answers, 20);
	for (uint32_t i = 0; i < 20; i++)
		memcpy(before + 64 + (START + i) % 256 * 12, &tx_answers[i], 4);
	assert_memory_equal(page + 64, before + 64, sizeof page - 64);

	fresh(START);
	ring_rx_attach(&rx, page);
	memcpy(before, page, sizeof page);
	ring_rx_respond(&rx, rx_answers, 20);
	for (uint32_t i = 0; i < 20; i++)
		memcpy(before + 64 + (START + i) % 256 * 8, &rx_answers[i], 8);
	assert_memory_equal(page + 64, before + 64, sizeof page - 64);
}

static void arming_asks_for_the_nth_request_and_looks_again(void **state)
{
	struct ring_tx tx;
	struct ring_rx rx;

	(void)state;
	fresh(START);
	ring_tx_attach(&tx, page);
	assert_int_equal(ring_tx_arm(&tx, 1), 0);
	assert_int_equal(tx_shared->req_event, START + 1);
	tx_shared->req_prod = START + 1;
	assert_int_equal(ring_tx_arm(&tx, 1), 1);
	ring_rx_attach(&rx, page);
	assert_int_equal(ring_rx_arm(&rx, 18), 1);
	assert_int_equal(rx_shared->req_event, START + 18);
	rx_shared->req_prod = START + 257;
	assert_int_equal(ring_rx_arm(&rx, 18), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attach_starts_at_the_last_published_response),
		cmocka_unit_test(more_requests_than_slots_are_refused),
		cmocka_unit_test(consumed_requests_do_not_make_room_for_more),
		cmocka_unit_test(fetch_reads_the_slot_ahead_across_the_wrap),
		cmocka_unit_test(extras_may_be_fetched_to_any_place_they_may_stand),
		cmocka_unit_test(notified_exactly_when_the_event_lies_in_the_published_range),
		cmocka_unit_test(answers_lie_in_order_and_nothing_else_is_touched),
		cmocka_unit_test(arming_asks_for_the_nth_request_and_looks_again),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
