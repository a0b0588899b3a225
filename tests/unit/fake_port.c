/* fake_port.c - see fake_port.h */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake_port.h"
#include "unit.h"

bool fake_port_granted = true;

struct given {
	struct frame frame;		/* first: a frame is its record */
	struct segment segment;
	struct page_chunk chunk;
};

static int get_chunk(struct pages *pages, size_t count, struct page_chunk *chunk)
{
	return fake_port_granted ? pages_granted(pages, count, chunk) : pages_plain(count, chunk);
}

static int fake_open(const struct port_config *config, struct port **out)
{
	struct fake_port *port = calloc(1, sizeof *port);

	assert_non_null(port);
	port->port.class = &fake_port_class;
	port->pages = config->pages;
	port->send_verdict = GUEST_TX_SENT;
	pthread_mutex_init(&port->lock, NULL);
	port->wait_fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
	if (config->guest_tx_pages > COUNT_OF(port->buffers) ||
	    get_chunk(config->pages, config->guest_tx_pages, &port->chunk) != 0) {
		close(port->wait_fd);
		free(port);
		return -ENOMEM;
	}
	for (size_t i = 0; i < port->chunk.count; i++)
		port->buffers[port->buffer_count++] = (struct page_buffer){
			port->chunk.data + i * 4096,
			port->chunk.grefs ? port->chunk.grefs[i] : GREF_NONE,
		};
	*out = &port->port;
	return 0;
}

static void free_given(struct pages *pages, struct frame *frame)
{
	struct given *given = (struct given *)frame;

	pages_free(pages, &given->chunk);
	free(given);
}

static void fake_close(struct port *base)
{
	struct fake_port *port = fake_port_of(base);

	if (!port)
		return;
	SAME("port closed", port->buffers_borrowed, 0);
	SAME("port closed", port->held, 0);
	while (port->inbox_next < port->inbox_count)
		free_given(port->pages, port->inbox[port->inbox_next++]);
	fake_port_forget_sent(base);
	pages_free(port->pages, &port->chunk);
	pthread_mutex_destroy(&port->lock);
	close(port->wait_fd);
	free(port);
}

static int fake_get_buffers(struct port *base, struct page_buffer *buffers, int n)
{
	struct fake_port *port = fake_port_of(base);
	int got = 0;

	while (got < n && port->buffer_count > 0)
		buffers[got++] = port->buffers[--port->buffer_count];
	port->buffers_borrowed += got;
	return got;
}

static void fake_put_buffers(struct port *base, const struct page_buffer *buffers, int n)
{
	struct fake_port *port = fake_port_of(base);

	for (int i = 0; i < n; i++)
		port->buffers[port->buffer_count++] = buffers[i];
	port->buffers_borrowed -= n;
}

static void keep(struct fake_port *port, const struct frame *frame)
{
	struct fake_sent *sent = &port->sent[port->sent_count++];

	assert_in_range(port->sent_count, 1, FAKE_SENT_MAX);
	sent->vnet = frame->vnet;
	sent->segment_count = frame->segment_count;
	sent->said_length = frame->length;
	sent->bytes = malloc(frame->length);
	for (int i = 0; i < frame->segment_count; i++) {
		const struct segment *segment = &frame->segments[i];

		assert_in_range(segment->length, 1, frame->length - sent->length);
		memcpy(sent->bytes + sent->length, segment->data, segment->length);
		sent->length += segment->length;
	}
}

static void fake_send(struct port *base, struct frame *const frames[], int n,
		      enum guest_tx_verdict verdicts[])
{
	struct fake_port *port = fake_port_of(base);

	if (port->on_send)
		port->on_send();
	for (int i = 0; i < n; i++) {
		keep(port, frames[i]);
		verdicts[i] = port->send_verdict;
	}
}

void fake_port_forget_sent(struct port *base)
{
	struct fake_port *port = fake_port_of(base);

	while (port->sent_count > 0)
		free(port->sent[--port->sent_count].bytes);
	memset(port->sent, 0, sizeof port->sent);
}

