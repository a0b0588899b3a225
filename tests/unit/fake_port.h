/* fake_port.h - a port that keeps what it is sent and gives out what the test wants received
 *
 * Buffers and frames can lie in granted or plain memory (fake_port_granted).  Counts what its user
 * holds, so that closing tells leaks.  The inbox may be filled by another thread. */
#ifndef FAKE_PORT_H
#define FAKE_PORT_H

#include <pthread.h>

#include "../../backend/pages.h"
#include "../../backend/port.h"

#define FAKE_SENT_MAX 500
#define FAKE_INBOX_MAX 9000

struct fake_sent {
	struct virtio_net_hdr_v1 vnet;
	uint32_t length;		/* as the segments add up */
	uint32_t said_length;		/* frame->length */
	uint16_t segment_count;
	uint8_t *bytes;
};

struct fake_port {
	struct port port;
	struct pages *pages;
	struct page_chunk chunk;
	struct page_buffer buffers[256];
	int buffer_count;		/* left to be borrowed */
	int buffers_borrowed;

	struct fake_sent sent[FAKE_SENT_MAX];
	int sent_count;
	enum guest_tx_verdict send_verdict;	/* what send() says of every frame */
	void (*on_send)(void);			/* called as send() begins; may be NULL */

	pthread_mutex_t lock;		/* of what follows */
	struct frame *inbox[FAKE_INBOX_MAX];
	int inbox_count, inbox_next;
	int held;			/* frames given out and not released */
	bool no_memory;			/* recv() gives nothing, as if its memory were in use */
	uint64_t recv_no_memory, recv_calls;
	int wait_fd;			/* an eventfd: readable while the inbox has frames */
	uint32_t offloads;		/* as set */
};

extern bool fake_port_granted;		/* use granted memory; set before opening */
extern const struct port_class fake_port_class;

static inline struct fake_port *fake_port_of(const struct port *port)
{
	return (struct fake_port *)port;
}

/* Puts a copy of @bytes into the inbox, starting @offset bytes into a page. */
struct frame *fake_port_give(struct port *port, const uint8_t *bytes, uint32_t length,
			     uint32_t offset, const struct virtio_net_hdr_v1 *vnet);
void fake_port_forget_sent(struct port *port);
/* Counters that other threads change, whole. */
int fake_port_held(struct port *port);
uint64_t fake_port_recv_calls(struct port *port);

#endif
