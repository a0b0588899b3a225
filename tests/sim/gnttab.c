/* gnttab.c - libxengnttab for the simulator: handles, and mapping granted pages
 *
 * The drop-in library has the symbols and versions of Xen 4.17's, and errno as that on Linux.  A
 * handle is one connection to simxen, which pins what we map and drops the pins when the
 * descriptor goes.  A mapped page is a page of the granting domain's memfd.  Copies are in
 * gnttab_copy.c.
 *
 * Unfaithful: nothing is logged; revoking a page does not take a mapping away (nor does Xen); the
 * handle survives a fork; dma-buf calls say ENOTTY; xentoolcore_restrict_all() passes us by. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gnttab.h"

struct xengntdev_handle *gnt_open(enum sim_kind kind)
{
	struct xengntdev_handle *handle = calloc(1, sizeof *handle);

	if (!handle)
		return NULL;
	handle->domid = client_domid();
	pthread_mutex_init(&handle->lock, NULL);
	handle->fd = client_connect(kind, handle->domid, SOCK_CLOEXEC);
	if (handle->fd >= 0)
		return handle;
	free(handle);
	return NULL;
}

static void foreign_free(struct foreign *foreign)
{
	if (foreign)
		client_domain_unmap(&foreign->domain);
	free(foreign);
}

int gnt_close(struct xengntdev_handle *handle)
{
	if (!handle)
		return 0;
	for (uint32_t i = 0; i < FOREIGN_SLOTS; i++)
		foreign_free(handle->foreign[i]);
	while (handle->retired) {
		struct foreign *foreign = handle->retired;

		handle->retired = foreign->retired;
		foreign_free(foreign);
	}
	while (handle->regions) {
		struct region *region = handle->regions;

		handle->regions = region->next;
		free(region);
	}
	close(handle->fd);
	pthread_mutex_destroy(&handle->lock);
	free(handle);
	return 0;
}

static struct foreign *current(struct xengntdev_handle *handle, uint32_t domid)
{
	struct foreign *foreign = __atomic_load_n(&handle->foreign[domid % FOREIGN_SLOTS],
						  __ATOMIC_ACQUIRE);

	return foreign && foreign->domid == domid &&
	       __atomic_load_n(&foreign->domain.table->alive, __ATOMIC_ACQUIRE) ? foreign : NULL;
}

/* Under the lock. */
static struct foreign *foreign_add(struct xengntdev_handle *handle, uint32_t domid)
{
	struct foreign **slot = &handle->foreign[domid % FOREIGN_SLOTS];
	struct foreign *foreign = calloc(1, sizeof *foreign);

	if (!foreign)
		return NULL;
	foreign->domid = domid;
	if (client_domain_map(handle->fd, domid, &foreign->domain) != 0) {
		free(foreign);
		return NULL;
	}
	if (*slot) {
		(*slot)->retired = handle->retired;
		handle->retired = *slot;
	}
	__atomic_store_n(slot, foreign, __ATOMIC_RELEASE);
	return foreign;
}

struct client_domain *gnt_foreign(struct xengntdev_handle *handle, uint32_t domid)
{
	struct foreign *foreign;

	if (domid == DOMID_SELF)
		domid = handle->domid;
	foreign = current(handle, domid);
	if (foreign)
		return &foreign->domain;
	pthread_mutex_lock(&handle->lock);
	foreign = current(handle, domid);
	if (!foreign)
		foreign = foreign_add(handle, domid);
	pthread_mutex_unlock(&handle->lock);
	return foreign ? &foreign->domain : NULL;
}

struct region *gnt_region_new(void *address, uint32_t count, uint32_t ids)
{
	struct region *region = calloc(1, sizeof *region + ids * sizeof region->ids[0]);

	if (!region)
		return NULL;
	region->address = address;
	region->count = count;
	return region;
}

/* The region at exactly this address and of this size, off the list; under the lock. */
struct region *gnt_region_take(struct xengntdev_handle *handle, void *address, uint32_t count)
{
	for (struct region **link = &handle->regions; *link; link = &(*link)->next) {
		struct region *region = *link;

		if (region->address != address || region->count != count)
			continue;
		*link = region->next;
		return region;
	}
	return NULL;
}

xengnttab_handle *xengnttab_open(struct xentoollog_logger *logger, unsigned open_flags)
{
	(void)logger;
	(void)open_flags;
	return gnt_open(SIM_GNTTAB);
}

int xengnttab_close(xengnttab_handle *xgt)
{
	return gnt_close(xgt);
}

int xengnttab_fd(xengnttab_handle *xgt)
{
	return xgt->fd;
}

int xengnttab_set_max_grants(xengnttab_handle *xgt, uint32_t nr_grants)
{
	(void)xgt;
	(void)nr_grants;
	return 0;
}

struct map_request {
	uint32_t count;
	const uint32_t *domids;		/* one for all if @same */
	bool same;
	const uint32_t *refs;
	int prot;
	uint32_t notify_offset, notify_port;
};

