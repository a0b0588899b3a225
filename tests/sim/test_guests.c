/* test_guests.c - several vifs and guests of the real unetbackd, their comings and goings
 *
 * Shown: a vif that is stuck, broken or detached does not touch the other one of the same guest; one
 * detached under load both ways closes in time with all grants back; twenty rounds of create and
 * destroy leave neither a process nor a descriptor; ten guests are served at once, and removed at
 * once.  Leaks of memory show when the sanitized programs end. */
#include "simback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 20
#define GUESTS 10

/* simtoolstack COMMAND DOMID [HANDLE] beside us; its pid. */
static pid_t begin(const char *command, uint32_t domid, const char *handle)
{
	pid_t child = fork();
	char number[16];

	assert_true(child >= 0);
	if (child > 0)
		return child;
	snprintf(number, sizeof number, "%u", domid);
	_exit(simtest_run(SIMBACK_TOOLSTACK, command, number, handle ? handle : "timeout=20",
			  handle ? "timeout=20" : NULL, NULL));
}

static bool has_ended(void *context)
{
	pid_t *child = context;
	int status;

	if (*child == 0)
		return true;
	if (waitpid(*child, &status, WNOHANG) != *child)
		return false;
	assert_int_equal(status, 0);
	*child = 0;
	return true;
}

static void detach(const struct simvif *vif, const char *handle)
{
	pid_t child = begin("detach", vif->domid, handle);

	simback_await(has_ended, &child);
}

/* --- two vifs of one guest -------------------------------------------------------------------- */

static struct simguest *guest;
static struct simvif *one, *two;
static long long instance;

static int setup_two(void **state)
{
	(void)state;
	guest = simback_guest(1);
	one = simvif_open(guest, 0, NULL, NULL);
	two = simvif_open(guest, 1, NULL, NULL);
	simvif_exchange(one, 4);
	simvif_exchange(two, 4);
	instance = simback_number("show", two->name, "instance", "pid");
	return 0;
}

static int teardown_two(void **state)
{
	(void)state;
	simvif_free(one);
	simvif_free(two);
	one = two = NULL;
	simback_destroy(guest);
	return 0;
}

/* The second vif has noticed nothing, and the process that serves both has not ended. */
static void assert_two_goes_on(void)
{
	simvif_exchange(two, 20);
	simback_await(simvif_balanced, two);
	assert_int_equal(simback_number("show", two->name, "instance", "restarts"), 0);
	assert_int_equal(simback_number("show", two->name, "instance", "pid"), instance);
}

static void one_stuck(void **state)
{
	(void)state;
	one->fe->frozen_rx = true;
	for (int i = 0; i < 10; i++) {
		simvif_flood(one, 200, 1514);
		assert_two_goes_on();
	}
	simback_await(simvif_balanced, one);
	assert_true(simback_number("stats", one->name, NULL, "guest_rx_queued_frames") > 0);
	one->fe->frozen_rx = false;
	netfront_rx_refill(one->fe);
	simvif_exchange(one, 4);
}

static void one_broken(void **state)
{
	struct netfront_tx *tx = &one->fe->queues[0].tx;

	(void)state;
	netfront_judge_off(one->fe);
	__atomic_store_n(&tx->shared->req_prod, tx->shared->rsp_prod + 1000, __ATOMIC_RELEASE);
	simguest_notify(guest, tx->port);
	simback_await(simvif_closed, one);
	assert_non_null(strstr(simvif_error(one), "22 vif1.0: guest_tx: requests in the ring: "));
	assert_string_equal(simvif_error(two), "");
	/* What it counted is there to be asked for afterwards. */
	assert_int_equal(simback_number("stats", one->name, "guest_tx_verdicts", "ring-broken"), 1);
	assert_two_goes_on();
}

static void one_detached_and_attached(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		detach(one, "0");
		assert_int_equal(one->fe->violations, 0);
		simvif_free(one);
		one = NULL;
		assert_two_goes_on();
		one = simvif_open(guest, 0, NULL, NULL);
		simvif_exchange(one, 4);
		assert_two_goes_on();
	}
}

