/* arena.h - memory of frames on their way to the guest
 *
 * Two rings of memory: a small one of granted pages, which serves as long as the guest keeps up, and
 * behind it a large one of plain memory for when it does not.  A frame is received into a
 * reservation that holds the largest there is, then cut to its size, so small frames lie densely and
 * a queue of many small frames costs little.  Memory comes back at both ends: of the oldest frame, and
 * of the newest, which is the one dropped when a queue is full; what is released between them waits for
 * its neighbours.  A ring that runs empty starts again at its beginning, so that light traffic stays
 * in a few warm pages.
 *
 * Owner thread only.  No system calls, except that plain memory a burst has touched is given back to
 * the kernel when the ring runs empty. */
#ifndef BACKEND_ARENA_H
#define BACKEND_ARENA_H

#include "frame.h"
#include "pages.h"

/* What a reservation holds: the largest frame a TAP can deliver, 64 KiB of payload and headers. */
#define ARENA_RESERVATION (17u * 4096u)

struct arena;

/* @granted_bytes is rounded to pages and may end up as 0 (none to be had).  NULL without memory. */
struct arena *arena_create(struct pages *pages, size_t granted_bytes);
void arena_destroy(struct arena *arena);	/* NULL is fine */

/* A frame with one segment of ARENA_RESERVATION bytes, or NULL if all memory is in use.  Stays the
 * same until commit() cuts it to @length (1..ARENA_RESERVATION) and sets length and footprint, or until
 * any frame is released, which voids it. */
struct frame *arena_reserve(struct arena *arena);
void arena_commit(struct arena *arena, struct frame *frame, uint32_t length);
void arena_release(struct arena *arena, struct frame *frame);	/* a committed frame */

size_t arena_granted_pages(const struct arena *arena);
size_t arena_plain_pages(const struct arena *arena);

#endif
