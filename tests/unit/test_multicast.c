/* test_multicast.c - the list of multicast addresses, against a naive one, and by several threads at once */
#include <pthread.h>
#include <stdlib.h>

#include "../../backend/multicast.c"
#include "unit.h"

#define THREADS 4

static struct multicast list;

static void mac_of(unsigned int number, uint8_t mac[6])
{
	mac[0] = 0x01;
	mac[1] = 0x00;
	mac[2] = 0x5e;
	mac[3] = (uint8_t)(number >> 16);
	mac[4] = (uint8_t)(number >> 8);
	mac[5] = (uint8_t)number;
}

static int setup(void **state)
{
	(void)state;
	memset(&list, 0, sizeof list);
	multicast_clear(&list);
	return 0;
}

static void what_is_multicast(void **state)
{
	static const struct { uint8_t mac[6]; bool is; } rows[] = {
		{ { 0x01, 0, 0x5e, 0, 0, 1 }, true }, { { 0x33, 0x33, 0, 0, 0, 1 }, true },
		{ { 0x01, 0x80, 0xc2, 0, 0, 0 }, true }, { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe }, true },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, false }, { { 0x00, 0x16, 0x3e, 0, 0, 1 }, false },
		{ { 0 }, false }, { { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff }, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		SAME("is", multicast_is(rows[i].mac), rows[i].is);
		SAME("can be added", multicast_add(&list, rows[i].mac), rows[i].is);
		SAME("is there", multicast_has(&list, rows[i].mac), rows[i].is);
	}
}

static void sixty_four_and_no_more(void **state)
{
	uint8_t mac[6];

	(void)state;
	for (unsigned int i = 0; i < MULTICAST_MAX; i++) {
		mac_of(i, mac);
		assert_true(multicast_add(&list, mac));
		assert_true(multicast_add(&list, mac));		/* takes no second place */
	}
	mac_of(MULTICAST_MAX, mac);
	assert_false(multicast_add(&list, mac));
	assert_false(multicast_has(&list, mac));
	mac_of(7, mac);
	assert_true(multicast_add(&list, mac));
	multicast_remove(&list, mac);
	assert_false(multicast_has(&list, mac));
	mac_of(MULTICAST_MAX, mac);
	assert_true(multicast_add(&list, mac));
}

static void an_unknown_list_has_everything(void **state)
{
	uint8_t mac[6];

	(void)state;
	memset(&list, 0, sizeof list);
	mac_of(1, mac);
	assert_true(multicast_has(&list, mac));
	assert_true(multicast_add(&list, mac));
	multicast_clear(&list);
	assert_false(multicast_has(&list, mac));
}

/* Random edits, against a table of what is in. */
static void as_a_naive_list(void **state)
{
	bool in[100] = { false };
	int count = 0;

	(void)state;
	srandom(7);
	for (int i = 0; i < 20000; i++) {
		unsigned int number = (unsigned int)random() % COUNT_OF(in);
		uint8_t mac[6], at[6];
		int listed = 0;

		mac_of(number, mac);
		if (random() % 3 == 0) {
			multicast_remove(&list, mac);
			count -= in[number];
			in[number] = false;
		} else {
			bool fits = in[number] || count < MULTICAST_MAX;

			SAME("added", multicast_add(&list, mac), fits);
			count += fits && !in[number];
			in[number] = fits;
		}
		SAME("there", multicast_has(&list, mac), in[number]);
		for (int place = 0; place < MULTICAST_MAX; place++)
			if (multicast_at(&list, place, at)) {
				listed++;
				assert_true(in[at[4] << 8 | at[5]]);
			}
		SAME("listed", listed, count);
	}
}

/* Each has addresses of its own, which come and go; those of the others stay what they are. */
static void *edit(void *argument)
{
	unsigned int base = *(unsigned int *)argument;
	uint8_t mac[6];

	for (int i = 0; i < 2000; i++) {
		mac_of(base + (unsigned int)i % 8, mac);
		if (!multicast_add(&list, mac) || !multicast_has(&list, mac))
			return argument;
		if (i < 2000 - 8)
			multicast_remove(&list, mac);
	}
	return NULL;
}

static void threads_edit_at_once(void **state)
{
	unsigned int bases[THREADS];
	pthread_t threads[THREADS];
	uint8_t mac[6];

	(void)state;
	for (unsigned int i = 0; i < THREADS; i++) {
		bases[i] = i * 100;
		assert_int_equal(pthread_create(&threads[i], NULL, edit, &bases[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	for (unsigned int i = 0; i < THREADS * 8; i++) {
		mac_of(i / 8 * 100 + i % 8, mac);
		assert_true(multicast_has(&list, mac));
	}
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_multicast), TEST(sixty_four_and_no_more), TEST(an_unknown_list_has_everything),
		TEST(as_a_naive_list), TEST(threads_edit_at_once),
	};

	return cmocka_run_group_tests_name("multicast", tests, NULL, NULL);
}
