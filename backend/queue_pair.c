/* queue_pair.c - one queue of one vif; see queue_pair.h */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "queue_pair.h"

#define NEVER ((struct mono){ INT64_MAX })

static int explain(char *why, size_t size, int error, const char *what, uint32_t value)
{
	snprintf(why, size, "%s %u: %s", what, value, strerror(-error));
	return error;
}

static int map_ring(struct queue_pair *pair, const struct vif_config *config, uint32_t ref,
		    void **page)
{
	*page = xengnttab_map_grant_ref(pair->gnttab, config->guest, ref, PROT_READ | PROT_WRITE);
	if (*page)
		return 0;
	return errno > 0 ? -errno : -EINVAL;
}

static int open_rings(struct queue_pair *pair, const struct queue_pair_setup *setup,
		      char *why, size_t size)
{
	const struct queue_config *queue = &setup->config->queues[setup->index];
	int error;

	error = map_ring(pair, setup->config, queue->tx_ring_ref, &pair->tx_page);
	if (error)
		return explain(why, size, error, "cannot map tx-ring-ref", queue->tx_ring_ref);
	error = map_ring(pair, setup->config, queue->rx_ring_ref, &pair->rx_page);
	if (error)
		return explain(why, size, error, "cannot map rx-ring-ref", queue->rx_ring_ref);
	error = ring_tx_attach(&pair->tx.ring, pair->tx_page);
	if (error)
		return explain(why, size, error, "more requests than slots in the ring of tx-ring-ref",
			       queue->tx_ring_ref);
	error = ring_rx_attach(&pair->rx.ring, pair->rx_page);
	if (error)
		return explain(why, size, error, "more requests than slots in the ring of rx-ring-ref",
			       queue->rx_ring_ref);
	return 0;
}

/* Which of the guest's ports it was: the first of ours is bound before the second is tried. */
static int explain_port(const struct queue_pair *pair, const struct queue_config *queue,
			char *why, size_t size, int error)
{
	if (queue->tx_port == queue->rx_port)
		return explain(why, size, error, "cannot bind the guest's event-channel", queue->tx_port);
	if (pair->events.tx == 0)
		return explain(why, size, error, "cannot bind the guest's event-channel-tx",
			       queue->tx_port);
	return explain(why, size, error, "cannot bind the guest's event-channel-rx", queue->rx_port);
}

static int open_events(struct queue_pair *pair, const struct queue_pair_setup *setup,
		       char *why, size_t size)
{
	const struct queue_config *queue = &setup->config->queues[setup->index];
	int error = events_open(&pair->events, setup->evtchn_fd, setup->config->guest,
				queue->tx_port, queue->rx_port);

	return error ? explain_port(pair, queue, why, size, error) : 0;
}

/* What the port may leave undone in frames for this guest. */
static uint32_t asked_of_port(const struct vif_config *config)
{
	if (config->csum == CSUM_COMPLETE)	/* cheaper done by us, frame by frame, than by the kernel before */
		return OFFLOAD_ALL;
	return offload_of_features(offload_features_left(config->features, config->csum));
}

static int open_port(struct queue_pair *pair, const struct queue_pair_setup *setup,
		     char *why, size_t size)
{
	const struct vif_config *config = setup->config;
	const struct port_config port = {
		.name = config->name,
		.fd = setup->port_fd,
		.pages = setup->pages,
		.guest_tx_pages = config->guest_tx_pages,
		.guest_rx_granted_bytes = config->guest_rx_granted_bytes,
	};
	int error = setup->port_class->open(&port, &pair->port);

	if (error)
		return explain(why, size, error, "cannot open the port of queue", setup->index);
	error = pair->port->class->set_offloads(pair->port, asked_of_port(config));
	if (error)
		return explain(why, size, error, "cannot set offloads of the port of queue",
			       setup->index);
	return 0;
}

