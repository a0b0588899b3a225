/* gntshr.c - libxengnttab for the simulator: sharing our own pages
 *
 * The pages are memory of our domain (upper half of its memfd, simxen's to give out), zeroed,
 * with a grant each.  They go back when they are unshared, the handle is closed or the process
 * dies; simxen keeps those that somebody has mapped until that is over.  Past the limit of all
 * processes: ENOSPC, as gntalloc. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gnttab.h"

xengntshr_handle *xengntshr_open(struct xentoollog_logger *logger, unsigned open_flags)
{
	(void)logger;
	(void)open_flags;
	return gnt_open(SIM_GNTSHR);
}

int xengntshr_close(xengntshr_handle *xgs)
{
	return gnt_close(xgs);
}

int xengntshr_fd(xengntshr_handle *xgs)
{
	return xgs->fd;
}

static void unshare_call(xengntshr_handle *xgs, uint32_t id)
{
	xgs->call.op = SIM_UNSHARE;
	xgs->call.words = 0;
	xgs->call.arg[0] = id;
	client_call(xgs->fd, &xgs->call, NULL);
}

/* Maps what simxen gave and remembers it. */
static void *map_shared(xengntshr_handle *xgs, struct client_domain *self, uint32_t count)
{
	uint32_t id = xgs->call.arg[0];
	void *address = mmap(NULL, (size_t)count * SIM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			     self->memory_fd, (off_t)xgs->call.arg[1] * SIM_PAGE);
	struct region *region = address == MAP_FAILED ? NULL : gnt_region_new(address, count, 1);

	if (!region) {
		unshare_call(xgs, id);
		errno = ENOMEM;
		return NULL;
	}
	region->ids[0] = id;
	region->next = xgs->regions;
	xgs->regions = region;
	return address;
}

static void *share(xengntshr_handle *xgs, uint32_t domid, uint32_t count, uint32_t *refs,
		   int writable, uint32_t notify_offset, uint32_t notify_port)
{
	struct client_domain *self = gnt_foreign(xgs, xgs->domid);
	struct sim_call *call = &xgs->call;
	void *address = NULL;

	if (!self || count == 0 || count > SIM_CALL_WORDS) {
		errno = EINVAL;
		return NULL;
	}
	pthread_mutex_lock(&xgs->lock);
	call->op = SIM_SHARE;
	call->words = count;
	call->arg[0] = domid;
	call->arg[1] = writable != 0;
	call->arg[2] = notify_offset;
	call->arg[3] = notify_port;
	if (client_call(xgs->fd, call, NULL) == 0) {
		memcpy(refs, call->data, count * sizeof *refs);
		address = map_shared(xgs, self, count);
	}
	pthread_mutex_unlock(&xgs->lock);
	return address;
}

void *xengntshr_share_pages(xengntshr_handle *xgs, uint32_t domid, int count, uint32_t *refs,
			    int writable)
{
	return share(xgs, domid, (uint32_t)count, refs, writable, SIM_NOTHING, SIM_NOTHING);
}

void *xengntshr_share_page_notify(xengntshr_handle *xgs, uint32_t domid, uint32_t *ref,
				  int writable, uint32_t notify_offset, evtchn_port_t notify_port)
{
	return share(xgs, domid, 1, ref, writable, notify_offset, notify_port);
}

int xengntshr_unshare(xengntshr_handle *xgs, void *start_address, uint32_t count)
{
	struct region *region;

	pthread_mutex_lock(&xgs->lock);
	region = gnt_region_take(xgs, start_address, count);
	if (region) {
		munmap(start_address, (size_t)count * SIM_PAGE);
		unshare_call(xgs, region->ids[0]);
	}
	pthread_mutex_unlock(&xgs->lock);
	if (!region) {
		errno = EINVAL;
		return -1;
	}
	free(region);
	return 0;
}
