/* simxen_grants.c - mapping granted pages, and sharing pages with grants
 *
 * Mapping is done here, where the pins can be dropped when a client dies; copying is done by the
 * clients (gnttab_copy.c).  Errors as Xen and Linux give them: any reference of a mapping that
 * cannot be pinned fails the whole with EINVAL, as gntdev does.
 *
 * A shared page whose owner goes away while it is mapped keeps its memory and its reference until
 * the last mapping is gone (gntalloc defers in the same way).
 *
 * Unfaithful: a close of the descriptor drops pins even if the pages are still mapped into the
 * process (Linux waits for the last munmap); no limit on maptrack entries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hypervisor.h"

static uint32_t next_id = 1;

/* Xen's _set_status_v1 for a page that is to be mapped: 0, or EINVAL. */
static int pin(struct domain *domain, uint32_t ref, uint16_t by, bool writable)
{
	uint32_t *word, old, new;

	if (ref >= SIM_GRANTS)
		return EINVAL;
	word = (uint32_t *)(void *)&domain->table->entries[ref];
	old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	do {
		uint16_t flags = (uint16_t)old;

		if ((flags & (GTF_type_mask | GTF_sub_page)) != GTF_permit_access ||
		    old >> 16 != by)
			return EINVAL;
		if (writable && (flags & GTF_readonly))
			return EINVAL;
		new = old | GTF_reading | (writable ? GTF_writing : 0);
	} while (!__atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	if (domain->table->entries[ref].frame >= SIM_PAGES) {
		__atomic_and_fetch(word, ~(uint32_t)(GTF_reading | GTF_writing), __ATOMIC_RELEASE);
		return EINVAL;
	}
	domain->table->pins[ref]++;
	domain->mapped++;
	return 0;
}

static void free_shared(struct domain *domain, struct shared_page *page)
{
	struct shared_page **link = &domain->shared;

	while (*link != page)
		link = &(*link)->next;
	*link = page->next;
	memset(&domain->table->entries[page->ref], 0, sizeof domain->table->entries[page->ref]);
	memset(domain->memory + (size_t)page->frame * SIM_PAGE, 0, SIM_PAGE);
	domain->frame_used[page->frame - SIM_PAGES_KERNEL] = 0;
	domain->ref_used[page->ref - SIM_GRANTS_KERNEL] = 0;
	domain->shared_count--;
	free(page);
}

/* After the last mapping of a page that gntalloc has released. */
static void reap_shared(struct domain *domain, uint32_t ref)
{
	for (struct shared_page *page = domain->shared; page; page = page->next)
		if (page->ref == ref && !page->owner) {
			free_shared(domain, page);
			return;
		}
}

/* One mapping of many may be the only writer: flags are exact only when the last pin goes. */
static void unpin(struct domain *domain, uint32_t ref)
{
	uint16_t *flags = &domain->table->entries[ref].flags;

	domain->table->pins[ref]--;
	if (domain->table->pins[ref] == 0) {
		__atomic_and_fetch(flags, (uint16_t)~(GTF_reading | GTF_writing), __ATOMIC_RELEASE);
		if (ref >= SIM_GRANTS_KERNEL)
			reap_shared(domain, ref);
	}
	domain_unmapped(domain);
}

static int pin_all(struct domain *domain, struct mapping *mapping, uint16_t by)
{
	for (uint32_t i = 0; i < mapping->count; i++) {
		int error = pin(domain, mapping->refs[i], by, mapping->writable);

		if (!error)
			continue;
		domain->mapped++;	/* keeps it from being reaped below */
		while (i-- > 0)
			unpin(domain, mapping->refs[i]);
		domain_unmapped(domain);
		return error;
	}
	return 0;
}

int grants_map(struct connection *gnttab, struct sim_call *call)
{
	struct domain *domain = domain_find(call->arg[0]);
	uint32_t count = call->words;
	struct mapping *mapping;
	int error;

	if (!domain || count == 0)
		return EINVAL;
	mapping = malloc(sizeof *mapping + count * sizeof mapping->refs[0]);
	if (!mapping)
		return ENOMEM;
	*mapping = (struct mapping){ .domain = domain, .id = next_id++, .count = count,
				     .writable = call->arg[1], .notify_offset = call->arg[2],
				     .notify_port = call->arg[3] };
	memcpy(mapping->refs, call->data, count * sizeof mapping->refs[0]);
	error = pin_all(domain, mapping, gnttab->domain->domid);
	if (error) {
		free(mapping);
		return error;
	}
	mapping->next = gnttab->mappings;
	gnttab->mappings = mapping;
	call->arg[0] = mapping->id;
	for (uint32_t i = 0; i < count; i++)
		call->data[i] = domain->table->entries[mapping->refs[i]].frame;
	return 0;
}

/* The unmap notification of gntdev and gntalloc: clear a byte, send an event. */
static void notify(struct connection *who, struct domain *domain, uint32_t frame, uint32_t offset,
		   uint32_t port)
{
	if (offset < SIM_PAGE && frame < SIM_PAGES)
		domain->memory[(size_t)frame * SIM_PAGE + offset] = 0;
	if (port != SIM_NOTHING)
		events_send(who->domain, port);
}

static void unmap(struct connection *gnttab, struct mapping **link)
{
	struct mapping *mapping = *link;
	struct domain *domain = mapping->domain;

	notify(gnttab, domain, domain->table->entries[mapping->refs[0]].frame,
	       mapping->notify_offset, mapping->notify_port);
	*link = mapping->next;
	for (uint32_t i = 0; i < mapping->count; i++)
		unpin(domain, mapping->refs[i]);	/* the last may free the domain */
	free(mapping);
}

int grants_unmap(struct connection *gnttab, uint32_t id)
{
	for (struct mapping **link = &gnttab->mappings; *link; link = &(*link)->next)
		if ((*link)->id == id) {
			unmap(gnttab, link);
			return 0;
		}
	return EINVAL;
}

/* The first of @count free bytes in a row, or @size. */
static uint32_t free_run(const uint8_t *used, uint32_t size, uint32_t count)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < size; i++) {
		run = used[i] ? 0 : run + 1;
		if (run == count)
			return i + 1 - count;
	}
	return size;
}

