/* test_gref_map.c - pages that stay mapped: all of a list or none of it, looked up while others come and go
 *
 * The guest of fake_xen.h: its page N has reference N.  A naive map, an array by reference, says what has to be
 * there.  The last test runs a queue's thread against the main thread's, with mappings that are really taken
 * away: a copy that comes too late is a fault. */
#include <pthread.h>
#include <sys/mman.h>

#include "../../backend/gref_map.c"
#include "fake_xen.c"
#include "unit.h"

#define LIMIT 512u

static struct gref_map map;
static xengnttab_handle *gnttab;

static int setup(void **state)
{
	(void)state;
	fake_xen_setup();
	gnttab = xengnttab_open(NULL, 0);
	for (uint32_t i = 0; i < FAKE_PAGES; i++)
		memset(fake.guest[i], (int)(i * 7 + 1), XEN_PAGE);
	gref_map_open(&map, gnttab, FAKE_GUEST, LIMIT);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gref_map_close(&map);
	gref_map_close(&map);
	assert_int_equal(map.count, 0);
	xengnttab_close(gnttab);
	fake_xen_teardown();
	return 0;
}

static bool add(uint32_t ref, uint16_t flags)
{
	const struct xen_netif_gref gref = { .ref = ref, .flags = flags };

	return gref_map_add(&map, &gref, 1);
}

/* The entry's status. */
static uint16_t delete(uint32_t ref)
{
	struct xen_netif_gref gref = { .ref = ref, .status = 99 };
	uint32_t n = gref_map_delete(&map, &gref, 1);

	SAME("number", n, gref.status == XEN_NETIF_CTRL_STATUS_SUCCESS);
	return gref.status;
}

/* Whether @ref is found, and if so that its own page is. */
static bool has(uint32_t ref)
{
	struct gref_map *entered = gref_map_enter(&map);
	uint8_t bytes[3];
	bool found = gref_map_read(entered, ref, 4093, bytes, sizeof bytes);

	gref_map_leave(entered);
	if (found)
		SAME("byte", bytes[2], (uint8_t)(ref * 7 + 1));
	return found;
}

static void pages_come_and_go(void **state)
{
	(void)state;
	assert_null(gref_map_enter(&map));		/* nobody asked for it: polls cost nothing */
	assert_false(has(5));
	assert_true(add(5, 0));
	assert_true(has(5));
	assert_false(has(6));
	assert_int_equal(delete(6), XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER);
	assert_int_equal(delete(5), XEN_NETIF_CTRL_STATUS_SUCCESS);
	assert_int_equal(delete(5), XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER);
	assert_false(has(5));
	assert_int_equal(fake.mapped, 0);
	assert_true(add(5, 0) && has(5));
}

static void a_page_for_reading_is_not_written(void **state)
{
	struct gref_map *entered;

	(void)state;
	assert_true(add(5, XEN_NETIF_CTRLF_GREF_readonly) && add(6, 0));
	entered = gref_map_enter(&map);
	assert_false(gref_map_write(entered, 5, 0, "abc", 3));
	assert_true(gref_map_write(entered, 6, 4093, "abc", 3));
	assert_false(gref_map_write(NULL, 6, 0, "abc", 3));
	gref_map_leave(entered);
	assert_memory_equal(fake.guest[6] + 4093, "abc", 3);
	assert_int_equal(fake.guest[5][0], 36);
}

static void a_list_counts_whole_or_not_at_all(void **state)
{
	static const struct { const char *name; uint32_t ref; uint16_t flags; uint32_t fail_map; } rows[] = {
		{ "reference 0", 0, 0, FAKE_NEVER }, { "there already", 400, 0, FAKE_NEVER },
		{ "twice", 11, 0, FAKE_NEVER }, { "unknown flag", 50, 2, FAKE_NEVER },
		{ "no page", FAKE_PAGES, 0, FAKE_NEVER }, { "cannot be mapped", 50, 0, 3 },
	};

	(void)state;
	assert_true(add(400, 0));
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (uint32_t at = 0; at < 5; at++) {
			struct xen_netif_gref list[5] = { { 10, 0, 0 }, { 11, 0, 0 }, { 12, 0, 0 }, { 13, 0, 0 },
							  { 14, 0, 0 } };

			if (at == 1 && rows[i].ref == 11)
				continue;
			list[at].ref = rows[i].ref;
			list[at].flags = rows[i].flags;
			fake.fail_map = rows[i].fail_map == FAKE_NEVER ? FAKE_NEVER : fake.map_calls + rows[i].fail_map;
			SAME(rows[i].name, gref_map_add(&map, list, 5), false);
			SAME(rows[i].name, fake.mapped, 1);
			SAME(rows[i].name, map.count, 1);
			for (uint32_t ref = 10; ref < 15; ref++)
				SAME(rows[i].name, has(ref), false);
		}
}

