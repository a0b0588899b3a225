/* netfront.h - a model of a netif frontend, and a strict judge of the backend behind it
 *
 * Written from xen/io/netif.h and protocol.md.  It negotiates through XenStore as Linux's
 * netfront does, sends frames of 1 to 18 slots with extras, keeps the rx ring filled, and checks
 * everything that comes back.  What a backend must not do is a violation: counted, described once
 * on stderr, and for the test to fail on.
 *
 * Violations: a response nobody waits for; more responses than requests; indices that go back; an
 * unknown status or flag; an id that is not the slot's; a frame that is published in part, longer
 * than 65535 or shorter than 14; offload flags that were not negotiated; bytes written behind a
 * frame's end (if asked to check); a grant still in use after its response, or after the backend
 * closed. Counted, but for the test to judge: events that brought nothing (a frontend that polls
 * makes some itself), errors and drops among the tx responses.
 *
 * To misbehave: hooks at named points, keys that are overridden, raw access to rings, slots and
 * grants, and `frozen_rx`.  After req_prod was changed by hand the judge is off
 * (netfront_judge_off).
 *
 * One owner thread.  No call waits, except those that have a timeout. */
#ifndef TESTS_SIM_NETFRONT_H
#define TESTS_SIM_NETFRONT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <xen/io/netif.h>
#include <xen/io/xenbus.h>
#include <xenstore.h>

#include "simguest.h"

#define NETFRONT_RING	256u		/* slots of either ring: one page */
#define NETFRONT_SLOTS	18		/* XEN_NETIF_NR_SLOTS_MIN */
#define NETFRONT_QUEUES	8u

enum netfront_point {
	NETFRONT_CONNECTING,		/* rings are made, keys written, not yet Connected */
	NETFRONT_TX_BEFORE_PUBLISH,	/* slots are written, req_prod is not */
	NETFRONT_TX_AFTER_PUBLISH,	/* published, not yet notified */
	NETFRONT_RX_BEFORE_PUBLISH,
	NETFRONT_RX_AFTER_PUBLISH,
	NETFRONT_ON_EVENT,
	NETFRONT_ON_TX_RESPONSE,	/* one of them, before it is looked at */
	NETFRONT_ON_RX_RESPONSE,
};

/* A frame, either way.  gso_type as in netif.h, 0 for none; of received frames the iov lies in rx
 * pages that are posted again when the callback returns. */
struct netfront_frame {
	struct iovec iov[NETFRONT_SLOTS];
	int iov_count;
	uint32_t length;
	uint32_t queue;			/* of received frames: whence they came */
	bool csum_blank, data_validated;
	uint8_t gso_type;
	uint16_t gso_size;
	bool hashed;			/* received: came with a hash, of this type (a bit's number) and value */
	uint8_t hash_type;
	uint32_t hash;
	uint32_t headroom;		/* received: free bytes before it, as an XDP extra said */
};

struct netfront;
struct netfront_hooks {
	void *context;
	void (*at)(struct netfront *, enum netfront_point, void *context);
	void (*receive)(struct netfront *, const struct netfront_frame *, void *context);
};

struct netfront_key { const char *name, *value; };	/* value NULL: leave the key out */

struct netfront_config {
	uint32_t handle;
	uint32_t queues;		/* wanted; 0 means 1, and the backend may have fewer */
	uint32_t rx_requests;		/* posted at once; 0 means 256; iPXE has 4 */
	uint32_t first_index;		/* where ring indices start, to have them wrap */
	bool single_event;		/* one event channel though the backend could do two */
	bool no_sg, no_gso4, no_gso6, no_csum4, no_csum6, no_rx_notify;
	bool no_tail_check;		/* do not look at bytes behind frames: faster */
	uint32_t xdp_headroom;		/* wanted; 0: none */
	bool control_ring;		/* make one, if the backend can */
	bool any_order;			/* tx responses may come in any order, as netif.h allows */
	bool driven;			/* the owner negotiates: states are watched, not answered */
	struct netfront_key override[8];
	struct netfront_hooks hooks;
};