/* --- under load ------------------------------------------------------------------------------- */

static void load(struct simvif *vif)
{
	while (vif->fe->rings && simvif_send(vif, 9014))
		continue;
	simvif_flood(vif, 20, 1514);
}

/* The frontend follows Closing as Linux's does, in the midst of it. */
static void detached_under_load(void **state)
{
	pid_t child;

	(void)state;
	for (int i = 0; i < 50; i++) {
		load(one);
		simback_serve(0);
	}
	child = begin("detach", 1, "0");
	while (!has_ended(&child)) {
		if (!simvif_closed(one))
			load(one);
		simback_serve(1);
	}
	assert_int_equal(one->fe->violations, 0);
	assert_int_equal(simtest_count(1, "mapped"), 2);	/* the other's rings */
	simvif_exchange(two, 4);
}

/* The guest dies with its rings full of requests. */
static void crashed_under_load(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		load(one);
		load(two);
		simback_serve(0);
	}
	load(one);
	load(two);
}

/* --- many ------------------------------------------------------------------------------------- */

static bool has_no_children(void *context)
{
	(void)context;
	return simback_children() == 0;
}

static int round_of(uint32_t domid)
{
	struct simguest *one_guest = simback_guest(domid);
	struct simvif *vif = simvif_open(one_guest, 0, NULL, NULL);

	simvif_exchange(vif, 4);
	assert_int_equal(vif->fe->violations, 0);
	simvif_free(vif);
	simback_destroy(one_guest);
	simback_await(has_no_children, NULL);
	return simback_descriptors();
}

/* Commands hold some for a moment. */
static bool has_no_more_descriptors(void *context)
{
	return simback_descriptors() <= *(int *)context;
}

static void rounds_leave_nothing(void **state)
{
	int least = round_of(1);

	(void)state;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		int now = round_of(1 + i % 3);

		least = now < least ? now : least;
		simback_await(has_no_more_descriptors, &least);
	}
	assert_true(simtest_idle());
}

static void ten_at_once(void **state)
{
	struct simguest *guests[GUESTS];
	struct simvif *vifs[GUESTS];
	pid_t children[GUESTS];

	(void)state;
	for (uint32_t i = 0; i < GUESTS; i++) {
		guests[i] = simback_guest(11 + i);
		vifs[i] = simvif_open(guests[i], 0, NULL, NULL);
	}
	for (int round = 0; round < 5; round++)
		for (int i = 0; i < GUESTS; i++)
			simvif_exchange(vifs[i], 2);
	for (int i = 0; i < GUESTS; i++)
		load(vifs[i]);
	for (int i = 0; i < GUESTS; i++) {
		simback_await(simvif_tx_idle, vifs[i]);
		simback_await(simvif_balanced, vifs[i]);
	}
	assert_int_equal(simback_children(), GUESTS);
	for (int i = 0; i < GUESTS; i++) {
		assert_int_equal(vifs[i]->fe->violations, 0);
		simvif_free(vifs[i]);
		simguest_crash(guests[i]);
		children[i] = begin("destroy", 11 + (uint32_t)i, NULL);
	}
	for (uint32_t i = 0; i < GUESTS; i++) {
		simback_await(has_ended, &children[i]);
		simback_await_gone(11 + i);
	}
	simback_await(has_no_children, NULL);
}

static int start(void **state)
{
	(void)state;
	return simback_start(NULL);
}

static int stop(void **state)
{
	(void)state;
	return simback_stop();
}

#define TWO(name) cmocka_unit_test_setup_teardown(name, setup_two, teardown_two)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TWO(one_stuck),
		TWO(one_broken),
		TWO(one_detached_and_attached),
		TWO(detached_under_load),
		TWO(crashed_under_load),
		cmocka_unit_test(rounds_leave_nothing),
		cmocka_unit_test(ten_at_once),
	};

	return cmocka_run_group_tests_name("guests", tests, start, stop);
}
