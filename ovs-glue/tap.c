/* tap.c - a queue of the TAP vifD.N
 *
 * Plain non-blocking readv and writev, a frame a call, behind its virtio header (IFF_VNET_HDR, 12
 * bytes): measured, neither io_uring nor IFF_NAPI is better.  The header lets segmented frames and
 * partial checksums cross whole both ways; what the guest cannot take, TUNSETOFFLOAD makes the kernel
 * do before we read.
 *
 * The device itself (making, MTU, carrier, link) is the control plane's: tap_device.c.  Needs no
 * privilege: the descriptor came open. */
#include <errno.h>
#include <linux/if_tun.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../backend/arena.h"
#include "buffers.h"
#include "ports.h"

struct tap {
	struct port port;
	int fd;
	struct buffers buffers;
	struct arena *arena;
	uint64_t recv_errors, recv_no_memory;
};

static struct tap *tap_of(struct port *port)
{
	return (struct tap *)port;
}

static void tap_close(struct port *port)
{
	struct tap *tap = tap_of(port);

	if (!tap)
		return;
	buffers_close(&tap->buffers);
	arena_destroy(tap->arena);
	close(tap->fd);
	free(tap);
}

static int tap_open(const struct port_config *config, struct port **out)
{
	struct tap *tap = calloc(1, sizeof *tap);
	int error;

	if (!tap) {
		close(config->fd);
		return -ENOMEM;
	}
	tap->port.class = &tap_port_class;
	tap->fd = config->fd;
	error = buffers_open(&tap->buffers, config->pages, config->guest_tx_pages);
	if (!error) {
		tap->arena = arena_create(config->pages, config->guest_rx_granted_bytes);
		error = tap->arena ? 0 : -ENOMEM;
	}
	if (error) {
		tap_close(&tap->port);
		return error;
	}
	*out = &tap->port;
	return 0;
}

static int tap_get_buffers(struct port *port, struct page_buffer *buffers, int n)
{
	return buffers_get(&tap_of(port)->buffers, buffers, n);
}

static void tap_put_buffers(struct port *port, const struct page_buffer *buffers, int n)
{
	buffers_put(&tap_of(port)->buffers, buffers, n);
}

/* What the kernel's tun driver says, as a verdict (drivers/net/tun.c, tun_get_user). */
static enum guest_tx_verdict verdict_of(int error)
{
	switch (error) {
	case EAGAIN:
	case ENOBUFS:
	case ENOMEM:
		return GUEST_TX_PORT_FULL;
	case EIO:		/* the link is set down */
	case EBADFD:		/* the device is gone */
		return GUEST_TX_PORT_DOWN;
	default:
		return GUEST_TX_PORT_ERROR;
	}
}

static enum guest_tx_verdict send_one(struct tap *tap, struct frame *frame)
{
	struct iovec iov[1 + FRAME_SEGMENTS_MAX];
	int n = 0;

	iov[n++] = (struct iovec){ &frame->vnet, sizeof frame->vnet };
	for (int i = 0; i < frame->segment_count && n <= FRAME_SEGMENTS_MAX; i++)
		iov[n++] = (struct iovec){ frame->segments[i].data, frame->segments[i].length };
	return writev(tap->fd, iov, n) < 0 ? verdict_of(errno) : GUEST_TX_SENT;
}

static void tap_send(struct port *port, struct frame *const frames[], int n,
		     enum guest_tx_verdict verdicts[])
{
	for (int i = 0; i < n; i++)
		verdicts[i] = send_one(tap_of(port), frames[i]);
}

/* The next frame, or NULL if there is none now. */
static struct frame *recv_one(struct tap *tap)
{
	struct frame *frame = arena_reserve(tap->arena);
	struct iovec iov[2];
	ssize_t got;

	if (!frame) {
		tap->recv_no_memory++;
		return NULL;
	}
	iov[0] = (struct iovec){ &frame->vnet, sizeof frame->vnet };
	iov[1] = (struct iovec){ frame->segments[0].data, frame->segments[0].length };
	got = readv(tap->fd, iov, 2);
	if (got <= (ssize_t)sizeof frame->vnet) {
		if (got >= 0 || errno != EAGAIN)
			tap->recv_errors++;
		return NULL;
	}
	arena_commit(tap->arena, frame, (uint32_t)got - sizeof frame->vnet);
	return frame;
}

static int tap_recv(struct port *port, struct frame *frames[], int max)
{
	int n = 0;

	while (n < max && (frames[n] = recv_one(tap_of(port))) != NULL)
		n++;
	return n;
}

static void tap_release(struct port *port, struct frame *frame)
{
	arena_release(tap_of(port)->arena, frame);
}

static int tap_wait_fd(const struct port *port)
{
	return tap_of((struct port *)port)->fd;
}

/* Offloads belong to the device, not to the queue: all queues of a vif set the same. */
static int tap_set_offloads(struct port *port, uint32_t offloads)
{
	unsigned long flags = 0;

	if (offloads & OFFLOAD_CSUM)
		flags |= TUN_F_CSUM;
	if (offloads & OFFLOAD_TSO4)
		flags |= TUN_F_TSO4 | TUN_F_TSO_ECN;
	if (offloads & OFFLOAD_TSO6)
		flags |= TUN_F_TSO6 | TUN_F_TSO_ECN;
	return ioctl(tap_of(port)->fd, TUNSETOFFLOAD, flags) < 0 ? -errno : 0;
}

static void tap_get_counters(const struct port *port, struct port_counters *counters)
{
	const struct tap *tap = tap_of((struct port *)port);
	size_t granted = tap->buffers.chunk.grefs ? tap->buffers.chunk.count : 0;

	*counters = (struct port_counters){
		.recv_errors = tap->recv_errors,
		.recv_no_memory = tap->recv_no_memory,
		.granted_pages = granted + arena_granted_pages(tap->arena),
		.plain_pages = tap->buffers.chunk.count - granted + arena_plain_pages(tap->arena),
	};
}

const struct port_class tap_port_class = {
	.kind = "tap",
	.has_device = true,
	.offloads = OFFLOAD_ALL,
	.open = tap_open,
	.close = tap_close,
	.get_buffers = tap_get_buffers,
	.put_buffers = tap_put_buffers,
	.send = tap_send,
	.recv = tap_recv,
	.release = tap_release,
	.wait_fd = tap_wait_fd,
	.set_offloads = tap_set_offloads,
	.get_counters = tap_get_counters,
};