static void as_many_as_the_limit(void **state)
{
	struct xen_netif_gref list[GREF_MAP_MAX];

	(void)state;
	for (uint32_t i = 0; i < LIMIT; i++)
		list[i] = (struct xen_netif_gref){ .ref = i + 1 };
	assert_true(gref_map_add(&map, list, LIMIT));
	assert_false(add(LIMIT + 1, 0));
	for (uint32_t i = 0; i < LIMIT; i++)
		assert_true(has(i + 1));
	assert_int_equal(delete(7), XEN_NETIF_CTRL_STATUS_SUCCESS);
	assert_true(add(LIMIT + 1, 0));
	list[6].ref = 0;
	list[9].ref = list[8].ref;			/* twice: the second is not there any more */
	assert_int_equal(gref_map_delete(&map, list, LIMIT), LIMIT - 2);
	assert_int_equal(list[6].status, XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER);
	assert_int_equal(list[8].status, XEN_NETIF_CTRL_STATUS_SUCCESS);
	assert_int_equal(list[9].status, XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER);
	assert_true(has(LIMIT + 1) && has(10));
	assert_int_equal(map.count, 2);
}

static uint32_t random_state = 0x5eed;

static uint32_t any(uint32_t below)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % below;
}

static void equals_the_twin(void **state)
{
	static bool there[FAKE_PAGES];
	uint32_t count = 0;

	(void)state;
	memset(there, 0, sizeof there);
	for (int round = 0; round < 3000; round++) {
		struct xen_netif_gref list[8];
		uint32_t n = any(8) + 1, first = any(FAKE_PAGES - 10) + 1, wanted = 0;

		for (uint32_t i = 0; i < n; i++) {
			list[i] = (struct xen_netif_gref){ .ref = first + i };
			wanted += there[first + i];
		}
		if (any(2)) {
			bool good = wanted == 0 && count + n <= LIMIT;

			SAME("add", gref_map_add(&map, list, n), good);
			for (uint32_t i = 0; good && i < n; i++)
				there[first + i] = true;
			count += good ? n : 0;
		} else {
			SAME("delete", gref_map_delete(&map, list, n), wanted);
			for (uint32_t i = 0; i < n; i++)
				there[first + i] = false;
			count -= wanted;
		}
		SAME("mapped", fake.mapped, count);
		for (uint32_t ref = 0; round % 50 == 0 && ref < FAKE_PAGES; ref++)
			SAME("has", has(ref), there[ref]);
	}
}

/* --- two threads ------------------------------------------------------------------------------ */

#define SHARED_PAGES 64u

/* The test's own mapping, which is taken away for good. */
static uint8_t *window;
static bool ends;
static uint64_t found, missed;

static void *poll_for_ever(void *context)
{
	uint32_t ref = 1;

	(void)context;
	while (!__atomic_load_n(&ends, __ATOMIC_RELAXED)) {
		struct gref_map *entered = gref_map_enter(&map);

		for (int i = 0; i < 32; i++, ref = ref % SHARED_PAGES + 1) {
			uint8_t bytes[64];

			if (!gref_map_read(entered, ref, 0, bytes, sizeof bytes)) {
				missed++;
			} else {
				found++;
				SAME("its own page", bytes[63], (uint8_t)(ref * 7 + 1));
			}
		}
		gref_map_leave(entered);
	}
	return NULL;
}

/* Instead of what fake_xen.c maps: a page that can be lost. */
static void replace_page(struct gref_map *of, uint32_t ref)
{
	uint8_t *at = window + ref * XEN_PAGE;

	assert_int_equal(mprotect(at, XEN_PAGE, PROT_READ | PROT_WRITE), 0);
	for (uint32_t i = 0; i < GREF_MAP_MAX; i++)
		if (of->pages[i].page == fake.guest[ref])
			of->pages[i].page = at;
}

static void nothing_is_unmapped_under_a_poll(void **state)
{
	pthread_t thread;

	(void)state;
	window = mmap(NULL, (SHARED_PAGES + 1) * XEN_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(window != MAP_FAILED);
	for (uint32_t ref = 1; ref <= SHARED_PAGES; ref++)
		memset(window + ref * XEN_PAGE, (int)(ref * 7 + 1), XEN_PAGE);
	ends = false;
	found = missed = 0;
	map.used = 1;
	assert_int_equal(pthread_create(&thread, NULL, poll_for_ever, NULL), 0);
	for (int round = 0; round < 20000; round++) {
		uint32_t ref = any(SHARED_PAGES) + 1;

		if (find(&map, ref)) {
			assert_int_equal(delete(ref), XEN_NETIF_CTRL_STATUS_SUCCESS);
			assert_int_equal(mprotect(window + ref * XEN_PAGE, XEN_PAGE, PROT_NONE), 0);
		} else {
			const struct xen_netif_gref gref = { .ref = ref };
			uint32_t place = map_page(&map, 0, &gref);

			replace_page(&map, ref);
			publish(&map, place);
		}
	}
	__atomic_store_n(&ends, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_true(found > 0 && missed > 0);
	munmap(window, (SHARED_PAGES + 1) * XEN_PAGE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pages_come_and_go), TEST(a_page_for_reading_is_not_written),
		TEST(a_list_counts_whole_or_not_at_all), TEST(as_many_as_the_limit), TEST(equals_the_twin),
		TEST(nothing_is_unmapped_under_a_poll),
	};

	return cmocka_run_group_tests_name("gref_map", tests, NULL, NULL);
}
