/* buffers.c - page buffers of a port; see buffers.h */
#include <errno.h>
#include <stdlib.h>

#include "buffers.h"

int buffers_open(struct buffers *buffers, struct pages *pages, size_t count)
{
	*buffers = (struct buffers){ .pages = pages };
	buffers->free = calloc(count, sizeof *buffers->free);
	if (!buffers->free)
		return -ENOMEM;
	if (pages_granted(pages, count, &buffers->chunk) != 0 &&
	    pages_plain(count, &buffers->chunk) != 0) {
		buffers_close(buffers);
		return -ENOMEM;
	}
	/* The last ones are taken first: so page 0 is the warmest. */
	for (size_t i = count; i-- > 0; )
		buffers->free[buffers->free_count++] = (struct page_buffer){
			.data = buffers->chunk.data + i * 4096,
			.gref = buffers->chunk.grefs ? buffers->chunk.grefs[i] : GREF_NONE,
		};
	return 0;
}

void buffers_close(struct buffers *buffers)
{
	free(buffers->free);
	if (buffers->pages)
		pages_free(buffers->pages, &buffers->chunk);
	*buffers = (struct buffers){ 0 };
}

int buffers_get(struct buffers *buffers, struct page_buffer *out, int n)
{
	int got = 0;

	while (got < n && buffers->free_count > 0)
		out[got++] = buffers->free[--buffers->free_count];
	return got;
}

void buffers_put(struct buffers *buffers, const struct page_buffer *in, int n)
{
	for (int i = 0; i < n && buffers->free_count < buffers->chunk.count; i++)
		buffers->free[buffers->free_count++] = in[i];
}
