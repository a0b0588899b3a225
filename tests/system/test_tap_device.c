/* test_tap_device.c - the TAP behind a port, on the real kernel
 *
 * Every test runs in a network namespace of its own, made by unshare(), so nothing of this machine is
 * touched; needs root.  The device is looked at through the kernel's own answers (net_link.c), and,
 * where that would be circular, through what a socket or an ioctl sees. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../ovs-glue/devices.h"
#include "../../ovs-glue/net_link.h"
#include "../../backend/log.h"
#include "../unit/unit.h"

#define NAME "vif7.0"
#define CLASS (&tap_device_class)

static void destroy(struct port_device *device)
{
	CLASS->destroy(device);
	CLASS->finish();
}

/* --- what was logged -------------------------------------------------------------------------- */

static char logged[4096];

static void keep_log(enum log_level level, const char *line)
{
	(void)level;
	strncat(logged, line, sizeof logged - strlen(logged) - 1);
	strncat(logged, "\n", sizeof logged - strlen(logged) - 1);
}

static int enter_namespace(void **state)
{
	(void)state;
	logged[0] = '\0';
	log_set_sink(keep_log);
	return unshare(CLONE_NEWNET);
}

/* --- helpers ---------------------------------------------------------------------------------- */

static int make_tap(const char *name, short flags, bool persist)
{
	struct ifreq ifr = { .ifr_flags = flags };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	assert_true(fd >= 0);
	memcpy(ifr.ifr_name, name, strlen(name) + 1);
	assert_return_code(ioctl(fd, TUNSETIFF, &ifr), errno);
	if (persist)
		assert_return_code(ioctl(fd, TUNSETPERSIST, 1), errno);
	return fd;
}

static bool exists(void)
{
	return if_nametoindex(NAME) != 0;
}

/* The carrier state follows the ioctl a moment later (the kernel's link watch). */
static bool carrier_becomes(bool wanted)
{
	struct net_link link;

	for (int i = 0; i < 200; i++) {
		assert_int_equal(net_link_get(NAME, &link), 0);
		if (link.carrier == wanted)
			return true;
		poll(NULL, 0, 10);
	}
	return false;
}

static struct port_device created(int queues)
{
	struct port_device device;

