/* ring.h - the only hand that touches memory shared with a guest
 *
 * The guest may write any byte of a ring page at any time.  So each slot is fetched once into a local,
 * checked there, and only the copy is used; indices are loaded once a poll.  Our own indices are
 * private: a guest that scribbles over rsp_prod harms only itself.
 *
 * Responses overlay requests, so they are written only just before they are published
 * (ring_*_respond does both in order), strictly in ring order, and what was consumed is answered
 * before the poll ends.  That is what lets a new process attach to a ring at rsp_prod.
 *
 * Owner thread only.  Nothing here blocks or logs. */
#ifndef BACKEND_RING_H
#define BACKEND_RING_H

#include <stdbool.h>

#include "netif.h"

struct ring_tx {
	struct netif_tx_sring *shared;	/* the guest writes here at any time */
	uint32_t cons;			/* next request to read */
	uint32_t rsp;			/* next response to write */
	uint32_t prod_seen;		/* req_prod at the last look */
};

struct ring_control {
	struct xen_netif_ctrl_sring *shared;
	uint32_t cons, rsp, prod_seen;
};

struct ring_rx {
	struct netif_rx_sring *shared;
	uint32_t cons, rsp, prod_seen;
};

/* Starts where the last backend published its last response (BACK_RING_ATTACH).  0, or -EPROTO if
 * the guest's req_prod is more than a ring ahead of that. */
int ring_tx_attach(struct ring_tx *ring, void *page);
int ring_rx_attach(struct ring_rx *ring, void *page);

/* Requests ready to be read, or -EPROTO if req_prod claims more than a ring can hold.  Looks at the
 * shared index: later calls of fetch may use what was returned without looking again. */
int ring_tx_available(struct ring_tx *ring);
int ring_rx_available(struct ring_rx *ring);

/* The one read of the request @ahead slots after the next.  From here on the guest cannot change our
 * mind.  consume() moves past @n of them. */
void ring_tx_fetch(const struct ring_tx *ring, uint32_t ahead, struct netif_tx_request *request);
void ring_tx_fetch_extra(const struct ring_tx *ring, uint32_t ahead, struct netif_extra_info *extra);
void ring_rx_fetch(const struct ring_rx *ring, uint32_t ahead, struct netif_rx_request *request);
static inline void ring_tx_consume(struct ring_tx *ring, uint32_t n) { ring->cons += n; }
static inline void ring_rx_consume(struct ring_rx *ring, uint32_t n) { ring->cons += n; }

/* A slot of the rx ring, as written: a response or an extra. */
union ring_rx_answer {
	struct netif_rx_response response;
	struct netif_extra_info extra;
};

/* Writes and publishes @n responses.  True if the guest asked to be notified of one of them. */
bool ring_tx_respond(struct ring_tx *ring, const struct netif_tx_response *responses, uint32_t n);
bool ring_rx_respond(struct ring_rx *ring, const union ring_rx_answer *answers, uint32_t n);

/* Asks for an event once the guest has posted @n more requests than we consumed, then looks again:
 * the number ready, as *_available().  Below @n it is safe to sleep. */
int ring_tx_arm(struct ring_tx *ring, uint32_t n);
int ring_rx_arm(struct ring_rx *ring, uint32_t n);

/* The control ring, likewise.  fetch() moves past the request, respond() publishes one answer, arm() asks for
 * an event at the next request. */
int ring_control_attach(struct ring_control *ring, void *page);
int ring_control_available(struct ring_control *ring);
void ring_control_fetch(struct ring_control *ring, struct xen_netif_ctrl_request *request);
bool ring_control_respond(struct ring_control *ring, const struct xen_netif_ctrl_response *response);
int ring_control_arm(struct ring_control *ring);

#endif