struct frame *fake_port_give(struct port *base, const uint8_t *bytes, uint32_t length,
			     uint32_t offset, const struct virtio_net_hdr_v1 *vnet)
{
	struct fake_port *port = fake_port_of(base);
	struct given *given = calloc(1, sizeof *given);
	const uint64_t one = 1;

	assert_non_null(given);
	pthread_mutex_lock(&port->lock);
	assert_int_equal(get_chunk(port->pages, (offset + length + 4095) / 4096, &given->chunk), 0);
	memcpy(given->chunk.data + offset, bytes, length);
	given->segment = (struct segment){ given->chunk.data + offset, length, given->chunk.grefs };
	given->frame.segments = &given->segment;
	given->frame.segment_count = 1;
	given->frame.length = length;
	given->frame.footprint = length;
	if (vnet)
		given->frame.vnet = *vnet;
	assert_in_range(port->inbox_count, 0, FAKE_INBOX_MAX - 1);
	port->inbox[port->inbox_count++] = &given->frame;
	assert_int_equal(write(port->wait_fd, &one, sizeof one), sizeof one);
	pthread_mutex_unlock(&port->lock);
	return &given->frame;
}

static int take_from_inbox(struct fake_port *port, struct frame *frames[], int max)
{
	uint64_t one;
	int n = 0;

	port->recv_calls++;
	if (port->no_memory) {
		port->recv_no_memory++;
		return 0;
	}
	while (n < max && port->inbox_next < port->inbox_count) {
		assert_int_equal(read(port->wait_fd, &one, sizeof one), sizeof one);
		frames[n++] = port->inbox[port->inbox_next++];
	}
	port->held += n;
	return n;
}

static int fake_recv(struct port *base, struct frame *frames[], int max)
{
	struct fake_port *port = fake_port_of(base);
	int n;

	pthread_mutex_lock(&port->lock);
	n = take_from_inbox(port, frames, max);
	pthread_mutex_unlock(&port->lock);
	return n;
}

static void fake_release(struct port *base, struct frame *frame)
{
	struct fake_port *port = fake_port_of(base);

	pthread_mutex_lock(&port->lock);
	port->held--;
	free_given(port->pages, frame);
	pthread_mutex_unlock(&port->lock);
}

int fake_port_held(struct port *base)
{
	struct fake_port *port = fake_port_of(base);
	int held;

	pthread_mutex_lock(&port->lock);
	held = port->held;
	pthread_mutex_unlock(&port->lock);
	return held;
}

uint64_t fake_port_recv_calls(struct port *base)
{
	struct fake_port *port = fake_port_of(base);
	uint64_t calls;

	pthread_mutex_lock(&port->lock);
	calls = port->recv_calls;
	pthread_mutex_unlock(&port->lock);
	return calls;
}

static int fake_wait_fd(const struct port *base)
{
	return fake_port_of(base)->wait_fd;
}

static int fake_set_offloads(struct port *base, uint32_t offloads)
{
	fake_port_of(base)->offloads = offloads;
	return 0;
}

static void fake_get_counters(const struct port *base, struct port_counters *counters)
{
	struct fake_port *port = fake_port_of(base);

	pthread_mutex_lock(&port->lock);
	*counters = (struct port_counters){ .recv_no_memory = port->recv_no_memory };
	pthread_mutex_unlock(&port->lock);
}

const struct port_class fake_port_class = {
	.kind = "fake",
	.offloads = OFFLOAD_ALL,
	.open = fake_open,
	.close = fake_close,
	.get_buffers = fake_get_buffers,
	.put_buffers = fake_put_buffers,
	.send = fake_send,
	.recv = fake_recv,
	.release = fake_release,
	.wait_fd = fake_wait_fd,
	.set_offloads = fake_set_offloads,
	.get_counters = fake_get_counters,
};
