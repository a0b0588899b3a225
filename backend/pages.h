/* pages.h - memory that the hypervisor knows by grant
 *
 * A grant copy whose local end is a grant of our own domain is a quarter to a third cheaper than one
 * whose local end is a plain address (Linux's gntdev then need not pin user pages).  So buffers come
 * from /dev/xen/gntalloc, granted to our own domain, as long as its limit
 * (/sys/module/xen_gntalloc/parameters/limit, for the whole host) has room, and from plain memory
 * otherwise: everything works with either.
 *
 * Chunks are made and freed by control threads, used by one queue thread each. */
#ifndef BACKEND_PAGES_H
#define BACKEND_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct pages;

struct page_chunk {
	uint8_t *data;		/* page aligned, zeroed */
	uint32_t *grefs;	/* one a page, or NULL for plain memory */
	size_t count;		/* pages */
};

/* Opens gntalloc; needs the privilege for that, later calls need none.  Where it cannot be opened one
 * line says so and every chunk is plain.  NULL only without memory. */
struct pages *pages_open(uint16_t self);
void pages_close(struct pages *pages);			/* NULL is fine; all chunks must be freed */

/* 0 or -ENOMEM.  granted() falls to -ENOSPC when no grants are to be had. */
int pages_granted(struct pages *pages, size_t count, struct page_chunk *chunk);
int pages_plain(size_t count, struct page_chunk *chunk);
void pages_free(struct pages *pages, struct page_chunk *chunk);	/* zeroed chunk is fine */

#endif
