/* gnttab.h - the handle behind libxengnttab's two interfaces, for this library's own files */
#ifndef TESTS_SIM_GNTTAB_H
#define TESTS_SIM_GNTTAB_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <xengnttab.h>

#include "client.h"

#define FOREIGN_SLOTS 64u

/* A domain whose memory we copy from or to.  Never unmapped before the handle closes, as a thread
 * may be in the middle of a copy. */
struct foreign {
	struct foreign *retired;
	struct client_domain domain;
	uint32_t domid;
};

/* What was mapped or shared by one call, at one address. */
struct region {
	struct region *next;
	void *address;
	uint32_t count;
	uint32_t ids[];			/* simxen's: one a page mapped, one for all pages shared */
};

struct xengntdev_handle {
	int fd;
	uint32_t domid;
	pthread_mutex_t lock;		/* calls on fd, and the lists */
	struct sim_call call;
	struct foreign *foreign[FOREIGN_SLOTS];	/* by domid; read without the lock */
	struct foreign *retired;
	struct region *regions;
};

struct xengntdev_handle *gnt_open(enum sim_kind kind);
int gnt_close(struct xengntdev_handle *handle);
struct region *gnt_region_new(void *address, uint32_t count, uint32_t ids);
struct region *gnt_region_take(struct xengntdev_handle *handle, void *address, uint32_t count);

/* The domain's memory, mapped at need; NULL if there is no such domain. */
struct client_domain *gnt_foreign(struct xengntdev_handle *handle, uint32_t domid);

#endif
