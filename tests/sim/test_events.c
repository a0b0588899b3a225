/* test_events.c - the simulator's event channels behave as Xen's behind /dev/xen/evtchn */
#include "simtest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xenevtchn.h>

#include "simguest.h"

static struct simguest *guest;
static xenevtchn_handle *evtchn;
static int remote;			/* an unbound port of the guest for domain 0 */

static int setup(void **state)
{
	(void)state;
	guest = simguest_start(1);
	evtchn = xenevtchn_open(NULL, 0);
	if (!guest || !evtchn)
		return -1;
	remote = simguest_port_alloc(guest, 0);
	return remote > 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	xenevtchn_close(evtchn);
	simguest_destroy(guest);
	return simtest_idle() ? 0 : -1;
}

static bool readable(xenevtchn_handle *handle, int timeout)
{
	struct pollfd pollfd = { .fd = xenevtchn_fd(handle), .events = POLLIN };

	return poll(&pollfd, 1, timeout) == 1;
}

/* Nothing is on its way: what was sent before is handled before simxen answers this. */
static bool quiet(xenevtchn_handle *handle)
{
	simtest_count(0, "ports");
	return !readable(handle, 0);
}

static int bind_remote(xenevtchn_handle *handle)
{
	return xenevtchn_bind_interdomain(handle, 1, (evtchn_port_t)remote);
}

static int bound_and_drained(void)
{
	int port = bind_remote(evtchn);

	assert_true(port > 0);
	assert_true(readable(evtchn, 10000));
	assert_int_equal(xenevtchn_pending(evtchn), port);
	assert_int_equal(xenevtchn_unmask(evtchn, (evtchn_port_t)port), 0);
	return port;
}

static void binding_sets_the_port_pending(void **state)
{
	int port = bind_remote(evtchn);

	(void)state;
	assert_true(port > 0);
	assert_true(readable(evtchn, 10000));
	assert_int_equal(xenevtchn_pending(evtchn), port);
	assert_true(quiet(evtchn));
	assert_int_equal(simtest_count(1, "bound"), 1);
}

static void a_port_is_masked_until_it_is_unmasked(void **state)
{
	int port = bound_and_drained();

	(void)state;
	for (int i = 0; i < 3; i++)
		simguest_notify(guest, (uint32_t)remote);
	assert_true(readable(evtchn, 10000));
	assert_int_equal(xenevtchn_pending(evtchn), port);
	assert_true(quiet(evtchn));
	simguest_notify(guest, (uint32_t)remote);
	assert_true(quiet(evtchn));		/* masked, but remembered: */
	xenevtchn_unmask(evtchn, (evtchn_port_t)port);
	assert_true(readable(evtchn, 10000));
	assert_int_equal(xenevtchn_pending(evtchn), port);
	xenevtchn_unmask(evtchn, (evtchn_port_t)port);
	assert_true(quiet(evtchn));
}

static void the_guest_hears_us(void **state)
{
	int port = bound_and_drained();

	(void)state;
	assert_int_equal(xenevtchn_notify(evtchn, (evtchn_port_t)port), 0);
	assert_int_equal(simguest_wait(guest, 10000), remote);
	assert_int_equal(xenevtchn_notify(evtchn, (evtchn_port_t)port), 0);
	simtest_count(0, "ports");
	assert_int_equal(simguest_wait(guest, 0), -1);
	simguest_unmask(guest, (uint32_t)remote);
	assert_int_equal(simguest_wait(guest, 10000), remote);
}

static void assert_not_bound(uint32_t domid, uint32_t port, int error)
{
	errno = 0;
	assert_int_equal(xenevtchn_bind_interdomain(evtchn, domid, port), -1);
	assert_int_equal(errno, error);
}

static void errors_are_xens(void **state)
{
	int of_another = simguest_port_alloc(guest, 7);

	(void)state;
	assert_not_bound(9, 1, ESRCH);
	assert_not_bound(1, 0, EINVAL);
	assert_not_bound(1, SIM_PORTS, EINVAL);
	assert_not_bound(1, (uint32_t)remote + 100, EINVAL);
	assert_not_bound(1, (uint32_t)of_another, EINVAL);
	assert_true(bind_remote(evtchn) > 0);
	assert_not_bound(1, (uint32_t)remote, EINVAL);
	assert_int_equal(xenevtchn_notify(evtchn, 99), -1);
	assert_int_equal(errno, ENOTCONN);
	assert_int_equal(xenevtchn_unbind(evtchn, 99), -1);
	assert_int_equal(errno, ENOTCONN);
	assert_int_equal(xenevtchn_unbind(evtchn, SIM_PORTS), -1);
	assert_int_equal(errno, EINVAL);
	assert_null(xenevtchn_open(NULL, 1 << 5));
	assert_int_equal(errno, EINVAL);
}

static void a_closed_end_can_be_bound_again(void **state)
{
	int port = bound_and_drained();

	(void)state;
	assert_int_equal(xenevtchn_unbind(evtchn, (evtchn_port_t)port), 0);
	assert_int_equal(simtest_count(1, "bound"), 0);
	assert_int_equal(simtest_count(1, "ports"), 1);
	assert_int_equal(simguest_notify(guest, (uint32_t)remote), 0);	/* lost, without an error */
	port = bound_and_drained();
	assert_int_equal(xenevtchn_notify(evtchn, (evtchn_port_t)port), 0);
	assert_int_equal(simguest_wait(guest, 10000), remote);
}

static void bind_and_hang(void *argument, int ready)
{
	xenevtchn_handle *own = xenevtchn_open(NULL, 0);

	(void)argument;
	if (own && bind_remote(own) > 0 && write(ready, "", 1) == 1)
		pause();
}

