/* test_staging.c - guests that have their pages mapped (staging grants), served by the real unetbackd
 *
 * Shown: frames of mapped slots move both ways and not one of them by the hypervisor; pages come and go under
 * traffic without a lost or a spoiled frame, over several queues; nothing is mapped any more once the guest was
 * told so (netfront.c judges), and before Closed; lists that make no sense map nothing; traffic goes on when the
 * instance was killed.  What the map itself does: unit/test_gref_map.c. */
#include "simback.h"

#include <stdio.h>
#include <string.h>

static struct simguest *guest;
static struct simvif *vif;

static void open_vif(uint32_t queues)
{
	const struct netfront_config config = { .queues = queues, .control_ring = true };

	vif = simvif_open(guest, 0, &config, "9000");
	simvif_exchange(vif, 2);
}

static int setup(void **state)
{
	(void)state;
	guest = simback_guest(1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(vif->spoiled, 0);
	assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
	assert_int_equal(vif->fe->violations, 0);
	simvif_free(vif);
	simback_destroy(guest);
	return 0;
}

static void stage_all(void)
{
	for (uint32_t queue = 0; queue < vif->fe->queue_count; queue++)
		assert_int_equal(netfront_stage(vif->fe, queue, SIMBACK_PATIENCE), 512 / vif->fe->queue_count);
}

static void unstage_all(int wanted)
{
	for (uint32_t queue = 0; queue < vif->fe->queue_count; queue++)
		assert_int_equal(netfront_unstage(vif->fe, queue, SIMBACK_PATIENCE), wanted);
}

static long long count(const char *key)
{
	return simback_number("stats", vif->name, "queue-0", key);
}

static bool all_came(void *context)
{
	(void)context;
	return vif->at_host >= vif->number - 1 && vif->at_guest == vif->number;
}

/* One frame of each length each way. */
static void move_frames(int rounds)
{
	static const uint32_t lengths[] = { 18, 60, 1514, 4096, 4097, 9014 };

	for (int i = 0; i < rounds * 6; i++) {
		vif->fe->tx_queue = (uint32_t)i % vif->fe->queue_count;
		assert_true(simvif_send(vif, lengths[i % 6]));
		simvif_flood(vif, 1, lengths[i % 6]);
		simback_await(all_came, NULL);
	}
	simback_await(simvif_tx_idle, vif);
}

static void mapped_pages_need_no_hypervisor(void **state)
{
	long long operations, mapped;

	(void)state;
	open_vif(1);
	move_frames(1);
	assert_int_equal(count("copy_mapped"), 0);
	stage_all();
	move_frames(1);
	operations = count("copy_operations");
	mapped = count("copy_mapped");
	assert_true(mapped > 0);
	assert_int_equal(count("mapped_pages"), 512);
	move_frames(100);			/* over all slots of both rings, and again */
	assert_int_equal(count("copy_operations"), operations);
	assert_true(count("copy_mapped") >= mapped + 1200);
	assert_int_equal(count("copy_batches") > 0, true);
	unstage_all(512);
	mapped = count("copy_mapped");
	assert_int_equal(count("mapped_pages"), 0);
	move_frames(2);
	assert_int_equal(count("copy_mapped"), mapped);
	assert_true(count("copy_operations") > operations);
	simback_await(simvif_balanced, vif);
}

/* A burst each way is on its way whenever pages come or go. */
static void pages_come_and_go_under_traffic(void **state)
{
	(void)state;
	open_vif(2);
	for (int i = 0; i < 60; i++) {
		for (int n = 0; n < 20; n++) {
			vif->fe->tx_queue = (uint32_t)n % 2;
			assert_true(simvif_send(vif, 1514));
			simvif_flood(vif, 1, 1514);
		}
		if (i % 2 == 0)
			stage_all();
		else
			unstage_all(256);
		simback_await(all_came, NULL);
	}
	simback_await(simvif_tx_idle, vif);
	assert_int_equal(vif->fe->stats.tx_error, 0);
	assert_int_equal(vif->fe->stats.rx_error, 0);
	simback_await(simvif_balanced, vif);
}

static void mappings_end_with_the_connection(void **state)
{
	(void)state;
	open_vif(2);
	for (int i = 0; i < 3; i++) {
		stage_all();
		move_frames(2);
		assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));	/* a page still mapped is a violation */
		assert_true(netfront_reopen(vif->fe));
		simvif_exchange(vif, 2);
		unstage_all(0);
		move_frames(1);
	}
	stage_all();				/* and is given back with the domain, too */
}

static void ask(uint16_t type, uint32_t queue, uint32_t ref, uint32_t entries, uint32_t wanted)
{
	const uint32_t arguments[3] = { queue, ref, entries };
	uint32_t status;

	assert_true(netfront_control(vif->fe, type, arguments, &status, NULL, SIMBACK_PATIENCE));
	assert_int_equal(status, wanted);
}

static void lists_that_make_no_sense_map_nothing(void **state)
{
	const uint16_t add = XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING;
	const uint32_t bad = XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER;
	struct xen_netif_gref *list;
	uint32_t page;

	(void)state;
	open_vif(1);
	page = netfront_control_ref(vif->fe);
	list = netfront_control_page(vif->fe);
	memset(list, 0, 4096);
	ask(add, 0, page, 1, bad);			/* reference 0 */
	ask(add, 1, page, 1, bad);			/* there is one queue */
	ask(add, 0, page, 513, bad);
	ask(add, 0, 4000, 1, bad);			/* nothing is granted there */
	list[0].ref = page;
	list[1].ref = 4000;
	ask(add, 0, page, 2, bad);			/* the second cannot be mapped */
	list[1].ref = page;
	ask(add, 0, page, 2, bad);			/* twice */
	ask(add, 0, page, 1, XEN_NETIF_CTRL_STATUS_SUCCESS);
	ask(add, 0, page, 1, bad);			/* is there already */
	ask(XEN_NETIF_CTRL_TYPE_DEL_GREF_MAPPING, 0, page, 1, XEN_NETIF_CTRL_STATUS_SUCCESS);
	assert_int_equal(list[0].status, 0);
	move_frames(1);
}

/* The next one maps nothing: slots are copied by the hypervisor, until the guest stages them again. */
static void traffic_goes_on_when_the_instance_is_killed(void **state)
{
	(void)state;
	open_vif(1);
	stage_all();
	move_frames(2);
	simback_kill_instance(vif->name);
	simvif_exchange(vif, 2);
	move_frames(2);
	assert_int_equal(count("copy_mapped"), 0);
	unstage_all(0);
	stage_all();
	move_frames(2);
	assert_true(count("copy_mapped") > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int start(void **state)
{
	static const char *const options[] = { "--queues=2", NULL };

	(void)state;
	return simback_start(options);
}

static int stop(void **state)
{
	(void)state;
	return simback_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mapped_pages_need_no_hypervisor),
		TEST(pages_come_and_go_under_traffic),
		TEST(mappings_end_with_the_connection),
		TEST(lists_that_make_no_sense_map_nothing),
		TEST(traffic_goes_on_when_the_instance_is_killed),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
