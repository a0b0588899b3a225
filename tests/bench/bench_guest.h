/* bench_guest.h - a guest in our own process: two full rings of granted pages, no kernel behind them
 *
 * Posts requests and takes answers as netfront does, a page a frame, but asks for no event: the
 * backend is called, not woken.  Runs on the same core as the backend, so ring and pages are in its
 * cache, as they would not be on a real machine. */
#ifndef TESTS_BENCH_GUEST_H
#define TESTS_BENCH_GUEST_H

#include "../../backend/netif.h"
#include "../sim/simguest.h"

struct bench_guest {
	struct simguest *guest;
	uint32_t tx_ring_ref, rx_ring_ref;
	struct netif_tx_sring *tx;
	struct netif_rx_sring *rx;
	uint32_t tx_prod, rx_prod;		/* next to post */
	uint32_t tx_cons, rx_cons;		/* next answer to look at */
	uint32_t tx_refs[NETIF_RING_SIZE], rx_refs[NETIF_RING_SIZE];
	uint64_t errors;			/* answers that were none */
};

void bench_guest_start(struct bench_guest *guest, uint32_t domid);
void bench_guest_end(struct bench_guest *guest);
void bench_guest_send(struct bench_guest *guest, uint32_t n, uint16_t size);	/* posts n frames */
void bench_guest_post(struct bench_guest *guest, uint32_t n);		/* posts n buffers */
uint32_t bench_guest_reap_tx(struct bench_guest *guest);		/* answers that came */
uint32_t bench_guest_reap_rx(struct bench_guest *guest);

#endif
