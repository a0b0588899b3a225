/* test_policy.c - offloads and addresses as the operator wants them, by the real unetbackd
 *
 * Shown: under csum=complete a large frame with a blank checksum comes out in segments with right checksums, both
 * ways, though guest and TAP take them as they are under auto; a guest is offered nothing under csum=off; a word
 * that makes no sense is told and the default holds; frames from another MAC than the guest's are dropped as
 * spoofed, once that is asked for.  Keys are read when the guest connects. */
#include "simback.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../unit/frames.c"

#define PAYLOAD 20000u
#define SIZE 1000u

static const struct frame_spec spec = { "tcp4", 0, 4, 0, 0, IPPROTO_TCP, 12, PAYLOAD };
static struct frame_layout layout;
static uint8_t frame[24000];		/* checksum blank */

static struct simguest *guest;
static struct simvif *vif;
static int wire;			/* takes IPv4, sends behind a virtio header */

/* What came out of the large frame. */
static struct { uint32_t payload, frames, uncut, blank; bool right; } got;

static void take_bytes(const uint8_t *bytes, uint32_t length, bool blank)
{
	struct frame_layout mine = layout;
	uint16_t want;

	mine.length = length;
	want = blank ? naive_pseudo_header(bytes, &spec, &mine) : naive_checksum(bytes, &spec, &mine);
	got.frames++;
	got.blank += blank;
	got.uncut += length > layout.payload + SIZE;
	got.right &= length > layout.payload && frame_get16(bytes + layout.checksum) == want;
	got.right &= memcmp(bytes + layout.payload, frame + layout.payload + got.payload, length - layout.payload) == 0;
	got.payload += length - layout.payload;
}

static void at_guest(struct netfront *fe, const struct netfront_frame *received, void *context)
{
	static uint8_t bytes[65536];
	uint32_t length = 0;

	(void)fe;
	(void)context;
	for (int i = 0; i < received->iov_count; length += (uint32_t)received->iov[i++].iov_len)
		memcpy(bytes + length, received->iov[i].iov_base, received->iov[i].iov_len);
	if (frame_get16(bytes + 12) == 0x0800)
		take_bytes(bytes, length, received->csum_blank);
}

static bool is_all_at_host(void *context)
{
	static uint8_t bytes[65536];
	struct virtio_net_hdr vnet;
	struct iovec iov[2] = { { &vnet, sizeof vnet }, { bytes, sizeof bytes } };
	struct msghdr message = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t length;

	(void)context;
	while ((length = recvmsg(wire, &message, MSG_DONTWAIT)) > (ssize_t)sizeof vnet)
		take_bytes(bytes, (uint32_t)length - sizeof vnet, vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM);
	return got.payload >= PAYLOAD;
}

static bool is_all_at_guest(void *context)
{
	(void)context;
	return got.payload >= PAYLOAD;
}

static void open_wire(void)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(0x0800) };
	int one = 1;

	wire = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	assert_true(wire >= 0);
	assert_int_equal(setsockopt(wire, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one), 0);
	address.sll_ifindex = (int)if_nametoindex(vif->name);
	assert_int_equal(bind(wire, (struct sockaddr *)&address, sizeof address), 0);
}

static void expect_segments(bool cut)
{
	assert_int_equal(got.payload, PAYLOAD);
	assert_true(got.right);
	assert_int_equal(got.frames, cut ? PAYLOAD / SIZE : 1);
	assert_int_equal(got.blank, cut ? 0 : 1);
	memset(&got, 0, sizeof got);
	got.right = true;
}

static void check_both_ways(bool cut)
{
	const struct netfront_frame meta = { .csum_blank = true, .data_validated = true,
					     .gso_type = XEN_NETIF_GSO_TYPE_TCPV4, .gso_size = SIZE };
	struct virtio_net_hdr vnet = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.hdr_len = (uint16_t)layout.payload, .gso_size = SIZE, .csum_start = (uint16_t)layout.transport,
		.csum_offset = 16,
	};
	struct iovec iov[2] = { { &vnet, sizeof vnet }, { frame, layout.length } };

	memset(&got, 0, sizeof got);
	got.right = true;
	assert_true(netfront_send(vif->fe, frame, layout.length, &meta));
	simback_await(is_all_at_host, NULL);
	expect_segments(cut);
	assert_true(writev(wire, iov, 2) > 0);
	simback_await(is_all_at_guest, NULL);
	expect_segments(cut);
	assert_int_equal(simback_number("stats", vif->name, NULL, "guest_tx_segments"), cut ? PAYLOAD / SIZE : 0);
	assert_int_equal(simback_number("stats", vif->name, NULL, "guest_rx_segments"), cut ? PAYLOAD / SIZE : 0);
}

