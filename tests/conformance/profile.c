/* profile.c - the table of frontends; see profile.h */
#include <string.h>

#include "profile.h"

/* --- ways to open ----------------------------------------------------------------------------- */

/* Waits for InitWait; a driver that comes back says Initialising first. */
#define OPEN_WAITS { { XenbusStateInitialising, IN(InitWait) } }
/* Writes its keys whatever the backend's state is, and lets it catch up. */
#define OPEN_AT_ONCE { { 0, 0 } }
/* iPXE's netfront_reset(): unless the backend is ready, closes what somebody else has left. */
#define OPEN_RESETS { { XenbusStateInitialising, IN(InitWait) } }

/* --- ways to close ---------------------------------------------------------------------------- */

#define UNTIL_CLOSING (IN(Unknown) | IN(Closing) | IN(Closed))
#define UNTIL_CLOSED (IN(Unknown) | IN(Closed))

#define CLOSE_IN_STEPS                                                                               \
	{ { XenbusStateClosing, UNTIL_CLOSING }, { XenbusStateClosed, UNTIL_CLOSED } }
#define CLOSE_STRAIGHT { { XenbusStateClosed, UNTIL_CLOSED } }
/* Its memory stays granted until the backend is ready for the next one. */
#define CLOSE_AND_RESET                                                                              \
	{ { XenbusStateClosed, UNTIL_CLOSED }, { XenbusStateInitialising, IN(InitWait) } }
#define CLOSE_IN_STEPS_AND_RESET                                                                     \
	{ { XenbusStateClosing, UNTIL_CLOSING }, { XenbusStateClosed, UNTIL_CLOSED },                \
	  { XenbusStateInitialising, IN(InitWait) } }

/* The backend is Closing because the toolstack wants the device away. */
#define FOLLOWS { { 0, UNTIL_CLOSING }, { XenbusStateClosed, UNTIL_CLOSED } }

