/* stack.c - a guest's network stack; see stack.h */
#include "stack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../sim/simfront.h"

#define BURST 64		/* frames of a queue before the rings are looked at again */
#define ETHERNET 18u		/* header and a VLAN tag: what xenvif allows beyond the MTU */

static void enter(int netns)
{
	assert_int_equal(setns(netns, CLONE_NEWNET), 0);
}

static int this_netns(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
	char command[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof command, format, arguments);
	va_end(arguments);
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

void stack_open(struct stack *stack, const struct profile *profile, uint32_t number)
{
	struct simfront_options options = { .device = "eth0", .mtu = STACK_MTU };
	char mac[32], ip[32], ip6[32];

	*stack = (struct stack){ .profile = profile, .number = number };
	snprintf(mac, sizeof mac, "00:16:3e:78:00:%02x", number);
	snprintf(ip, sizeof ip, "10.78.%u.1/24", number);
	snprintf(ip6, sizeof ip6, "fd78:%u::1/64", number);
	options.mac = mac;
	options.ip = ip;
	options.ip6 = ip6;
	options.config.queues = profile->queues ? profile->queues : 1;
	stack->host_netns = this_netns();
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	stack->netns = this_netns();
	assert_int_equal(simfront_tap_open(&options, stack->taps), 0);
	enter(stack->host_netns);
}

void stack_close(struct stack *stack)
{
	for (uint32_t i = 0; i < (stack->profile->queues ? stack->profile->queues : 1); i++)
		close(stack->taps[i]);
	close(stack->netns);
	close(stack->host_netns);
}

void stack_address_host(const struct stack *stack, const char *device)
{
	run("echo 0 >/proc/sys/net/ipv6/conf/%s/disable_ipv6", device);
	run("ip addr replace 10.78.%u.254/24 dev %s", stack->number, device);
	run("ip -6 addr replace fd78:%u::fe/64 dev %s nodad", stack->number, device);
}

void stack_receive(struct netfront *fe, const struct netfront_frame *frame, void *context)
{
	struct stack *stack = context;
	struct virtio_net_hdr header;
	struct iovec iov[NETFRONT_SLOTS + 1] = { { &header, sizeof header } };

	if (!frame->gso_type && frame->length > STACK_MTU + ETHERNET) {
		stack->large++;
		return;
	}
	stack->hashed += frame->hashed;
	stack->misplaced += frame->hashed && frame->queue != windows_queue(fe, frame->hash);
	if (!simfront_to_virtio(frame, &header)) {
		netfront_violation(fe, "csum_blank in a frame that is not TCP or UDP over IP");
		return;
	}
	memcpy(iov + 1, frame->iov, (size_t)frame->iov_count * sizeof *iov);
	if (writev(stack->taps[frame->queue], iov, frame->iov_count + 1) < 0)
		stack->not_taken++;
}

void stack_set_up(struct stack *stack, bool up)
{
	unsigned int send = stack->profile->send;
	unsigned long offload = (send & SEND_CSUM ? TUN_F_CSUM : 0) |
				(send & SEND_TSO4 ? TUN_F_TSO4 | TUN_F_TSO_ECN : 0) |
				(send & SEND_TSO6 ? TUN_F_TSO6 : 0);

	for (uint32_t i = 1; i < stack->profile->queues; i++)
		simfront_tap_attach(stack->taps[i], up && i < stack->fe->queue_count);
	if (up)
		assert_int_equal(ioctl(stack->taps[0], TUNSETOFFLOAD, offload), 0);
	simfront_tap_carrier(stack->taps[0], up);
	stack->up = up;
}

/* --- serving ---------------------------------------------------------------------------------- */

/* On fe->tx_queue; true if there may be more. */
static bool send_burst(struct stack *stack)
{
	struct netfront *fe = stack->fe;
	int n, most = stack->profile->pause_us ? (int)NETFRONT_RING : BURST;

	for (n = 0; n < most && netfront_tx_room(fe) > 0; n++) {
		struct virtio_net_hdr header;
		struct netfront_frame frame = { 0 };
		struct iovec iov[NETFRONT_SLOTS + 1] = { { &header, sizeof header } };
		int pages = netfront_tx_pages(fe, iov + 1);
		ssize_t got = readv(stack->taps[fe->tx_queue], iov, pages + 1);

		if (got <= (ssize_t)sizeof header)
			break;
		frame.length = (uint32_t)got - sizeof header;
		simfront_to_netif(&header, &frame);
		frame.data_validated |= stack->profile->send & SEND_VALIDATED;
		netfront_tx_commit(fe, &frame);
	}
	netfront_tx_flush(fe);
	return n == most;
}

bool stack_serve(struct stack *stack)
{
	struct netfront *fe = stack->fe;
	bool more = false;

	if (!fe || (stack->profile->pause_us && life_now() < stack->next))
		return false;
	netfront_dispatch(fe);
	if (stack->profile->polls)
		netfront_poll(fe);
	for (fe->tx_queue = 0; stack->up && fe->rings && fe->tx_queue < fe->queue_count; fe->tx_queue++)
		if (netfront_tx_room(fe) > 0)
			more |= send_burst(stack);
	stack->next = life_now() + stack->profile->pause_us * 1000LL;
	return more;
}

nfds_t stack_fds(const struct stack *stack, struct pollfd fds[STACK_FDS], int *ms)
{
	struct netfront *fe = stack->fe;
	nfds_t count = 0;

	if (!fe)
		return 0;
	if (stack->profile->pause_us || stack->profile->polls) {
		*ms = *ms > 1 ? 1 : *ms;
		return 0;
	}
	fds[count++] = (struct pollfd){ fe->guest->fd, POLLIN, 0 };
	fds[count++] = (struct pollfd){ netfront_xs_fd(fe), POLLIN, 0 };
	for (uint32_t i = 0; stack->up && fe->rings && i < fe->queue_count; i++) {
		fe->tx_queue = i;
		if (netfront_tx_room(fe) > 0)
			fds[count++] = (struct pollfd){ stack->taps[i], POLLIN, 0 };
	}
	return count;
}

/* --- sockets ---------------------------------------------------------------------------------- */

int stack_socket(const struct stack *stack, bool guest, int family, int type)
{
	const int on = 1;
	int fd;

	if (guest)
		enter(stack->netns);
	fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (guest)
		enter(stack->host_netns);
	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
	return fd;
}

socklen_t stack_address(const struct stack *stack, bool guest, int family, uint16_t port,
			struct sockaddr_storage *address)
{
	struct sockaddr_in *in = (struct sockaddr_in *)address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
	char text[32];

	memset(address, 0, sizeof *address);
	address->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		snprintf(text, sizeof text, "10.78.%u.%u", stack->number, guest ? 1 : 254);
		in->sin_port = htons(port);
		assert_int_equal(inet_pton(family, text, &in->sin_addr), 1);
		return sizeof *in;
	}
	snprintf(text, sizeof text, "fd78:%u::%s", stack->number, guest ? "1" : "fe");
	in6->sin6_port = htons(port);
	assert_int_equal(inet_pton(family, text, &in6->sin6_addr), 1);
	return sizeof *in6;
}