static void show_rates(struct queue_state *state, const struct vif_live *live)
{
	state_set(&state->tx_rate_bytes, rate_a_second(&live->tx_rates[RATE_BYTES]));
	state_set(&state->tx_rate_packets, rate_a_second(&live->tx_rates[RATE_PACKETS]));
	state_set(&state->rx_rate_bytes, rate_a_second(&live->rx_rates[RATE_BYTES]));
	state_set(&state->rx_rate_packets, rate_a_second(&live->rx_rates[RATE_PACKETS]));
}

/* Queue 0 speaks for all. */
static void begin_to_announce(struct queue_pair *pair, uint32_t announcements)
{
	struct announcer *announcer = &pair->announcer;

	if (announcements == announcer->seen)
		return;
	announcer->seen = announcements;
	announcer->left = announcer->announce.times;
	announcer->due = (struct mono){ 0 };	/* at once */
}

/* Takes what has changed for all queues of the vif. */
static void follow_common(struct queue_pair *pair)
{
	struct vif_credits *credits;
	struct vif_live live;

	do {
		pair->common_seen = vif_common_get(pair->common, &live, &pair->rx.hash);
		credits = vif_common_credits(pair->common, pair->common_seen);
	} while (!credits);
	pair->rx.queue.limits = live.limits;
	pair->rx.multicast_control = live.multicast_control;
	pair->rx.headroom = live.xdp_headroom;
	limiter_set(&pair->tx.limiter, live.tx_rates, credits->tx);
	limiter_set(&pair->rx.limiter, live.rx_rates, credits->rx);
	begin_to_announce(pair, live.announcements);
	state_set(&pair->state->rx_limit_frames, live.limits.frames);
	state_set(&pair->state->rx_limit_bytes, live.limits.bytes);
	state_set(&pair->state->rx_limit_age_ms, live.limits.age_ms);
	show_rates(pair->state, &live);
}

/* Gives both directions what they share and clears what an earlier life left. */
static void wire(struct queue_pair *pair, const struct queue_pair_setup *setup)
{
	const struct vif_config *config = setup->config;

	memset(pair, 0, sizeof *pair);
	memset(setup->state, 0, sizeof *setup->state);
	pair->gnttab = setup->gnttab;
	pair->state = pair->tx.state = pair->rx.state = setup->state;
	pair->rx_notify = config->features & VIF_F_RX_NOTIFY;
	pair->stall.after_ms = pair->rx_notify ? config->stall_ms : 0;
	gcopy_init(&pair->copy, setup->gnttab, config->guest, config->self);
	pair->tx.copy = pair->rx.copy = &pair->copy;
	pair->tx.events = pair->rx.events = &pair->events;
	pair->tx.antispoof = config->antispoof;
	memcpy(pair->tx.mac, config->mac, sizeof pair->tx.mac);
	pair->tx.cutter = pair->rx.cutter = &pair->cutter;
	pair->rx.mtu = config->mtu;
	pair->rx.features = offload_features_left(config->features, config->csum);
	pair->tx.takes = config->csum == CSUM_AUTO ? setup->port_class->offloads : 0;
	pair->announcer.seen = config->live.announcements;
	memcpy(pair->announcer.mac, config->mac, sizeof config->mac);
	if (setup->index == 0 && announce_is_possible(config->mac))
		pair->announcer.announce = config->announce;
	pair->common = setup->common;
	pair->map = setup->map;
	pair->tx.multicast = setup->multicast;
	pair->rx.multicast = setup->multicast;
	follow_common(pair);
}

static void show_port(struct queue_pair *pair)
{
	struct port_counters counters;

	pair->port->class->get_counters(pair->port, &counters);
	state_set(&pair->state->granted_pages, counters.granted_pages);
	state_set(&pair->state->plain_pages, counters.plain_pages);
	state_set(&pair->state->rx_port_errors, counters.recv_errors);
	state_set(&pair->state->rx_port_no_memory, counters.recv_no_memory);
}

