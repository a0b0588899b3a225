/* test_steering.c - each flow towards the guest stays on one queue of its TAP, whatever the guest does
 *
 * Frames are sent into the TAP by a packet socket, as a bridge would, and read from the queues the guest
 * would serve.  Each test runs in a network namespace of its own; needs root. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../ovs-glue/devices.h"
#include "../../ovs-glue/steering.h"
#include "../../backend/log.h"
#include "../unit/unit.h"

#define QUEUES 4
#define FLOWS 64
#define VNET 12

static struct port_device device;
static int wire;
static char logged[400];

static void keep_log(enum log_level level, const char *line)
{
	(void)level;
	snprintf(logged, sizeof logged, "%s", line);
}

/* Carrier on; frames pass a moment later, when the kernel's link watch has seen it. */
static void carry(void)
{
	uint8_t bytes[60] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, got[256];
	int arrived = 0;

	assert_int_equal(tap_device_class.set_carrier(&device, 1), 0);
	for (int tries = 0; tries < 1000 && !arrived; tries++) {
		send(wire, bytes, sizeof bytes, 0);
		for (int i = 0; i < device.queue_count; i++)
			arrived += read(device.queue_fds[i], got, sizeof got) > 0;
		if (!arrived)
			poll(NULL, 0, 10);
	}
	assert_int_equal(arrived, 1);
}

static int setup(void **state)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET };

	(void)state;
	logged[0] = '\0';
	log_set_sink(keep_log);
	if (unshare(CLONE_NEWNET) != 0)
		return -1;
	assert_int_equal(tap_device_class.create(&device, "vif7.0"), 0);
	assert_int_equal(tap_device_class.set_queues(&device, QUEUES), 0);
	wire = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	address.sll_ifindex = device.ifindex;
	if (bind(wire, (struct sockaddr *)&address, sizeof address) != 0)
		return -1;
	carry();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(wire);
	tap_device_class.destroy(&device);
	tap_device_class.finish();
	log_set_sink(NULL);
	assert_string_equal(logged, "");
	return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

enum kind { UDP4, TCP4, UDP6, TCP6, TAGGED, TWICE_TAGGED, FRAGMENT, ICMP4, ICMP6, OTHER, KINDS };
static const char *const names[KINDS] = { "UDP over IPv4", "TCP over IPv4", "UDP over IPv6", "TCP over IPv6",
					  "VLAN", "QinQ", "fragments", "ICMP", "ICMPv6", "no IP" };

static uint8_t *put_tag(uint8_t *at, uint16_t type)
{
	at[0] = (uint8_t)(type >> 8);
	at[1] = (uint8_t)type;
	at[3] = 9;
	return at + 4;
}

static uint8_t *put_ipv4(uint8_t *at, enum kind kind, unsigned int flow)
{
	at[0] = 0x45;
	at[6] = kind == FRAGMENT ? 0x20 : 0;
	at[9] = kind == ICMP4 ? 1 : kind == TCP4 ? 6 : 17;
	memcpy(at + 12, (uint8_t[]){ 10, 0, 0, 1, 10, 0, (uint8_t)(kind == ICMP4 || kind == FRAGMENT ? flow : 0), 2 },
	       8);
	return at + 20;
}

static uint8_t *put_ipv6(uint8_t *at, enum kind kind, unsigned int flow)
{
	at[0] = 0x60;
	at[6] = kind == ICMP6 ? 58 : kind == TCP6 ? 6 : 17;
	at[23] = 1;
	at[39] = (uint8_t)(kind == ICMP6 ? flow : 2);
	return at + 40;
}

/* The @nth frame of @flow: flows of a kind differ in their ports, or where those do not count in their
 * addresses; frames of one flow in what stands behind. */
static uint32_t make(uint8_t bytes[128], enum kind kind, unsigned int flow, unsigned int nth)
{
	uint8_t *at = bytes + 12;
	bool ipv6 = kind == UDP6 || kind == TCP6 || kind == ICMP6;

	memset(bytes, 0, 128);
	memcpy(bytes, (uint8_t[]){ 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, (uint8_t)(kind == OTHER ? flow : 0), 2 }, 12);
	if (kind == TWICE_TAGGED)
		at = put_tag(at, 0x88a8);
	if (kind == TAGGED || kind == TWICE_TAGGED)
		at = put_tag(at, 0x8100);
	memcpy(at, kind == OTHER ? (uint8_t[]){ 0x88, 0xb5 } : ipv6 ? (uint8_t[]){ 0x86, 0xdd }
								    : (uint8_t[]){ 8, 0 }, 2);
	at += 2;
	if (kind != OTHER)
		at = ipv6 ? put_ipv6(at, kind, flow) : put_ipv4(at, kind, flow);
	at[0] = (uint8_t)(kind == FRAGMENT ? nth : 0x30);	/* a fragment's ports may be anything */
	at[1] = (uint8_t)(kind == ICMP4 || kind == ICMP6 || kind == OTHER ? nth : flow);
	at[8] = (uint8_t)nth;
	return 120;
}

