/* gnttab_copy.c - libxengnttab for the simulator: grant copy
 *
 * Done by the caller, between the domains' memories, without a system call.  Each end that is a
 * reference is checked and pinned as by Xen's _set_status_v1, in one atomic operation, then the
 * page is looked up; what the guest does to the entry afterwards does not matter any more.
 *
 * As gntdev: the call fails with EINVAL for a segment with no reference at all, or one whose
 * reference end crosses its page; segments before it are done.  Everything else is a segment's
 * status:
 *	bad_domain	no such domain
 *	bad_gntref	reference beyond the table
 *	general_error	not granted, not to us, or read-only (Xen says so, not permission_denied)
 *	bad_page	the frame is not memory
 *
 * Unfaithful: a bad local address is a fault, not EFAULT; Linux does segments before a bad one in
 * chunks of 16 only; GTF_reading and GTF_writing may go away a moment too early if two copy from
 * one page at once. */
#include <errno.h>
#include <string.h>

#include "gnttab.h"

/* One end of a copy, ready for memcpy. */
struct end {
	uint8_t *data;
	uint16_t *flags;		/* NULL: a local address */
	const uint16_t *pins;
	uint16_t set;			/* bits we set and shall clear */
};

/* Pins @ref for @by; the bits that were set for it in *@set. */
static int16_t pin(struct sim_table *table, uint32_t ref, uint32_t by, uint16_t bits, uint16_t *set)
{
	uint32_t *word = (uint32_t *)(void *)&table->entries[ref];
	uint32_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	for (int tries = 0; tries < 5; tries++) {
		if ((old & GTF_type_mask) != GTF_permit_access || old >> 16 != by)
			return GNTST_general_error;
		if ((bits & GTF_writing) && (old & GTF_readonly))
			return GNTST_general_error;
		if ((old & bits) == bits ||
		    __atomic_compare_exchange_n(word, &old, old | bits, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			*set = (uint16_t)(bits & ~old);
			return GNTST_okay;
		}
	}
	return GNTST_general_error;	/* "unstable": the guest keeps changing it */
}

/* Only bits that were not there before; a mapping made meanwhile wants them back. */
static void unpin(struct end *end)
{
	if (!end->flags || !end->set)
		return;
	__atomic_and_fetch(end->flags, (uint16_t)~end->set, __ATOMIC_RELEASE);
	if (__atomic_load_n(end->pins, __ATOMIC_ACQUIRE) != 0)
		__atomic_or_fetch(end->flags, end->set, __ATOMIC_RELEASE);
}

static int16_t open_end(struct xengntdev_handle *handle, bool gref,
			const union xengnttab_copy_ptr *ptr, uint16_t bits, struct end *end)
{
	struct client_domain *domain;
	uint32_t ref = ptr->foreign.ref, frame;
	int16_t status;

	*end = (struct end){ 0 };
	if (!gref) {
		end->data = ptr->virt;
		return GNTST_okay;
	}
	domain = gnt_foreign(handle, ptr->foreign.domid);
	if (!domain)
		return GNTST_bad_domain;
	if (ref >= SIM_GRANTS)
		return GNTST_bad_gntref;
	status = pin(domain->table, ref, handle->domid, bits, &end->set);
	if (status != GNTST_okay)
		return status;
	end->flags = &domain->table->entries[ref].flags;
	end->pins = &domain->table->pins[ref];
	frame = __atomic_load_n(&domain->table->entries[ref].frame, __ATOMIC_RELAXED);
	if (frame >= SIM_PAGES) {
		unpin(end);
		return GNTST_bad_page;
	}
	end->data = domain->memory + (size_t)frame * SIM_PAGE + ptr->foreign.offset;
	return GNTST_okay;
}

static int16_t copy(struct xengntdev_handle *handle, const xengnttab_grant_copy_segment_t *segment)
{
	struct end source, dest;
	int16_t status;

	status = open_end(handle, segment->flags & GNTCOPY_source_gref, &segment->source,
			  GTF_reading, &source);
	if (status != GNTST_okay)
		return status;
	status = open_end(handle, segment->flags & GNTCOPY_dest_gref, &segment->dest,
			  GTF_reading | GTF_writing, &dest);
	if (status == GNTST_okay) {
		memmove(dest.data, source.data, segment->len);
		unpin(&dest);
	}
	unpin(&source);
	return status;
}

static bool crosses(bool gref, const union xengnttab_copy_ptr *end, uint16_t length)
{
	return gref && end->foreign.offset + length > (int)SIM_PAGE;
}

int xengnttab_grant_copy(xengnttab_handle *xgt, uint32_t count,
			 xengnttab_grant_copy_segment_t *segs)
{
	for (uint32_t i = 0; i < count; i++) {
		xengnttab_grant_copy_segment_t *segment = &segs[i];

		if (!(segment->flags & (GNTCOPY_source_gref | GNTCOPY_dest_gref)) ||
		    crosses(segment->flags & GNTCOPY_source_gref, &segment->source, segment->len) ||
		    crosses(segment->flags & GNTCOPY_dest_gref, &segment->dest, segment->len)) {
			errno = EINVAL;
			return -1;
		}
		segment->status = segment->len == 0 ? GNTST_okay : copy(xgt, segment);
	}
	return 0;
}
