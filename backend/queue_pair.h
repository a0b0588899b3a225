/* queue_pair.h - one queue of one vif: both rings, their events, their port
 *
 * Knows neither who calls its poll nor whose thread that is: queue_thread.c drives it in the
 * instance, tests and other owners drive it by hand.  Open and close may run in another thread than
 * poll, before and after it. */
#ifndef BACKEND_QUEUE_PAIR_H
#define BACKEND_QUEUE_PAIR_H

#include "guest_rx.h"
#include "guest_tx.h"
#include "port_visit.h"
#include "stall.h"
#include "vif_common.h"

struct queue_pair_setup {
	const struct vif_config *config;
	uint32_t index;				/* of the queue in it */
	const struct port_class *port_class;
	int port_fd;				/* taken over, also on failure; -1 where the kind has none */
	int evtchn_fd;				/* an open /dev/xen/evtchn; taken over likewise */
	xengnttab_handle *gnttab;		/* outlives the pair */
	struct pages *pages;			/* outlives the pair */
	struct vif_common *common;		/* outlives the pair */
	struct multicast *multicast;		/* of the vif; outlives the pair */
	struct gref_map *map;			/* of the queue; outlives the pair; NULL where there is none */
	struct queue_state *state;		/* cleared by open; outlives the pair */
};

/* What queue 0 has to say of the guest (announce.h). */
struct announcer {
	uint8_t mac[6];
	struct announce announce;
	uint32_t seen;				/* vif_live.announcements */
	uint32_t left;				/* times to go */
	struct mono due;			/* the next */
};

struct queue_pair {
	xengnttab_handle *gnttab;
	struct port *port;
	struct queue_state *state;
	struct vif_common *common;
	uint32_t common_seen;			/* generation of what this pair works with */
	void *tx_page, *rx_page;		/* mapped ring pages */
	struct port_visit visit;		/* when to read from the port; .readable is set by who slept */
	bool rx_notify;				/* the guest tells when it posts buffers */
	struct announcer announcer;
	struct stall stall;			/* does the guest take frames? */
	struct gref_map *map;
	struct gcopy copy;
	struct cutter cutter;
	struct events events;
	struct guest_tx tx;
	struct guest_rx rx;
};

/* 0, or -errno with a sentence in @why that names what failed and its value. */
int queue_pair_open(struct queue_pair *pair, const struct queue_pair_setup *setup,
		    char *why, size_t why_size);
/* Counts what is queued as disconnected and gives everything back.  Idempotent. */
void queue_pair_close(struct queue_pair *pair);

/* Moves at most a burst each way.  More than 0: there was work, call again.  0: nothing to do now.
 * -EPROTO: the guest broke a ring; queue_pair_fault() says how, do not poll again. */
int queue_pair_poll(struct queue_pair *pair);
void queue_pair_fault(const struct queue_pair *pair, char *text, size_t size);

/* Before sleeping: asks both rings for events.  True if there is work already.  Afterwards the fired
 * ports may be unmasked. */
bool queue_pair_arm(struct queue_pair *pair);

/* How long to sleep at most, in milliseconds; -1: until something happens.  To be called after arm() and
 * before sleeping: ages the queue, wakes a guest that has stopped taking frames (stall.h), and announces it when
 * that is due. */
#define RX_DRAIN_MS 30		/* as xen-netback, for guests without feature-rx-notify */
int queue_pair_timeout(struct queue_pair *pair);

#endif