	assert_int_equal(CLASS->create(&device, NAME), 0);
	assert_int_equal(CLASS->set_queues(&device, queues), 0);
	return device;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void create_makes_what_scripts_expect(void **state)
{
	static const uint8_t mac[] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct port_device device = created(2);
	struct net_link link;
	int header = 0, value;

	(void)state;
	assert_int_equal(net_link_get(NAME, &link), 0);
	SAME("ifindex", device.ifindex, link.ifindex);
	SAME("queues", device.queue_count, 2);
	assert_memory_equal(link.mac, mac, sizeof mac);
	SAME("up", !!(link.flags & IFF_UP), 1);
	SAME("txqueuelen", link.queue_length, 1000);
	SAME("type", link.tun.type, IFF_TAP);
	SAME("packet info", link.tun.packet_info, 0);
	SAME("vnet header", link.tun.vnet_header, 1);
	SAME("persistent", link.tun.persistent, 1);
	SAME("multi queue", link.tun.multi_queue, 1);
	SAME("queues held", link.tun.queues, 2);
	for (int i = 0; i < 2; i++) {
		assert_return_code(ioctl(device.queue_fds[i], TUNGETVNETHDRSZ, &header), errno);
		SAME("header size", header, 12);
		value = fcntl(device.queue_fds[i], F_GETFD);
		SAME("close on exec", !!(value & FD_CLOEXEC), 1);
		value = fcntl(device.queue_fds[i], F_GETFL);
		SAME("does not block", !!(value & O_NONBLOCK), 1);
	}
	assert_string_equal(logged, "");
	destroy(&device);
}

static void carrier_follows(void **state)
{
	struct port_device device = created(1);

	(void)state;
	assert_true(carrier_becomes(false));
	assert_int_equal(CLASS->set_carrier(&device, 1), 0);
	assert_true(carrier_becomes(true));
	assert_int_equal(CLASS->set_carrier(&device, 0), 0);
	assert_true(carrier_becomes(false));
	destroy(&device);
}

static void mtu_has_limits(void **state)
{
	struct port_device device = created(1);
	struct net_link link;

	(void)state;
	assert_int_equal(CLASS->set_mtu(&device, 9000), 0);
	assert_int_equal(net_link_get(NAME, &link), 0);
	SAME("mtu", link.mtu, 9000);
	assert_int_equal(CLASS->set_mtu(&device, 67), -EINVAL);
	assert_string_equal(device.reason, "the TAP takes 68 to 65521");
	destroy(&device);
}

/* The host's IPv6 would greet the guest with solicitations as soon as the carrier is there. */
static void host_is_silent(void **state)
{
	struct port_device device = created(1);
	struct pollfd frames = { .fd = device.queue_fds[0], .events = POLLIN };

	(void)state;
	assert_int_equal(CLASS->set_carrier(&device, 1), 0);
	assert_true(carrier_becomes(true));
	assert_int_equal(poll(&frames, 1, 300), 0);
	destroy(&device);
}

static void destroy_is_idempotent(void **state)
{
	struct port_device device = created(1);
	int kept = dup(device.queue_fds[0]);		/* an instance that has not ended yet */

	(void)state;
	destroy(&device);
	assert_false(exists());
	destroy(&device);
	SAME("queues", device.queue_count, 0);
	close(kept);
	assert_string_equal(logged, "");
}

/* A device is deleted beside the caller, who may make another of its name at once. */
static void the_next_of_the_name_is_another(void **state)
{
	struct port_device device = created(1);

	(void)state;
	for (int i = 0; i < 5; i++) {
		int ifindex = device.ifindex;

		CLASS->destroy(&device);
		SAME("queues", device.queue_count, 0);
		assert_int_equal(CLASS->create(&device, NAME), 0);
		assert_true(device.ifindex != ifindex);
	}
	destroy(&device);
	assert_false(exists());
}

static void many_at_once(void **state)
{
	struct port_device devices[16];
	struct net_link link;
	char name[PORT_NAME_MAX];

	(void)state;
	for (int i = 0; i < (int)COUNT_OF(devices); i++) {
		snprintf(name, sizeof name, "vif9.%zu", (size_t)i % COUNT_OF(devices));
		assert_int_equal(CLASS->create(&devices[i], name), 0);
	}
	for (int i = 0; i < (int)COUNT_OF(devices); i++)
		CLASS->destroy(&devices[i]);
	CLASS->finish();
	for (int i = 0; i < (int)COUNT_OF(devices); i++)
		assert_int_equal(net_link_get(devices[i].name, &link), -ENODEV);
	assert_string_equal(logged, "");
}

/* Destroying the device somebody deleted by hand, and made anew, spares the new one. */
static void destroy_spares_a_namesake(void **state)
{
	struct port_device device = created(1);
	int other;

	(void)state;
	assert_int_equal(net_link_delete(device.ifindex), 0);
	other = make_tap(NAME, IFF_TAP | IFF_NO_PI, false);
	destroy(&device);
	assert_true(exists());
	close(other);
}

static void forgotten_device_is_taken_over(void **state)
{
	struct port_device device = created(1), again;
	int ifindex = device.ifindex;
	struct net_link link;

	(void)state;
	CLASS->forget(&device);
	assert_true(exists());
	assert_int_equal(CLASS->create(&again, NAME), 0);
	SAME("ifindex", again.ifindex, ifindex);
	assert_int_equal(net_link_get(NAME, &link), 0);
	SAME("queues held", link.tun.queues, 1);
	assert_true(carrier_becomes(false));
	destroy(&again);
	assert_false(exists());
	assert_string_equal(logged, "");
}

/* The administrator's word outlives unetbackd; a device that was never finished is. */
static void a_link_set_down_stays_down(void **state)
{
	struct port_device device = created(1);
	struct net_link link;

	(void)state;
	SAME("up", CLASS->link_is_up(&device), 1);
	assert_int_equal(system("ip link set " NAME " down"), 0);
	SAME("down", CLASS->link_is_up(&device), 0);
	CLASS->forget(&device);
	assert_int_equal(CLASS->create(&device, NAME), 0);
	SAME("still down", CLASS->link_is_up(&device), 0);
	CLASS->forget(&device);
	assert_int_equal(system("ip link set " NAME " address 02:00:00:00:00:01"), 0);
	assert_int_equal(CLASS->create(&device, NAME), 0);
	SAME("finished", CLASS->link_is_up(&device), 1);
	assert_int_equal(net_link_get(NAME, &link), 0);
	SAME("its MAC", link.mac[0], 0xfe);
	destroy(&device);
}

/* A child that has the TAP open under the program name @name, and ends when told by @stop. */
static pid_t start_holder(const char *name, int *stop)
{
	int ready[2], end[2];
	char byte;
	pid_t pid;

	assert_return_code(pipe(ready), errno);
	assert_return_code(pipe(end), errno);
	pid = fork();
	if (pid == 0) {
		make_tap(NAME, IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE, false);
		prctl(PR_SET_NAME, name);
		close(end[1]);
		_exit(write(ready[1], "", 1) == 1 && read(end[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(ready[1]);
	close(end[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*stop = end[1];
	return pid;
}

static void busy_device_is_refused(void **state)
{
	struct port_device device = created(1);
	char wanted[128];
	int stop, status;
	pid_t pid;

	(void)state;
	CLASS->forget(&device);
	pid = start_holder("some-emulator", &stop);
	assert_int_equal(CLASS->create(&device, NAME), -EBUSY);
	snprintf(wanted, sizeof wanted, "the TAP is served by another program (pid %d, some-emulator); stop it",
		 (int)pid);
	assert_string_equal(device.reason, wanted);
	SAME("queues", device.queue_count, 0);
	close(stop);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(CLASS->create(&device, NAME), 0);
	destroy(&device);
}

/* unetbackd starts again before the instance of the one that died has noticed. */
static void ending_instance_is_waited_for(void **state)
{
	struct port_device device = created(1);
	int stop, status;
	pid_t pid, closer;

	(void)state;
	CLASS->forget(&device);
	pid = start_holder("unetback-instance", &stop);
	closer = fork();
	if (closer == 0) {			/* ends it while create() waits */
		poll(NULL, 0, 100);
		_exit(0);
	}
	close(stop);				/* the closer has the last copy */
	assert_int_equal(CLASS->create(&device, NAME), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(waitpid(closer, &status, 0), closer);
	destroy(&device);
	assert_string_equal(logged, "");
}

static void foreign_devices_are_left_alone(void **state)
{
	static const struct { const char *what; short flags; bool persist; int error; const char *reason; } rows[] = {
		{ "TAP without header", IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE, true, -EEXIST,
		  "a TAP of another form exists" },
		{ "single queue", IFF_TAP | IFF_NO_PI | IFF_VNET_HDR, true, -EEXIST,
		  "a TAP of another form exists" },
		{ "packet info", IFF_TAP | IFF_VNET_HDR | IFF_MULTI_QUEUE, true, -EEXIST,
		  "a TAP of another form exists" },
		{ "TUN", IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE, true, -EEXIST,
		  "a TUN of another form exists" },
		{ "not persistent", IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE, false, -EBUSY,
		  "belongs to another program" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct port_device device;
		struct net_link before, after;
		int fd;

		assert_return_code(unshare(CLONE_NEWNET), errno);
		fd = make_tap(NAME, rows[i].flags, rows[i].persist);
		if (rows[i].persist)
			close(fd);
		logged[0] = '\0';
		assert_int_equal(net_link_get(NAME, &before), 0);
		SAME(rows[i].what, CLASS->create(&device, NAME), rows[i].error);
		assert_int_equal(net_link_get(NAME, &after), 0);
		assert_memory_equal(&before.tun, &after.tun, sizeof before.tun);
		assert_memory_equal(before.mac, after.mac, sizeof before.mac);
		if (!strstr(device.reason, rows[i].reason))
			fail_msg("%s: \"%s\" is not in \"%s\"", rows[i].what, rows[i].reason, device.reason);
		if (!rows[i].persist)
			close(fd);
	}
}

static void other_kinds_are_refused(void **state)
{
	struct port_device device;

	(void)state;
	if (system("ip link add " NAME " type veth peer name other") != 0)
		skip();
	assert_int_equal(CLASS->create(&device, NAME), -EEXIST);
	assert_true(exists());
	destroy(&device);
	assert_true(exists());
}

static void absurd_arguments(void **state)
{
	static const char *const names[] = { "", "a-name-of-16-char" };
	static const int queues[] = { 0, PORT_QUEUES_MAX + 1, -1 };
	struct port_device device;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		SAME(names[i], CLASS->create(&device, names[i]), -EINVAL);
	assert_false(exists());
	assert_int_equal(CLASS->set_carrier(&device, 1), -EBADF);
	destroy(&device);
	device = created(2);
	for (size_t i = 0; i < COUNT_OF(queues); i++) {
		SAME("queues", CLASS->set_queues(&device, queues[i]), -EINVAL);
		assert_non_null(strstr(device.reason, "a TAP has 1 to 8"));
	}
	SAME("left", device.queue_count, 2);
	destroy(&device);
}

static int queues_of_device(void)
{
	struct net_link link;

	assert_int_equal(net_link_get(NAME, &link), 0);
	return (int)link.tun.queues;
}

/* As a guest connects with more, fewer and as many; each is held, none beyond, and the carrier stays off
 * until it is said to be on. */
static void queues_come_and_go(void **state)
{
	static const int counts[] = { 1, 4, 8, 2, 2, 3, 1 };
	struct port_device device = created(1);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		assert_int_equal(CLASS->set_queues(&device, counts[i]), 0);
		SAME("held", device.queue_count, counts[i]);
		SAME("attached", queues_of_device(), counts[i]);
		assert_true(carrier_becomes(false));
	}
	assert_int_equal(CLASS->set_carrier(&device, 1), 0);
	assert_int_equal(CLASS->set_queues(&device, 1), 0);	/* as it was: nothing changes */
	assert_true(carrier_becomes(true));
	destroy(&device);
}

/* More frames than the TAP holds, from the stack's side: those it drops are told. */
static void drops_are_counted(void **state)
{
	struct port_device device = created(1);
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = device.ifindex };
	struct port_device_counters counters;
	unsigned char frame[60] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), queued = 0;
	char buffer[2048];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(CLASS->set_carrier(&device, 1), 0);
	assert_true(carrier_becomes(true));
	for (int i = 0; i < 1500; i++)
		sendto(fd, frame, sizeof frame, 0, (struct sockaddr *)&to, sizeof to);
	while (read(device.queue_fds[0], buffer, sizeof buffer) > 0)
		queued++;
	CLASS->get_counters(&device, &counters);
	SAME("dropped", counters.guest_rx_dropped, 1500 - queued);
	assert_true(queued >= 900 && queued < 1500);
	SAME("from the guest", counters.guest_tx_dropped, 0);
	close(fd);
	destroy(&device);
	CLASS->get_counters(&device, &counters);
	SAME("of nothing", counters.guest_rx_dropped, 0);
}

static void null_has_no_device(void **state)
{
	struct port_device device;

	(void)state;
	assert_int_equal(null_device_class.create(&device, NAME), 0);
	SAME("ifindex", device.ifindex, 0);
	assert_false(exists());
	assert_int_equal(null_device_class.set_carrier(&device, 1), 0);
	null_device_class.destroy(&device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(create_makes_what_scripts_expect, enter_namespace),
		cmocka_unit_test_setup(carrier_follows, enter_namespace),
		cmocka_unit_test_setup(mtu_has_limits, enter_namespace),
		cmocka_unit_test_setup(host_is_silent, enter_namespace),
		cmocka_unit_test_setup(destroy_is_idempotent, enter_namespace),
		cmocka_unit_test_setup(the_next_of_the_name_is_another, enter_namespace),
		cmocka_unit_test_setup(many_at_once, enter_namespace),
		cmocka_unit_test_setup(destroy_spares_a_namesake, enter_namespace),
		cmocka_unit_test_setup(forgotten_device_is_taken_over, enter_namespace),
		cmocka_unit_test_setup(a_link_set_down_stays_down, enter_namespace),
		cmocka_unit_test_setup(busy_device_is_refused, enter_namespace),
		cmocka_unit_test_setup(ending_instance_is_waited_for, enter_namespace),
		cmocka_unit_test_setup(foreign_devices_are_left_alone, enter_namespace),
		cmocka_unit_test_setup(other_kinds_are_refused, enter_namespace),
		cmocka_unit_test_setup(absurd_arguments, enter_namespace),
		cmocka_unit_test_setup(queues_come_and_go, enter_namespace),
		cmocka_unit_test_setup(drops_are_counted, enter_namespace),
		cmocka_unit_test_setup(null_has_no_device, enter_namespace),
	};

	if (geteuid() != 0) {
		print_message("ok - skipped: TAPs are made by root only\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