const struct profile profiles[] = {
	/* Linux 2.6.18 to 3.x: drivers/net/xen-netfront.c before split event channels.  An unload takes
	 * the event channel away first, then xenbus_dev_remove() writes Closed. */
	{ .name = "linux-old",
	  .keys = "tx-ring-ref rx-ring-ref event-channel request-rx-copy=1 feature-rx-notify=1 "
		  "feature-sg=1 feature-gso-tcpv4=1",
	  .write = WRITE_AT_ONCE, .open = OPEN_WAITS, .close = CLOSE_STRAIGHT, .detached = FOLLOWS,
	  .ports_first = true, .post = POST_AFTER_KEYS, .send = SEND_CSUM | SEND_TSO4 },

	/* Linux 4.x and later, xennet_remove(): waits for each step. */
	{ .name = "linux",
	  .keys = "multi-queue-num-queues rings request-rx-copy=1 feature-rx-notify=1 feature-sg=1 "
		  "feature-gso-tcpv4=1 feature-gso-tcpv6=1 feature-ipv6-csum-offload=1",
	  .write = WRITE_AT_ONCE, .open = OPEN_WAITS, .close = CLOSE_IN_STEPS, .detached = FOLLOWS,
	  .post = POST_AFTER_KEYS, .queues = 4, .send = SEND_ALL },

	/* win-xenvif, src/xenvif/frontend.c, receiver.c, transmitter.c, controller.c.  It spins while it
	 * waits. */
	{ .name = "windows-xenvif",
	  .keys = "rings request-rx-copy=1 feature-sg=1 feature-rx-notify=1 feature-no-csum-offload=0 "
		  "feature-ipv6-csum-offload=1 feature-gso-tcpv4=1 feature-gso-tcpv6=1 "
		  "ctrl-ring-ref event-channel-ctrl multi-queue-num-queues request-multicast-control=1",
	  .write = WRITE_AT_ONCE, .open = OPEN_WAITS, .close = CLOSE_IN_STEPS, .detached = FOLLOWS,
	  .post = POST_ONCE_CONNECTED, .queues = 2, .send = SEND_ALL, .vifs = 2, .up = windows_up },

	/* GPLPV of 2008, xennet: nothing but copying. */
	{ .name = "windows-gplpv",
	  .keys = "tx-ring-ref rx-ring-ref event-channel request-rx-copy=1 feature-rx-notify=1 "
		  "feature-no-csum-offload=0 feature-sg=0 feature-gso-tcpv4=0",
	  .write = WRITE_SINGLY, .open = OPEN_WAITS, .close = CLOSE_IN_STEPS, .detached = FOLLOWS,
	  .post = POST_AFTER_KEYS },

	/* RHEL 5, linux-2.6.18-xen drivers/xen/netfront/netfront.c.  It flips unless the backend says
	 * that it cannot (feature-rx-flip 0), so copying is what it comes to with us. */
	{ .name = "rhel5-copy",
	  .keys = "tx-ring-ref rx-ring-ref event-channel request-rx-copy=1 feature-rx-notify=1 "
		  "feature-no-csum-offload=0 feature-sg=1 feature-gso-tcpv4=1",
	  .write = WRITE_AT_ONCE, .open = OPEN_WAITS, .close = CLOSE_STRAIGHT, .detached = FOLLOWS,
	  .ports_first = true, .post = POST_AFTER_KEYS, .send = SEND_CSUM | SEND_TSO4 },

	/* The same where feature-rx-flip was not looked at. */
	{ .name = "rhel5-flip",
	  .keys = "tx-ring-ref rx-ring-ref event-channel request-rx-copy=0 feature-rx-notify=1 "
		  "feature-no-csum-offload=0 feature-sg=1 feature-gso-tcpv4=1",
	  .write = WRITE_AT_ONCE, .open = OPEN_WAITS, .close = CLOSE_STRAIGHT, .detached = FOLLOWS,
	  .post = POST_AFTER_KEYS,
	  .refused = "request-rx-copy is missing or 0, must be 1" },

	/* FreeBSD, sys/dev/xen/netfront/netfront.c: several queues, each with one event channel. */
	{ .name = "freebsd-xn",
	  .keys = "multi-queue-num-queues rings request-rx-copy=1 feature-rx-notify=1 feature-sg=1 "
		  "feature-gso-tcpv4=1",
	  .write = WRITE_AT_ONCE, .open = OPEN_WAITS, .close = CLOSE_STRAIGHT, .detached = FOLLOWS,
	  .single_event = true, .post = POST_AFTER_KEYS, .queues = 2, .send = SEND_CSUM | SEND_TSO4 },

	/* OpenBSD, sys/dev/pv/if_xnf.c: at attach, once, without a look at the backend's state, and
	 * never detached. */
	{ .name = "openbsd-xnf",
	  .keys = "rx-ring-ref request-rx-copy=1 feature-rx-notify=1 tx-ring-ref feature-sg=1 "
		  "feature-ipv6-csum-offload=1 event-channel",
	  .write = WRITE_SINGLY, .open = OPEN_AT_ONCE, .reboots = true, .post = POST_BEFORE_KEYS,
	  .send = SEND_CSUM },

	/* NetBSD, sys/arch/xen/xen/if_xennet_xenbus.c: Closing at shutdown, Closed when the backend is. */
	{ .name = "netbsd-xennet",
	  .keys = "vifname=xennet0 tx-ring-ref rx-ring-ref request-rx-copy=1 feature-rx-notify=1 "
		  "feature-ipv6-csum-offload=1 feature-sg=1 event-channel",
	  .write = WRITE_AT_ONCE, .open = OPEN_WAITS, .close = CLOSE_IN_STEPS, .detached = FOLLOWS,
	  .post = POST_AFTER_KEYS, .send = SEND_CSUM },

	/* illumos, usr/src/uts/common/xen/io/xnf.c. */
	{ .name = "illumos-xnf",
	  .keys = "tx-ring-ref rx-ring-ref event-channel feature-rx-notify=1 request-rx-copy=1 "
		  "request-multicast-control=1 feature-sg=1 feature-gso-tcpv4=1",
	  .write = WRITE_WITH_STATE, .open = OPEN_WAITS, .close = CLOSE_STRAIGHT, .detached = FOLLOWS,
	  .post = POST_BEFORE_KEYS, .send = SEND_CSUM | SEND_TSO4 },

	/* iPXE, src/drivers/net/netfront.c: polls, four buffers, does not follow. */
	{ .name = "ipxe",
	  .keys = "tx-ring-ref rx-ring-ref event-channel request-rx-copy=1 feature-sg=1 "
		  "feature-no-csum-offload=1 feature-rx-notify=1",
	  .write = WRITE_SINGLY, .open = OPEN_RESETS, .close = CLOSE_AND_RESET,
	  .post = POST_ONCE_CONNECTED, .rx_requests = 4, .send = SEND_VALIDATED, .polls = true },

	/* mini-os, netfront.c (stub domains): no fragments, no extras; does not wait, does not follow. */
	{ .name = "mini-os",
	  .keys = "tx-ring-ref rx-ring-ref event-channel feature-rx-notify=1 feature-persistent=1 "
		  "request-rx-copy=1",
	  .write = WRITE_WITH_STATE, .open = OPEN_AT_ONCE, .close = CLOSE_IN_STEPS_AND_RESET,
	  .post = POST_BEFORE_KEYS },

	/* MirageOS, mirage-net-xen lib/frontend.ml, lib/xenstore.ml: one thread for everything. */
	{ .name = "mirage",
	  .keys = "tx-ring-ref rx-ring-ref event-channel feature-sg=1 feature-gso-tcpv4=0 "
		  "request-rx-copy=1 feature-rx-flip=0 feature-rx-notify=1 feature-smart-poll=0",
	  .write = WRITE_AT_ONCE, .open = OPEN_WAITS, .close = CLOSE_STRAIGHT, .detached = FOLLOWS,
	  .post = POST_ONCE_CONNECTED, .pause_us = 1000 },
	{ 0 }
};

bool profile_writes(const struct profile *profile, const char *word)
{
	const char *at = profile->keys;
	size_t length = strlen(word);

	while ((at = strstr(at, word))) {
		if ((at == profile->keys || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
		at += length;
	}
	return false;
}

const struct profile *profile_named(const char *name)
{
	for (const struct profile *profile = profiles; profile->name; profile++)
		if (strcmp(profile->name, name) == 0)
			return profile;
	return NULL;
}
