/* test_segment_linux.c - our segments are the kernel's, byte for byte
 *
 * A frame that is left to be cut is sent to a TAP by a packet socket with a virtio header.  The TAP takes no
 * segmentation, with and without checksums, so the kernel cuts the frame before we read it (validate_xmit_skb,
 * its software GSO); what is read must be what segment.c makes of the same frame.  Headers, options, tags,
 * flags, sizes and lengths are random, from a seed that is told; a frame the kernel refuses proves nothing and
 * is counted: few may be.
 *
 * In a network namespace of its own; needs root. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../backend/segment.h"
#include "../unit/frames.c"
#include "../unit/unit.h"

#define NAME "cut0"
#define ROUNDS 400
#define VNET ((int)sizeof(struct virtio_net_hdr_v1))

static int tap, wire;
static uint32_t seed = 20261201;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void set_up(int sock, short flags, int mtu)
{
	struct ifreq ifr = { .ifr_mtu = mtu };

	strcpy(ifr.ifr_name, NAME);
	assert_return_code(ioctl(sock, SIOCSIFMTU, &ifr), errno);
	ifr.ifr_flags = flags;
	assert_return_code(ioctl(sock, SIOCSIFFLAGS, &ifr), errno);
}

static int enter(void **state)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	struct sockaddr_ll address = { .sll_family = AF_PACKET };
	int one = 1, size = VNET;

	(void)state;
	assert_return_code(unshare(CLONE_NEWNET), errno);
	tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	assert_true(tap >= 0);
	strcpy(ifr.ifr_name, NAME);
	assert_return_code(ioctl(tap, TUNSETIFF, &ifr), errno);
	assert_return_code(ioctl(tap, TUNSETVNETHDRSZ, &size), errno);
	wire = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	assert_true(wire >= 0);
	set_up(wire, IFF_UP, 9000);
	assert_return_code(setsockopt(wire, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one), errno);
	address.sll_ifindex = (int)if_nametoindex(NAME);
	assert_return_code(bind(wire, (struct sockaddr *)&address, sizeof address), errno);
	return 0;
}

static int leave(void **state)
{
	(void)state;
	close(wire);
	close(tap);
	return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

struct sender {
	struct frame_spec spec;
	struct frame_layout at;
	uint8_t bytes[70000];
	struct virtio_net_hdr_v1 vnet;
};

/* What the kernel's stack would not send is left out: SYN and URG with segmentation. */
static void make(struct sender *s)
{
	static const int versions[] = { 4, 6 };
	uint8_t *ip, *tcp;

	s->spec = (struct frame_spec){ "random", (int)any(3), versions[any(2)], 0, 0, IPPROTO_TCP, (int)any(11) * 4, 0 };
	if (s->spec.ip_version == 4 && any(2))
		s->spec.ip_options = (int)any(11) * 4;
	s->spec.payload = 1 + any(any(2) ? 65000 : 3000);
	while (frame_spec_length(&s->spec) > 65535)
		s->spec.payload -= 100;
	frame_build(s->bytes, &s->spec, &s->at);
	ip = s->bytes + s->at.network;
	tcp = s->bytes + s->at.transport;
	if (s->spec.ip_version == 4) {
		put16(ip + 4, any(4) ? any(65536) : 0xfffc);
		put16(ip + 6, any(2) ? 0x4000 : 0);
	}
	for (int i = 0; i < 12; i++)
		tcp[i] = (uint8_t)any(256);
	tcp[13] = (uint8_t)any(256) & 0xd9;
	for (int i = 0; i < s->spec.tcp_options; i++)
		tcp[20 + i] = (uint8_t)any(256);
	for (uint32_t i = s->at.payload; i < s->at.length; i += 1 + any(5))
		s->bytes[i] = (uint8_t)any(256);
	frame_blank_checksum(s->bytes, &s->spec, &s->at);
	s->vnet = (struct virtio_net_hdr_v1){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = s->spec.ip_version == 4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6,
		.hdr_len = htole16((uint16_t)s->at.payload),
		.gso_size = htole16((uint16_t)(any(4) ? 500 + any(8000) : 8 + any(500))),
		.csum_start = htole16((uint16_t)s->at.transport),
		.csum_offset = htole16(16),
	};
	if (tcp[13] & 0x80)
		s->vnet.gso_type |= VIRTIO_NET_HDR_GSO_ECN;
}

