/* port.h - what the engine asks of a way into the switch
 *
 * A port carries the frames of one queue of one vif.  The interface is owned by backend/, has no
 * optional members, and every call is made by the one thread that owns the queue, except open, which
 * runs before that thread, and close, which runs after it.  No call blocks.
 *
 * Memory belongs to the port.  guest_tx borrows page buffers, lets the hypervisor copy into them,
 * builds frames over them and sends; after send() returns, the buffers are back in the caller's hand
 * and are put back or reused; segments of a frame that the port does not take uncut lie in memory of the
 * engine's own until then.  guest_rx takes frames from recv() and gives each back with release(). */
#ifndef BACKEND_PORT_H
#define BACKEND_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"
#include "verdict.h"

/* What may be left undone in frames that cross the port. */
#define OFFLOAD_CSUM (1u << 0)		/* checksum still to be filled in (IPv4 and IPv6) */
#define OFFLOAD_TSO4 (1u << 1)		/* TCP over IPv4 still to be cut into segments */
#define OFFLOAD_TSO6 (1u << 2)		/* TCP over IPv6 likewise */
#define OFFLOAD_ALL  (OFFLOAD_CSUM | OFFLOAD_TSO4 | OFFLOAD_TSO6)

struct port;
struct pages;				/* granted memory, pages.h */

struct port_config {
	const char *name;		/* of the device: vifD.N */
	int fd;				/* an open queue of the device; the port owns it from open() on,
					 * also when open() fails.  -1 for kinds without a device */
	struct pages *pages;		/* where granted memory comes from; outlives the port */
	uint32_t guest_tx_pages;	/* page buffers to have, each for one transmit slot */
	uint32_t guest_rx_granted_bytes; /* memory for received frames that is to be granted, if
					  * pages are to be had; beyond it they go to plain memory,
					  * which is only touched when it is needed */
};

struct port_counters {
	uint64_t recv_errors;		/* system calls that failed for other reasons than EAGAIN */
	uint64_t recv_no_memory;	/* receive was put off because all memory was in use */
	uint64_t granted_pages;		/* memory that the hypervisor knows by grant */
	uint64_t plain_pages;
};

struct port_class {
	const char *kind;		/* "tap", "null" */
	bool has_device;		/* port_config.fd is needed */
	uint32_t offloads;		/* OFFLOAD_*: what send() takes undone; TSO only with CSUM */

	int (*open)(const struct port_config *config, struct port **port);	/* 0 or -errno */
	void (*close)(struct port *port);					/* NULL is fine */

	/* Page buffers for transmit slots.  get() returns how many of @n it gave, put() takes them
	 * back in any order. */
	int (*get_buffers)(struct port *port, struct page_buffer *buffers, int n);
	void (*put_buffers)(struct port *port, const struct page_buffer *buffers, int n);

	/* Sends @n frames in order.  @verdicts[i] says what became of each. */
	void (*send)(struct port *port, struct frame *const frames[], int n,
		     enum guest_tx_verdict verdicts[]);

	/* Receives at most @max frames; the caller holds them until release().  0 when there are none
	 * now or memory is short.  release() takes frames in any order, but memory comes back from the
	 * oldest and from the newest on: what lies between two held frames is held too. */
	int (*recv)(struct port *port, struct frame *frames[], int max);
	void (*release)(struct port *port, struct frame *frame);

	/* Readable when recv() has something.  -1: never, recv() need not be called. */
	int (*wait_fd)(const struct port *port);

	/* What the guest can take: recv() never returns a frame that needs more.  0 or -errno. */
	int (*set_offloads)(struct port *port, uint32_t offloads);

	void (*get_counters)(const struct port *port, struct port_counters *counters);
};

struct port { const struct port_class *class; };	/* first member of every kind's own struct */

#endif