struct netfront_slot {			/* of either ring, by id */
	uint32_t frame, ref;
	bool used, granted;
	bool staged;			/* the backend keeps it mapped: granted until that ends */
};

struct netfront_tx {
	struct netif_tx_sring *shared;
	uint32_t frame, ref, port;	/* of the ring page */
	uint32_t req_prod, rsp_cons;
	uint32_t extras;		/* unanswered slots that must be answered RSP_NULL */
	uint32_t free_count, oldest, newest;	/* ids: free, and in the order sent */
	uint16_t free[NETFRONT_RING], sent[NETFRONT_RING];
	struct netfront_slot slots[NETFRONT_RING];
};

struct netfront_rx {
	struct netif_rx_sring *shared;
	uint32_t frame, ref, port;
	uint32_t req_prod, rsp_cons;
	struct netfront_slot slots[NETFRONT_RING];
};

struct netfront_queue {
	struct netfront *fe;
	uint32_t index;
	struct netfront_tx tx;
	struct netfront_rx rx;
};

struct netfront_control {
	struct xen_netif_ctrl_sring *shared;
	uint32_t frame, ref, port;	/* of the ring page */
	uint32_t data_frame, data_ref;	/* a page for keys and mappings, granted read-only */
	uint32_t req_prod, rsp_cons;
};

struct netfront_stats {
	uint64_t tx_frames, tx_bytes, tx_ok, tx_error, tx_dropped, tx_null;
	uint64_t rx_frames, rx_bytes, rx_error;
	uint64_t events, events_without_work, notifies;
};

struct netfront {
	struct netfront_config config;
	struct simguest *guest;
	struct xs_handle *xs;
	char path[64], backend[96];
	uint32_t backend_domid;
	enum xenbus_state state, backend_state;
	/* what the backend offers and we did not decline */
	bool sg, gso4, gso6, csum6, split, backend_csum4, control, rings;
	bool hashing;			/* the owner has switched a hash on: extras may come */
	bool frozen_rx;			/* post no more rx requests */
	bool judge;
	uint32_t queue_count;
	uint32_t tx_queue;		/* whose frames are sent next: the owner's choice */
	struct netfront_queue queues[NETFRONT_QUEUES];
	struct netfront_control control_ring;
	struct netfront_stats stats;
	uint64_t violations;
	char first_violation[160];
};

/* Attaches to the device of @config->handle that the toolstack made; watches the backend and
 * connects when it is ready (netfront_dispatch does).  NULL with errno if there is no such
 * device. */
struct netfront *netfront_open(struct simguest *guest, const struct netfront_config *config);
/* Closes without a word to the backend, as a crash would, and frees what it can.  NULL is fine. */
void netfront_free(struct netfront *fe);

/* Handles what is ready of XenStore and events; netfront_wait() waits for more, at most @timeout
 * ms. */
void netfront_dispatch(struct netfront *fe);
bool netfront_wait(struct netfront *fe, int timeout);
int netfront_xs_fd(const struct netfront *fe);

/* Dispatches until @condition(@context), or false after @timeout ms. */
bool netfront_until(struct netfront *fe, bool (*condition)(struct netfront *, void *),
		    void *context, int timeout);
bool netfront_until_connected(struct netfront *fe, int timeout);
bool netfront_until_tx_idle(struct netfront *fe, int timeout);	/* all requests are answered */
bool netfront_until_received(struct netfront *fe, uint64_t frames, int timeout);

/* As Linux does when its device goes: Closing, Closed, each when the backend has followed, then
 * the rings are taken away.  False if the backend did not follow within @timeout ms a step. */
