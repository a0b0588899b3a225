/* client.h - a client's connection to simxen; see simxen.h for what goes over it */
#ifndef TESTS_SIM_CLIENT_H
#define TESTS_SIM_CLIENT_H

#include "simxen.h"

/* A new connection, or -1 with errno: ENOENT without $SIMXEN_SOCKET, as without the device. */
int client_connect(enum sim_kind kind, uint32_t domid, int flags);
/* $SIMXEN_DOMID, or 0. */
uint32_t client_domid(void);

/* A call and its answer, with up to two descriptors (NULL: none wanted).  0, or -1 with errno.
 * One at a time on a socket: the caller has a lock. */
int client_call(int fd, struct sim_call *call, int fds[2]);

/* Makes an event channel descriptor speak: its control socket and the ports it has already
 * (@ports has room for SIM_PORTS).  0, or -1 with errno. */
int client_attach(int fd, int *control, uint32_t *domid, uint32_t *ports, uint32_t *count);

/* Writes words to an event channel descriptor, waiting for room if it is non-blocking. */
int client_words(int fd, const uint32_t *words, size_t count);

/* A domain's memory, mapped whole. */
struct client_domain {
	uint8_t *memory;
	struct sim_table *table;
	int memory_fd;
};
int client_domain_map(int fd, uint32_t domid, struct client_domain *domain);
void client_domain_unmap(struct client_domain *domain);

#endif