int queue_pair_open(struct queue_pair *pair, const struct queue_pair_setup *setup,
		    char *why, size_t size)
{
	int error;

	wire(pair, setup);
	error = open_port(pair, setup, why, size);	/* first: it takes the descriptor over */
	if (error) {
		close(setup->evtchn_fd);
		goto fail;
	}
	pair->tx.port = pair->rx.port = pair->port;
	error = open_events(pair, setup, why, size);
	if (!error)
		error = open_rings(pair, setup, why, size);
	if (error)
		goto fail;
	error = cutter_open(&pair->cutter);
	if (error) {
		explain(why, size, error, "no memory to cut frames in, for queue", setup->index);
		goto fail;
	}
	error = guest_tx_open(&pair->tx, (int)setup->config->guest_tx_pages);
	if (error) {
		explain(why, size, error, "too little memory for transmit buffers, pages",
			setup->config->guest_tx_pages);
		goto fail;
	}
	/* A backend that was killed between publishing and notifying leaves the guest asleep over
	 * responses that its rsp_event has passed: one event too many is cheap, one too few is not. */
	events_notify_tx(&pair->events);
	if (pair->events.rx != pair->events.tx)
		events_notify_rx(&pair->events);
	pair->visit.readable = true;
	show_port(pair);
	return 0;
fail:
	queue_pair_close(pair);
	return error;
}

static void unmap(struct queue_pair *pair, void **page)
{
	if (*page)
		xengnttab_unmap(pair->gnttab, *page, 1);
	*page = NULL;
}

void queue_pair_close(struct queue_pair *pair)
{
	if (pair->port) {
		guest_rx_flush(&pair->rx, GUEST_RX_DISCONNECTED);
		guest_tx_close(&pair->tx);
	}
	cutter_close(&pair->cutter);
	events_close(&pair->events);
	unmap(pair, &pair->tx_page);
	unmap(pair, &pair->rx_page);
	if (pair->port)
		pair->port->class->close(pair->port);
	pair->port = NULL;
}

/* Port to queue, as far as it is worth a look.  What waits for credit fills the queue and no more: the rest
 * stays in the port, instead of being read to be dropped. */
static int receive(struct queue_pair *pair, bool sent)
{
	int max = port_visit_max(&pair->visit, sent);
	int got = 0;

	if (limiter_holds(&pair->rx.limiter) && (uint32_t)max > rx_queue_room(&pair->rx.queue))
		max = (int)rx_queue_room(&pair->rx.queue);
	if (max > 0) {
		got = guest_rx_receive(&pair->rx, max);
		port_visit_done(&pair->visit, sent, max, got);
	}
	return got;
}

/* The one look at the clock, for vifs that have a rate. */
static void begin_limited(struct queue_pair *pair)
{
	struct mono now = mono_now();

	limiter_begin(&pair->tx.limiter, now);
	limiter_begin(&pair->rx.limiter, now);
}

static int poll_once(struct queue_pair *pair)
{
	int sent, received, delivered;

	if (vif_common_moved(pair->common, pair->common_seen))
		follow_common(pair);
	if (pair->tx.limiter.on || pair->rx.limiter.on)
		begin_limited(pair);
	sent = guest_tx_poll(&pair->tx);
	if (sent < 0)
		return sent;
	received = receive(pair, sent > 0);
	delivered = guest_rx_deliver(&pair->rx);
	if (delivered < 0)
		return delivered;
	return sent + received + delivered;
}

int queue_pair_poll(struct queue_pair *pair)
{
	struct gref_map *entered = gref_map_enter(pair->map);
	int work;

	pair->copy.map = entered;
	work = poll_once(pair);
	pair->copy.map = NULL;
	gref_map_leave(entered);
	return work;
}

void queue_pair_fault(const struct queue_pair *pair, char *text, size_t size)
{
	if (pair->tx.fault)
		snprintf(text, size, "guest_tx: %s: %u, limit %u", pair->tx.fault, pair->tx.fault_got,
			 pair->tx.fault_limit);
	else
		snprintf(text, size, "guest_rx: %s: %u, limit %u", pair->rx.fault, pair->rx.fault_got,
			 pair->rx.fault_limit);
}

bool queue_pair_arm(struct queue_pair *pair)
{
	bool tx = guest_tx_arm(&pair->tx);

	return guest_rx_arm(&pair->rx) || tx;
}

static struct mono earlier(struct mono one, struct mono other)
{
	return one.ns < other.ns ? one : other;
}

