/* test_control_ring.c - requests of a guest's control ring, each with its answer
 *
 * The guest of fake_xen.h: its page N has reference N. */
#include <errno.h>
#include <unistd.h>

#include "../../backend/control_ring.c"
#include "fake_xen.c"
#include "unit.h"

#define RING_REF 3u
#define DATA_REF 5u
#define PORT 9u
#define QUEUES 4u
#define START 0xfffffff0u

#define GET_TYPES    XEN_NETIF_CTRL_TYPE_GET_HASH_FLAGS
#define SET_TYPES    XEN_NETIF_CTRL_TYPE_SET_HASH_FLAGS
#define SET_KEY      XEN_NETIF_CTRL_TYPE_SET_HASH_KEY
#define GET_SIZE     XEN_NETIF_CTRL_TYPE_GET_HASH_MAPPING_SIZE
#define SET_SIZE     XEN_NETIF_CTRL_TYPE_SET_HASH_MAPPING_SIZE
#define SET_MAPPING  XEN_NETIF_CTRL_TYPE_SET_HASH_MAPPING
#define SET_ALGORITHM XEN_NETIF_CTRL_TYPE_SET_HASH_ALGORITHM

static struct control_ring control;
static struct gref_map maps[QUEUES];
static xengnttab_handle *gnttab;
static struct xen_netif_ctrl_sring *ring;
static uint32_t prod, seen;
static int event_end;
static const struct vif_config config = {
	.guest = FAKE_GUEST, .self = FAKE_SELF, .queue_count = QUEUES,
	.control_ring_ref = RING_REF, .control_port = PORT,
};

static struct hash_config published;
static uint32_t published_at;			/* rsp_prod then */

static void take_published(void *context, const struct hash_config *hash)
{
	(void)context;
	published = *hash;
	published_at = ring->rsp_prod;
}

static int open_control(const struct hash_config *hash, char *why, size_t size)
{
	const struct control_setup setup = { &config, gnttab, fake_evtchn_fd(&event_end), hash, maps,
					       take_published, NULL };

	return control_ring_open(&control, &setup, why, size);
}

static int setup(void **state)
{
	static const struct hash_config none;
	char why[160] = "";

	(void)state;
	fake_xen_setup();
	gnttab = xengnttab_open(NULL, 0);
	ring = (struct xen_netif_ctrl_sring *)fake.guest[RING_REF];
	memset(ring, 0, XEN_PAGE);
	ring->req_prod = ring->rsp_prod = prod = seen = START;
	ring->rsp_event = START + 1;
	for (uint32_t i = 0; i < QUEUES; i++)
		gref_map_open(&maps[i], gnttab, FAKE_GUEST, GREF_MAP_MAX / QUEUES);
	if (open_control(&none, why, sizeof why) != 0)
		fail_msg("%s", why);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	control_ring_close(&control);
	control_ring_close(&control);
	close(event_end);
	for (uint32_t i = 0; i < QUEUES; i++)
		gref_map_close(&maps[i]);
	xengnttab_close(gnttab);
	fake_xen_teardown();
	return 0;
}

static void post(uint16_t type, uint32_t a, uint32_t b, uint32_t c)
{
	ring->ring[prod % NETIF_CONTROL_RING_SIZE].req = (struct xen_netif_ctrl_request){
		.id = (uint16_t)(prod * 7), .type = type, .data = { a, b, c },
	};
	prod++;
}

/* The next answer, which must be that of the next request. */
static struct answer take(uint16_t type)
{
	struct xen_netif_ctrl_response response = ring->ring[seen % NETIF_CONTROL_RING_SIZE].rsp;

	assert_true(ring->rsp_prod != seen);
	assert_int_equal(response.id, (uint16_t)(seen * 7));
	assert_int_equal(response.type, type);
	seen++;
	return (struct answer){ response.status, response.data };
}

static uint32_t ask(uint16_t type, uint32_t a, uint32_t b, uint32_t c)
{
	post(type, a, b, c);
	ring->req_prod = prod;
	assert_int_equal(control_ring_serve(&control), 0);
	return take(type).status;
}

/* --- requests --------------------------------------------------------------------------------- */

