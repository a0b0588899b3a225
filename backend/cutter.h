/* cutter.h - memory of a queue in which frames are cut into segments
 *
 * Segments come as frames of one piece each, which live until cutter_reset(): towards the guest until their
 * copies are done, from the guest until the port's send() returns.  Both directions of a queue use the
 * same memory, one after the other.  It is address space until the first frame is cut.
 *
 * Owner thread only, but for open and close.  No call but those two is a system call. */
#ifndef BACKEND_CUTTER_H
#define BACKEND_CUTTER_H

#include "segment.h"

#define CUTTER_PIECES_MAX 64		/* as many as a burst, either way */
/* The largest frame there is; and so of the largest segment, for all of a frame may be its only one. */
#define CUTTER_FRAME_MAX (17u * 4096u)
#define CUTTER_PIECES_BYTES (2u * CUTTER_FRAME_MAX)	/* a burst of 1514 bytes each, with room */

struct cutter {
	uint8_t *memory;		/* [CUTTER_FRAME_MAX] of cutter_flat(), then the segments */
	uint32_t used;			/* bytes of the segments */
	int count;
	struct frame pieces[CUTTER_PIECES_MAX];
	struct segment segments[CUTTER_PIECES_MAX];
};

int cutter_open(struct cutter *cutter);		/* 0 or -ENOMEM */
void cutter_close(struct cutter *cutter);	/* zeroed is fine */

/* Takes all segments back. */
void cutter_reset(struct cutter *cutter);
/* The next segment of @s, begun with room for CUTTER_FRAME_MAX; NULL if it had none left, or if there is no
 * room until the next reset: then @s has not moved on.  After a reset there is room for one. */
struct frame *cutter_next(struct cutter *cutter, struct segmentation *s);

/* The bytes of @frame, CUTTER_FRAME_MAX at most, in one piece: where they lie, or copied; good until the
 * next call. */
const uint8_t *cutter_flat(struct cutter *cutter, const struct frame *frame);

#endif