/* When to look again at frames that stay queued. */
static struct mono rx_deadline(struct queue_pair *pair, struct mono now)
{
	const struct frame *oldest;

	guest_rx_age(&pair->rx, now);
	oldest = rx_queue_peek(&pair->rx.queue, 0);
	if (!oldest)
		return NEVER;
	if (!pair->rx_notify)
		return mono_add_ms(now, RX_DRAIN_MS);
	return mono_add_ms(oldest->queued, pair->rx.queue.limits.age_ms + 1);
}

/* Tells of a guest that has stopped taking frames, and wakes it: it may have lost an event. */
static void wake_stalled_guest(struct queue_pair *pair, uint32_t wanted)
{
	events_notify_rx(&pair->events);
	state_set(&pair->state->rx_stalled, 1);
	state_set(&pair->state->rx_slots_needed, wanted);
	state_set(&pair->state->rx_req_prod, pair->rx.ring.prod_seen);
	state_set(&pair->state->rx_req_cons, pair->rx.ring.cons);
}

/* When to look again whether the guest takes frames. */
static struct mono stall_deadline(struct queue_pair *pair, struct mono now)
{
	const struct ring_rx *ring = &pair->rx.ring;
	uint32_t wanted = guest_rx_slots_wanted(&pair->rx);

	switch (stall_look(&pair->stall, wanted > 0, ring->prod_seen, ring->cons, now)) {
	case STALL_BEGINS:
		state_add(&pair->state->rx_stalls, 1);
		wake_stalled_guest(pair, wanted);
		break;
	case STALL_GOES_ON:
		wake_stalled_guest(pair, wanted);
		break;
	case STALL_ENDS:
		state_set(&pair->state->rx_stalled, 0);
		break;
	case STALL_NOTHING:
		break;
	}
	return wanted > 0 && pair->stall.waits ? pair->stall.next : NEVER;
}

static void announce(struct queue_pair *pair)
{
	const struct announcer *announcer = &pair->announcer;
	uint8_t frame[ANNOUNCE_LENGTH];

	announce_rarp(frame, announcer->mac);
	state_add(&pair->state->announced, guest_tx_send_own(&pair->tx, frame, sizeof frame));
	for (uint32_t i = 0; i < announcer->announce.count; i++) {
		announce_arp(frame, announcer->mac, announcer->announce.addresses[i]);
		state_add(&pair->state->announced, guest_tx_send_own(&pair->tx, frame, sizeof frame));
	}
}

/* Announces the guest if that is due; when it is next. */
static struct mono announce_deadline(struct queue_pair *pair, struct mono now)
{
	struct announcer *announcer = &pair->announcer;

	if (announcer->left > 0 && now.ns >= announcer->due.ns) {
		announce(pair);
		announcer->left--;
		announcer->due = mono_add_ms(now, ANNOUNCE_INTERVAL_MS);
	}
	return announcer->left > 0 ? announcer->due : NEVER;
}

int queue_pair_timeout(struct queue_pair *pair)
{
	struct mono now, until = NEVER;
	int64_t left;

	show_port(pair);
	if (rx_queue_count(&pair->rx.queue) == 0 && !limiter_waits(&pair->tx.limiter) &&
	    !pair->stall.waits && pair->announcer.left == 0)
		return -1;
	now = mono_now();
	if (rx_queue_count(&pair->rx.queue) > 0)
		until = rx_deadline(pair, now);
	until = earlier(until, stall_deadline(pair, now));
	until = earlier(until, announce_deadline(pair, now));
	if (limiter_waits(&pair->tx.limiter))
		until = earlier(until, pair->tx.limiter.retry);
	if (limiter_waits(&pair->rx.limiter) && rx_queue_count(&pair->rx.queue) > 0)
		until = earlier(until, pair->rx.limiter.retry);
	if (until.ns == NEVER.ns)
		return -1;
	left = (until.ns - now.ns + NS_PER_MS - 1) / NS_PER_MS;
	return left > INT_MAX ? INT_MAX : left > 0 ? (int)left : 0;
}
