/* bench_guest.c - see bench_guest.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_guest.h"

#define SLOT(index) ((index) % NETIF_RING_SIZE)
#define NO_EVENT (NETIF_RING_SIZE * 1000u)	/* further ahead than any answer */

static void *new_page(struct bench_guest *guest, bool readonly, uint32_t *ref)
{
	uint32_t frame = simguest_page_alloc(guest->guest);

	*ref = simguest_grant(guest->guest, 0, frame, readonly);
	return simguest_page(guest->guest, frame);
}

void bench_guest_start(struct bench_guest *guest, uint32_t domid)
{
	memset(guest, 0, sizeof *guest);
	guest->guest = simguest_start(domid);
	if (!guest->guest) {
		perror("bench: cannot start a simulated guest");
		exit(EXIT_FAILURE);
	}
	guest->tx = new_page(guest, false, &guest->tx_ring_ref);
	guest->rx = new_page(guest, false, &guest->rx_ring_ref);
	for (uint32_t i = 0; i < NETIF_RING_SIZE; i++) {
		memset(new_page(guest, true, &guest->tx_refs[i]), (int)i, XEN_PAGE);
		memset(new_page(guest, false, &guest->rx_refs[i]), (int)i, XEN_PAGE);
	}
}

void bench_guest_end(struct bench_guest *guest)
{
	simguest_destroy(guest->guest);
}

void bench_guest_send(struct bench_guest *guest, uint32_t n, uint16_t size)
{
	for (uint32_t i = 0; i < n; i++, guest->tx_prod++)
		guest->tx->ring[SLOT(guest->tx_prod)].req = (struct netif_tx_request){
			.gref = guest->tx_refs[SLOT(guest->tx_prod)], .size = size,
			.id = (uint16_t)SLOT(guest->tx_prod),
		};
	guest->tx->rsp_event = guest->tx_prod + NO_EVENT;
	__atomic_store_n(&guest->tx->req_prod, guest->tx_prod, __ATOMIC_RELEASE);
}

void bench_guest_post(struct bench_guest *guest, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, guest->rx_prod++)
		guest->rx->ring[SLOT(guest->rx_prod)].req = (struct netif_rx_request){
			.gref = guest->rx_refs[SLOT(guest->rx_prod)],
			.id = (uint16_t)SLOT(guest->rx_prod),
		};
	guest->rx->rsp_event = guest->rx_prod + NO_EVENT;
	__atomic_store_n(&guest->rx->req_prod, guest->rx_prod, __ATOMIC_RELEASE);
}

uint32_t bench_guest_reap_tx(struct bench_guest *guest)
{
	uint32_t end = __atomic_load_n(&guest->tx->rsp_prod, __ATOMIC_ACQUIRE), n = 0;

	for (; guest->tx_cons != end; guest->tx_cons++, n++) {
		const struct netif_tx_response *answer = &guest->tx->ring[SLOT(guest->tx_cons)].rsp;

		if (answer->status != NETIF_RSP_OKAY || answer->id != SLOT(guest->tx_cons))
			guest->errors++;
	}
	return n;
}

uint32_t bench_guest_reap_rx(struct bench_guest *guest)
{
	uint32_t end = __atomic_load_n(&guest->rx->rsp_prod, __ATOMIC_ACQUIRE), n = 0;

	for (; guest->rx_cons != end; guest->rx_cons++, n++) {
		const struct netif_rx_response *answer = &guest->rx->ring[SLOT(guest->rx_cons)].rsp;

		if (answer->status < 0 || answer->id != SLOT(guest->rx_cons))
			guest->errors++;
	}
	return n;
}
