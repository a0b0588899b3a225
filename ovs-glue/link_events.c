/* link_events.c - hears when a network device is set up or down; see link_events.h
 *
 * The kernel tells every change of every device; who listens picks out its own.  When more came than the
 * socket holds, libopenvswitch says so by a change that is none, and comes back with the socket still full.
 * Until it is empty the kernel drops what is new without another word (net/netlink/af_netlink.c,
 * NETLINK_S_CONGESTED), so that the loss is told once more when the next run has emptied it. */
#include <config.h>

#include <linux/rtnetlink.h>
#include <net/if.h>

#include "netlink-notifier.h"
#include "rtnetlink.h"

#include "../backend/log.h"
#include "link_events.h"

static struct {
	void (*changed)(void *context, int ifindex, bool up);
	void *context;
	struct nln_notifier *notifier;
	bool lost;			/* and the socket has not been emptied since */
} listener;

static void pass_on(const struct rtnetlink_change *change, void *aux)
{
	(void)aux;
	if (!change) {
		listener.lost = true;
		listener.changed(listener.context, 0, false);
	} else {
		listener.changed(listener.context, change->if_index,
				 change->nlmsg_type != RTM_DELLINK && (change->ifi_flags & IFF_UP) != 0);
	}
}

void link_events_start(void (*changed)(void *context, int ifindex, bool up), void *context)
{
	listener.changed = changed;
	listener.context = context;
	listener.notifier = rtnetlink_notifier_create(pass_on, NULL);
	if (!listener.notifier)
		log_warning("the kernel does not tell when a device is set down: guests will not see it");
}

void link_events_run(void)
{
	bool lost = listener.lost;

	listener.lost = false;
	rtnetlink_run();
	if (lost)
		listener.changed(listener.context, 0, false);
}

void link_events_wait(void)
{
	rtnetlink_wait();
}

void link_events_stop(void)
{
	rtnetlink_notifier_destroy(listener.notifier);
	listener.notifier = NULL;
}
