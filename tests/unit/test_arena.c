/* test_arena.c - frames never overlap, memory all comes back, dropped frames cost none
 *
 * A naive model keeps every frame's bytes in a block of its own; a random life of reserve, commit
 * and release must leave the arena's bytes equal to the model's at each step. */
#include "../../backend/arena.c"
#include "fake_xen.c"
#include "unit.h"

#define GRANTED (40u * 4096u)

static struct pages *pages;
static struct arena *arena;

static int open_arena(size_t granted)
{
	fake_xen_setup();
	pages = pages_open(FAKE_SELF);
	arena = arena_create(pages, granted);
	assert_non_null(arena);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return open_arena(GRANTED);
}

static int teardown(void **state)
{
	(void)state;
	arena_destroy(arena);
	pages_close(pages);
	fake_xen_teardown();
	return 0;
}

static struct frame *take(uint32_t length)
{
	struct frame *frame = arena_reserve(arena);

	if (frame)
		arena_commit(arena, frame, length);
	return frame;
}

static bool is_granted(const struct frame *frame)
{
	return frame->segments[0].grefs != NULL;
}

static void a_reservation_holds_the_largest_and_stays_until_committed(void **state)
{
	struct frame *first = arena_reserve(arena), *second;

	(void)state;
	assert_int_equal(first->segments[0].length, ARENA_RESERVATION);
	assert_int_equal(first->segment_count, 1);
	assert_ptr_equal(arena_reserve(arena), first);
	memset(first->segments[0].data, 1, ARENA_RESERVATION);
	arena_commit(arena, first, ARENA_RESERVATION);
	assert_int_equal(first->length, ARENA_RESERVATION);
	assert_int_equal(first->footprint, ARENA_RESERVATION);
	second = take(60);
	assert_ptr_not_equal(second, first);
	assert_int_equal(second->length, 60);
	assert_int_equal(second->segments[0].length, 60);
	assert_in_range(second->footprint, 60, 4096);
	arena_release(arena, second);
	arena_release(arena, first);
}

/* Each page of a granted frame must be named by its own reference. */
static void granted_frames_name_their_pages(void **state)
{
	(void)state;
	for (int i = 0; i < 30; i++) {
		struct frame *frame = take(1500);
		const struct segment *segment = &frame->segments[0];
		uint8_t *page = segment->data - (uintptr_t)segment->data % 4096;

		if (!is_granted(frame))
			break;
		for (uint32_t at = 0; page + at * 4096 < segment->data + segment->length; at++)
			assert_ptr_equal(fake.own[segment->grefs[at] - FAKE_OWN_FIRST],
					 page + at * 4096);
	}
}

static void the_granted_ring_serves_first_then_plain_memory(void **state)
{
	struct frame *frames[64];
	int n = 0;

	(void)state;
	while ((frames[n] = take(9000)) != NULL && is_granted(frames[n]))
		n++;
	assert_in_range(n, 2, 20);
	assert_non_null(frames[n]);
	for (int i = 0; i < n; i++)
		arena_release(arena, frames[i]);
	frames[0] = take(9000);		/* granted memory is back: it serves again */
	assert_true(is_granted(frames[0]));
	arena_release(arena, frames[0]);
	arena_release(arena, frames[n]);
	assert_int_equal(arena_granted_pages(arena), 40);
}

static void small_frames_lie_densely(void **state)
{
	struct frame *frames[200];
	uint64_t footprint = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		frames[i] = take(60);
		footprint += frames[i]->footprint;
	}
	assert_in_range(footprint, 200 * 60, 200 * 160);
	for (int i = 0; i < 200; i++)
		arena_release(arena, frames[i]);
}

static int fill(struct frame **frames, uint32_t length)
{
	int n = 0;

	while ((frames[n] = take(length)) != NULL)
		n++;
	return n;
}

/* All memory, in any order of release, more than once: nothing is lost. */
static void memory_all_comes_back(void **state)
{
	static struct frame *frames[3 * RECORDS];
	static const uint32_t lengths[] = { 60, 1514, 4096, 65535, ARENA_RESERVATION };

	(void)state;
	for (size_t l = 0; l < COUNT_OF(lengths); l++) {
		int first = fill(frames, lengths[l]), again;

		for (int i = 1; i < first; i += 2)
			arena_release(arena, frames[i]);
		for (int i = 0; i < first; i += 2)
			arena_release(arena, frames[i]);
		again = fill(frames, lengths[l]);
		SAME("frames", again, first);
		for (int i = again; i-- > 0; )
			arena_release(arena, frames[i]);
		SAME("touched kept", arena_plain_pages(arena) * 4096 <= KEEP_TOUCHED, 1);
	}
}