bool netfront_close(struct netfront *fe, int timeout);
/* As Linux does for an XDP program: Reconfiguring with another xdp-headroom, Reconfigured awaited, Connected. */
bool netfront_reconfigure(struct netfront *fe, uint32_t xdp_headroom, int timeout);
bool netfront_reopen(struct netfront *fe);	/* Initialising again, as after kexec */
int netfront_set_state(struct netfront *fe, enum xenbus_state state);
/* For an owner who negotiates (config.driven): reads what the backend offers and makes rings for it, or
 * -1; takes them away again. */
int netfront_prepare(struct netfront *fe);
void netfront_rings_free(struct netfront *fe);

/* tx, on queue fe->tx_queue: the pages the next frame will be sent from, in order, NETFRONT_SLOTS of a page each (less
 * if the ring is nearly full: see room), then its first @frame->length bytes are sent.  False
 * without room or rings. */
uint32_t netfront_tx_room(const struct netfront *fe);	/* frames of any size that fit now */
int netfront_tx_pages(struct netfront *fe, struct iovec iov[NETFRONT_SLOTS]);
bool netfront_tx_commit(struct netfront *fe, const struct netfront_frame *frame);
void netfront_tx_flush(struct netfront *fe);		/* publishes and notifies */
/* All of that for bytes elsewhere; meta is a frame without iov, or NULL. */
bool netfront_send(struct netfront *fe, const void *bytes, uint32_t length,
		   const struct netfront_frame *meta);
/* A request without a frame, which carries @extra (a multicast filter change). */
bool netfront_send_extra(struct netfront *fe, const struct netif_extra_info *extra);
/* The same with the frame cut as told: @sizes[i] bytes at @offsets[i] of slot i's page. */
bool netfront_send_cut(struct netfront *fe, const void *bytes, uint32_t length,
		       const struct netfront_frame *meta, const uint16_t *sizes,
		       const uint16_t *offsets, int count);

/* rx: fills the ring up (netfront_dispatch does, unless frozen), and looks for responses. */
void netfront_rx_refill(struct netfront *fe);
void netfront_poll(struct netfront *fe);

/* The control ring: a request, and its answer when it has come; false if none does in @timeout ms.  @data may
 * be NULL.  netfront_control_page() is what a request names by netfront_control_ref(). */
bool netfront_control(struct netfront *fe, uint16_t type, const uint32_t arguments[3], uint32_t *status,
		      uint32_t *data, int timeout);
void *netfront_control_page(struct netfront *fe);
/* Staging grants: has the backend map the pages of @queue's slots, as many of both rings as it takes, and not any
 * more.  How many it was; -1 if it would not, or did not answer in @timeout ms.  Slots in use may be staged; what
 * is still mapped afterwards is a violation. */
int netfront_stage(struct netfront *fe, uint32_t queue, int timeout);
int netfront_unstage(struct netfront *fe, uint32_t queue, int timeout);
uint32_t netfront_control_ref(const struct netfront *fe);

void netfront_judge_off(struct netfront *fe);
void netfront_violation(struct netfront *fe, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* between this model's own files */
int netfront_control_create(struct netfront *fe);
void netfront_control_free(struct netfront *fe);
int netfront_rings_create(struct netfront *fe);
bool netfront_tx_poll(struct netfront_queue *queue);
bool netfront_rx_poll(struct netfront_queue *queue);
void netfront_rx_fill(struct netfront_queue *queue);
void netfront_ring_free(struct netfront *fe, uint32_t frame, uint32_t ref, const char *what);
void netfront_slots_create(struct netfront *fe, struct netfront_slot slots[NETFRONT_RING]);
void netfront_slots_free(struct netfront *fe, struct netfront_slot slots[NETFRONT_RING]);
void netfront_revoke(struct netfront *fe, struct netfront_slot *slot, const char *what);
void netfront_at(struct netfront *fe, enum netfront_point point);
void netfront_xenbus_watch(struct netfront *fe);

#endif
