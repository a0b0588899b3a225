/* arena.c - two rings of frame memory; see arena.h
 *
 * A ring of memory is bytes [tail, head) modulo wrapping, never split: a reservation that does not
 * fit before the end starts over at 0.  The tail is where the oldest frame not released starts, the
 * head is behind the newest, so nothing but the frame records (a ring of their own) needs to be kept. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "arena.h"
#include "netif.h"
#include "vif_config.h"

#define PACK_BELOW (XEN_PAGE / 2)	/* room in a page that makes it worth starting a frame there */
#define RECORDS (2 * QUEUE_FRAMES_LIMIT)	/* more than any depth: memory runs out first */
#define KEEP_TOUCHED (1u << 20)		/* plain memory not given back when the ring runs empty */

struct record {
	struct frame frame;		/* first: a frame is its record */
	struct segment segment;
	struct ring *ring;
	uint32_t start;
	bool released;
};

struct ring {
	struct page_chunk chunk;
	uint32_t size, head;		/* bytes */
	uint32_t touched;		/* highest end of a frame since memory was given back */
	uint32_t oldest, next;		/* records in use: [oldest, next), free-running */
	struct record *records;		/* [RECORDS], touched as needed */
};

struct arena {
	struct pages *pages;
	struct ring granted, plain;	/* granted.size may be 0 */
};

static struct record *record_at(const struct ring *ring, uint32_t index)
{
	return &ring->records[index % RECORDS];
}

static int ring_init(struct ring *ring, size_t size)
{
	ring->records = mmap(NULL, RECORDS * sizeof *ring->records, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ring->records == MAP_FAILED) {
		ring->records = NULL;
		return -1;
	}
	ring->size = (uint32_t)size;
	return 0;
}

static void ring_fini(struct arena *arena, struct ring *ring)
{
	if (ring->records)
		munmap(ring->records, RECORDS * sizeof *ring->records);
	pages_free(arena->pages, &ring->chunk);
}

struct arena *arena_create(struct pages *pages, size_t granted_bytes)
{
	struct arena *arena = calloc(1, sizeof *arena);
	size_t count = (granted_bytes + XEN_PAGE - 1) / XEN_PAGE;
	size_t plain = QUEUE_BYTES_LIMIT / XEN_PAGE + 2 * ARENA_RESERVATION / XEN_PAGE;

	if (!arena)
		return NULL;
	arena->pages = pages;
	if (count * XEN_PAGE >= ARENA_RESERVATION)
		pages_granted(pages, count, &arena->granted.chunk);
	if (pages_plain(plain, &arena->plain.chunk) != 0 ||
	    ring_init(&arena->plain, plain * XEN_PAGE) != 0 ||
	    ring_init(&arena->granted, arena->granted.chunk.count * XEN_PAGE) != 0) {
		arena_destroy(arena);
		return NULL;
	}
	return arena;
}

void arena_destroy(struct arena *arena)
{
	if (!arena)
		return;
	ring_fini(arena, &arena->granted);
	ring_fini(arena, &arena->plain);
	free(arena);
}

/* Where a reservation fits now; false if nowhere. */
static bool ring_place(const struct ring *ring, uint32_t *start)
{
	bool empty = ring->oldest == ring->next;
	uint32_t tail = empty ? 0 : record_at(ring, ring->oldest)->start;
	uint32_t head = empty ? 0 : ring->head;

	if (ring->size < ARENA_RESERVATION || ring->next - ring->oldest >= RECORDS)
		return false;
	if (empty || head > tail) {
		*start = head;
		if (ring->size - head >= ARENA_RESERVATION)
			return true;
		*start = 0;
		return tail > ARENA_RESERVATION;
	}
	*start = head;
	return tail - head > ARENA_RESERVATION;	/* head == tail would look empty */
}

static struct frame *ring_reserve(struct ring *ring)
{
	struct record *record;
	uint32_t start;

	if (!ring_place(ring, &start))
		return NULL;
	record = record_at(ring, ring->next);
	record->ring = ring;
	record->start = start;
	record->released = false;
	record->segment.data = ring->chunk.data + start;
	record->segment.length = ARENA_RESERVATION;
	record->segment.grefs = ring->chunk.grefs ? ring->chunk.grefs + start / XEN_PAGE : NULL;
	record->frame.segments = &record->segment;
	record->frame.segment_count = 1;
	record->frame.queued = (struct mono){ 0 };
	return &record->frame;
}

struct frame *arena_reserve(struct arena *arena)
{
	struct frame *frame = ring_reserve(&arena->granted);

	return frame ? frame : ring_reserve(&arena->plain);
}

/* Where the frame behind one of @length bytes that ends at @end starts.  Small frames are followed on a
 * cache line of the same page, if that leaves another small one room not to cross into the next.  Behind
 * large frames come large ones, as a rule, and each page that such a frame does not start on costs it
 * one more operation a page: they start on pages of their own. */
static uint32_t next_start(uint32_t end, uint32_t length)
{
	uint32_t line = (end + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;
	uint32_t page = (end + XEN_PAGE - 1) / XEN_PAGE * XEN_PAGE;

	return length <= PACK_BELOW && page - line >= PACK_BELOW ? line : page;
}

void arena_commit(struct arena *arena, struct frame *frame, uint32_t length)
{
	struct record *record = (struct record *)frame;
	struct ring *ring = record->ring;

	(void)arena;
	assert(length > 0 && length <= ARENA_RESERVATION);
	ring->head = next_start(record->start + length, length);
	if (ring->head > ring->touched)
		ring->touched = ring->head;
	ring->next++;
	record->segment.length = length;
	frame->length = length;
	frame->footprint = ring->head - record->start;
}

/* An empty ring of plain memory that a burst has filled far gives its pages back. */
static void ring_trim(struct ring *ring)
{
	if (ring->chunk.grefs || ring->touched <= KEEP_TOUCHED)
		return;
	madvise(ring->chunk.data + KEEP_TOUCHED, ring->touched - KEEP_TOUCHED, MADV_DONTNEED);
	ring->touched = KEEP_TOUCHED;
}

/* What was dropped just after it was received lies at the head and is taken back there: else the
 * drops of a full queue would use up all memory behind the frames that wait. */
static void ring_take_back(struct ring *ring)
{
	while (ring->next != ring->oldest && record_at(ring, ring->next - 1)->released)
		ring->head = record_at(ring, --ring->next)->start;
}

void arena_release(struct arena *arena, struct frame *frame)
{
	struct record *record = (struct record *)frame;
	struct ring *ring = record->ring;

	(void)arena;
	record->released = true;
	while (ring->oldest != ring->next && record_at(ring, ring->oldest)->released)
		ring->oldest++;
	ring_take_back(ring);
	if (ring->oldest == ring->next)
		ring_trim(ring);
}

size_t arena_granted_pages(const struct arena *arena)
{
	return arena->granted.chunk.count;
}

size_t arena_plain_pages(const struct arena *arena)
{
	return arena->plain.touched / XEN_PAGE;
}
