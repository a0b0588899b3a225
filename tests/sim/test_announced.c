/* test_announced.c - the real unetbackd tells the switch where a guest is that has not said a word
 *
 * What enters the network is read from the TAP by packet sockets, which are there before the guest connects; a
 * kernel's bridge learns from it. */
#include "simback.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMES 3				/* the default */
#define MAC "\x00\x16\x3e\x00\x01\x00"	/* what simvif gives to vif1.0 */

static struct simguest *guest;
static struct simvif *vif;
static int rarp, arp;

static int listen_for(uint16_t protocol)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(protocol),
				       .sll_ifindex = (int)if_nametoindex(vif->name) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0 && address.sll_ifindex > 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static int setup(void **state)
{
	char path[96];

	(void)state;
	guest = simback_guest(1);
	vif = simvif_open(guest, 0, NULL, NULL);	/* connects when it is served */
	snprintf(path, sizeof path, "%s/ip", vif->backend);
	assert_true(xs_write(simback_xs(), XBT_NULL, path, "192.0.2.77 2001:db8::1", 22));
	rarp = listen_for(ETH_P_RARP);
	arp = listen_for(ETH_P_ARP);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(vif->fe->violations, 0);
	simback_await(simvif_balanced, vif);
	close(rarp);
	close(arp);
	simvif_free(vif);
	simback_destroy(guest);
	return 0;
}

static long long stat_of(const char *key)
{
	return simback_number("stats", vif->name, "queue-0", key);
}

static bool all_are_sent(void *context)
{
	(void)context;
	return stat_of("announced") == 2 * TIMES;
}

/* How many came, each as it should be; a TAP's frames are there once they are counted. */
static int heard(int fd, const char *from_12, size_t length)
{
	uint8_t frame[1514];
	int count = 0;

	for (ssize_t got; (got = recv(fd, frame, sizeof frame, 0)) > 0; count++) {
		assert_int_equal(got, 60);
		assert_memory_equal(frame, "\xff\xff\xff\xff\xff\xff" MAC, 12);
		assert_memory_equal(frame + 12, from_12, length);
	}
	return count;
}

static void assert_announced(void)
{
	static const char rarp_has[] = "\x80\x35\x00\x01\x08\x00\x06\x04\x00\x03" MAC "\0\0\0\0" MAC "\0\0\0";
	static const char arp_has[] = "\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01" MAC "\xc0\x00\x02\x4d" "\0\0\0\0\0\0"
				      "\xc0\x00\x02\x4d";

	simback_await(all_are_sent, NULL);
	assert_int_equal(heard(rarp, rarp_has, sizeof rarp_has), TIMES);
	assert_int_equal(heard(arp, arp_has, sizeof arp_has - 1), TIMES);
}

/* None of it is the guest's: it has not sent a frame. */
static void a_silent_guest_is_announced(void **state)
{
	(void)state;
	simback_await(simvif_connected, vif);
	assert_announced();
	assert_int_equal(stat_of("guest_tx_frames"), 0);
	assert_int_equal(stat_of("guest_tx_bytes"), 0);
	simvif_exchange(vif, 4);
}

static void again_each_time_it_connects(void **state)
{
	(void)state;
	simback_await(simvif_connected, vif);
	assert_announced();
	for (int i = 0; i < 2; i++) {
		assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
		assert_true(netfront_reopen(vif->fe));
		simback_await(simvif_connected, vif);
		assert_announced();
	}
}

/* The guest has not moved: what it sends meanwhile is all that comes. */
static void but_not_when_the_instance_is_another(void **state)
{
	(void)state;
	simback_await(simvif_connected, vif);
	assert_announced();
	simback_kill_instance(vif->name);
	simvif_exchange(vif, 8);
	assert_int_equal(stat_of("announced"), 0);
	assert_int_equal(heard(rarp, "", 0) + heard(arp, "", 0), 0);
}

/* --- a bridge learns -------------------------------------------------------------------------- */

static void run(const char *command)
{
	assert_int_equal(system(command), 0);
}

static bool is_learnt(void *context)
{
	char command[128];

	snprintf(command, sizeof command, "bridge fdb show dev %s | grep -q '^00:16:3e:00:01:00 .*master br0'",
		 (const char *)context);
	return system(command) == 0;
}

/* The frontend connects as soon as it is served: the bridge is there before. */
static void a_bridge_learns_where_it_is(void **state)
{
	(void)state;
	run("ip link add br0 type bridge && ip link set br0 up && ip link set vif1.0 master br0");
	simback_await(is_learnt, vif->name);
	assert_int_equal(stat_of("guest_tx_frames"), 0);
	run("ip link del br0");
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_silent_guest_is_announced),
		TEST(again_each_time_it_connects),
		TEST(but_not_when_the_instance_is_another),
		TEST(a_bridge_learns_where_it_is),
	};

	return cmocka_run_group_tests_name("announce", tests, start, stop);
}
