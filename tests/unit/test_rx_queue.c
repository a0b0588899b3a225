/* test_rx_queue.c - three limits, one unit, order kept; compared with a plain array */
#include "../../backend/rx_queue.c"
#include "unit.h"

#define MS(ms) ((struct mono){ (ms) * NS_PER_MS })

static struct rx_queue queue;

static int setup(void **state)
{
	(void)state;
	queue = (struct rx_queue){
		.limits = { .frames = 4, .bytes = 1000, .age_ms = 100 },
		.head = UINT32_MAX - 2, .tail = UINT32_MAX - 2,	/* wraps soon */
	};
	return 0;
}

static void each_limit_drops_at_the_tail(void **state)
{
	static const struct {
		const char *name;
		struct queue_limits limits;
		uint32_t footprints[5];
		enum guest_rx_verdict verdicts[5];
	} rows[] = {
		{ "frames", { 2, 1000, 0 }, { 10, 10, 10 },
		  { GUEST_RX_DELIVERED, GUEST_RX_DELIVERED, GUEST_RX_QUEUE_FRAMES } },
		{ "bytes, to the last", { 9, 100, 0 }, { 50, 50, 1 },
		  { GUEST_RX_DELIVERED, GUEST_RX_DELIVERED, GUEST_RX_QUEUE_BYTES } },
		{ "bytes, a smaller one fits", { 9, 100, 0 }, { 60, 50, 40 },
		  { GUEST_RX_DELIVERED, GUEST_RX_QUEUE_BYTES, GUEST_RX_DELIVERED } },
		{ "an empty queue takes any", { 9, 100, 0 }, { 70000, 1 },
		  { GUEST_RX_DELIVERED, GUEST_RX_QUEUE_BYTES } },
		{ "bytes near 2^32", { 9, UINT32_MAX, 0 }, { UINT32_MAX - 5, 5, 1, UINT32_MAX },
		  { GUEST_RX_DELIVERED, GUEST_RX_DELIVERED, GUEST_RX_QUEUE_BYTES,
		    GUEST_RX_QUEUE_BYTES } },
	};

	for (size_t r = 0; r < COUNT_OF(rows); r++) {
		struct frame frames[5] = { 0 };

		setup(state);
		queue.limits = rows[r].limits;
		for (int i = 0; i < 5 && rows[r].footprints[i]; i++) {
			frames[i].footprint = rows[r].footprints[i];
			SAME(rows[r].name, rx_queue_push(&queue, &frames[i]), rows[r].verdicts[i]);
		}
	}
}

static void the_array_is_never_overrun_whatever_the_limits(void **state)
{
	static struct frame frames[QUEUE_FRAMES_LIMIT + 1];

	(void)state;
	queue.limits = (struct queue_limits){ UINT32_MAX, UINT32_MAX, 0 };
	for (uint32_t i = 0; i < QUEUE_FRAMES_LIMIT; i++) {
		frames[i].footprint = 1;
		SAME("push", rx_queue_push(&queue, &frames[i]), GUEST_RX_DELIVERED);
	}
	SAME("one more", rx_queue_push(&queue, &frames[QUEUE_FRAMES_LIMIT]), GUEST_RX_QUEUE_FRAMES);
	for (uint32_t i = 0; i < QUEUE_FRAMES_LIMIT; i++)
		assert_ptr_equal(rx_queue_pop(&queue), &frames[i]);
	assert_null(rx_queue_pop(&queue));
	assert_int_equal(queue.bytes, 0);
}

static void a_limit_lowered_live_keeps_what_is_queued(void **state)
{
	struct frame frames[4] = {
		{ .footprint = 300 }, { .footprint = 300 }, { .footprint = 300 },
	};

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(rx_queue_push(&queue, &frames[i]), GUEST_RX_DELIVERED);
	queue.limits.frames = 1;
	queue.limits.bytes = 100;
	assert_int_equal(rx_queue_push(&queue, &frames[3]), GUEST_RX_QUEUE_FRAMES);
	assert_int_equal(rx_queue_count(&queue), 3);
	assert_ptr_equal(rx_queue_peek(&queue, 2), &frames[2]);
	assert_null(rx_queue_peek(&queue, 3));
}

