/* echo_backend.c - a trivial backend that sends every frame back; see echo_backend.h */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xen/io/netif.h>
#include <xen/io/xenbus.h>
#include <xenevtchn.h>
#include <xengnttab.h>
#include <xenstore.h>

#include "echo_backend.h"

#define RING 256u
#define FRAMES 32u		/* that wait for rx slots; more are dropped */

struct echo_frame {
	uint8_t bytes[65536];
	uint32_t length;
	uint16_t flags;
	struct netif_extra_info gso;	/* type 0: none */
};

struct echo_backend {
	pthread_t thread;
	int stop;
	uint32_t domid;
	char backend[96], frontend[96];
	struct xs_handle *xs;
	xengnttab_handle *gnttab;
	xenevtchn_handle *evtchn;
	struct netif_tx_sring *tx;
	struct netif_rx_sring *rx;
	uint32_t tx_cons, tx_rsp, rx_cons;
	int tx_port, rx_port;
	uint32_t first, count;
	enum echo_fault fault;
	struct echo_frame frames[FRAMES];
};

void echo_set_fault(struct echo_backend *echo, enum echo_fault fault)
{
	__atomic_store_n(&echo->fault, fault, __ATOMIC_RELAXED);
}

static bool is(const struct echo_backend *echo, enum echo_fault fault)
{
	return __atomic_load_n(&echo->fault, __ATOMIC_RELAXED) == fault;
}

static int read_number(struct echo_backend *echo, const char *folder, const char *name)
{
	char path[128], *text;
	int value = -1;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	text = xs_read(echo->xs, XBT_NULL, path, NULL);
	if (text)
		value = atoi(text);
	free(text);
	return value;
}

static void write_number(struct echo_backend *echo, const char *name, int value)
{
	char path[128], text[16];

	snprintf(path, sizeof path, "%s/%s", echo->backend, name);
	snprintf(text, sizeof text, "%d", value);
	xs_write(echo->xs, XBT_NULL, path, text, (unsigned int)strlen(text));
}

static bool copy_in(struct echo_backend *echo, const struct netif_tx_request *request, uint8_t *to,
		    uint16_t length)
{
	xengnttab_grant_copy_segment_t segment = { .dest.virt = to, .len = length,
		.source.foreign = { request->gref, request->offset, (uint16_t)echo->domid },
		.flags = GNTCOPY_source_gref };

	return xengnttab_grant_copy(echo->gnttab, 1, &segment) == 0 && segment.status == GNTST_okay;
}

static void respond(struct echo_backend *echo, uint16_t id, int16_t status)
{
	echo->tx->ring[echo->tx_rsp++ % RING].rsp =
		(struct netif_tx_response){ .id = id, .status = status };
}

/* Takes one frame off the tx ring.  The size of its first slot is known only at the end. */
static void take(struct echo_backend *echo, struct echo_frame *frame)
{
	struct netif_tx_request requests[20];
	uint32_t later = 0, at, n = 0, extras = 0;
	bool good = true;

	*frame = (struct echo_frame){ .length = 0 };
	do {
		requests[n] = echo->tx->ring[echo->tx_cons++ % RING].req;
		if (n > 0)
			later += requests[n].size;
		if (n == 0 && (requests[0].flags & NETTXF_extra_info)) {
			memcpy(&frame->gso, &echo->tx->ring[echo->tx_cons++ % RING],
			       sizeof frame->gso);
			extras = 1;
		}
	} while ((requests[n++].flags & NETTXF_more_data) && n < 20);
	frame->length = requests[0].size;
	frame->flags = requests[0].flags;
	at = frame->length - later;
	good = copy_in(echo, &requests[0], frame->bytes, (uint16_t)at);
	for (uint32_t i = 1; i < n; at += requests[i++].size)
		good &= copy_in(echo, &requests[i], frame->bytes + at, requests[i].size);
	for (uint32_t i = 0; i < n; i++)
		respond(echo, is(echo, ECHO_WRONG_ID) ? 300 : requests[i].id,
			is(echo, ECHO_TX_STATUS) ? 7 : good ? NETIF_RSP_OKAY : NETIF_RSP_ERROR);
	if (extras)
		respond(echo, 0, is(echo, ECHO_NO_NULL) ? NETIF_RSP_OKAY : NETIF_RSP_NULL);
	if (!good)
		frame->length = 0;
}

