/* test_guest_staged.c - frames of which some slots lie in pages that the guest has us map (gref_map.h)
 *
 * For every choice of slots: the frame is what it always is, those slots are copied without an operation, and
 * a copy that fails costs the frame all the same. */
#include "rx_world.c"

#define SLOTS 4u

static struct gref_map map;

static int staged_setup(void **state)
{
	int error = setup(state);

	gref_map_open(&map, world->gnttab, FAKE_GUEST, GREF_MAP_MAX);
	world->copy.map = &map;
	return error;
}

static int staged_teardown(void **state)
{
	gref_map_close(&map);
	return world_teardown(state);
}

/* Of the pages from @first on those whose bit is set in @choice, and no others. */
static void stage(uint32_t first, uint32_t choice, bool readonly)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct xen_netif_gref gref = { .ref = first + i,
					       .flags = readonly ? XEN_NETIF_CTRLF_GREF_readonly : 0 };

		gref_map_delete(&map, &gref, 1);
		if (choice & 1u << i)
			assert_true(gref_map_add(&map, &gref, 1));
	}
}

static uint32_t bits(uint32_t choice)
{
	return (uint32_t)__builtin_popcount(choice);
}

/* The first page of the next SLOTS slots; never page 0, which is no reference. */
static uint32_t next_tx_page(void)
{
	while (world->tx_prod % NETIF_RING_SIZE == 0 || world->tx_prod % NETIF_RING_SIZE > NETIF_RING_SIZE - SLOTS) {
		int16_t statuses[NETIF_RING_SIZE];

		world_tx_slot(13, 0, 0);		/* too short: answered, nothing more */
		world_tx_publish();
		world_tx_run();
		world_tx_answers(statuses);
	}
	return world->tx_prod % NETIF_RING_SIZE;
}

static void any_slots_of_a_frame_may_be_mapped(void **state)
{
	static const uint32_t sizes[SLOTS] = { 4000, 33, 4096, 1000 };
	const struct fake_port *port = fake_port_of(world->port);
	int16_t statuses[NETIF_RING_SIZE];

	(void)state;
	for (uint32_t choice = 0; choice < 1u << SLOTS; choice++) {
		uint32_t page = next_tx_page(), before = fake.copy_operations, calls = fake.copy_calls;
		uint64_t mapped = world->copy.mapped;

		stage(page, choice, true);
		fake_port_forget_sent(world->port);
		world_tx_frame(bytes, sizes, SLOTS, 0, NULL);
		world_tx_publish();
		SAME("run", world_tx_run(), 0);
		SAME("answers", world_tx_answers(statuses), SLOTS);
		for (uint32_t i = 0; i < SLOTS; i++)
			SAME("status", statuses[i], NETIF_RSP_OKAY);
		SAME("sent", port->sent_count, 1);
		SAME("length", port->sent[0].length, 9129);
		assert_memory_equal(port->sent[0].bytes, bytes, 9129);
		SAME("operations", fake.copy_operations - before, SLOTS - bits(choice));
		SAME("calls", fake.copy_calls - calls, choice != (1u << SLOTS) - 1);
		SAME("mapped", world->copy.mapped - mapped, bits(choice));
	}
}

static void a_slot_that_is_not_mapped_may_fail(void **state)
{
	static const uint32_t sizes[SLOTS] = { 60, 60, 60, 60 };
	int16_t statuses[NETIF_RING_SIZE];
	uint32_t page;

	(void)state;
	page = next_tx_page();
	stage(page, 0xb, true);				/* all but the third */
	fake.fail_operation = fake.copy_operations;
	fake.fail_status = GNTST_bad_gntref;
	world_tx_frame(bytes, sizes, SLOTS, 0, NULL);
	world_tx_publish();
	SAME("run", world_tx_run(), 0);
	SAME("answers", world_tx_answers(statuses), SLOTS);
	for (uint32_t i = 0; i < SLOTS; i++)
		SAME("status", statuses[i], NETIF_RSP_ERROR);
	SAME("verdict", world_tx_verdict(GUEST_TX_COPY_FAILED), 1);
}

/* From granted memory of ours and from plain, at offsets that cut a slot's bytes at a page. */
static void frames_to_the_guest_likewise(void **state)
{
	static struct received got;

	for (int granted = 0; granted < 2; granted++) {
		fake_port_granted = granted;
		staged_setup(state);
		for (uint32_t choice = 0; choice < 1u << SLOTS; choice++) {
			uint32_t slot = world->rx_prod % NETIF_RING_SIZE, before, pieces = granted ? 2 : 1;

			if (slot > NETIF_RING_SIZE - SLOTS)
				break;
			stage(256 + slot, choice, false);
			give(4 * 4096, 100);
			world_rx_post(SLOTS);
			before = fake.copy_operations;
			SAME("deliver", guest_rx_deliver(&world->rx), 1);
			SAME("operations", fake.copy_operations - before, (SLOTS - bits(choice)) * pieces);
			read_frame(&got);
			SAME("length", got.length, 4 * 4096);
			assert_memory_equal(got.bytes, bytes, got.length);
		}
		staged_teardown(state);
	}
}

/* What was mapped for reading only is the hypervisor's to refuse. */
static void a_page_for_reading_is_not_written(void **state)
{
	static struct received got;
	uint32_t before;

	(void)state;
	stage(256 + world->rx_prod % NETIF_RING_SIZE, 1, true);
	give(60, 0);
	world_rx_post(1);
	before = fake.copy_operations;
	SAME("deliver", guest_rx_deliver(&world->rx), 1);
	SAME("operations", fake.copy_operations - before, 1);
	read_frame(&got);
	SAME("length", got.length, 60);
}

#define STAGED(name) cmocka_unit_test_setup_teardown(name, staged_setup, staged_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(any_slots_of_a_frame_may_be_mapped),
		STAGED(a_slot_that_is_not_mapped_may_fail),
		cmocka_unit_test(frames_to_the_guest_likewise),
		STAGED(a_page_for_reading_is_not_written),
	};

	(void)check_frame;
	(void)vnet_of;
	return cmocka_run_group_tests_name("guest_staged", tests, NULL, NULL);
}