static void write_key(const char *key, const char *value)
{
	char path[96];

	snprintf(path, sizeof path, "%s/%s", vif->backend, key);
	assert_true(xs_write(simback_xs(), XBT_NULL, path, value, (unsigned int)strlen(value)));
}

static const char *read_key(const char *key)
{
	static char value[32];
	unsigned int length = 0;
	char path[96], *read;

	snprintf(path, sizeof path, "%s/%s", vif->backend, key);
	read = xs_read(simback_xs(), XBT_NULL, path, &length);
	snprintf(value, sizeof value, "%.*s", (int)length, read ? read : "");
	free(read);
	return value;
}

static bool shows(const char *what)
{
	return strstr(simback_ask("show", vif->name), what);
}

static void connect_again(void)
{
	assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
	assert_true(netfront_reopen(vif->fe));
	simback_await(simvif_connected, vif);
}

static int setup(void **state)
{
	(void)state;
	frame_build(frame, &spec, &layout);
	frame_blank_checksum(frame, &spec, &layout);
	guest = simback_guest(1);
	vif = simvif_open(guest, 0, NULL, NULL);
	open_wire();
	simvif_exchange(vif, 2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(vif->fe->violations, 0);
	simback_await(simvif_balanced, vif);
	close(wire);
	simvif_free(vif);
	simback_destroy(guest);
	return 0;
}

static void complete_leaves_nothing_undone(void **state)
{
	(void)state;
	vif->fe->config.hooks.receive = at_guest;
	check_both_ways(false);
	write_key("unetback-csum", "complete");
	connect_again();
	assert_true(shows("\"csum\": \"complete\""));
	assert_true(shows("\"gso-tcpv4\""));		/* the guest may, as far as it knows */
	check_both_ways(true);
	write_key("unetback-csum", "everything");
	connect_again();
	assert_true(shows("\"csum\": \"auto\""));
	assert_true(shows("unetback-csum is 'everything', must be auto, complete or off; it is auto now"));
	check_both_ways(false);
}

static void off_offers_nothing(void **state)
{
	(void)state;
	assert_string_equal(read_key("feature-no-csum-offload"), "0");
	write_key("unetback-csum", "off");
	connect_again();
	assert_string_equal(read_key("feature-no-csum-offload"), "1");
	assert_string_equal(read_key("feature-gso-tcpv4"), "0");
	assert_string_equal(read_key("feature-gso-tcpv6"), "0");
	assert_string_equal(read_key("feature-ipv6-csum-offload"), "0");
	simvif_exchange(vif, 2);
}

static long long spoofed(void)
{
	return simback_number("stats", vif->name, "guest_tx_verdicts", "spoofed");
}

static bool is_spoofed(void *wanted)
{
	return spoofed() == *(long long *)wanted;
}

static void a_guest_sends_as_itself(void **state)
{
	long long wanted = 2;

	(void)state;
	write_key("mac", "00:16:3e:01:02:07");
	write_key("unetback-anti-spoof", "1");
	connect_again();
	assert_true(shows("\"anti_spoof\": true"));
	vif->flow = 7;
	simvif_exchange(vif, 2);
	assert_int_equal(spoofed(), 0);
	vif->flow = 8;
	assert_true(simvif_send(vif, 60));
	assert_true(simvif_send(vif, 6000));
	simback_await(is_spoofed, &wanted);
	vif->flow = 7;
	simvif_exchange(vif, 2);
	write_key("ip", "192.0.2.1 fe80::/64");
	connect_again();
	assert_true(shows("\"192.0.2.1\""));
	assert_true(shows("\"fe80::/64\""));
	wanted = 1;
	assert_true(simvif_send(vif, 60));		/* neither IP nor ARP */
	simback_await(is_spoofed, &wanted);
	write_key("unetback-anti-spoof", "0");
	connect_again();
	vif->flow = 8;
	simvif_exchange(vif, 2);
	assert_int_equal(spoofed(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int start(void **state)
{
	static const char *const options[] = { "--queues=1", NULL };

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
		TEST(complete_leaves_nothing_undone),
		TEST(off_offers_nothing),
		TEST(a_guest_sends_as_itself),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
