/* gcopy.h - batches of grant copy operations, each with its own status
 *
 * Operations are queued while a burst is planned and run by one call.  Linux's gntdev passes them to
 * the hypervisor 16 at a time, so a batch costs one system call and a hypercall for each 16.
 *
 * The guest's end is not mapped, unless the guest asked for it (gref_map.h): a reference that is bad, revoked
 * or of another domain makes its operation fail and nothing else.  One that is mapped is copied at once and is
 * no operation.  Owner thread only.  Only gcopy_run() makes a system call. */
#ifndef BACKEND_GCOPY_H
#define BACKEND_GCOPY_H

#include <stdbool.h>
#include <stdint.h>
#include <xengnttab.h>

#include "frame.h"
#include "gref_map.h"

#define GCOPY_OPERATIONS 160

struct gcopy {
	xengnttab_handle *gnttab;	/* shared by the threads of an instance; copying needs no lock */
	uint16_t guest, self;		/* domids of the two ends */
	const struct gref_map *map;	/* of the queue, while it polls; or NULL */
	uint32_t count;			/* operations queued */
	uint64_t batches, operations;	/* since connect */
	uint64_t mapped;		/* copies that were no operation, since connect */
	xengnttab_grant_copy_segment_t segments[GCOPY_OPERATIONS];
};

void gcopy_init(struct gcopy *batch, xengnttab_handle *gnttab, uint16_t guest, uint16_t self);
void gcopy_reset(struct gcopy *batch);		/* forgets operations and their statuses */
static inline uint32_t gcopy_room(const struct gcopy *batch)
{
	return GCOPY_OPERATIONS - batch->count;
}

/* Queues a copy of @length bytes (1..4096; @offset + @length <= 4096) from the guest's @ref to
 * @to_offset in a page buffer, or to the guest's from @data, which lies in the page that @gref names
 * (GREF_NONE: plain memory, which may cross pages).  The caller has seen to it that there is room for
 * an operation; afterwards @batch->count is one higher, or the bytes are there already.  The hypervisor keeps a page of either end from one operation to the
 * next: neighbours that share one are cheaper. */
void gcopy_from_guest(struct gcopy *batch, uint32_t ref, uint16_t offset,
		      const struct page_buffer *to, uint16_t to_offset, uint16_t length);
void gcopy_to_guest(struct gcopy *batch, uint32_t ref, uint16_t offset,
		    const uint8_t *data, uint32_t gref, uint16_t length);

/* Runs all queued operations.  If the call as a whole fails, every status says so. */
void gcopy_run(struct gcopy *batch);

static inline bool gcopy_ok(const struct gcopy *batch, uint32_t operation)
{
	return batch->segments[operation].status == GNTST_okay;
}

#endif
