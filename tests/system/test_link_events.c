/* test_link_events.c - changes of network devices, on the real kernel
 *
 * Every test runs in a network namespace of its own, made by unshare(); needs root.  What was heard is the
 * last word on each device. */
#include <config.h>

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "openvswitch/poll-loop.h"
#include "timeval.h"

#include "../../ovs-glue/devices.h"
#include "../../ovs-glue/link_events.h"
#include "../../ovs-glue/net_link.h"
#include "../unit/unit.h"

#define NAME "vif7.0"
#define CLASS (&tap_device_class)

static void destroy(struct port_device *device)
{
	CLASS->destroy(device);
	CLASS->finish();
}
#define DEVICES 4096
#define PATIENCE_MS 10000

static struct { bool heard, up; } devices[DEVICES];
static int lost;

static void changed(void *context, int ifindex, bool up)
{
	assert_ptr_equal(context, devices);
	assert_in_range(ifindex, 0, DEVICES - 1);
	devices[ifindex].heard = true;
	devices[ifindex].up = up;
	lost += ifindex == 0;
}

static int setup(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNET) != 0)
		return -1;
	memset(devices, 0, sizeof devices);
	lost = 0;
	link_events_start(changed, devices);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	link_events_stop();
	link_events_stop();
	return 0;
}

static void set(const char *how)
{
	char command[64];

	snprintf(command, sizeof command, "ip link set " NAME " %s", how);
	assert_int_equal(system(command), 0);
}

/* As the daemon's loop. */
static bool becomes(int ifindex, bool up)
{
	long long int end = time_msec() + PATIENCE_MS;

	while (!devices[ifindex].heard || devices[ifindex].up != up) {
		if (time_msec() > end)
			return false;
		link_events_run();
		link_events_wait();
		poll_timer_wait(100);
		poll_block();
	}
	devices[ifindex].heard = false;
	return true;
}

static void devices_set_up_and_down_are_heard(void **state)
{
	struct port_device device;

	(void)state;
	assert_int_equal(CLASS->create(&device, NAME), 0);
	assert_true(becomes(device.ifindex, true));
	SAME("up", CLASS->link_is_up(&device), 1);
	for (int i = 0; i < 3; i++) {
		set("down");
		assert_true(becomes(device.ifindex, false));
		SAME("down", CLASS->link_is_up(&device), 0);
		set("up");
		assert_true(becomes(device.ifindex, true));
		SAME("up", CLASS->link_is_up(&device), 1);
	}
	assert_int_equal(net_link_delete(device.ifindex), 0);
	assert_true(becomes(device.ifindex, false));
	SAME("deleted", CLASS->link_is_up(&device), 0);
	destroy(&device);
}

/* More than the socket holds while nobody reads: it is said that some were lost. */
static void lost_events_are_said(void **state)
{
	struct port_device device;

	(void)state;
	assert_int_equal(CLASS->create(&device, NAME), 0);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(net_link_set_mtu(device.ifindex, i % 2 ? 1400 : 1500), 0);
	assert_true(becomes(0, false));
	SAME("lost", lost, 1);
	set("down");					/* the socket is still full: nobody says so */
	assert_true(becomes(0, false));			/* but we are told to look once more */
	SAME("down", CLASS->link_is_up(&device), 0);
	SAME("lost", lost, 2);
	set("up");
	assert_true(becomes(device.ifindex, true));	/* it goes on after that */
	SAME("lost", lost, 2);
	destroy(&device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(devices_set_up_and_down_are_heard, setup, teardown),
		cmocka_unit_test_setup_teardown(lost_events_are_said, setup, teardown),
	};

	return cmocka_run_group_tests_name("link_events", tests, NULL, NULL);
}
