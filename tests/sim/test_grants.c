/* test_grants.c - the simulator's grant tables behave as Xen's and Linux's */
#include "simtest.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xenevtchn.h>
#include <xengnttab.h>

#include "simguest.h"

static struct simguest *guest;
static xengnttab_handle *gnttab;
static uint32_t frame;
static uint8_t *page;

static int setup(void **state)
{
	(void)state;
	guest = simguest_start(1);
	gnttab = xengnttab_open(NULL, 0);
	if (!guest || !gnttab)
		return -1;
	frame = simguest_page_alloc(guest);
	page = simguest_page(guest, frame);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	xengnttab_close(gnttab);
	simguest_destroy(guest);
	return simtest_idle() ? 0 : -1;
}

static void mapping_shows_the_page_and_pins_it(void **state)
{
	uint32_t ref = simguest_grant(guest, 0, frame, false);
	uint8_t *mapped;

	(void)state;
	page[5] = 55;
	mapped = xengnttab_map_grant_ref(gnttab, 1, ref, PROT_READ | PROT_WRITE);
	assert_non_null(mapped);
	assert_int_equal(mapped[5], 55);
	mapped[6] = 66;
	assert_int_equal(page[6], 66);
	assert_int_equal(simguest_entry(guest, ref)->flags,
			 GTF_permit_access | GTF_reading | GTF_writing);
	assert_false(simguest_revoke(guest, ref));
	assert_int_equal(simtest_count(1, "mapped"), 1);
	assert_int_equal(xengnttab_unmap(gnttab, mapped, 1), 0);
	assert_int_equal(simguest_entry(guest, ref)->flags, GTF_permit_access);
	assert_true(simguest_revoke(guest, ref));
}

static void assert_no_map(uint32_t domid, uint32_t ref, int prot)
{
	errno = 0;
	assert_null(xengnttab_map_grant_ref(gnttab, domid, ref, prot));
	assert_int_equal(errno, EINVAL);
}

static void mapping_is_refused(void **state)
{
	uint32_t readonly = simguest_grant(guest, 0, frame, true);
	uint32_t of_another = simguest_grant(guest, 7, frame, false);
	uint32_t no_memory = simguest_grant(guest, 0, SIM_PAGES, false);
	void *mapped;

	(void)state;
	assert_no_map(1, 4000, PROT_READ);
	assert_no_map(1, SIM_GRANTS, PROT_READ);
	assert_no_map(9, readonly, PROT_READ);
	assert_no_map(1, of_another, PROT_READ);
	assert_no_map(1, no_memory, PROT_READ);
	assert_no_map(1, readonly, PROT_READ | PROT_WRITE);
	mapped = xengnttab_map_grant_ref(gnttab, 1, readonly, PROT_READ);
	assert_non_null(mapped);
	assert_int_equal(simguest_entry(guest, readonly)->flags,
			 GTF_permit_access | GTF_readonly | GTF_reading);
	assert_int_equal(xengnttab_unmap(gnttab, mapped, 2), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(xengnttab_unmap(gnttab, mapped, 1), 0);
}

static void many_pages_map_in_a_row_or_not_at_all(void **state)
{
	uint32_t refs[3];
	uint8_t *mapped;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t other = simguest_page_alloc(guest);

		*(uint8_t *)simguest_page(guest, other) = (uint8_t)(i + 1);
		refs[i] = simguest_grant(guest, 0, other, false);
	}
	mapped = xengnttab_map_domain_grant_refs(gnttab, 3, 1, refs, PROT_READ);
	assert_non_null(mapped);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(mapped[i * SIM_PAGE], i + 1);
	assert_int_equal(xengnttab_unmap(gnttab, mapped, 3), 0);
	assert_true(simguest_revoke(guest, refs[2]));
	assert_null(xengnttab_map_domain_grant_refs(gnttab, 3, 1, refs, PROT_READ));
	assert_int_equal(simtest_count(1, "mapped"), 0);
	assert_true(simguest_revoke(guest, refs[0]));
}

static xengnttab_grant_copy_segment_t to_guest(uint32_t domid, uint32_t ref, uint16_t offset,
					       void *from, uint16_t length)
{
	return (xengnttab_grant_copy_segment_t){ .source.virt = from,
		.dest.foreign = { .ref = ref, .offset = offset, .domid = (uint16_t)domid },
		.len = length, .flags = GNTCOPY_dest_gref, .status = 99 };
}

static xengnttab_grant_copy_segment_t from_guest(uint32_t domid, uint32_t ref, uint16_t offset,
						 void *to, uint16_t length)
{
	return (xengnttab_grant_copy_segment_t){ .dest.virt = to,
		.source.foreign = { .ref = ref, .offset = offset, .domid = (uint16_t)domid },
		.len = length, .flags = GNTCOPY_source_gref, .status = 99 };
}