/* The queue that the next frame comes out of; it must be the only one. */
static int next_queue(void)
{
	struct pollfd fds[QUEUES];
	uint8_t bytes[256];
	int queue = -1;

	for (int i = 0; i < device.queue_count; i++)
		fds[i] = (struct pollfd){ .fd = device.queue_fds[i], .events = POLLIN };
	assert_true(poll(fds, (nfds_t)device.queue_count, 10000) == 1);
	for (int i = 0; i < device.queue_count; i++)
		if (fds[i].revents)
			queue = i;
	assert_int_equal(read(device.queue_fds[queue], bytes, sizeof bytes), 120 + VNET);
	return queue;
}

static int queue_of(enum kind kind, unsigned int flow, unsigned int nth)
{
	uint8_t bytes[128];
	uint32_t length = make(bytes, kind, flow, nth);

	assert_int_equal(send(wire, bytes, length, 0), length);
	return next_queue();
}

/* The guest sends on @queue what would be an answer in @flow. */
static void answer_on(int queue, unsigned int flow)
{
	uint8_t bytes[VNET + 128] = { 0 }, swapped[8];
	uint8_t *ip = bytes + VNET + 14;
	uint32_t length = make(bytes + VNET, UDP4, flow, 0);

	memcpy(swapped, ip + 16, 4);
	memcpy(swapped + 4, ip + 12, 4);
	memcpy(ip + 12, swapped, 8);
	memcpy(swapped, ip + 22, 2);
	memcpy(swapped + 2, ip + 20, 2);
	memcpy(ip + 20, swapped, 4);
	assert_int_equal(write(device.queue_fds[queue], bytes, VNET + length), VNET + length);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_flow_stays_and_flows_spread(void **state)
{
	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		int flows[QUEUES] = { 0 };

		for (unsigned int flow = 0; flow < FLOWS; flow++) {
			int first = queue_of(kind, flow, 0);

			flows[first]++;
			for (unsigned int nth = 1; nth < 4; nth++)
				SAME(names[kind], queue_of(kind, flow, nth), first);
		}
		for (int i = 0; i < QUEUES; i++)
			if (flows[i] < FLOWS / QUEUES / 3)
				fail_msg("%s: queue %d has %d of %d flows", names[kind], i, flows[i], FLOWS);
	}
}

/* The kernel's own choice would follow the guest. */
static void the_guests_answers_move_nothing(void **state)
{
	(void)state;
	for (unsigned int flow = 0; flow < FLOWS; flow++) {
		int first = queue_of(UDP4, flow, 0);

		for (int queue = 0; queue < QUEUES; queue++) {
			answer_on(queue, flow);
			SAME("queue", queue_of(UDP4, flow, 1), first);
		}
	}
}

static void short_frames_go_somewhere(void **state)
{
	uint8_t bytes[60] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60 };
	uint8_t got[256];

	(void)state;
	for (size_t length = 14; length < sizeof bytes; length++) {
		int total = 0;

		assert_int_equal(send(wire, bytes, length, 0), length);
		for (int i = 0; i < QUEUES; i++)
			total += read(device.queue_fds[i], got, sizeof got) > 0;
		SAME("arrived", total, 1);
	}
}

static void a_flow_stays(int queues)
{
	for (unsigned int flow = 0; flow < FLOWS; flow++) {
		int first = queue_of(TCP4, flow, 0);

		assert_true(first < queues);
		SAME("queue", queue_of(TCP4, flow, 1), first);
	}
}

static void as_many_queues_as_there_are(void **state)
{
	(void)state;
	for (int queues = 1; queues <= QUEUES; queues++) {
		assert_int_equal(tap_device_class.set_queues(&device, queues), 0);
		carry();
		a_flow_stays(queues);
	}
}

/* --- a guest's own hash ----------------------------------------------------------------------- */