static void death_unbinds_and_another_process_binds(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		int child = simtest_child(bind_and_hang, NULL);

		assert_int_equal(bind_remote(evtchn), -1);
		simtest_kill(child);
		simtest_await(1, "bound", 0);
	}
	bound_and_drained();
}

static void a_non_blocking_handle_says_again(void **state)
{
	(void)state;
	fcntl(xenevtchn_fd(evtchn), F_SETFL, O_NONBLOCK);
	assert_int_equal(xenevtchn_pending(evtchn), -1);
	assert_int_equal(errno, EAGAIN);
	bound_and_drained();
}

static void the_descriptor_is_the_handle(void **state)
{
	int fd = dup(xenevtchn_fd(evtchn)), port = bound_and_drained();

	(void)state;
	simguest_notify(guest, (uint32_t)remote);
	assert_true(readable(evtchn, 10000));
	xenevtchn_close(evtchn);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	evtchn = xenevtchn_fdopen(NULL, fd, 0);		/* as after an exec */
	assert_non_null(evtchn);
	assert_int_equal(simtest_count(1, "bound"), 1);
	assert_true(readable(evtchn, 10000));
	assert_int_equal(xenevtchn_pending(evtchn), port);
	assert_int_equal(xenevtchn_notify(evtchn, (evtchn_port_t)port), 0);
	assert_int_equal(simguest_wait(guest, 10000), remote);
	assert_null(xenevtchn_fdopen(NULL, fd, XENEVTCHN_NO_CLOEXEC));
}

static void raw_reads_and_writes_work(void **state)
{
	uint32_t port = (uint32_t)bound_and_drained(), got;
	int fd = xenevtchn_fd(evtchn);

	(void)state;
	simguest_notify(guest, (uint32_t)remote);
	assert_int_equal(read(fd, &got, sizeof got), sizeof got);
	assert_int_equal(got, port);
	simguest_notify(guest, (uint32_t)remote);
	assert_int_equal(write(fd, &port, sizeof port), sizeof port);
	assert_int_equal(read(fd, &got, sizeof got), sizeof got);
	assert_int_equal(got, port);
}

static void a_restricted_handle_reaches_one_domain(void **state)
{
	struct simguest *other = simguest_start(2);
	int port = simguest_port_alloc(other, 0);

	(void)state;
	assert_int_equal(xenevtchn_restrict(evtchn, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(xenevtchn_restrict(evtchn, 1), 0);
	assert_not_bound(2, (uint32_t)port, EACCES);
	assert_int_equal(xenevtchn_bind_virq(evtchn, 1), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(xenevtchn_restrict(evtchn, 2), -1);
	assert_int_equal(errno, EACCES);
	bound_and_drained();
	simguest_destroy(other);
}

static void a_crashed_guest_keeps_its_ports_until_destroyed(void **state)
{
	int port = bound_and_drained();

	(void)state;
	simguest_crash(guest);
	guest = NULL;
	assert_int_equal(simtest_count(0, "bound"), 1);
	assert_int_equal(xenevtchn_notify(evtchn, (evtchn_port_t)port), 0);
	assert_int_equal(simtest_run("simxenctl", "destroy", "1", NULL), 0);
	assert_int_equal(simtest_count(0, "bound"), 0);
	assert_int_equal(simtest_count(0, "ports"), 1);
	assert_int_equal(xenevtchn_notify(evtchn, (evtchn_port_t)port), 0);
	assert_int_equal(xenevtchn_unbind(evtchn, (evtchn_port_t)port), 0);
}

static void a_guest_starts_again_in_its_domain(void **state)
{
	(void)state;
	bound_and_drained();
	assert_null(simguest_start(1));		/* one is running */
	simguest_crash(guest);
	while (!(guest = simguest_start(1)))
		assert_int_equal(errno, EIO);
	assert_int_equal(simtest_count(1, "ports"), 0);
}

static void *answer(void *argument)
{
	xenevtchn_handle *own = xenevtchn_open(NULL, 0);
	int port = xenevtchn_bind_interdomain(own, 1, *(evtchn_port_t *)argument);

	for (int i = 0; i < 500; i++) {
		if (xenevtchn_pending(own) != port)
			abort();
		xenevtchn_unmask(own, (evtchn_port_t)port);
		xenevtchn_notify(own, (evtchn_port_t)port);
	}
	xenevtchn_close(own);
	return NULL;
}

static void handles_of_two_threads_do_not_meet(void **state)
{
	uint32_t ports[2] = { (uint32_t)remote, (uint32_t)simguest_port_alloc(guest, 0) };
	pthread_t threads[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, answer, &ports[i]), 0);
	for (int i = 0; i < 1000; i++) {
		int port = simguest_wait(guest, 10000);

		assert_true(port > 0);
		simguest_unmask(guest, (uint32_t)port);
		simguest_notify(guest, (uint32_t)port);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(binding_sets_the_port_pending),
		TEST(a_port_is_masked_until_it_is_unmasked),
		TEST(the_guest_hears_us),
		TEST(errors_are_xens),
		TEST(a_closed_end_can_be_bound_again),
		TEST(death_unbinds_and_another_process_binds),
		TEST(a_non_blocking_handle_says_again),
		TEST(the_descriptor_is_the_handle),
		TEST(raw_reads_and_writes_work),
		TEST(a_restricted_handle_reaches_one_domain),
		TEST(a_crashed_guest_keeps_its_ports_until_destroyed),
		TEST(a_guest_starts_again_in_its_domain),
		TEST(handles_of_two_threads_do_not_meet),
	};

	return cmocka_run_group_tests_name("events", tests, simtest_start, simtest_stop);
}