static int share_one(struct connection *gntshr, const struct sim_call *call, uint32_t id,
		     uint32_t frame, uint32_t ref)
{
	struct domain *domain = gntshr->domain;
	struct grant_entry_v1 *entry = &domain->table->entries[ref];
	struct shared_page *page = malloc(sizeof *page);

	if (!page)
		return ENOMEM;
	*page = (struct shared_page){ .next = domain->shared, .id = id, .ref = ref, .frame = frame,
				      .notify_offset = call->arg[2], .notify_port = call->arg[3],
				      .owner = gntshr };
	domain->shared = page;
	domain->shared_count++;
	domain->frame_used[frame - SIM_PAGES_KERNEL] = 1;
	domain->ref_used[ref - SIM_GRANTS_KERNEL] = 1;
	entry->domid = call->arg[0] == DOMID_SELF ? domain->domid : (uint16_t)call->arg[0];
	entry->frame = frame;
	__atomic_store_n(&entry->flags,
			 (uint16_t)(GTF_permit_access | (call->arg[1] ? 0 : GTF_readonly)),
			 __ATOMIC_RELEASE);
	return 0;
}

int grants_share(struct connection *gntshr, struct sim_call *call, uint32_t limit)
{
	struct domain *domain = gntshr->domain;
	uint32_t count = call->words, id = next_id++;
	uint32_t frames = SIM_PAGES - SIM_PAGES_KERNEL, refs = SIM_GRANTS - SIM_GRANTS_KERNEL;
	uint32_t frame, ref = 0;

	if (count == 0)
		return EINVAL;
	frame = free_run(domain->frame_used, frames, count);
	if (domain->shared_count + count > limit || frame == frames)
		return ENOSPC;
	for (uint32_t i = 0; i < count; i++) {
		ref = free_run(domain->ref_used, refs, 1);
		if (ref == refs || share_one(gntshr, call, id, SIM_PAGES_KERNEL + frame + i,
					     SIM_GRANTS_KERNEL + ref) != 0) {
			grants_unshare(gntshr, id);
			return ENOSPC;
		}
		call->data[i] = SIM_GRANTS_KERNEL + ref;
	}
	call->arg[0] = id;
	call->arg[1] = SIM_PAGES_KERNEL + frame;
	return 0;
}

/* Releases pages of @id, or all of the connection's for 0. */
static bool release_shared(struct connection *gntshr, uint32_t id)
{
	struct domain *domain = gntshr->domain;
	struct shared_page *next;
	bool any = false;

	for (struct shared_page *page = domain->shared; page; page = next) {
		next = page->next;
		if (page->owner != gntshr || (id != 0 && page->id != id))
			continue;
		any = true;
		notify(gntshr, domain, page->frame, page->notify_offset, page->notify_port);
		page->owner = NULL;
		if (domain->table->pins[page->ref] == 0)
			free_shared(domain, page);
	}
	return any;
}

int grants_unshare(struct connection *gntshr, uint32_t id)
{
	return id != 0 && release_shared(gntshr, id) ? 0 : EINVAL;
}

void grants_released(struct connection *connection)
{
	while (connection->mappings)
		unmap(connection, &connection->mappings);
	if (connection->kind == SIM_GNTSHR && connection->domain)
		release_shared(connection, 0);
}

/* A client killed in the middle of a copy leaves the entry's flags set.  A copy of somebody else
 * that runs just now loses its flags too soon, which only its guest could see. */
void grants_sweep(struct domain *domain)
{
	for (uint32_t ref = 0; ref < SIM_GRANTS; ref++) {
		uint16_t *flags = &domain->table->entries[ref].flags;

		if (domain->table->pins[ref] == 0 &&
		    (__atomic_load_n(flags, __ATOMIC_RELAXED) & (GTF_reading | GTF_writing)))
			__atomic_and_fetch(flags, (uint16_t)~(GTF_reading | GTF_writing),
					   __ATOMIC_RELEASE);
	}
}
