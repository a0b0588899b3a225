/* control_ring.h - the ring over which a guest configures its vif
 *
 * One a vif, optional (ctrl-ring-ref), served by the instance's main thread beside unetbackd's messages.
 * Requests are answered in order, each once, before a call returns.  Answers are those of Linux's xen-netback
 * where it has any (netback.c, hash.c).
 *
 * Bounded: at most a ring full of requests a call, each at most one grant copy; or as many until the first that
 * maps or unmaps pages, each of which is a system call or two. */
#ifndef BACKEND_CONTROL_RING_H
#define BACKEND_CONTROL_RING_H

#include "events.h"
#include "gcopy.h"
#include "hash.h"
#include "ring.h"
#include "vif_config.h"

struct control_setup {
	const struct vif_config *config;
	xengnttab_handle *gnttab;		/* outlives the ring */
	int evtchn_fd;				/* an open /dev/xen/evtchn; taken over, also on failure */
	const struct hash_config *hash;		/* what an instance before us was told, or zeros */
	struct gref_map *maps;			/* of the queues, one each; outlive the ring; NULL: not offered */
	/* Called with a hash that is to be in force, before the guest is told that it is; may be NULL. */
	void (*publish)(void *context, const struct hash_config *hash);
	void *context;
};

struct control_ring {
	xengnttab_handle *gnttab;
	void *page;				/* NULL: this vif has no control ring */
	struct ring_control ring;
	struct events events;
	struct gcopy copy;
	uint32_t queues;
	struct gref_map *maps;
	bool mapped;				/* pages were mapped or unmapped: enough for one call */
	struct hash_config hash;		/* as the guest wants it now */
	void (*publish)(void *context, const struct hash_config *hash);
	void *context;
	bool hash_changed;			/* by the last call of control_ring_serve() */
	bool more;				/* it is to be called again, without waiting */
	uint64_t requests;
	const char *fault;			/* what the guest broke; NULL while all is well */
};

/* 0, or -errno with a sentence in @why. */
int control_ring_open(struct control_ring *control, const struct control_setup *setup, char *why, size_t size);
void control_ring_close(struct control_ring *control);	/* idempotent; zeroed is fine */

static inline bool control_ring_is_open(const struct control_ring *control)
{
	return control->page != NULL;
}
static inline int control_ring_fd(const struct control_ring *control)
{
	return events_fd(&control->events);
}

/* To be called when the descriptor is readable, or @more says so.  0, or -EPROTO when the guest broke the ring:
 * nothing but close may be called any more. */
int control_ring_serve(struct control_ring *control);

#endif
