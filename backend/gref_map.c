/* gref_map.c - pages of a guest that stay mapped; see gref_map.h
 *
 * The table is twice as large as there are pages, so that a search ends soon at a free entry.  An entry is one
 * word: whoever finds a reference in it has the right place with it.  When pages are deleted the table is made
 * anew in place: a search meanwhile may miss a page that stays, and then the hypervisor copies that one slot.
 *
 * Deleting: out of the table, then wait until the queue's thread is outside a poll or in another one, then
 * unmap.  Table and poll counter are accessed in one order by both (sequentially consistent): either we see
 * the poll, or the poll does not see the entry. */
#include <assert.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "gref_map.h"

#define TABLE_SIZE (2 * GREF_MAP_MAX)
_Static_assert((TABLE_SIZE & (TABLE_SIZE - 1)) == 0, "a power of two");

static uint32_t first_entry(uint32_t ref)
{
	return (ref * 0x9e3779b1u) >> 16 & (TABLE_SIZE - 1);	/* multiplicative hash (Knuth) */
}

/* The page of @ref, or NULL.  By either thread. */
static const struct gref_page *find(const struct gref_map *map, uint32_t ref)
{
	for (uint32_t i = 0, at = first_entry(ref); i < TABLE_SIZE; i++, at = (at + 1) & (TABLE_SIZE - 1)) {
		uint64_t entry = __atomic_load_n(&map->table[at], __ATOMIC_SEQ_CST);

		if (entry == 0)
			return NULL;
		if (entry >> 32 == ref)
			return &map->pages[(uint32_t)entry - 1];
	}
	return NULL;
}

/* --- the main thread -------------------------------------------------------------------------- */

void gref_map_open(struct gref_map *map, xengnttab_handle *gnttab, uint16_t guest, uint32_t limit)
{
	memset(map, 0, sizeof *map);
	map->limit = limit;
	map->gnttab = gnttab;
	map->guest = guest;
}

static void unmap_page(struct gref_map *map, struct gref_page *page)
{
	xengnttab_unmap(map->gnttab, page->page, 1);
	page->page = NULL;
	map->count--;
}

void gref_map_close(struct gref_map *map)
{
	for (uint32_t i = 0; i < GREF_MAP_MAX; i++)
		if (map->pages[i].page)
			unmap_page(map, &map->pages[i]);
	memset(map->table, 0, sizeof map->table);
}

/* From here on the queue's thread may find it. */
static void publish(struct gref_map *map, uint32_t place)
{
	uint32_t ref = map->pages[place].ref, at = first_entry(ref);

	while (map->table[at] != 0)
		at = (at + 1) & (TABLE_SIZE - 1);
	__atomic_store_n(&map->table[at], (uint64_t)ref << 32 | (place + 1), __ATOMIC_SEQ_CST);
}

static bool is_acceptable(const struct gref_map *map, const struct xen_netif_gref *list, uint32_t at)
{
	if (list[at].ref == 0 || (list[at].flags & ~XEN_NETIF_CTRLF_GREF_readonly) || find(map, list[at].ref))
		return false;
	for (uint32_t i = 0; i < at; i++)
		if (list[i].ref == list[at].ref)
			return false;
	return true;
}

/* Into the next free place from @place on: which one, or GREF_MAP_MAX if it cannot be mapped. */
static uint32_t map_page(struct gref_map *map, uint32_t place, const struct xen_netif_gref *gref)
{
	bool readonly = gref->flags & XEN_NETIF_CTRLF_GREF_readonly;
	struct gref_page *page;

	while (map->pages[place].page)
		place++;		/* there is one: not all are in use */
	page = &map->pages[place];
	page->page = xengnttab_map_grant_ref(map->gnttab, map->guest, gref->ref,
					     readonly ? PROT_READ : PROT_READ | PROT_WRITE);
	if (!page->page)
		return GREF_MAP_MAX;
	page->ref = gref->ref;
	page->readonly = readonly;
	map->count++;
	return place;
}

bool gref_map_add(struct gref_map *map, const struct xen_netif_gref *list, uint32_t count)
{
	uint32_t places[GREF_MAP_MAX], mapped = 0;

	if (count > map->limit - map->count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!is_acceptable(map, list, i))
			return false;
	for (; mapped < count; mapped++) {
		places[mapped] = map_page(map, mapped > 0 ? places[mapped - 1] + 1 : 0, &list[mapped]);
		if (places[mapped] == GREF_MAP_MAX)
			break;
	}
	if (mapped < count) {
		while (mapped > 0)
			unmap_page(map, &map->pages[places[--mapped]]);
		return false;
	}
	for (uint32_t i = 0; i < count; i++)
		publish(map, places[i]);
	if (count > 0)
		__atomic_store_n(&map->used, 1, __ATOMIC_SEQ_CST);
	return true;
}

/* Until the poll that is going on, if one is, has ended. */
static void wait_for_poll(const struct gref_map *map)
{
	uint32_t polls = __atomic_load_n(&map->polls, __ATOMIC_SEQ_CST);

	while (polls % 2 == 1 && __atomic_load_n(&map->polls, __ATOMIC_SEQ_CST) == polls)
		sched_yield();
}

uint32_t gref_map_delete(struct gref_map *map, struct xen_netif_gref *list, uint32_t count)
{
	struct gref_page *leaving[GREF_MAP_MAX];
	uint32_t n = 0;

	assert(count <= GREF_MAP_MAX);
	for (uint32_t i = 0; i < count; i++) {
		struct gref_page *page = (struct gref_page *)find(map, list[i].ref);
		/* Twice in the list is there once only. */
		bool found = page && page->ref == list[i].ref && list[i].ref != 0;

		list[i].status = found ? XEN_NETIF_CTRL_STATUS_SUCCESS : XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER;
		if (!found)
			continue;
		page->ref = 0;
		leaving[n++] = page;
	}
	if (n == 0)
		return 0;
	for (uint32_t i = 0; i < TABLE_SIZE; i++)
		__atomic_store_n(&map->table[i], 0, __ATOMIC_SEQ_CST);
	for (uint32_t place = 0; place < GREF_MAP_MAX; place++)
		if (map->pages[place].page && map->pages[place].ref != 0)
			publish(map, place);
	wait_for_poll(map);
	for (uint32_t i = 0; i < n; i++)
		unmap_page(map, leaving[i]);
	return n;
}

/* --- the queue's thread ----------------------------------------------------------------------- */

struct gref_map *gref_map_enter(struct gref_map *map)
{
	if (!map || !__atomic_load_n(&map->used, __ATOMIC_ACQUIRE))
		return NULL;		/* so nothing is looked up, and nobody needs to wait for us */
	__atomic_fetch_add(&map->polls, 1, __ATOMIC_SEQ_CST);
	return map;
}

void gref_map_leave(struct gref_map *entered)
{
	if (entered)
		__atomic_fetch_add(&entered->polls, 1, __ATOMIC_SEQ_CST);
}

bool gref_map_read(const struct gref_map *entered, uint32_t ref, uint32_t offset, void *to, uint32_t length)
{
	const struct gref_page *page = entered ? find(entered, ref) : NULL;

	if (!page)
		return false;
	memcpy(to, page->page + offset, length);
	return true;
}

bool gref_map_write(const struct gref_map *entered, uint32_t ref, uint32_t offset, const void *from, uint32_t length)
{
	const struct gref_page *page = entered ? find(entered, ref) : NULL;

	if (!page || page->readonly)
		return false;
	memcpy(page->page + offset, from, length);
	return true;
}