/* The queue is full and each new frame is dropped at once: that must use up no memory, however long
 * the guest stalls (the queue's limit is the limit). */
static void frames_dropped_at_the_tail_cost_nothing(void **state)
{
	struct frame *queued[100];

	(void)state;
	for (int i = 0; i < 100; i++)
		queued[i] = take(1514);
	for (int round = 0; round < 10 * (int)RECORDS; round++) {
		struct frame *burst[64];

		for (int i = 0; i < 64; i++) {
			burst[i] = take(1514);
			if (!burst[i])
				fail_msg("out of memory in round %d", round);
		}
		for (int i = 0; i < 64; i++)
			arena_release(arena, burst[i]);
	}
	assert_in_range(arena_plain_pages(arena), 0, 200);
	for (int i = 0; i < 100; i++)
		arena_release(arena, queued[i]);
}

/* --- beside a naive model --------------------------------------------------------------------- */

#define LIVE_MAX 3000

struct live { struct frame *frame; uint32_t length; uint8_t fill; };
static struct live live[LIVE_MAX];
static int live_count;
static uint64_t seed;

static uint32_t next_random(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static void live_add(void)
{
	static const uint32_t largest[] = { 100, 1600, 9000, 65557, ARENA_RESERVATION };
	struct live *new = &live[live_count];
	struct frame *frame = arena_reserve(arena);

	if (!frame)
		return;
	/* A receive overwrites what a reservation holds: nobody else's bytes may lie there. */
	memset(frame->segments[0].data, 0xdd, next_random(8) ? 64 : ARENA_RESERVATION);
	new->length = 1 + next_random(largest[next_random(COUNT_OF(largest))]);
	new->fill = (uint8_t)seed;
	arena_commit(arena, frame, new->length);
	memset(frame->segments[0].data, new->fill, new->length);
	new->frame = frame;
	live_count++;
}

static void live_remove(int which)
{
	const struct live *gone = &live[which];
	const uint8_t *data = gone->frame->segments[0].data;

	SAME("length", gone->frame->length, gone->length);
	for (uint32_t i = 0; i < gone->length; i++)
		if (data[i] != gone->fill)
			fail_msg("byte %u of %u was overwritten", i, gone->length);
	arena_release(arena, gone->frame);
	memmove(&live[which], &live[which + 1], (size_t)(live_count - which - 1) * sizeof live[0]);
	live_count--;
}

static void live_until(int rounds, int fill_of_8)
{
	for (int round = 0; round < rounds; round++) {
		if ((int)next_random(8) < fill_of_8 && live_count < LIVE_MAX)
			live_add();
		else if (live_count > 0 && next_random(4))
			live_remove(0);				/* as a queue does */
		else if (live_count > 0 && next_random(2))
			live_remove(live_count - 1);		/* a drop at the tail */
		else if (live_count > 0)
			live_remove((int)next_random((uint32_t)live_count));
	}
}

static void frames_keep_their_bytes(void **state)
{
	(void)state;
	for (seed = 1; seed < 8; seed += 1) {
		uint64_t start = seed;

		live_until(3000, 4);	/* hovers near empty */
		live_until(3000, 7);	/* fills up */
		live_until(3000, 3);
		while (live_count > 0)
			live_remove(0);
		seed = start;
	}
}

static void without_grants_all_is_plain(void **state)
{
	struct frame *frame;

	(void)state;
	fake_xen_setup();
	fake.no_gntalloc = true;
	pages = pages_open(FAKE_SELF);
	arena = arena_create(pages, GRANTED);
	frame = take(1514);
	assert_false(is_granted(frame));
	assert_int_equal(arena_granted_pages(arena), 0);
	arena_release(arena, frame);
	arena_destroy(NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reservation_holds_the_largest_and_stays_until_committed),
		TEST(granted_frames_name_their_pages),
		TEST(the_granted_ring_serves_first_then_plain_memory),
		TEST(small_frames_lie_densely),
		TEST(memory_all_comes_back),
		TEST(frames_dropped_at_the_tail_cost_nothing),
		TEST(frames_keep_their_bytes),
		cmocka_unit_test_teardown(without_grants_all_is_plain, teardown),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