static void the_way_windows_sets_it_up(void **state)
{
	uint32_t *mapping = (uint32_t *)fake.guest[DATA_REF];

	(void)state;
	assert_int_equal(ask(GET_TYPES, 0, 0, 0), UNKNOWN);
	assert_int_equal(ask(SET_TYPES, HASH_IPV4, 0, 0), INVALID);
	assert_int_equal(ask(SET_ALGORITHM, HASH_TOEPLITZ, 0, 0), SUCCESS);
	assert_true(control.hash_changed);
	post(GET_TYPES, 0, 0, 0);
	post(GET_SIZE, 0, 0, 0);
	ring->req_prod = prod;
	assert_int_equal(control_ring_serve(&control), 0);
	assert_false(control.hash_changed);
	assert_int_equal(take(GET_TYPES).data, HASH_TYPES_ALL);
	assert_int_equal(take(GET_SIZE).data, HASH_MAPPING_MAX);
	assert_int_equal(ask(SET_TYPES, HASH_TYPES_ALL, 0, 0), SUCCESS);
	memset(fake.guest[DATA_REF], 0x6d, HASH_KEY_MAX);
	assert_int_equal(ask(SET_KEY, DATA_REF, HASH_KEY_MAX, 0), SUCCESS);
	assert_int_equal(control.hash.key[39], 0x6d);
	assert_int_equal(ask(SET_SIZE, 128, 0, 0), SUCCESS);
	for (uint32_t i = 0; i < 128; i++)
		mapping[i] = i % QUEUES;
	assert_int_equal(ask(SET_MAPPING, DATA_REF, 128, 0), SUCCESS);
	assert_int_equal(control.hash.mapping[127], 3);
	assert_true(hash_is_on(&control.hash) && hash_config_is_good(&control.hash, QUEUES));
	assert_int_equal(ask(SET_ALGORITHM, HASH_NONE, 0, 0), SUCCESS);
	assert_false(hash_is_on(&control.hash));
}

/* Who is told that it is in force must find it so, also if we die in between. */
static void the_hash_is_in_force_before_the_answer(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 3; size++)
		post(SET_SIZE, size, 0, 0);
	ring->req_prod = prod;
	assert_int_equal(control_ring_serve(&control), 0);
	assert_int_equal(published.mapping_size, 3);
	assert_int_equal(published_at, prod - 1);	/* all but its own are answered */
}

static void what_makes_no_sense_changes_nothing(void **state)
{
	static const struct { uint16_t type; uint32_t data[3], status; } rows[] = {
		{ SET_ALGORITHM, { 2, 0, 0 }, INVALID }, { SET_ALGORITHM, { UINT32_MAX, 0, 0 }, INVALID },
		{ SET_TYPES, { 0x10, 0, 0 }, INVALID }, { SET_TYPES, { UINT32_MAX, 0, 0 }, INVALID },
		{ SET_KEY, { DATA_REF, HASH_KEY_MAX + 1, 0 }, OVERFLOW },
		{ SET_KEY, { DATA_REF, UINT32_MAX, 0 }, OVERFLOW },
		{ SET_KEY, { 0xdead, 40, 0 }, INVALID },		/* no such page */
		{ SET_SIZE, { 129, 0, 0 }, INVALID }, { SET_SIZE, { UINT32_MAX, 0, 0 }, INVALID },
		{ SET_MAPPING, { DATA_REF, 9, 0 }, INVALID }, { SET_MAPPING, { DATA_REF, 129, 0 }, OVERFLOW },
		{ SET_MAPPING, { DATA_REF, 1, 8 }, INVALID }, { SET_MAPPING, { DATA_REF, 8, 1 }, INVALID },
		{ SET_MAPPING, { DATA_REF, 2, UINT32_MAX }, INVALID },	/* XSA-270: the sum wraps */
		{ SET_MAPPING, { DATA_REF, UINT32_MAX, 2 }, OVERFLOW },
		{ SET_MAPPING, { DATA_REF, 0x40000001, 0 }, OVERFLOW },	/* in bytes it wraps, too */
		{ SET_MAPPING, { 0xdead, 8, 0 }, INVALID },
		{ SET_MAPPING, { DATA_REF, 8, 0 }, INVALID },		/* page 5 is full of 0x5a */
		{ XEN_NETIF_CTRL_TYPE_INVALID, { 0, 0, 0 }, UNKNOWN }, { 11, { 0, 0, 0 }, UNKNOWN },
		{ UINT16_MAX, { 1, 2, 3 }, UNKNOWN },
	};

	(void)state;
	ask(SET_ALGORITHM, HASH_TOEPLITZ, 0, 0);
	ask(SET_SIZE, 8, 0, 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char name[16];

		snprintf(name, sizeof name, "row %zu", i);
		SAME(name, ask(rows[i].type, rows[i].data[0], rows[i].data[1], rows[i].data[2]), rows[i].status);
		SAME(name, control.hash_changed, false);
	}
}