static void each_copy_has_its_own_status(void **state)
{
	char text[] = "hello", got[8] = { 0 };
	uint32_t good = simguest_grant(guest, 0, frame, false);
	uint32_t readonly = simguest_grant(guest, 0, frame, true);
	uint32_t of_another = simguest_grant(guest, 7, frame, false);
	uint32_t no_memory = simguest_grant(guest, 0, SIM_PAGES, false);
	xengnttab_grant_copy_segment_t segments[] = {
		to_guest(1, good, 4090, text, 6),
		from_guest(1, readonly, 4090, got, 6),
		to_guest(1, readonly, 0, text, 6),
		to_guest(1, of_another, 0, text, 6),
		to_guest(1, no_memory, 0, text, 6),
		to_guest(1, SIM_GRANTS, 0, text, 6),
		to_guest(9, good, 0, text, 6),
		to_guest(1, good, 0, NULL, 0),
	};
	static const int16_t expected[] = {
		GNTST_okay, GNTST_okay, GNTST_general_error, GNTST_general_error,
		GNTST_bad_page, GNTST_bad_gntref, GNTST_bad_domain, GNTST_okay,
	};

	(void)state;
	assert_int_equal(xengnttab_grant_copy(gnttab, 8, segments), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(segments[i].status, expected[i]);
	assert_string_equal(got, "hello");
	assert_int_equal(simguest_entry(guest, good)->flags, GTF_permit_access);
	assert_int_equal(simguest_entry(guest, no_memory)->flags, GTF_permit_access);
	assert_int_equal(simguest_entry(guest, readonly)->flags, GTF_permit_access | GTF_readonly);
}

static void some_segments_fail_the_call(void **state)
{
	char text[] = "hello";
	uint32_t ref = simguest_grant(guest, 0, frame, false);
	xengnttab_grant_copy_segment_t crosses = to_guest(1, ref, 4091, text, 6);
	xengnttab_grant_copy_segment_t local = { .source.virt = text, .dest.virt = text, .len = 1 };

	(void)state;
	assert_int_equal(xengnttab_grant_copy(gnttab, 1, &crosses), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(xengnttab_grant_copy(gnttab, 1, &local), -1);
	assert_int_equal(errno, EINVAL);
}

static void a_local_end_may_cross_pages(void **state)
{
	static uint8_t buffer[3 * SIM_PAGE];
	uint32_t ref = simguest_grant(guest, 0, frame, true);
	xengnttab_grant_copy_segment_t segment = from_guest(1, ref, 0, buffer + 100, SIM_PAGE);

	(void)state;
	memset(page, 3, SIM_PAGE);
	assert_int_equal(xengnttab_grant_copy(gnttab, 1, &segment), 0);
	assert_int_equal(segment.status, GNTST_okay);
	assert_memory_equal(buffer + 100, page, SIM_PAGE);
}

static void a_copy_goes_from_guest_to_guest(void **state)
{
	struct simguest *other = simguest_start(2);
	uint32_t other_frame = simguest_page_alloc(other);
	uint32_t source = simguest_grant(guest, 0, frame, true);
	uint32_t dest = simguest_grant(other, 0, other_frame, false);
	xengnttab_grant_copy_segment_t segment = from_guest(1, source, 10, NULL, 100);

	(void)state;
	segment.flags |= GNTCOPY_dest_gref;
	segment.dest.foreign.ref = dest;
	segment.dest.foreign.offset = 20;
	segment.dest.foreign.domid = 2;
	memset(page + 10, 77, 100);
	assert_int_equal(xengnttab_grant_copy(gnttab, 1, &segment), 0);
	assert_int_equal(segment.status, GNTST_okay);
	assert_memory_equal((uint8_t *)simguest_page(other, other_frame) + 20, page + 10, 100);
	simguest_destroy(other);
}

static void a_revoked_page_cannot_be_reached(void **state)
{
	char text[] = "hello";
	uint32_t ref = simguest_grant(guest, 0, frame, false);
	xengnttab_grant_copy_segment_t segment = to_guest(1, ref, 0, text, 6);

	(void)state;
	assert_true(simguest_revoke(guest, ref));
	assert_int_equal(xengnttab_grant_copy(gnttab, 1, &segment), 0);
	assert_int_equal(segment.status, GNTST_general_error);
}

static void a_domid_is_another_domain_the_second_time(void **state)
{
	char text[] = "hello";
	struct simguest *other = simguest_start(2);
	uint32_t ref = simguest_grant(other, 0, simguest_page_alloc(other), false), again;
	xengnttab_grant_copy_segment_t segment = to_guest(2, ref, 0, text, 6);
	uint8_t *mapped = xengnttab_map_grant_ref(gnttab, 2, ref, PROT_READ);

	(void)state;
	assert_int_equal(xengnttab_grant_copy(gnttab, 1, &segment), 0);
	assert_int_equal(segment.status, GNTST_okay);
	simguest_destroy(other);
	assert_int_equal(xengnttab_grant_copy(gnttab, 1, &segment), 0);
	assert_int_equal(segment.status, GNTST_bad_domain);
	other = simguest_start(2);
	assert_int_equal(xengnttab_grant_copy(gnttab, 1, &segment), 0);
	assert_int_equal(segment.status, GNTST_general_error);
	again = simguest_grant(other, 0, simguest_page_alloc(other), false);
	segment = to_guest(2, again, 0, text, 6);
	assert_int_equal(xengnttab_grant_copy(gnttab, 1, &segment), 0);
	assert_int_equal(segment.status, GNTST_okay);
	assert_string_equal((char *)mapped, "hello");	/* the old domain's page */
	assert_int_equal(xengnttab_unmap(gnttab, mapped, 1), 0);
	simguest_destroy(other);
}

static void map_and_hang(void *argument, int ready)
{
	xengnttab_handle *own = xengnttab_open(NULL, 0);

	if (xengnttab_map_grant_ref(own, 1, *(uint32_t *)argument, PROT_READ | PROT_WRITE) &&
	    write(ready, "", 1) == 1)
		pause();
}

static void death_drops_mappings(void **state)
{
	uint32_t ref = simguest_grant(guest, 0, frame, false);
	int child = simtest_child(map_and_hang, &ref);

	(void)state;
	assert_int_equal(simtest_count(1, "mapped"), 1);
	assert_false(simguest_revoke(guest, ref));
	simtest_kill(child);
	simtest_await(1, "mapped", 0);
	assert_true(simguest_revoke(guest, ref));
}

static void copy_for_ever(void *argument, int ready)
{
	static char buffer[SIM_PAGE];
	xengnttab_handle *own = xengnttab_open(NULL, 0);
	xengnttab_grant_copy_segment_t segment =
		to_guest(1, *(uint32_t *)argument, 0, buffer, SIM_PAGE);

	if (write(ready, "", 1) == 1)
		for (;;)
			xengnttab_grant_copy(own, 1, &segment);
}

static void death_in_a_copy_leaves_no_pin(void **state)
{
	uint32_t ref = simguest_grant(guest, 0, frame, false);

	(void)state;
	for (int i = 0; i < 20; i++) {
		unsigned int before = simtest_count(0, "gnttab");
		int child = simtest_child(copy_for_ever, &ref);

		simtest_kill(child);
		simtest_await(0, "gnttab", before);
		assert_true(simguest_revoke(guest, ref));
		simguest_grant_again(guest, ref, 0, frame, false);
	}
}

static void *copy_much(void *argument)
{
	char buffer[64] = "thread";
	uintptr_t bad = 0;

	for (int i = 0; i < 20000; i++) {
		xengnttab_grant_copy_segment_t segment =
			to_guest(1, *(uint32_t *)argument, 0, buffer, 64);

		bad += xengnttab_grant_copy(gnttab, 1, &segment) != 0 ||
		       segment.status != GNTST_okay;
	}
	return (void *)bad;
}

static void threads_share_a_handle(void **state)
{
	uint32_t refs[2] = { simguest_grant(guest, 0, frame, false),
			     simguest_grant(guest, 0, simguest_page_alloc(guest), false) };
	pthread_t threads[4];
	void *bad;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, copy_much, &refs[i % 2]), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &bad), 0);
		assert_ptr_equal(bad, NULL);
	}
	assert_int_equal(simguest_entry(guest, refs[0])->flags, GTF_permit_access);
}

