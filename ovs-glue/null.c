/* null.c - a port that leads nowhere
 *
 * For tests and for measuring the ring path alone: takes every frame and never has one. */
#include <errno.h>
#include <stdlib.h>

#include "buffers.h"
#include "ports.h"

struct null_port {
	struct port port;
	struct buffers buffers;
};

static struct null_port *null_of(struct port *port)
{
	return (struct null_port *)port;
}

static int null_open(const struct port_config *config, struct port **out)
{
	struct null_port *null = calloc(1, sizeof *null);
	int error = -ENOMEM;

	if (null)
		error = buffers_open(&null->buffers, config->pages, config->guest_tx_pages);
	if (error) {
		free(null);
		return error;
	}
	null->port.class = &null_port_class;
	*out = &null->port;
	return 0;
}

static void null_close(struct port *port)
{
	if (!port)
		return;
	buffers_close(&null_of(port)->buffers);
	free(port);
}

static int null_get_buffers(struct port *port, struct page_buffer *buffers, int n)
{
	return buffers_get(&null_of(port)->buffers, buffers, n);
}

static void null_put_buffers(struct port *port, const struct page_buffer *buffers, int n)
{
	buffers_put(&null_of(port)->buffers, buffers, n);
}

static void null_send(struct port *port, struct frame *const frames[], int n,
		      enum guest_tx_verdict verdicts[])
{
	(void)port;
	(void)frames;
	for (int i = 0; i < n; i++)
		verdicts[i] = GUEST_TX_SENT;
}

static int null_recv(struct port *port, struct frame *frames[], int max)
{
	(void)port;
	(void)frames;
	(void)max;
	return 0;
}

static void null_release(struct port *port, struct frame *frame)
{
	(void)port;
	(void)frame;
}

static int null_wait_fd(const struct port *port)
{
	(void)port;
	return -1;
}

static int null_set_offloads(struct port *port, uint32_t offloads)
{
	(void)port;
	(void)offloads;
	return 0;
}

static void null_get_counters(const struct port *port, struct port_counters *counters)
{
	const struct buffers *buffers = &null_of((struct port *)port)->buffers;

	*counters = (struct port_counters){
		.granted_pages = buffers->chunk.grefs ? buffers->chunk.count : 0,
		.plain_pages = buffers->chunk.grefs ? 0 : buffers->chunk.count,
	};
}

const struct port_class null_port_class = {
	.kind = "null",
	.has_device = false,
	.offloads = OFFLOAD_ALL,
	.open = null_open,
	.close = null_close,
	.get_buffers = null_get_buffers,
	.put_buffers = null_put_buffers,
	.send = null_send,
	.recv = null_recv,
	.release = null_release,
	.wait_fd = null_wait_fd,
	.set_offloads = null_set_offloads,
	.get_counters = null_get_counters,
};