/* The last entry is one queue too many: none of them counts. */
static void a_mapping_counts_whole_or_not_at_all(void **state)
{
	uint32_t *mapping = (uint32_t *)fake.guest[DATA_REF];

	(void)state;
	ask(SET_SIZE, 8, 0, 0);
	for (uint32_t i = 0; i < 8; i++)
		mapping[i] = i == 7 ? QUEUES : 1;
	assert_int_equal(ask(SET_MAPPING, DATA_REF, 8, 0), INVALID);
	assert_int_equal(control.hash.mapping[0], 0);
	assert_int_equal(ask(SET_MAPPING, DATA_REF, 3, 5), SUCCESS);
	assert_int_equal(control.hash.mapping[4], 0);
	assert_int_equal(control.hash.mapping[5], 1);
	assert_int_equal(control.hash.mapping[7], 1);
	assert_int_equal(ask(SET_MAPPING, DATA_REF, 0, 8), SUCCESS);	/* nothing, at the end */
	assert_int_equal(ask(SET_SIZE, 8, 0, 0), SUCCESS);		/* filled with zeros again */
	assert_int_equal(control.hash.mapping[7], 0);
}

static void a_shorter_key_ends_with_zeros(void **state)
{
	(void)state;
	assert_int_equal(ask(SET_KEY, DATA_REF, 40, 0), SUCCESS);
	assert_int_equal(ask(SET_KEY, DATA_REF, 3, 0), SUCCESS);
	assert_int_equal(control.hash.key[2], 0x5a);
	assert_int_equal(control.hash.key[3], 0);
	assert_int_equal(ask(SET_KEY, 0xdead, 0, 0), SUCCESS);		/* none: nothing is copied */
	assert_int_equal(control.hash.key[0], 0);
}

/* The guest changes the page while it is copied: what was copied counts. */
static void poke_mapping(void)
{
	memset(fake.guest[DATA_REF], 0xff, XEN_PAGE);
}

static void only_the_copy_is_looked_at(void **state)
{
	(void)state;
	ask(SET_SIZE, 8, 0, 0);
	memset(fake.guest[DATA_REF], 0, XEN_PAGE);
	fake.on_copy = poke_mapping;
	assert_int_equal(ask(SET_MAPPING, DATA_REF, 8, 0), INVALID);
	fake.on_copy = NULL;
	assert_int_equal(control.hash.mapping[0], 0);
	assert_true(hash_config_is_good(&control.hash, QUEUES));
}

/* --- pages that stay mapped ------------------------------------------------------------------- */

#define GET_GREFS XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE
#define ADD_GREFS XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING
#define DEL_GREFS XEN_NETIF_CTRL_TYPE_DEL_GREF_MAPPING

/* A list of references from @first on into the page that requests name. */
static struct xen_netif_gref *list_from(uint32_t first, uint32_t count)
{
	struct xen_netif_gref *list = (struct xen_netif_gref *)fake.guest[DATA_REF];

	for (uint32_t i = 0; i < count; i++)
		list[i] = (struct xen_netif_gref){ .ref = first + i, .status = 99 };
	return list;
}

