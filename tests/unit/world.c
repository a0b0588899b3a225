/* world.c - see world.h */
#include <unistd.h>

#include "fake_port.c"
#include "fake_xen.c"
#include "unit.h"
#include "world.h"

struct world *world;

static void open_shared(void)
{
	const struct port_config config = { .name = "vif7.0", .fd = -1, .pages = world->pages,
					    .guest_tx_pages = TX_PAGES_MAX };
	int event_fd = fake_evtchn_fd(&world->event_end);

	assert_int_equal(events_open(&world->events, event_fd, FAKE_GUEST, WORLD_TX_PORT,
				     WORLD_RX_PORT), 0);
	gcopy_init(&world->copy, world->gnttab, FAKE_GUEST, FAKE_SELF);
	assert_int_equal(fake_port_class.open(&config, &world->port), 0);
}

static void make_rings(void)
{
	world->tx_ring = (struct netif_tx_sring *)fake.guest[WORLD_TX_RING];
	world->tx_ring->req_prod = world->tx_ring->rsp_prod = WORLD_START;
	world->tx_ring->req_event = world->tx_ring->rsp_event = WORLD_START + 1;
	world->tx_prod = world->tx_seen = WORLD_START;
	world->rx_ring = (struct netif_rx_sring *)fake.guest[WORLD_RX_RING];
	world->rx_ring->req_prod = world->rx_ring->rsp_prod = WORLD_START;
	world->rx_ring->req_event = world->rx_ring->rsp_event = WORLD_START + 1;
	world->rx_prod = world->rx_seen = WORLD_START;
}

void world_bare(void)
{
	fake_xen_setup();
	world = aligned_alloc(64, (sizeof *world + 63) / 64 * 64);
	assert_non_null(world);
	memset(world, 0, sizeof *world);
	world->pages = pages_open(FAKE_SELF);
	world->gnttab = xengnttab_open(NULL, 0);
	make_rings();
}

void world_bare_end(void)
{
	xengnttab_close(world->gnttab);
	pages_close(world->pages);
	free(world);
	world = NULL;
	fake_xen_teardown();
}

static void open_tx(void)
{
	struct guest_tx *tx = &world->tx;

	tx->copy = &world->copy;
	tx->events = &world->events;
	tx->port = world->port;
	tx->state = &world->state;
	tx->takes = OFFLOAD_ALL;
	tx->cutter = &world->cutter;
	tx->multicast = &world->multicast;
	multicast_clear(tx->multicast);
	assert_int_equal(ring_tx_attach(&tx->ring, world->tx_ring), 0);
	assert_int_equal(guest_tx_open(tx, TX_PAGES_MAX), 0);
}

static void open_rx(void)
{
	struct guest_rx *rx = &world->rx;

	rx->copy = &world->copy;
	rx->events = &world->events;
	rx->port = world->port;
	rx->state = &world->state;
	rx->multicast = &world->multicast;
	rx->features = VIF_F_ALL;
	rx->mtu = FRAME_LENGTH_MAX_GUEST_RX - 14;
	rx->cutter = &world->cutter;
	rx->queue.limits = (struct queue_limits){
		QUEUE_FRAMES_DEFAULT, QUEUE_BYTES_DEFAULT, QUEUE_AGE_MS_DEFAULT,
	};
	assert_int_equal(ring_rx_attach(&rx->ring, world->rx_ring), 0);
}

int world_setup(void **state)
{
	(void)state;
	world_bare();
	open_shared();
	assert_int_equal(cutter_open(&world->cutter), 0);
	open_tx();
	open_rx();
	return 0;
}

void world_check(void)
{
	const struct queue_state *s = &world->state;
	uint64_t tx = 0, rx = 0;

	for (int i = 0; i < GUEST_TX_VERDICT_COUNT; i++)
		tx += s->tx_verdicts[i];
	for (int i = 0; i < GUEST_RX_VERDICT_COUNT; i++)
		rx += s->rx_verdicts[i];
	SAME("tx frames", tx, s->tx_frames);
	SAME("rx frames", rx + s->rx_queued_frames, s->rx_frames);
	SAME("rx queue", s->rx_queued_frames, rx_queue_count(&world->rx.queue));
	SAME("held", fake_port_held(world->port), s->rx_queued_frames);
	SAME("tx answered", world->tx.ring.rsp, world->tx.ring.cons);
	SAME("rx answered", world->rx.ring.rsp, world->rx.ring.cons);
	SAME("published", world->tx_ring->rsp_prod, world->tx.ring.rsp);
	SAME("published", world->rx_ring->rsp_prod, world->rx.ring.rsp);
	SAME("no grant crossed", fake.crossings, 0);
	SAME("tx slots", s->tx_slots, (uint32_t)(world->tx.ring.rsp - WORLD_START));
	SAME("rx slots", s->rx_slots, (uint32_t)(world->rx.ring.rsp - WORLD_START));
	SAME("tx notifies", s->tx_notifies, fake.notified[FAKE_LOCAL(WORLD_TX_PORT)]);
	SAME("rx notifies", s->rx_notifies, fake.notified[FAKE_LOCAL(WORLD_RX_PORT)]);
}

