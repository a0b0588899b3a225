/* hypervisor.h - the parts of simxen, for each other
 *
 * One thread, one epoll loop; every message is handled to its end before the next, so nothing here
 * takes a lock.  Grant entries are the exception: guests and clients write them at any time. */
#ifndef TESTS_SIM_HYPERVISOR_H
#define TESTS_SIM_HYPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "simxen.h"

enum port_state { PORT_FREE, PORT_UNBOUND, PORT_INTERDOMAIN, PORT_VIRQ };

struct port {
	enum port_state state;
	uint16_t remote_domid;
	uint32_t remote_port;
	struct connection *owner;	/* who hears of it; NULL when that one died (guests only) */
	bool pending, masked;
};

/* A page that gntalloc shared.  Owned by a connection until released, then by its mappings. */
struct shared_page {
	struct shared_page *next;
	uint32_t id, ref, frame;
	uint32_t notify_offset, notify_port;
	struct connection *owner;	/* NULL: released, and still mapped by somebody */
};

struct domain {
	struct domain *next;
	uint16_t domid;
	bool alive;			/* false: destroyed, kept for those who still refer to it */
	uint32_t users;			/* connections */
	uint32_t mapped;		/* pages of this domain that are mapped, with repetitions */
	int memory_fd, table_fd;
	uint8_t *memory;
	struct sim_table *table;
	struct port ports[SIM_PORTS];
	struct connection *guest;	/* the guest's kernel, or NULL */
	struct shared_page *shared;
	uint32_t shared_count;
	uint8_t *frame_used, *ref_used;	/* upper halves, by index */
};

struct mapping {
	struct mapping *next;
	struct domain *domain;
	uint32_t id, count;
	bool writable;
	uint32_t notify_offset, notify_port;
	uint32_t refs[];
};

struct connection {
	struct connection *next;
	int fd;
	bool greeted, dead;
	enum sim_kind kind;
	struct domain *domain;		/* whose device it is */
	struct connection *handle;	/* control socket: the evtchn or guest it belongs to */
	int restricted;			/* evtchn: domid, or -1 */
	struct mapping *mappings;	/* gnttab */
};

/* domains */
struct domain *domain_find(uint32_t domid);
int domain_create(uint32_t domid);
int domain_destroy(uint32_t domid);
void domain_unmapped(struct domain *domain);	/* a page less is mapped */
void domain_unused(struct domain *domain);	/* a connection less */
void domain_guest_starts(struct domain *domain, struct connection *guest);
extern struct domain *domains;

/* event channels: 0 or a positive errno */
int events_call(struct connection *handle, struct sim_call *call);
void events_words(struct connection *handle, const uint32_t *words, size_t count);
void events_released(struct connection *handle);
void events_domain_destroyed(struct domain *domain);
void events_send(struct domain *domain, uint32_t port);
uint32_t events_owned(const struct connection *handle, uint32_t *ports, uint32_t room);

/* grants: 0 or a positive errno */
int grants_map(struct connection *gnttab, struct sim_call *call);
int grants_unmap(struct connection *gnttab, uint32_t id);
int grants_share(struct connection *gntshr, struct sim_call *call, uint32_t limit);
int grants_unshare(struct connection *gntshr, uint32_t id);
void grants_released(struct connection *connection);
void grants_sweep(struct domain *domain);	/* pins of copies whose copier died */

void status_write(FILE *out, const struct connection *connections, bool json);

#endif
