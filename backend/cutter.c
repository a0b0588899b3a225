/* cutter.c - memory of a queue in which frames are cut into segments; see cutter.h */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "cutter.h"

#define MEMORY_BYTES (CUTTER_FRAME_MAX + CUTTER_PIECES_BYTES)

int cutter_open(struct cutter *cutter)
{
	memset(cutter, 0, sizeof *cutter);
	cutter->memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (cutter->memory != MAP_FAILED)
		return 0;
	cutter->memory = NULL;
	return -ENOMEM;
}

void cutter_close(struct cutter *cutter)
{
	if (cutter->memory)
		munmap(cutter->memory, MEMORY_BYTES);
	cutter->memory = NULL;
}

void cutter_reset(struct cutter *cutter)
{
	cutter->used = 0;
	cutter->count = 0;
}

struct frame *cutter_next(struct cutter *cutter, struct segmentation *s)
{
	struct segment *segment = &cutter->segments[cutter->count];
	struct frame *piece = &cutter->pieces[cutter->count];
	uint32_t at = (cutter->used + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN, length;

	if (cutter->count == CUTTER_PIECES_MAX || at + s->length_max > CUTTER_PIECES_BYTES)
		return NULL;
	segment->data = cutter->memory + CUTTER_FRAME_MAX + at;
	length = segment_next(s, segment->data);
	if (length == 0)
		return NULL;
	segment->length = length;
	segment->grefs = NULL;
	*piece = (struct frame){
		.vnet = s->vnet, .segment_count = 1, .length = length, .segments = segment,
	};
	cutter->used = at + length;
	cutter->count++;
	return piece;
}

const uint8_t *cutter_flat(struct cutter *cutter, const struct frame *frame)
{
	uint32_t filled = 0;

	if (frame->segment_count == 1)
		return frame->segments[0].data;
	assert(frame->length <= CUTTER_FRAME_MAX);
	for (int i = 0; i < frame->segment_count; i++) {
		memcpy(cutter->memory + filled, frame->segments[i].data, frame->segments[i].length);
		filled += frame->segments[i].length;
	}
	return cutter->memory;
}
