/* test_gcopy.c - every operation has its own end points, its own status, and fails alone */
#include "../../backend/gcopy.c"
#include "fake_xen.c"
#include "unit.h"

static xengnttab_handle *gnttab;
static struct gcopy batch;

static int setup(void **state)
{
	(void)state;
	fake_xen_setup();
	gnttab = xengnttab_open(NULL, 0);
	gcopy_init(&batch, gnttab, FAKE_GUEST, FAKE_SELF);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	xengnttab_close(gnttab);
	fake_xen_teardown();
	return 0;
}

static void copies_reach_plain_and_granted_memory_both_ways(void **state)
{
	static _Alignas(4096) uint8_t plain[4096];
	xengntshr_handle *gntshr = xengntshr_open(NULL, 0);
	uint32_t gref[2];
	uint8_t *granted = xengntshr_share_pages(gntshr, FAKE_SELF, 2, gref, 1);
	const struct page_buffer to_plain = { plain, GREF_NONE };
	const struct page_buffer to_granted = { granted + 4096, gref[1] };

	(void)state;
	memset(fake.guest[3] + 100, 'a', 50);
	memset(fake.guest[4], 'b', 4096);
	gcopy_from_guest(&batch, 3, 100, &to_plain, 70, 50);
	gcopy_from_guest(&batch, 4, 0, &to_granted, 0, 4096);
	gcopy_run(&batch);
	assert_true(gcopy_ok(&batch, 0) && gcopy_ok(&batch, 1));
	assert_memory_equal(plain + 70, fake.guest[3] + 100, 50);
	assert_int_equal(plain[69], 0);
	assert_int_equal(plain[120], 0);
	assert_memory_equal(granted + 4096, fake.guest[4], 4096);

	gcopy_reset(&batch);
	memset(plain, 'c', sizeof plain);
	memset(granted, 'd', 4096);
	gcopy_to_guest(&batch, 5, 10, plain + 33, GREF_NONE, 200);
	gcopy_to_guest(&batch, 6, 0, granted + 96, gref[0], 4000);
	gcopy_run(&batch);
	assert_true(gcopy_ok(&batch, 0) && gcopy_ok(&batch, 1));
	assert_memory_equal(fake.guest[5] + 10, plain + 33, 200);
	assert_int_equal(fake.guest[5][9], 0x5a);
	assert_int_equal(fake.guest[5][210], 0x5a);
	assert_memory_equal(fake.guest[6], granted + 96, 4000);
	assert_int_equal(batch.batches, 2);
	assert_int_equal(batch.operations, 4);
	xengntshr_unshare(gntshr, granted, 2);
	xengntshr_close(gntshr);
}

static void each_operation_fails_alone(void **state)
{
	static _Alignas(4096) uint8_t memory[GCOPY_OPERATIONS][4096];
	static const int16_t statuses[] = {
		GNTST_general_error, GNTST_bad_domain, GNTST_bad_gntref, GNTST_bad_handle,
		GNTST_no_device_space, GNTST_permission_denied, GNTST_bad_page, GNTST_bad_copy_arg,
		GNTST_address_too_big, GNTST_eagain,
	};

	(void)state;
	for (uint32_t failing = 0; failing < GCOPY_OPERATIONS; failing++) {
		fake.fail_operation = fake.copy_operations + failing;
		fake.fail_status = statuses[failing % COUNT_OF(statuses)];
		gcopy_reset(&batch);
		for (uint32_t i = 0; i < GCOPY_OPERATIONS; i++) {
			const struct page_buffer to = { memory[i], GREF_NONE };

			gcopy_from_guest(&batch, i, 0, &to, 0, 64);
			SAME("count", batch.count, i + 1);
		}
		SAME("room", gcopy_room(&batch), 0);
		gcopy_run(&batch);
		for (uint32_t i = 0; i < GCOPY_OPERATIONS; i++)
			SAME("ok", gcopy_ok(&batch, i), i != failing);
	}
}

static void a_bad_reference_is_a_status(void **state)
{
	static _Alignas(4096) uint8_t memory[4096];
	const struct page_buffer to = { memory, GREF_NONE };

	(void)state;
	gcopy_from_guest(&batch, FAKE_PAGES, 0, &to, 0, 1);
	gcopy_from_guest(&batch, 0, 0, &to, 0, 1);
	gcopy_to_guest(&batch, UINT32_MAX, 0, memory, GREF_NONE, 1);
	gcopy_run(&batch);
	assert_false(gcopy_ok(&batch, 0));
	assert_true(gcopy_ok(&batch, 1));
	assert_false(gcopy_ok(&batch, 2));
}

static void a_failed_call_fails_all_and_an_empty_batch_makes_none(void **state)
{
	static _Alignas(4096) uint8_t memory[4096];
	const struct page_buffer to = { memory, GREF_NONE };

	(void)state;
	gcopy_run(&batch);
	assert_int_equal(fake.copy_calls, 0);
	assert_int_equal(batch.batches, 0);
	for (int i = 0; i < 3; i++)
		gcopy_from_guest(&batch, 1, 0, &to, 0, 1);
	gcopy_run(&batch);
	fake.fail_copy_call = true;
	gcopy_run(&batch);	/* statuses of the run before must not show through */
	for (uint32_t i = 0; i < 3; i++)
		assert_false(gcopy_ok(&batch, i));
	gcopy_reset(&batch);
	gcopy_from_guest(&batch, 1, 0, &to, 0, 1);
	assert_false(gcopy_ok(&batch, 0));	/* not run yet: not ok */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(copies_reach_plain_and_granted_memory_both_ways),
		TEST(each_operation_fails_alone),
		TEST(a_bad_reference_is_a_status),
		TEST(a_failed_call_fails_all_and_an_empty_batch_makes_none),
	};

	return cmocka_run_group_tests_name("gcopy", tests, NULL, NULL);
}
