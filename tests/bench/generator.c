/* generator.c - see generator.h */
#include <errno.h>
#include <stdlib.h>

#include "../../backend/netif.h"
#include "../../backend/pages.h"
#include "generator.h"

#define FRAMES 256u			/* a power of 2, more than are ever held */

struct ready {				/* a frame and what it is made of */
	struct frame frame;		/* first: a frame is its record */
	struct segment segment;
};

struct generator {
	struct port port;
	struct pages *pages;
	struct page_chunk chunk;
	int burst;
	uint32_t next, held;
	struct ready ready[FRAMES];
};

static struct generator *generator_of(const struct port *port)
{
	return (struct generator *)port;
}

void generator_set(struct port *port, int burst, uint32_t length)
{
	struct generator *generator = generator_of(port);

	generator->burst = burst;
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct ready *ready = &generator->ready[i];

		ready->segment.length = length;
		ready->frame.length = ready->frame.footprint = length;
	}
}

static int generator_open(const struct port_config *config, struct port **out)
{
	struct generator *generator = calloc(1, sizeof *generator);

	if (!generator)
		return -ENOMEM;
	generator->port.class = &generator_port_class;
	generator->pages = config->pages;
	if (pages_granted(config->pages, FRAMES, &generator->chunk) != 0) {
		free(generator);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct ready *ready = &generator->ready[i];

		ready->segment.data = generator->chunk.data + i * XEN_PAGE;
		ready->segment.grefs = &generator->chunk.grefs[i];
		ready->frame.segments = &ready->segment;
		ready->frame.segment_count = 1;
	}
	*out = &generator->port;
	return 0;
}

static void generator_close(struct port *port)
{
	if (!port)
		return;
	pages_free(generator_of(port)->pages, &generator_of(port)->chunk);
	free(port);
}

static int generator_get_buffers(struct port *port, struct page_buffer *buffers, int n)
{
	(void)port;
	(void)buffers;
	(void)n;
	return 0;
}

static void generator_put_buffers(struct port *port, const struct page_buffer *buffers, int n)
{
	(void)port;
	(void)buffers;
	(void)n;
}

static void generator_send(struct port *port, struct frame *const frames[], int n,
			   enum guest_tx_verdict verdicts[])
{
	(void)port;
	(void)frames;
	for (int i = 0; i < n; i++)
		verdicts[i] = GUEST_TX_SENT;
}

static int generator_recv(struct port *port, struct frame *frames[], int max)
{
	struct generator *generator = generator_of(port);
	int n = 0;

	while (n < max && n < generator->burst && generator->held < FRAMES) {
		struct ready *ready = &generator->ready[generator->next++ % FRAMES];

		ready->frame.queued = (struct mono){ 0 };
		frames[n++] = &ready->frame;
		generator->held++;
	}
	return n;
}

static void generator_release(struct port *port, struct frame *frame)
{
	(void)frame;
	generator_of(port)->held--;
}

static int generator_wait_fd(const struct port *port)
{
	(void)port;
	return -1;
}

static int generator_set_offloads(struct port *port, uint32_t offloads)
{
	(void)port;
	(void)offloads;
	return 0;
}

static void generator_get_counters(const struct port *port, struct port_counters *counters)
{
	*counters = (struct port_counters){ .granted_pages = generator_of(port)->chunk.count };
}

const struct port_class generator_port_class = {
	.kind = "generator",
	.offloads = OFFLOAD_ALL,
	.open = generator_open,
	.close = generator_close,
	.get_buffers = generator_get_buffers,
	.put_buffers = generator_put_buffers,
	.send = generator_send,
	.recv = generator_recv,
	.release = generator_release,
	.wait_fd = generator_wait_fd,
	.set_offloads = generator_set_offloads,
	.get_counters = generator_get_counters,
};