/* Microsoft's verification suite for Receive Side Scaling: the key, and what frames hash to. */
static const uint8_t key[STEERING_KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
	0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
	0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct vector {
	const char *from, *to;
	uint16_t from_port, to_port;
	uint32_t addresses, with_ports;		/* hashes */
} vectors[] = {
	{ "66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178 },
	{ "199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea },
	{ "24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a },
	{ "38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f },
	{ "153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2 },
	{ "3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d },
	{ "3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf },
	{ "3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024, 0x4b61e985,
	  0x02d1feef },
};

static void send_vector(const struct vector *vector, uint8_t protocol)
{
	bool ipv6 = strchr(vector->from, ':');
	uint8_t bytes[128], *ip = bytes + 14, *ports;
	uint16_t from_port = htons(vector->from_port), to_port = htons(vector->to_port);

	make(bytes, ipv6 ? TCP6 : TCP4, 0, 0);
	ip[ipv6 ? 6 : 9] = protocol;
	assert_int_equal(inet_pton(ipv6 ? AF_INET6 : AF_INET, vector->from, ip + (ipv6 ? 8 : 12)), 1);
	assert_int_equal(inet_pton(ipv6 ? AF_INET6 : AF_INET, vector->to, ip + (ipv6 ? 24 : 16)), 1);
	ports = ip + (ipv6 ? 40 : 20);
	memcpy(ports, &from_port, 2);
	memcpy(ports + 2, &to_port, 2);
	assert_int_equal(send(wire, bytes, 120, 0), 120);
}

/* Each bit of a hash is asked for: the mapping's size is 128, and its entries are the bits, two at a time. */
static void the_guests_hash_decides(void **state)
{
	struct steering_hash hash = { .mapping_size = STEERING_MAPPING_MAX };
	int map = -1;

	(void)state;
	memcpy(hash.key, key, sizeof key);
	for (unsigned int shift = 0; shift < 6; shift += 2)
		for (size_t i = 0; i < COUNT_OF(vectors); i++) {
			for (unsigned int entry = 0; entry < STEERING_MAPPING_MAX; entry++)
				hash.mapping[entry] = (uint8_t)(entry >> shift) % QUEUES;
			hash.types = STEERING_HASH_IPV4 | STEERING_HASH_IPV6;
			assert_int_equal(steering_by_guest(device.queue_fds[0], &hash, &map), 0);
			send_vector(&vectors[i], 6);
			SAME(vectors[i].from, next_queue(), vectors[i].addresses % 128 >> shift & 3);
			hash.types |= STEERING_HASH_IPV4_TCP | STEERING_HASH_IPV6_TCP;
			assert_int_equal(steering_by_guest(device.queue_fds[0], &hash, &map), 0);
			send_vector(&vectors[i], 6);
			SAME(vectors[i].from, next_queue(), vectors[i].with_ports % 128 >> shift & 3);
			send_vector(&vectors[i], 17);
			SAME(vectors[i].from, next_queue(), vectors[i].addresses % 128 >> shift & 3);
		}
	close(map);
}

/* Modulo 3 there is no bit that does not count. */
static void without_a_mapping_it_is_modulo(void **state)
{
	struct steering_hash hash = { .queues = 3, .types = STEERING_HASH_IPV4_TCP | STEERING_HASH_IPV6_TCP };
	int map = -1;

	(void)state;
	memcpy(hash.key, key, sizeof key);
	assert_int_equal(tap_device_class.set_queues(&device, 3), 0);
	carry();
	assert_int_equal(steering_by_guest(device.queue_fds[0], &hash, &map), 0);
	for (size_t i = 0; i < COUNT_OF(vectors); i++) {
		send_vector(&vectors[i], 6);
		SAME(vectors[i].from, next_queue(), vectors[i].with_ports % 3);
		send_vector(&vectors[i], 17);		/* not hashed */
		SAME(vectors[i].from, next_queue(), 0);
	}
	close(map);
	assert_int_equal(steering_by_flow(device.queue_fds[0]), 0);
	a_flow_stays(3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_flow_stays_and_flows_spread),
		TEST(the_guests_answers_move_nothing),
		TEST(short_frames_go_somewhere),
		TEST(as_many_queues_as_there_are),
		TEST(the_guests_hash_decides),
		TEST(without_a_mapping_it_is_modulo),
	};

	if (geteuid() != 0) {
		print_message("ok - skipped: TAPs are made by root only\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
