/* world.h - one queue with its two halves, a frontend that drives them, and what must always hold
 *
 * The frontend's pages: slot S of the tx ring points to guest page S, slot S of the rx ring to page
 * 256 + S.  Indices start just below 2^32.  world_answers() checks of every response that it stands
 * in the place and has the id of its request; world_check(), called at the end of every test, that
 * verdicts add up, that all that was consumed is answered, and that nothing is held. */
#ifndef WORLD_H
#define WORLD_H

#include "../../backend/guest_rx.h"
#include "../../backend/guest_tx.h"
#include "fake_port.h"
#include "fake_xen.h"

#define WORLD_START 0xfffffff0u
#define WORLD_TX_RING 512u		/* grant references */
#define WORLD_RX_RING 513u
#define WORLD_TX_PORT 1u		/* the guest's ports */
#define WORLD_RX_PORT 2u

struct world {
	struct gcopy copy;
	struct events events;
	struct pages *pages;
	xengnttab_handle *gnttab;
	struct port *port;
	struct queue_state state;
	struct multicast multicast;
	struct cutter cutter;
	struct guest_tx tx;
	struct guest_rx rx;
	int event_end;

	struct netif_tx_sring *tx_ring;
	uint32_t tx_prod, tx_seen;	/* the frontend's: next to post, next answer to look at */
	struct { uint16_t id; bool is_extra; } tx_posted[NETIF_RING_SIZE];
	struct netif_rx_sring *rx_ring;
	uint32_t rx_prod, rx_seen;
	uint16_t rx_posted[NETIF_RING_SIZE];	/* ids */
};
extern struct world *world;

void world_bare(void);			/* the guest, its rings and grants: no backend */
void world_bare_end(void);
int world_setup(void **state);		/* with all features, TX_PAGES_MAX pages, granted memory, an MTU for any frame */
int world_teardown(void **state);	/* checks, closes, looks for leaks */
void world_check(void);

/* --- the frontend's transmit side: post what the test says, then publish */
uint8_t *world_tx_page(void);			/* of the next slot to be posted */
void world_tx_slot(uint16_t size, uint16_t offset, uint16_t flags);
void world_tx_extra(const struct netif_extra_info *extra);
void world_tx_publish(void);
/* A frame cut into @n slots of @sizes bytes; slot I's bytes start at offset 3 * I of their page if
 * they fit there.  @gso may be NULL. */
void world_tx_frame(const uint8_t *bytes, const uint32_t *sizes, int n, uint16_t flags,
		    const struct netif_extra_info *gso);
/* Polls until nothing is left; the last result if it is negative. */
int world_tx_run(void);
/* New responses, checked; their statuses into @statuses[NETIF_RING_SIZE].  How many. */
int world_tx_answers(int16_t *statuses);

/* --- the receive side */
void world_rx_post(int n);			/* posts and publishes */
uint8_t *world_rx_page(uint32_t answer);	/* of the slot of an answer counted from rx_seen */
int world_rx_published(void);			/* answers not yet looked at */
union ring_rx_answer world_rx_answer(uint32_t answer);
void world_rx_seen(int n);			/* moves past answers */

uint64_t world_tx_verdict(enum guest_tx_verdict verdict);
uint64_t world_rx_verdict(enum guest_rx_verdict verdict);

#endif