static void copy_unprivileged(void *argument, int ready)
{
	char buffer[64] = "unprivileged";
	xengnttab_grant_copy_segment_t segment = to_guest(1, *(uint32_t *)argument, 0, buffer, 64);

	/* The parent's handle, opened as root and not used yet. */
	if (setuid(65534) == 0 && xengnttab_grant_copy(gnttab, 1, &segment) == 0 &&
	    segment.status == GNTST_okay && write(ready, "", 1) == 1)
		pause();
}

static void a_handle_outlives_privileges(void **state)
{
	uint32_t ref = simguest_grant(guest, 0, frame, false);

	(void)state;
	simtest_kill(simtest_child(copy_unprivileged, &ref));
	assert_string_equal((char *)page, "unprivileged");
}

static void shared_pages_have_grants(void **state)
{
	xengntshr_handle *gntshr = xengntshr_open(NULL, 0);
	uint32_t refs[3];
	uint8_t *shared = xengntshr_share_pages(gntshr, 0, 3, refs, 1);
	uint32_t ref = simguest_grant(guest, 0, frame, true);
	xengnttab_grant_copy_segment_t segment = from_guest(1, ref, 0, NULL, 32);

	(void)state;
	assert_non_null(shared);
	assert_int_equal(shared[2 * SIM_PAGE], 0);
	strcpy((char *)page, "both ends granted");
	segment.flags |= GNTCOPY_dest_gref;
	segment.dest.foreign.ref = refs[2];
	segment.dest.foreign.offset = 8;
	segment.dest.foreign.domid = DOMID_SELF;
	assert_int_equal(xengnttab_grant_copy(gnttab, 1, &segment), 0);
	assert_int_equal(segment.status, GNTST_okay);
	assert_string_equal((char *)shared + 2 * SIM_PAGE + 8, "both ends granted");
	assert_int_equal(xengntshr_unshare(gntshr, shared, 2), -1);
	assert_int_equal(xengntshr_unshare(gntshr, shared, 3), 0);
	assert_int_equal(simtest_count(0, "shared"), 0);
	assert_int_equal(xengnttab_grant_copy(gnttab, 1, &segment), 0);
	assert_int_equal(segment.status, GNTST_general_error);
	xengntshr_close(gntshr);
}

