/* gref_map.h - pages of a guest that stay mapped, by their grant reference ("staging grants")
 *
 * A guest that uses the same pages again and again tells us over its control ring (netif.h, ADD_GREF_MAPPING;
 * Xen's docs/misc/netif-staging-grants.pandoc).  A slot of its rings that names one is then copied by us, plainly,
 * without the hypervisor.  A reference that is not mapped is no fault: it goes the usual way (gcopy.h).
 *
 * One map a queue.  The main thread adds and deletes; the queue's thread looks up, without a lock, and only
 * between enter and leave, which it calls around each poll.  A page is taken out of the map first and unmapped
 * when the queue's thread has left the poll in which it may have found it: the caller waits for that, at most as
 * long as a poll takes, which is bounded.
 *
 * The pages are the guest's to change at any time: they are copied from and to as a whole, here and nowhere else,
 * and never looked into. */
#ifndef BACKEND_GREF_MAP_H
#define BACKEND_GREF_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <xengnttab.h>

#include "netif.h"

/* Pages of one vif, shared out evenly among its queues: what both rings of a queue need, and one list holds.
 * Each is a maptrack entry of our whole domain's (half a million by default, Xen's gnttab_max_maptrack_frames). */
#define GREF_MAP_MAX 512u

struct gref_map {
	/* Both threads; atomic. */
	uint32_t used;			/* not 0 once a page was added: until then polls cost nothing more */
	uint32_t polls;			/* odd while the queue's thread polls */
	uint64_t table[2 * GREF_MAP_MAX];	/* open addressing: reference << 32 | place + 1; 0: free */
	/* The main thread's, but for what table entries point to. */
	struct gref_page {
		uint8_t *page;		/* NULL: a free place */
		uint32_t ref;
		bool readonly;
	} pages[GREF_MAP_MAX];
	uint32_t count, limit;
	xengnttab_handle *gnttab;
	uint16_t guest;
};

/* --- the main thread */

/* @limit pages at most, which is at most GREF_MAP_MAX. */
void gref_map_open(struct gref_map *map, xengnttab_handle *gnttab, uint16_t guest, uint32_t limit);
/* Unmaps all.  The queue's thread is gone. */
void gref_map_close(struct gref_map *map);

/* Maps all @count pages of @list, or none: false if one is there already or twice in it, is no reference, has
 * unknown flags, cannot be mapped, or if they are too many. */
bool gref_map_add(struct gref_map *map, const struct xen_netif_gref *list, uint32_t count);
/* Unmaps those that are mapped; each entry's status says whether it was.  How many were.  Waits for the queue's
 * thread to leave its poll. */
uint32_t gref_map_delete(struct gref_map *map, struct xen_netif_gref *list, uint32_t count);

/* --- the queue's thread */

/* Around a poll.  Enter's result is what may be looked up in, or NULL; leave takes that. */
struct gref_map *gref_map_enter(struct gref_map *map);
void gref_map_leave(struct gref_map *entered);

/* Copies @length bytes (@offset + @length at most a page) from or to the page of @ref.  False, and nothing is done,
 * if that is not mapped, or if it is mapped for reading only and is to be written.  @entered may be NULL. */
bool gref_map_read(const struct gref_map *entered, uint32_t ref, uint32_t offset, void *to, uint32_t length);
bool gref_map_write(const struct gref_map *entered, uint32_t ref, uint32_t offset, const void *from, uint32_t length);

#endif
