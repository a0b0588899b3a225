/* gcopy.c - batches of grant copies; see gcopy.h */
#include <assert.h>

#include "gcopy.h"
#include "netif.h"

void gcopy_init(struct gcopy *batch, xengnttab_handle *gnttab, uint16_t guest, uint16_t self)
{
	batch->gnttab = gnttab;
	batch->guest = guest;
	batch->self = self;
	batch->map = NULL;
	batch->batches = batch->operations = batch->mapped = 0;
	gcopy_reset(batch);
}

void gcopy_reset(struct gcopy *batch)
{
	batch->count = 0;
}

static xengnttab_grant_copy_segment_t *next_segment(struct gcopy *batch, uint16_t length)
{
	xengnttab_grant_copy_segment_t *segment = &batch->segments[batch->count];

	assert(batch->count < GCOPY_OPERATIONS && length > 0 && length <= XEN_PAGE);
	batch->count++;
	segment->len = length;
	segment->flags = 0;
	segment->status = GNTST_general_error;	/* until the hypervisor says otherwise */
	return segment;
}

static void set_end(union xengnttab_copy_ptr *end, uint16_t domid, uint32_t ref, uint16_t offset)
{
	end->foreign.ref = ref;
	end->foreign.offset = offset;
	end->foreign.domid = domid;
}

void gcopy_from_guest(struct gcopy *batch, uint32_t ref, uint16_t offset,
		      const struct page_buffer *to, uint16_t to_offset, uint16_t length)
{
	xengnttab_grant_copy_segment_t *segment;

	assert(to_offset + length <= XEN_PAGE && offset + length <= XEN_PAGE);
	if (batch->map && gref_map_read(batch->map, ref, offset, to->data + to_offset, length)) {
		batch->mapped++;
		return;
	}
	segment = next_segment(batch, length);
	segment->flags = GNTCOPY_source_gref;
	set_end(&segment->source, batch->guest, ref, offset);
	if (to->gref == GREF_NONE) {
		segment->dest.virt = to->data + to_offset;
	} else {
		segment->flags |= GNTCOPY_dest_gref;
		set_end(&segment->dest, batch->self, to->gref, to_offset);
	}
}

void gcopy_to_guest(struct gcopy *batch, uint32_t ref, uint16_t offset,
		    const uint8_t *data, uint32_t gref, uint16_t length)
{
	xengnttab_grant_copy_segment_t *segment;

	assert(offset + length <= XEN_PAGE);
	if (batch->map && gref_map_write(batch->map, ref, offset, data, length)) {
		batch->mapped++;
		return;
	}
	segment = next_segment(batch, length);
	segment->flags = GNTCOPY_dest_gref;
	set_end(&segment->dest, batch->guest, ref, offset);
	if (gref == GREF_NONE) {
		segment->source.virt = (void *)data;
	} else {
		segment->flags |= GNTCOPY_source_gref;
		set_end(&segment->source, batch->self, gref,
			(uint16_t)((uintptr_t)data % XEN_PAGE));
	}
}

void gcopy_run(struct gcopy *batch)
{
	if (batch->count == 0)
		return;
	batch->batches++;
	batch->operations += batch->count;
	if (xengnttab_grant_copy(batch->gnttab, batch->count, batch->segments) == 0)
		return;
	for (uint32_t i = 0; i < batch->count; i++)
		batch->segments[i].status = GNTST_general_error;
}
