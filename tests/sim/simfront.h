/* simfront.h - the parts of simfront, for each other */
#ifndef TESTS_SIM_SIMFRONT_H
#define TESTS_SIM_SIMFRONT_H

#include <linux/virtio_net.h>

#include "netfront.h"

struct simfront_options {
	uint32_t domid;
	const char *netns, *mac, *ip, *ip6, *device;
	unsigned int mtu;
	struct netfront_config config;
};

/* A TAP named @options->device in the namespace, in which the process is from now on; up, with
 * addresses, with as many queues as netfront may get, all but the first not attached yet.
 * Non-blocking, with struct virtio_net_hdr before each frame.  -1 with a line on stderr. */
int simfront_tap_open(const struct simfront_options *options, int taps[NETFRONT_QUEUES]);
/* Whether the stack uses this queue, one of several. */
void simfront_tap_attach(int tap, bool attached);
/* What the namespace's stack may leave to the device; carrier. */
void simfront_tap_offload(int tap, const struct netfront *fe);
void simfront_tap_carrier(int tap, bool on);

/* netif's idea of offloads and virtio's. */
void simfront_to_netif(const struct virtio_net_hdr *header, struct netfront_frame *frame);
/* False for a frame whose blank checksum cannot be placed: not TCP or UDP over IP. */
bool simfront_to_virtio(const struct netfront_frame *frame, struct virtio_net_hdr *header);

#endif
