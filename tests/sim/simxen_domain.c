/* simxen_domain.c - domains: memory, grant table, life
 *
 * Both memfds are sparse and shared with whoever asks: the simulator trusts its clients, as it
 * tests what they do and does not confine them.  A destroyed domain's memory lives on for those
 * who have it mapped, as in Xen; its domid can be used again at once, which Xen would not do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hypervisor.h"

struct domain *domains;

struct domain *domain_find(uint32_t domid)
{
	for (struct domain *domain = domains; domain; domain = domain->next)
		if (domain->alive && domain->domid == domid)
			return domain;
	return NULL;
}

static void *new_memory(const char *name, size_t size, int *fd)
{
	void *memory;

	*fd = memfd_create(name, MFD_CLOEXEC);
	if (*fd < 0)
		return NULL;
	if (ftruncate(*fd, (off_t)size) != 0)
		return NULL;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void domain_free(struct domain *domain)
{
	if (domain->memory)
		munmap(domain->memory, (size_t)SIM_PAGES * SIM_PAGE);
	if (domain->table)
		munmap(domain->table, sizeof *domain->table);
	if (domain->memory_fd >= 0)
		close(domain->memory_fd);
	if (domain->table_fd >= 0)
		close(domain->table_fd);
	free(domain->frame_used);
	free(domain->ref_used);
	free(domain);
}

int domain_create(uint32_t domid)
{
	struct domain *domain;

	if (domid >= DOMID_FIRST_RESERVED)
		return EINVAL;
	if (domain_find(domid))
		return EEXIST;
	domain = calloc(1, sizeof *domain);
	if (!domain)
		return ENOMEM;
	domain->domid = (uint16_t)domid;
	domain->alive = true;
	domain->memory_fd = domain->table_fd = -1;
	domain->memory =
		new_memory("simxen-memory", (size_t)SIM_PAGES * SIM_PAGE, &domain->memory_fd);
	domain->table = new_memory("simxen-grants", sizeof *domain->table, &domain->table_fd);
	domain->frame_used = calloc(SIM_PAGES - SIM_PAGES_KERNEL, 1);
	domain->ref_used = calloc(SIM_GRANTS - SIM_GRANTS_KERNEL, 1);
	if (!domain->memory || !domain->table || !domain->frame_used || !domain->ref_used) {
		domain_free(domain);
		return ENOMEM;
	}
	domain->table->alive = 1;
	domain->table->domid = domid;
	domain->next = domains;
	domains = domain;
	return 0;
}

static void unlink_and_free(struct domain *domain)
{
	struct domain **link = &domains;

	while (*link != domain)
		link = &(*link)->next;
	*link = domain->next;
	domain_free(domain);
}

/* Destroyed and nobody has a page of it: nothing can remember it any more. */
static void reap(struct domain *domain)
{
	if (!domain->alive && domain->mapped == 0 && !domain->shared && domain->users == 0)
		unlink_and_free(domain);
}

int domain_destroy(uint32_t domid)
{
	struct domain *domain = domain_find(domid);

	if (!domain)
		return ESRCH;
	if (domid == 0)
		return EPERM;
	__atomic_store_n(&domain->table->alive, 0, __ATOMIC_RELEASE);
	events_domain_destroyed(domain);
	domain->alive = false;
	reap(domain);
	return 0;
}

void domain_unmapped(struct domain *domain)
{
	domain->mapped--;
	reap(domain);
}

void domain_unused(struct domain *domain)
{
	domain->users--;
	reap(domain);
}

/* A new kernel in a domain, as after kexec: its predecessor's ports and grants are gone, except for
 * grants that somebody still has mapped. */
void domain_guest_starts(struct domain *domain, struct connection *guest)
{
	domain->guest = guest;
	for (uint32_t ref = 0; ref < SIM_GRANTS_KERNEL; ref++)
		if (domain->table->pins[ref] == 0)
			memset(&domain->table->entries[ref], 0, sizeof domain->table->entries[ref]);
}
