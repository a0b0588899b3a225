/* simguest.h - the kernel of a simulated guest: pages, grants, event channels
 *
 * For tests and for programs that play a guest.  Everything is deliberately raw: a test may write
 * any byte of the guest's memory and of its grant entries, as a hostile kernel could.
 *
 * One owner thread, except simguest_notify() and memory itself, which any thread may touch. */
#ifndef TESTS_SIM_SIMGUEST_H
#define TESTS_SIM_SIMGUEST_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client.h"

struct simguest_handler {
	void (*event)(void *context, uint32_t port);
	void *context;
};

struct simguest {
	uint32_t domid;
	int fd, control;
	struct client_domain domain;
	struct sim_call call;
	struct simguest_handler handlers[SIM_PORTS];
	uint32_t next_frame, next_ref;
	uint8_t frame_used[SIM_PAGES_KERNEL], ref_used[SIM_GRANTS_KERNEL];
};

/* The kernel of domain @domid starts; the domain is created if it does not exist.  A domain whose
 * kernel has died can be started again, as by kexec.  NULL with errno: EIO if a kernel is running
 * there. */
struct simguest *simguest_start(uint32_t domid);
/* The kernel is gone, its domain stays with ports, grants and memory: a crash.  NULL is fine. */
void simguest_crash(struct simguest *guest);
/* As the toolstack does after a crash or a shutdown. */
void simguest_destroy(struct simguest *guest);

/* Frame numbers are guest-physical; 0 is never given out.  Zeroed.  Running out aborts. */
uint32_t simguest_page_alloc(struct simguest *guest);
void simguest_page_free(struct simguest *guest, uint32_t frame);
void *simguest_page(const struct simguest *guest, uint32_t frame);

/* A grant reference for @frame to domain @to.  Again() gives the same reference anew. */
uint32_t simguest_grant(struct simguest *guest, uint32_t to, uint32_t frame, bool readonly);
void simguest_grant_again(struct simguest *guest, uint32_t ref, uint32_t to, uint32_t frame,
			  bool readonly);
/* Ends access: false, and nothing is changed, while somebody maps or copies it.  Free() also
 * gives the reference back. */
bool simguest_revoke(struct simguest *guest, uint32_t ref);
bool simguest_grant_free(struct simguest *guest, uint32_t ref);
struct grant_entry_v1 *simguest_entry(const struct simguest *guest, uint32_t ref);

/* Ports.  A fired port is masked until unmasked, as simxen does for everybody. */
int simguest_port_alloc(struct simguest *guest, uint32_t remote);	/* or -1 */
void simguest_port_close(struct simguest *guest, uint32_t port);
int simguest_notify(struct simguest *guest, uint32_t port);
int simguest_unmask(struct simguest *guest, uint32_t port);
/* A fired port, or -1 with errno (ETIMEDOUT). @timeout as poll's. */
int simguest_wait(struct simguest *guest, int timeout);
void simguest_handle(struct simguest *guest, uint32_t port, struct simguest_handler handler);
/* Takes what has fired, unmasks it and calls its handlers; never waits. */
void simguest_dispatch(struct simguest *guest);

#endif
