/* simfront_tap.c - the guest's network device: a TAP in a network namespace; see simfront.h */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "simfront.h"

static int complain(const char *what)
{
	fprintf(stderr, "simfront: %s: %s\n", what, strerror(errno));
	return -1;
}

static int enter(const char *netns)
{
	char path[128];
	int fd, error;

	if (!netns)
		return 0;
	snprintf(path, sizeof path, "/var/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return complain(path);
	error = setns(fd, CLONE_NEWNET);
	close(fd);
	return error ? complain("setns") : 0;
}

static int __attribute__((format(printf, 1, 2))) run(const char *format, ...)
{
	char command[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof command, format, arguments);
	va_end(arguments);
	if (system(command) == 0)
		return 0;
	fprintf(stderr, "simfront: failed: %s\n", command);
	return -1;
}

/* A long transmit queue, as a TAP drops where netfront would stop the stack. */
static int configure(const struct simfront_options *options)
{
	const char *device = options->device;

	if (run("ip link set lo up") != 0 ||
	    run("ip link set %s address %s mtu %u txqueuelen 5000 up", device, options->mac,
		options->mtu) != 0)
		return -1;
	if (options->ip && run("ip addr add %s dev %s", options->ip, device) != 0)
		return -1;
	return options->ip6 ? run("ip -6 addr add %s dev %s nodad", options->ip6, device) : 0;
}

static int open_queue(const struct simfront_options *options)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (tap < 0)
		return complain("/dev/net/tun");
	if (options->config.queues > 1)
		request.ifr_flags |= IFF_MULTI_QUEUE;
	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", options->device);
	return ioctl(tap, TUNSETIFF, &request) != 0 ? complain(options->device) : tap;
}

void simfront_tap_attach(int tap, bool attached)
{
	struct ifreq request = { .ifr_flags = attached ? IFF_ATTACH_QUEUE : IFF_DETACH_QUEUE };

	/* EINVAL: it is so already. */
	if (ioctl(tap, TUNSETQUEUE, &request) != 0 && errno != EINVAL)
		complain("TUNSETQUEUE");
}

int simfront_tap_open(const struct simfront_options *options, int taps[NETFRONT_QUEUES])
{
	if (enter(options->netns) != 0)
		return -1;
	for (uint32_t i = 0; i < options->config.queues; i++) {
		taps[i] = open_queue(options);
		if (taps[i] < 0)
			return -1;
		if (i > 0)
			simfront_tap_attach(taps[i], false);
	}
	simfront_tap_carrier(taps[0], false);
	return configure(options);
}

void simfront_tap_offload(int tap, const struct netfront *fe)
{
	unsigned long offload = 0;

	if (fe->backend_csum4 && fe->csum6)	/* the kernel has one switch for both */
		offload = TUN_F_CSUM | (fe->gso4 ? TUN_F_TSO4 | TUN_F_TSO_ECN : 0) |
			  (fe->gso6 ? TUN_F_TSO6 : 0);
	if (ioctl(tap, TUNSETOFFLOAD, offload) != 0)
		complain("TUNSETOFFLOAD");
}

void simfront_tap_carrier(int tap, bool on)
{
	int carrier = on;

	if (ioctl(tap, TUNSETCARRIER, &carrier) != 0)
		complain("TUNSETCARRIER");
}