static void pages_are_mapped_and_unmapped(void **state)
{
	struct xen_netif_gref *list;

	(void)state;
	for (uint32_t queue = 0; queue < QUEUES; queue++) {
		post(GET_GREFS, queue, 0, 0);
		ring->req_prod = prod;
		assert_int_equal(control_ring_serve(&control), 0);
		assert_int_equal(take(GET_GREFS).data, GREF_MAP_MAX / QUEUES);
		list_from(100, 20);
		assert_int_equal(ask(ADD_GREFS, queue, DATA_REF, 20), SUCCESS);
		assert_int_equal(maps[queue].count, 20);
	}
	assert_int_equal(fake.mapped, 1 + 20 * QUEUES);
	assert_int_equal(((struct xen_netif_gref *)fake.guest[DATA_REF])[0].status, 99);	/* not written */
	list = list_from(90, 20);
	post(DEL_GREFS, 1, DATA_REF, 20);
	ring->req_prod = prod;
	assert_int_equal(control_ring_serve(&control), 0);
	assert_int_equal(take(DEL_GREFS).data, 10);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(list[i].status, i < 10 ? INVALID : SUCCESS);
	assert_int_equal(maps[1].count, 10);
	assert_int_equal(fake.mapped, 1 + 20 * QUEUES - 10);
	assert_int_equal(list[20].status, 0x5a5a);	/* behind the list */
}

static void lists_that_make_no_sense_map_nothing(void **state)
{
	static const struct { uint16_t type; uint32_t data[3]; } rows[] = {
		{ GET_GREFS, { QUEUES, 0, 0 } }, { GET_GREFS, { UINT32_MAX, 0, 0 } },
		{ ADD_GREFS, { QUEUES, DATA_REF, 1 } }, { ADD_GREFS, { UINT32_MAX, DATA_REF, 1 } },
		{ ADD_GREFS, { 0, 0xdead, 1 } }, { ADD_GREFS, { 0, DATA_REF, 0 } },
		{ ADD_GREFS, { 0, DATA_REF, 129 } }, { ADD_GREFS, { 0, DATA_REF, 513 } },
		{ ADD_GREFS, { 0, DATA_REF, 0x20000001 } },	/* in bytes it wraps */
		{ DEL_GREFS, { QUEUES, DATA_REF, 1 } }, { DEL_GREFS, { 0, 0xdead, 1 } },
		{ DEL_GREFS, { 0, DATA_REF, 0 } }, { DEL_GREFS, { 0, DATA_REF, 513 } },
		{ DEL_GREFS, { 0, DATA_REF, 0x20000001 } },
	};

	(void)state;
	list_from(1, 512);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char name[16];

		snprintf(name, sizeof name, "row %zu", i);
		SAME(name, ask(rows[i].type, rows[i].data[0], rows[i].data[1], rows[i].data[2]), INVALID);
		SAME(name, fake.mapped, 1);
	}
	assert_int_equal(ask(ADD_GREFS, 0, DATA_REF, 128), SUCCESS);
	assert_int_equal(ask(DEL_GREFS, 1, DATA_REF, 128), SUCCESS);	/* of another queue: none is there */
	assert_int_equal(maps[0].count, 128);
	fake.fail_operation = fake.copy_operations + 1;		/* statuses cannot be written back */
	fake.fail_status = GNTST_bad_gntref;
	assert_int_equal(ask(DEL_GREFS, 0, DATA_REF, 128), INVALID);
	assert_int_equal(maps[0].count, 0);
}

static void one_list_a_call(void **state)
{
	(void)state;
	list_from(1, 4);
	for (uint32_t i = 0; i < QUEUES; i++)
		post(ADD_GREFS, i, DATA_REF, 4);
	ring->req_prod = prod;
	for (uint32_t i = 0; i < QUEUES; i++) {
		assert_int_equal(control_ring_serve(&control), 0);
		assert_int_equal(control.more, i < QUEUES - 1);
		assert_int_equal(take(ADD_GREFS).status, SUCCESS);
		assert_int_equal(ring->rsp_prod, seen);
	}
}

static void without_maps_nothing_is_mapped(void **state)
{
	(void)state;
	control.maps = NULL;
	list_from(1, 4);
	assert_int_equal(ask(GET_GREFS, 0, 0, 0), UNKNOWN);
	assert_int_equal(ask(ADD_GREFS, 0, DATA_REF, 4), UNKNOWN);
	assert_int_equal(ask(DEL_GREFS, 0, DATA_REF, 4), UNKNOWN);
}

