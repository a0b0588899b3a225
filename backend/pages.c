/* pages.c - granted and plain buffer memory; see pages.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xengnttab.h>

#include "log.h"
#include "netif.h"
#include "pages.h"

struct pages {
	xengntshr_handle *gntshr;	/* NULL: no grants to be had */
	uint16_t self;
};

struct pages *pages_open(uint16_t self)
{
	struct pages *pages = calloc(1, sizeof *pages);

	if (!pages)
		return NULL;
	pages->self = self;
	pages->gntshr = xengntshr_open(NULL, 0);
	if (!pages->gntshr)
		log_warning("/dev/xen/gntalloc cannot be opened (%s): buffers are plain memory, which "
			    "costs CPU time; load the module xen-gntalloc", strerror(errno));
	return pages;
}

void pages_close(struct pages *pages)
{
	if (!pages)
		return;
	if (pages->gntshr)
		xengntshr_close(pages->gntshr);
	free(pages);
}

int pages_granted(struct pages *pages, size_t count, struct page_chunk *chunk)
{
	*chunk = (struct page_chunk){ 0 };
	if (!pages->gntshr || count == 0)
		return -ENOSPC;
	chunk->grefs = calloc(count, sizeof *chunk->grefs);
	if (!chunk->grefs)
		return -ENOMEM;
	chunk->data = xengntshr_share_pages(pages->gntshr, pages->self, (int)count, chunk->grefs, 1);
	if (!chunk->data) {
		free(chunk->grefs);
		*chunk = (struct page_chunk){ 0 };
		return -ENOSPC;
	}
	chunk->count = count;
	return 0;
}

int pages_plain(size_t count, struct page_chunk *chunk)
{
	void *data = mmap(NULL, count * XEN_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*chunk = (struct page_chunk){ 0 };
	if (data == MAP_FAILED)
		return -ENOMEM;
	*chunk = (struct page_chunk){ .data = data, .count = count };
	return 0;
}

void pages_free(struct pages *pages, struct page_chunk *chunk)
{
	if (chunk->grefs)
		xengntshr_unshare(pages->gntshr, chunk->data, (uint32_t)chunk->count);
	else if (chunk->data)
		munmap(chunk->data, chunk->count * XEN_PAGE);
	free(chunk->grefs);
	*chunk = (struct page_chunk){ 0 };
}