static void sharing_is_limited(void **state)
{
	xengntshr_handle *gntshr = xengntshr_open(NULL, 0);
	static uint32_t refs[1024];

	(void)state;
	assert_non_null(xengntshr_share_pages(gntshr, 1, 1000, refs, 1));
	assert_null(xengntshr_share_pages(gntshr, 1, 25, refs, 1));
	assert_int_equal(errno, ENOSPC);
	assert_non_null(xengntshr_share_pages(gntshr, 1, 24, refs, 0));
	xengntshr_close(gntshr);
	simtest_await(0, "shared", 0);
	simtest_await(0, "granted", 0);
}

static void a_mapped_shared_page_outlives_its_owner(void **state)
{
	xengntshr_handle *gntshr = xengntshr_open(NULL, 0);
	uint32_t ref;
	char *shared = xengntshr_share_pages(gntshr, 0, 1, &ref, 1), *mapped;

	(void)state;
	strcpy(shared, "still here");
	mapped = xengnttab_map_grant_ref(gnttab, 0, ref, PROT_READ);
	assert_non_null(mapped);
	xengntshr_close(gntshr);
	simtest_await(0, "gntshr", 0);
	assert_string_equal(mapped, "still here");
	assert_int_equal(simtest_count(0, "shared"), 1);
	assert_int_equal(xengnttab_unmap(gnttab, mapped, 1), 0);
	assert_int_equal(simtest_count(0, "shared"), 0);
}

static void unmapping_notifies(void **state)
{
	uint32_t ref = simguest_grant(guest, 0, frame, false);
	int remote = simguest_port_alloc(guest, 0), local;
	xenevtchn_handle *evtchn = xenevtchn_open(NULL, 0);
	void *mapped;

	(void)state;
	local = xenevtchn_bind_interdomain(evtchn, 1, (evtchn_port_t)remote);
	page[100] = 1;
	mapped = xengnttab_map_grant_ref_notify(gnttab, 1, ref, PROT_READ | PROT_WRITE, 100,
						(evtchn_port_t)local);
	assert_non_null(mapped);
	assert_int_equal(xengnttab_unmap(gnttab, mapped, 1), 0);
	assert_int_equal(page[100], 0);
	assert_int_equal(simguest_wait(guest, 10000), remote);
	xenevtchn_close(evtchn);
	simtest_await(0, "evtchn", 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(mapping_shows_the_page_and_pins_it),
		TEST(mapping_is_refused),
		TEST(many_pages_map_in_a_row_or_not_at_all),
		TEST(each_copy_has_its_own_status),
		TEST(some_segments_fail_the_call),
		TEST(a_local_end_may_cross_pages),
		TEST(a_copy_goes_from_guest_to_guest),
		TEST(a_revoked_page_cannot_be_reached),
		TEST(a_domid_is_another_domain_the_second_time),
		TEST(death_drops_mappings),
		TEST(death_in_a_copy_leaves_no_pin),
		TEST(threads_share_a_handle),
		TEST(a_handle_outlives_privileges),
		TEST(shared_pages_have_grants),
		TEST(sharing_is_limited),
		TEST(a_mapped_shared_page_outlives_its_owner),
		TEST(unmapping_notifies),
	};

	return cmocka_run_group_tests_name("grants", tests, simtest_start, simtest_stop);
}