static void age_counts_from_the_stamp_and_drops_at_the_head(void **state)
{
	struct frame frames[3] = { { .footprint = 1 }, { .footprint = 1 }, { .footprint = 1 } };

	(void)state;
	assert_null(rx_queue_pop_expired(&queue, MS(1)));
	rx_queue_push(&queue, &frames[0]);
	rx_queue_push(&queue, &frames[1]);
	assert_null(rx_queue_pop_expired(&queue, MS(1000000)));		/* no time yet: not old */
	rx_queue_stamp(&queue, MS(50));
	rx_queue_push(&queue, &frames[2]);
	rx_queue_stamp(&queue, MS(60));
	assert_int_equal(frames[0].queued.ns, MS(50).ns);
	assert_int_equal(frames[1].queued.ns, MS(50).ns);
	assert_int_equal(frames[2].queued.ns, MS(60).ns);
	assert_null(rx_queue_pop_expired(&queue, MS(150)));	/* as old as allowed */
	assert_ptr_equal(rx_queue_pop_expired(&queue, MS(151)), &frames[0]);
	assert_ptr_equal(rx_queue_pop_expired(&queue, MS(151)), &frames[1]);
	assert_null(rx_queue_pop_expired(&queue, MS(151)));
	assert_ptr_equal(rx_queue_pop_expired(&queue, MS(161)), &frames[2]);
	assert_int_equal(rx_queue_count(&queue), 0);
}

static void room_is_what_surely_fits(void **state)
{
	static const struct { struct queue_limits limits; uint32_t count, bytes, room; } rows[] = {
		{ { 10, 10 * FRAME_FOOTPRINT_MAX, 1 }, 0, 0, 10 },
		{ { 10, 10 * FRAME_FOOTPRINT_MAX, 1 }, 4, 64, 6 },
		{ { 10, 10 * FRAME_FOOTPRINT_MAX, 1 }, 4, 7 * FRAME_FOOTPRINT_MAX, 3 },
		{ { 10, 10 * FRAME_FOOTPRINT_MAX, 1 }, 10, 640, 0 },
		{ { 10, 10 * FRAME_FOOTPRINT_MAX, 1 }, 9, 9 * FRAME_FOOTPRINT_MAX + 1, 0 },
		{ { 3, 1000, 1 }, 4, 2000, 0 },		/* lowered live */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		queue.limits = rows[i].limits;
		queue.head = UINT32_MAX - 1;
		queue.tail = queue.head + rows[i].count;
		queue.bytes = rows[i].bytes;
		SAME("room", rx_queue_room(&queue), rows[i].room);
	}
}

/* Random pushes, pops and limits beside an array that is shifted by hand. */
static void agrees_with_a_plain_array(void **state)
{
	static struct frame pool[64];
	struct frame *naive[64];
	uint32_t count = 0, bytes = 0, seed = 7;

	(void)state;
	for (int round = 0; round < 100000; round++) {
		struct frame *frame = &pool[round % 64];

		seed = seed * 1103515245 + 12345;
		if (seed >> 16 & 1 && count < 60) {
			uint32_t size = (seed >> 20) % 400;
			bool fits = count < queue.limits.frames &&
				    (count == 0 || bytes + size <= queue.limits.bytes);

			frame->footprint = size;
			SAME("push", rx_queue_push(&queue, frame) == GUEST_RX_DELIVERED, fits);
			if (fits) {
				naive[count++] = frame;
				bytes += frame->footprint;
			}
		} else {
			assert_ptr_equal(rx_queue_pop(&queue), count ? naive[0] : NULL);
			bytes -= count ? naive[0]->footprint : 0;
			if (count)
				memmove(naive, naive + 1, --count * sizeof naive[0]);
		}
		SAME("bytes", queue.bytes, bytes);
		SAME("count", rx_queue_count(&queue), count);
		queue.limits.frames = 3 + (seed >> 24) % 4;
	}
}

#define TEST(function) cmocka_unit_test_setup(function, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_limit_drops_at_the_tail),
		TEST(the_array_is_never_overrun_whatever_the_limits),
		TEST(a_limit_lowered_live_keeps_what_is_queued),
		TEST(age_counts_from_the_stamp_and_drops_at_the_head),
		TEST(room_is_what_surely_fits),
		TEST(agrees_with_a_plain_array),
	};

	return cmocka_run_group_tests_name("rx_queue", tests, NULL, NULL);
}