static int map_page(xengnttab_handle *xgt, const struct map_request *request, uint32_t i,
		    struct region *region)
{
	uint32_t domid = request->domids[request->same ? 0 : i];
	struct client_domain *domain = gnt_foreign(xgt, domid);
	struct sim_call *call = &xgt->call;
	void *page = (uint8_t *)region->address + (size_t)i * SIM_PAGE;
	int error;

	if (!domain) {
		errno = EINVAL;
		return -1;
	}
	pthread_mutex_lock(&xgt->lock);
	*call = (struct sim_call){ .op = SIM_MAP, .words = 1, .data = { request->refs[i] },
				   .arg = { domid, (request->prot & PROT_WRITE) != 0,
					    request->notify_offset, request->notify_port } };
	error = client_call(xgt->fd, call, NULL);
	if (!error) {
		region->ids[i] = call->arg[0];
		if (mmap(page, SIM_PAGE, request->prot, MAP_SHARED | MAP_FIXED, domain->memory_fd,
			 (off_t)call->data[0] * SIM_PAGE) == MAP_FAILED)
			error = -1;
	}
	pthread_mutex_unlock(&xgt->lock);
	return error;
}

/* Also of a region that is half made: ids are 0 from where it stopped. */
static void unmap_pages(xengnttab_handle *xgt, struct region *region)
{
	struct sim_call *call = &xgt->call;

	munmap(region->address, (size_t)region->count * SIM_PAGE);
	for (uint32_t i = 0; i < region->count && region->ids[i] != 0; i++) {
		call->op = SIM_UNMAP;
		call->words = 0;
		call->arg[0] = region->ids[i];
		client_call(xgt->fd, call, NULL);
	}
	free(region);
}

static void *map(xengnttab_handle *xgt, const struct map_request *request)
{
	size_t size = (size_t)request->count * SIM_PAGE;
	void *address = request->count
				? mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
				: MAP_FAILED;
	struct region *region;
	int error = 0;

	if (address == MAP_FAILED) {
		errno = EINVAL;
		return NULL;
	}
	region = gnt_region_new(address, request->count, request->count);
	if (!region)
		return NULL;
	for (uint32_t i = 0; i < request->count && !error; i++)
		error = map_page(xgt, request, i, region) == 0 ? 0 : errno;
	pthread_mutex_lock(&xgt->lock);
	if (error) {
		unmap_pages(xgt, region);
	} else {
		region->next = xgt->regions;
		xgt->regions = region;
	}
	pthread_mutex_unlock(&xgt->lock);
	errno = error;
	return error ? NULL : address;
}

void *xengnttab_map_grant_ref(xengnttab_handle *xgt, uint32_t domid, uint32_t ref, int prot)
{
	return xengnttab_map_grant_ref_notify(xgt, domid, ref, prot, SIM_NOTHING, SIM_NOTHING);
}

void *xengnttab_map_grant_refs(xengnttab_handle *xgt, uint32_t count, uint32_t *domids,
			       uint32_t *refs, int prot)
{
	struct map_request request = { count, domids, false, refs, prot, SIM_NOTHING, SIM_NOTHING };

	return map(xgt, &request);
}

void *xengnttab_map_domain_grant_refs(xengnttab_handle *xgt, uint32_t count, uint32_t domid,
				      uint32_t *refs, int prot)
{
	struct map_request request = { count, &domid, true, refs, prot, SIM_NOTHING, SIM_NOTHING };

	return map(xgt, &request);
}

void *xengnttab_map_grant_ref_notify(xengnttab_handle *xgt, uint32_t domid, uint32_t ref, int prot,
				     uint32_t notify_offset, evtchn_port_t notify_port)
{
	struct map_request request = { 1, &domid, true, &ref, prot, notify_offset, notify_port };

	return map(xgt, &request);
}

int xengnttab_unmap(xengnttab_handle *xgt, void *start_address, uint32_t count)
{
	struct region *region;

	pthread_mutex_lock(&xgt->lock);
	region = gnt_region_take(xgt, start_address, count);
	if (region)
		unmap_pages(xgt, region);
	pthread_mutex_unlock(&xgt->lock);
	if (region)
		return 0;
	errno = EINVAL;
	return -1;
}

static int no_dmabuf(void)
{
	errno = ENOTTY;
	return -1;
}

int xengnttab_dmabuf_exp_from_refs(xengnttab_handle *xgt, uint32_t domid, uint32_t flags,
				   uint32_t count, const uint32_t *refs, uint32_t *fd)
{
	(void)xgt, (void)domid, (void)flags, (void)count, (void)refs, (void)fd;
	return no_dmabuf();
}

int xengnttab_dmabuf_exp_wait_released(xengnttab_handle *xgt, uint32_t fd, uint32_t wait_to_ms)
{
	(void)xgt, (void)fd, (void)wait_to_ms;
	return no_dmabuf();
}

int xengnttab_dmabuf_imp_to_refs(xengnttab_handle *xgt, uint32_t domid, uint32_t fd, uint32_t count,
				 uint32_t *refs)
{
	(void)xgt, (void)domid, (void)fd, (void)count, (void)refs;
	return no_dmabuf();
}

int xengnttab_dmabuf_imp_release(xengnttab_handle *xgt, uint32_t fd)
{
	(void)xgt, (void)fd;
	return no_dmabuf();
}
