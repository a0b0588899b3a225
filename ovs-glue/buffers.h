/* buffers.h - page buffers of a port that keeps them to itself
 *
 * What tap and null have in common: transmit slots are copied into pages of one granted chunk (plain
 * where no grants are to be had), which are all back once send() returns.  Same threads as port.h. */
#ifndef OVS_GLUE_BUFFERS_H
#define OVS_GLUE_BUFFERS_H

#include "../backend/pages.h"
#include "../backend/port.h"

struct buffers {
	struct pages *pages;
	struct page_chunk chunk;
	size_t free_count;
	struct page_buffer *free;	/* [chunk.count] */
};

int buffers_open(struct buffers *buffers, struct pages *pages, size_t count);	/* 0 or -ENOMEM */
void buffers_close(struct buffers *buffers);	/* zeroed is fine */
int buffers_get(struct buffers *buffers, struct page_buffer *out, int n);
void buffers_put(struct buffers *buffers, const struct page_buffer *in, int n);

#endif