int world_teardown(void **state)
{
	(void)state;
	world_check();
	guest_rx_flush(&world->rx, GUEST_RX_DISCONNECTED);
	guest_tx_close(&world->tx);
	world_check();
	world->port->class->close(world->port);
	cutter_close(&world->cutter);
	events_close(&world->events);
	close(world->event_end);
	world_bare_end();
	return 0;
}

/* --- transmit --------------------------------------------------------------------------------- */

uint8_t *world_tx_page(void)
{
	return fake.guest[world->tx_prod % NETIF_RING_SIZE];
}

/* Ids are not those of the slots, so that an echo of anything else is seen. */
static uint16_t id_of(uint32_t index)
{
	return (uint16_t)(index * 7 + 0x8123);
}

void world_tx_slot(uint16_t size, uint16_t offset, uint16_t flags)
{
	uint32_t slot = world->tx_prod % NETIF_RING_SIZE;

	world->tx_ring->ring[slot].req = (struct netif_tx_request){
		.gref = slot, .offset = offset, .flags = flags, .id = id_of(world->tx_prod),
		.size = size,
	};
	world->tx_posted[slot].id = id_of(world->tx_prod);
	world->tx_posted[slot].is_extra = false;
	world->tx_prod++;
}

void world_tx_extra(const struct netif_extra_info *extra)
{
	uint32_t slot = world->tx_prod % NETIF_RING_SIZE;

	memcpy(&world->tx_ring->ring[slot], extra, sizeof *extra);
	world->tx_posted[slot].is_extra = true;
	world->tx_prod++;
}

void world_tx_publish(void)
{
	__atomic_store_n(&world->tx_ring->req_prod, world->tx_prod, __ATOMIC_RELEASE);
}

void world_tx_frame(const uint8_t *bytes, const uint32_t *sizes, int n, uint16_t flags,
		    const struct netif_extra_info *gso)
{
	uint32_t total = 0;

	for (int i = 0; i < n; i++)
		total += sizes[i];
	for (int i = 0; i < n; i++) {
		uint16_t offset = sizes[i] + 3u * (uint32_t)i <= 4096 ? (uint16_t)(3 * i) : 0;
		uint16_t more = i + 1 < n ? NETTXF_more_data : 0;

		memcpy(world_tx_page() + offset, bytes, sizes[i]);
		bytes += sizes[i];
		if (i > 0) {
			world_tx_slot((uint16_t)sizes[i], offset, more);
			continue;
		}
		world_tx_slot((uint16_t)total, offset,
			      flags | more | (gso ? NETTXF_extra_info : 0));
		if (gso)
			world_tx_extra(gso);
	}
}

int world_tx_run(void)
{
	int result;

	while ((result = guest_tx_poll(&world->tx)) > 0)
		;
	return result;
}

int world_tx_answers(int16_t *statuses)
{
	int n = 0;

	for (; world->tx_seen != world->tx_ring->rsp_prod; world->tx_seen++, n++) {
		uint32_t slot = world->tx_seen % NETIF_RING_SIZE;
		const struct netif_tx_response *answer = &world->tx_ring->ring[slot].rsp;

		SAME("answers", n < (int)NETIF_RING_SIZE, 1);
		if (world->tx_posted[slot].is_extra)
			SAME("extra", answer->status, NETIF_RSP_NULL);
		else
			SAME("id", answer->id, world->tx_posted[slot].id);
		statuses[n] = answer->status;
	}
	return n;
}

/* --- receive ---------------------------------------------------------------------------------- */

void world_rx_post(int n)
{
	for (int i = 0; i < n; i++, world->rx_prod++) {
		uint32_t slot = world->rx_prod % NETIF_RING_SIZE;

		world->rx_posted[slot] = id_of(world->rx_prod);
		world->rx_ring->ring[slot].req = (struct netif_rx_request){
			.id = world->rx_posted[slot], .gref = 256 + slot,
		};
		memset(fake.guest[256 + slot], 0x5a, 4096);
	}
	__atomic_store_n(&world->rx_ring->req_prod, world->rx_prod, __ATOMIC_RELEASE);
}

int world_rx_published(void)
{
	return (int)(world->rx_ring->rsp_prod - world->rx_seen);
}

uint8_t *world_rx_page(uint32_t answer)
{
	return fake.guest[256 + (world->rx_seen + answer) % NETIF_RING_SIZE];
}

union ring_rx_answer world_rx_answer(uint32_t answer)
{
	union ring_rx_answer copy;
	uint32_t slot = (world->rx_seen + answer) % NETIF_RING_SIZE;

	memcpy(&copy, &world->rx_ring->ring[slot], sizeof copy);
	return copy;
}

void world_rx_seen(int n)
{
	world->rx_seen += (uint32_t)n;
}

uint64_t world_tx_verdict(enum guest_tx_verdict verdict)
{
	return world->state.tx_verdicts[verdict];
}

uint64_t world_rx_verdict(enum guest_rx_verdict verdict)
{
	return world->state.rx_verdicts[verdict];
}