static bool send_it(struct sender *s)
{
	/* A packet socket takes the header without num_buffers. */
	struct iovec iov[2] = { { &s->vnet, sizeof(struct virtio_net_hdr) }, { s->bytes, s->at.length } };

	return writev(wire, iov, 2) == (ssize_t)(sizeof(struct virtio_net_hdr) + s->at.length);
}

/* The kernel's next segment of @s: its length, 0 if none comes in @ms.  Frames of other senders are left out; a CPU
 * that sends one may have been handed ours as well, so that they come later than send() returns. */
static uint32_t read_one(const struct sender *s, struct virtio_net_hdr_v1 *vnet, uint8_t *bytes, int ms)
{
	struct iovec iov[2] = { { vnet, sizeof *vnet }, { bytes, 70000 } };
	struct pollfd fd = { .fd = tap, .events = POLLIN };
	ssize_t got;

	do {
		if (poll(&fd, 1, ms) <= 0)
			return 0;
		got = readv(tap, iov, 2);
	} while (got > VNET && memcmp(bytes + 6, s->bytes + 6, 6) != 0);
	return got > VNET ? (uint32_t)(got - VNET) : 0;
}

static void compare(struct sender *s, enum segment_checksum checksum, const char *what)
{
	static uint8_t ours[70000], theirs[70000];
	struct virtio_net_hdr_v1 vnet;
	struct segmentation cut;
	uint32_t length, count = 0;

	SAME(what, segment_begin(&cut, s->bytes, s->at.length, &s->vnet, checksum, sizeof ours), 0);
	while ((length = segment_next(&cut, ours)) > 0) {
		uint32_t got = read_one(s, &vnet, theirs, 5000);

		SAME(what, got, length);
		/* The two are equal (RFC 1071): we write what is also right for UDP. */
		if (checksum == SEGMENT_CHECKSUM_WHOLE && frame_get16(theirs + s->at.checksum) == 0)
			put16(theirs + s->at.checksum, 0xffff);
		if (memcmp(ours, theirs, length) != 0)
			for (uint32_t i = 0; i < length; i++)
				SAME(what, (i << 8) + ours[i], (i << 8) + theirs[i]);
		SAME(what, vnet.gso_type, 0);
		SAME(what, vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM, checksum == SEGMENT_CHECKSUM_PARTIAL);
		count++;
	}
	SAME(what, read_one(s, &vnet, theirs, 0), 0);
	SAME(what, count, cut.count);
}

/* What is one segment the kernel does not cut (virtio_net_hdr_to_skb); and the TAP's queue holds as many frames
 * as its length: what is more would be dropped. */
static bool is_worth_it(const struct sender *s)
{
	uint32_t size = le16toh(s->vnet.gso_size);

	return s->spec.payload > size && s->spec.payload / size < 400;
}

static void segments_are_the_kernels(void **state)
{
	static struct sender sender;

	(void)state;
	for (int partial = 0; partial < 2; partial++) {
		int compared = 0, refused = 0;

		assert_return_code(ioctl(tap, TUNSETOFFLOAD, partial ? TUN_F_CSUM : 0), errno);
		while (compared < ROUNDS) {
			char what[128];

			make(&sender);
			if (!is_worth_it(&sender))
				continue;
			snprintf(what, sizeof what, "seed %u: ip%d, options %d and %d, tags %d, payload %u, size %u", seed,
				 sender.spec.ip_version, sender.spec.ip_options, sender.spec.tcp_options,
				 sender.spec.vlan_tags, sender.spec.payload, le16toh(sender.vnet.gso_size));
			if (!send_it(&sender)) {
				assert_true(++refused < ROUNDS);
				continue;
			}
			compare(&sender, partial ? SEGMENT_CHECKSUM_PARTIAL : SEGMENT_CHECKSUM_WHOLE, what);
			compared++;
		}
		assert_in_range(refused, 0, ROUNDS / 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(segments_are_the_kernels) };

	return cmocka_run_group_tests_name("segment_linux", tests, enter, leave);
}