static void publish_tx(struct echo_backend *echo)
{
	uint32_t old = echo->tx->rsp_prod, new = echo->tx_rsp;

	if (is(echo, ECHO_ANSWER_TWICE))
		new++;
	if (is(echo, ECHO_INDEX_BACK))
		new = old - 1;
	__atomic_store_n(&echo->tx->rsp_prod, new, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (new - echo->tx->rsp_event < new - old)
		xenevtchn_notify(echo->evtchn, (evtchn_port_t)echo->tx_port);
}

static bool poll_tx(struct echo_backend *echo)
{
	bool any = false;

	while (echo->tx_cons != __atomic_load_n(&echo->tx->req_prod, __ATOMIC_ACQUIRE)) {
		struct echo_frame *frame = &echo->frames[(echo->first + echo->count) % FRAMES];

		any = true;
		take(echo, frame);
		if (frame->length > 0 && echo->count < FRAMES - 1)
			echo->count++;
	}
	if (any)
		publish_tx(echo);
	echo->tx->req_event = echo->tx_cons + 1;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return any;
}

static void copy_out(struct echo_backend *echo, const uint8_t *from, uint16_t length,
		     uint16_t flags)
{
	uint32_t index = echo->rx_cons++ % RING;
	struct netif_rx_request request = echo->rx->ring[index].req;
	uint16_t more = is(echo, ECHO_RX_TAIL) && length < 4096;
	xengnttab_grant_copy_segment_t segment = { .source.virt = (void *)from,
		.len = (uint16_t)(length + more), .flags = GNTCOPY_dest_gref,
		.dest.foreign = { request.gref, 0, (uint16_t)echo->domid } };

	xengnttab_grant_copy(echo->gnttab, 1, &segment);
	if (is(echo, ECHO_RX_FLAGS))
		flags |= 1 << 9;
	echo->rx->ring[index].rsp = (struct netif_rx_response){
		.id = (uint16_t)(request.id + (is(echo, ECHO_RX_ID) ? 1 : 0)), .flags = flags,
		.status = segment.status == GNTST_okay ? (int16_t)length : NETIF_RSP_ERROR };
}

static uint16_t rx_flags(const struct echo_backend *echo, const struct echo_frame *frame)
{
	bool blank = (frame->flags & NETTXF_csum_blank) && !is(echo, ECHO_RX_BARE_GSO);

	return (uint16_t)((blank ? NETRXF_csum_blank : 0) |
			  (frame->flags & NETTXF_data_validated ? NETRXF_data_validated : 0) |
			  (frame->gso.type ? NETRXF_extra_info : 0));
}

static void publish_rx(struct echo_backend *echo, uint32_t index)
{
	uint32_t old = echo->rx->rsp_prod;

	__atomic_store_n(&echo->rx->rsp_prod, index, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (index - echo->rx->rsp_event < index - old)
		xenevtchn_notify(echo->evtchn, (evtchn_port_t)echo->rx_port);
}

static void give(struct echo_backend *echo, const struct echo_frame *frame)
{
	uint32_t at = 0;

	while (at < frame->length) {
		uint32_t left = frame->length - at, length = left < 4096 ? left : 4096;
		uint16_t flags = at == 0 ? rx_flags(echo, frame) : 0;

		copy_out(echo, frame->bytes + at, (uint16_t)length,
			 (uint16_t)(flags | (length < left ? NETRXF_more_data : 0)));
		if (at == 0 && frame->gso.type)
			memcpy(&echo->rx->ring[echo->rx_cons++ % RING], &frame->gso,
			       sizeof frame->gso);
		if (is(echo, ECHO_RX_PARTIAL))
			return;		/* the caller publishes what there is */
		at += length;
	}
}

static void poll_rx(struct echo_backend *echo)
{
	while (echo->count > 0) {
		const struct echo_frame *frame = &echo->frames[echo->first % FRAMES];
		uint32_t need = (frame->length + 4095) / 4096 + (frame->gso.type != 0);

		if (echo->rx->req_prod - echo->rx_cons < need) {
			echo->rx->req_event = echo->rx->req_prod + 1;
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			if (echo->rx->req_prod - echo->rx_cons < need)
				break;
		}
		give(echo, frame);
		echo->first++;
		echo->count--;
		publish_rx(echo, echo->rx_cons);
	}
}

static void poll_rings(struct echo_backend *echo)
{
	while (echo->tx && poll_tx(echo))
		poll_rx(echo);
	if (echo->tx)
		poll_rx(echo);
}

static void connect_rings(struct echo_backend *echo)
{
	int tx = read_number(echo, echo->frontend, "event-channel-tx");
	int rx = read_number(echo, echo->frontend, "event-channel-rx");

	echo->tx = xengnttab_map_grant_ref(echo->gnttab, echo->domid,
		(uint32_t)read_number(echo, echo->frontend, "tx-ring-ref"), PROT_READ | PROT_WRITE);
	echo->rx = xengnttab_map_grant_ref(echo->gnttab, echo->domid,
		(uint32_t)read_number(echo, echo->frontend, "rx-ring-ref"), PROT_READ | PROT_WRITE);
	if (tx < 0)
		tx = rx = read_number(echo, echo->frontend, "event-channel");
	echo->tx_port = xenevtchn_bind_interdomain(echo->evtchn, echo->domid, (evtchn_port_t)tx);
	echo->rx_port = rx == tx ? echo->tx_port :
			xenevtchn_bind_interdomain(echo->evtchn, echo->domid, (evtchn_port_t)rx);
	if (!echo->tx || !echo->rx || echo->tx_port < 0 || echo->rx_port < 0) {
		fprintf(stderr, "echo_backend: cannot connect\n");
		abort();
	}
	echo->tx_cons = echo->tx_rsp = echo->tx->rsp_prod;
	echo->rx_cons = echo->rx->rsp_prod;
	echo->count = 0;
}

static void disconnect_rings(struct echo_backend *echo)
{
	if (!echo->tx || is(echo, ECHO_KEEP_MAPPED))
		return;
	xengnttab_unmap(echo->gnttab, echo->tx, 1);
	xengnttab_unmap(echo->gnttab, echo->rx, 1);
	xenevtchn_unbind(echo->evtchn, (evtchn_port_t)echo->tx_port);
	if (echo->rx_port != echo->tx_port)
		xenevtchn_unbind(echo->evtchn, (evtchn_port_t)echo->rx_port);
	echo->tx = NULL;
	echo->rx = NULL;
}

static void advertise(struct echo_backend *echo)
{
	static const char *const features[] = {
		"feature-sg", "feature-gso-tcpv4", "feature-gso-tcpv6", "feature-rx-copy",
		"feature-ipv6-csum-offload", "feature-split-event-channels",
	};

	for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
		write_number(echo, features[i], 1);
	write_number(echo, "state", XenbusStateInitWait);
}

static void xenbus_step(struct echo_backend *echo)
{
	int ours = read_number(echo, echo->backend, "state");
	int theirs = read_number(echo, echo->frontend, "state");

	if (ours == XenbusStateInitialising ||
	    (ours == XenbusStateClosed && theirs == XenbusStateInitialising)) {
		advertise(echo);
	} else if (ours == XenbusStateInitWait && theirs == XenbusStateConnected) {
		connect_rings(echo);
		write_number(echo, "state", XenbusStateConnected);
	} else if (ours == XenbusStateConnected && theirs == XenbusStateClosing) {
		disconnect_rings(echo);
		write_number(echo, "state", XenbusStateClosing);
	} else if ((ours == XenbusStateConnected || ours == XenbusStateClosing) &&
		   (theirs < 0 || theirs == XenbusStateClosed)) {
		disconnect_rings(echo);
		write_number(echo, "state", XenbusStateClosed);
	}
}

static void *run(void *argument)
{
	struct echo_backend *echo = argument;
	struct pollfd fds[3] = { { .fd = echo->stop, .events = POLLIN },
				 { .fd = xs_fileno(echo->xs), .events = POLLIN },
				 { .fd = xenevtchn_fd(echo->evtchn), .events = POLLIN } };
	unsigned int count;

	while (poll(fds, 3, -1) >= 0 && !fds[0].revents) {
		if (fds[1].revents) {
			free(xs_read_watch(echo->xs, &count));
			xenbus_step(echo);
		}
		if (fds[2].revents)
			xenevtchn_unmask(echo->evtchn,
					 (evtchn_port_t)xenevtchn_pending(echo->evtchn));
		poll_rings(echo);
	}
	return NULL;
}

struct echo_backend *echo_start(uint32_t domid, uint32_t handle)
{
	struct echo_backend *echo = calloc(1, sizeof *echo);

	if (!echo)
		abort();
	echo->domid = domid;
	snprintf(echo->backend, sizeof echo->backend, "/local/domain/0/backend/vif/%u/%u", domid,
		 handle);
	snprintf(echo->frontend, sizeof echo->frontend, "/local/domain/%u/device/vif/%u", domid,
		 handle);
	echo->stop = eventfd(0, EFD_CLOEXEC);
	echo->xs = xs_open(0);
	echo->gnttab = xengnttab_open(NULL, 0);
	echo->evtchn = xenevtchn_open(NULL, 0);
	if (!echo->xs || !echo->gnttab || !echo->evtchn ||
	    !xs_watch(echo->xs, echo->backend, "b") || !xs_watch(echo->xs, echo->frontend, "f") ||
	    pthread_create(&echo->thread, NULL, run, echo) != 0)
		abort();
	return echo;
}

void echo_stop(struct echo_backend *echo)
{
	if (!echo)
		return;
	if (write(echo->stop, &(uint64_t){ 1 }, sizeof(uint64_t)) != sizeof(uint64_t))
		abort();
	pthread_join(echo->thread, NULL);
	echo->fault = ECHO_GOOD;
	disconnect_rings(echo);
	xenevtchn_close(echo->evtchn);
	xengnttab_close(echo->gnttab);
	xs_close(echo->xs);
	close(echo->stop);
	free(echo);
}