/* --- the ring --------------------------------------------------------------------------------- */

static void a_full_ring_is_served_in_one_call(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < NETIF_CONTROL_RING_SIZE; i++)
		post(GET_SIZE, 0, 0, 0);
	ring->req_prod = prod;
	assert_int_equal(control_ring_serve(&control), 0);
	assert_false(control.more);
	for (uint32_t i = 0; i < NETIF_CONTROL_RING_SIZE; i++)
		assert_int_equal(take(GET_SIZE).data, HASH_MAPPING_MAX);
	assert_int_equal(ring->rsp_prod, prod);
	assert_int_equal(ring->req_event, prod + 1);
	assert_int_equal(fake.notified[FAKE_LOCAL(PORT)], 2);	/* at opening, and as it asked for */
}

static void an_overrun_is_fatal(void **state)
{
	(void)state;
	ring->req_prod = prod + NETIF_CONTROL_RING_SIZE + 1;
	assert_int_equal(control_ring_serve(&control), -EPROTO);
	assert_string_equal(control.fault, "requests in the control ring");
	assert_int_equal(ring->rsp_prod, START);
}

static void the_port_is_unmasked_when_the_ring_is_empty(void **state)
{
	(void)state;
	fake_evtchn_fire(event_end, FAKE_LOCAL(PORT));
	assert_int_equal(ask(GET_SIZE, 0, 0, 0), SUCCESS);
	fake_evtchn_count_unmasked(event_end);
	assert_int_equal(fake.unmasked[FAKE_LOCAL(PORT)], 1);
}

static void what_the_last_instance_was_told_is_kept_if_it_makes_sense(void **state)
{
	struct hash_config hash = { .algorithm = HASH_TOEPLITZ, .types = HASH_IPV4, .mapping_size = 1, .mapping = { 3 } };
	char why[160];

	(void)state;
	for (int good = 0; good < 2; good++) {
		control_ring_close(&control);
		close(event_end);
		hash.mapping[0] = good ? 3 : QUEUES;
		assert_int_equal(open_control(&hash, why, sizeof why), 0);
		assert_int_equal(hash_is_on(&control.hash), good);
	}
}

static void a_failure_at_each_step_leaves_nothing_open(void **state)
{
	static const struct hash_config none;
	char why[160];

	(void)state;
	control_ring_close(&control);
	close(event_end);
	fake.fail_bind = fake.bind_calls;
	assert_true(open_control(&none, why, sizeof why) < 0);
	assert_non_null(strstr(why, "cannot bind the guest's event-channel-ctrl 9"));
	close(event_end);
	fake.fail_bind = FAKE_NEVER;
	fake.fail_map = fake.map_calls;
	assert_true(open_control(&none, why, sizeof why) < 0);
	assert_non_null(strstr(why, "cannot map ctrl-ring-ref 3"));
	close(event_end);
	fake.fail_map = FAKE_NEVER;
	ring->req_prod = ring->rsp_prod + 500;
	assert_int_equal(open_control(&none, why, sizeof why), -EPROTO);
	assert_non_null(strstr(why, "more requests than slots"));
	assert_false(control_ring_is_open(&control));
	assert_int_equal(fake.mapped, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_way_windows_sets_it_up), TEST(the_hash_is_in_force_before_the_answer),
		TEST(what_makes_no_sense_changes_nothing),
		TEST(a_mapping_counts_whole_or_not_at_all), TEST(a_shorter_key_ends_with_zeros),
		TEST(pages_are_mapped_and_unmapped), TEST(lists_that_make_no_sense_map_nothing),
		TEST(one_list_a_call), TEST(without_maps_nothing_is_mapped),
		TEST(only_the_copy_is_looked_at), TEST(a_full_ring_is_served_in_one_call),
		TEST(an_overrun_is_fatal), TEST(the_port_is_unmasked_when_the_ring_is_empty),
		TEST(what_the_last_instance_was_told_is_kept_if_it_makes_sense),
		TEST(a_failure_at_each_step_leaves_nothing_open),
	};

	return cmocka_run_group_tests_name("control_ring", tests, NULL, NULL);
}
