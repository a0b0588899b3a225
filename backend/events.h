/* events.h - the event channels of one queue
 *
 * One or two interdomain channels (the guest chooses), on a descriptor of their own, so that a thread
 * sleeps on its own guest's events only.  /dev/xen/evtchn has late EOI (XSA-332): a port that fired is
 * masked until we unmask it, and unmasking tells the hypervisor that the event is dealt with.  We
 * unmask only when the rings are drained and req_event asks for more, never while polling: a slow
 * unmask is what throttles a guest that storms.
 *
 * The descriptor is read and written as /dev/xen/evtchn defines it, in arrays of ports: one call then
 * serves both, where libxenevtchn needs one each.
 *
 * Owner thread only, except open and close, which run before and after it. */
#ifndef BACKEND_EVENTS_H
#define BACKEND_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <xenevtchn.h>

struct events {
	xenevtchn_handle *evtchn;
	evtchn_port_t tx, rx;		/* local ports; equal if the guest has one for both */
	evtchn_port_t fired[2];		/* taken and not yet unmasked; each once, as they are masked */
	uint32_t fired_count;
};

/* Binds to the guest's ports over @fd, an open /dev/xen/evtchn that is ours from now on, also if this
 * fails.  Binding sets the port pending, so a first wake-up always comes.  Or -errno: -ENOENT etc.
 * from the hypervisor when the guest has no such port for us. */
int events_open(struct events *events, int fd, uint16_t guest, uint32_t tx_port, uint32_t rx_port);
void events_close(struct events *events);

static inline int events_fd(const struct events *events) { return xenevtchn_fd(events->evtchn); }

/* Takes the fired ports off the descriptor: how many. */
uint32_t events_take(struct events *events);
void events_unmask(struct events *events);	/* all that were taken; no system call if none was */
void events_notify_tx(struct events *events);
void events_notify_rx(struct events *events);

#endif
