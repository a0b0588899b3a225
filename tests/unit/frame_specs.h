/* frame_specs.h - the header chains that tests of packet, checksum and offload go through */
#ifndef FRAME_SPECS_H
#define FRAME_SPECS_H

#include <netinet/in.h>

#include "frames.h"

static const struct frame_spec frame_specs[] = {
	{ "tcp4", 0, 4, 0, 0, IPPROTO_TCP, 0, 100 },
	{ "tcp4 with timestamps", 0, 4, 0, 0, IPPROTO_TCP, 12, 1448 },
	{ "tcp4 with all options", 0, 4, 40, 0, IPPROTO_TCP, 40, 33 },
	{ "tcp4 in a vlan", 1, 4, 0, 0, IPPROTO_TCP, 0, 1 },
	{ "tcp4 in two vlans, all options", 2, 4, 40, 0, IPPROTO_TCP, 40, 999 },
	{ "udp4", 0, 4, 0, 0, IPPROTO_UDP, 0, 18 },
	{ "udp4 with options", 0, 4, 12, 0, IPPROTO_UDP, 0, 301 },
	{ "tcp6", 0, 6, 0, 0, IPPROTO_TCP, 0, 100 },
	{ "tcp6 with options in a vlan", 1, 6, 0, 0, IPPROTO_TCP, 12, 1447 },
	{ "tcp6 behind one extension", 0, 6, 0, 1, IPPROTO_TCP, 0, 55 },
	{ "tcp6 behind four extensions", 0, 6, 0, 4, IPPROTO_TCP, 20, 200 },
	{ "udp6", 0, 6, 0, 0, IPPROTO_UDP, 0, 5 },
	{ "udp6 behind three extensions, two vlans", 2, 6, 0, 3, IPPROTO_UDP, 0, 77 },
};

#endif
