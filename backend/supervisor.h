/* supervisor.h - the instances: one process a guest
 *
 * Starts a guest's instance when its first vif is expected to connect, passes vifs to it, hears what became of them, ends it
 * with its last vif, and starts it again when it dies: at once the first time, then after a pause that
 * doubles from 1 s to 30 s and is forgotten after a minute of peace.  Grants and event channels stay
 * with the guest meanwhile, so a restart needs nothing from XenStore.
 *
 * A guest whose last vif disconnects may connect again in a moment, and as often as it likes; its
 * instance stays idle for SUPERVISOR_IDLE_MS, so that this does not cost a process each time.  Its
 * counters stay until supervisor_guest_gone(): of a vif that broke or was disconnected they tell why.
 *
 * unetbackd's one thread; nothing waits for an instance.  What an instance sends is untrusted: one that
 * talks nonsense, or does not answer in SUPERVISOR_ANSWER_MS, is killed. */
#ifndef BACKEND_SUPERVISOR_H
#define BACKEND_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "clock.h"
#include "hash.h"
#include "vif_config.h"
#include "vif_state.h"

#define SUPERVISOR_IDLE_MS   2000
#define SUPERVISOR_ANSWER_MS 10000

struct supervisor;

struct supervisor_settings {
	uint16_t self;			/* our domid */
	const char *instance_path;	/* the program */
	const char *user;		/* whom instances become */

	/* What became of a vif; @why is text for a person, printable ASCII. */
	void (*connected)(void *context, uint16_t guest, uint32_t handle);
	void (*failed)(void *context, uint16_t guest, uint32_t handle, const char *why);
	void (*broken)(void *context, uint16_t guest, uint32_t handle, const char *why);
	void (*disconnected)(void *context, uint16_t guest, uint32_t handle);
	/* The guest of a connected vif chose a hash; checked. */
	void (*hashed)(void *context, uint16_t guest, uint32_t handle, const struct hash_config *hash);
	void *context;
};

struct supervisor *supervisor_create(const struct supervisor_settings *settings);
/* Ends all instances and waits for them, at most some seconds, then kills.  NULL is fine. */
void supervisor_destroy(struct supervisor *supervisor);

/* Asks for @config to be connected; @config->slot is chosen here.  @port_fds (one a queue, or NULL for
 * port kinds without a device) stay the caller's and must stay open until disconnected().  Answered
 * by connected() or failed(); connected() comes again after each restart of the instance.  0, or
 * -errno with the reason in @why and no answer to come. */
int supervisor_connect(struct supervisor *supervisor, const struct vif_config *config,
		       const int *port_fds, char *why, size_t why_size);
/* A vif of @guest's is about to be asked for: its process starts now, so that the guest, which perhaps
 * spins until we are connected (Windows), does not wait for that.  It stays until a vif has connected
 * and gone, or the guest is gone; one that ends meanwhile is started again for a vif only. */
void supervisor_expect(struct supervisor *supervisor, uint16_t guest);
/* Changes the live part of a vif that was asked to be connected, at once and in later instances; not
 * answered. */
void supervisor_update(struct supervisor *supervisor, uint16_t guest, uint32_t handle,
		       const struct vif_live *live);
/* Answered by disconnected(), once nothing of the guest's is held for that vif any more; perhaps
 * before this returns. */
void supervisor_disconnect(struct supervisor *supervisor, uint16_t guest, uint32_t handle);
/* The guest has no more vifs: its instance need not wait for another, and all about it is forgotten.
 * To be called once for each guest that was expected or connected. */
void supervisor_guest_gone(struct supervisor *supervisor, uint16_t guest);

/* Serves messages and deaths; call once a loop.  wait() registers what it waits for. */
void supervisor_run(struct supervisor *supervisor, struct mono now);
void supervisor_wait(struct supervisor *supervisor, void (*wait_fd)(int fd, short events),
		     void (*wait_until)(struct mono when));

struct supervisor_guest_info {
	pid_t pid;			/* 0: none runs at the moment, as when no vif is expected */
	uint32_t restarts;
	const struct vif_state *state;	/* of the vif asked for; NULL if it was never connected */
	const char *last_end;		/* why the last instance ended, "" if none did */
};
/* False if no vif of that guest's was ever expected or connected. */
bool supervisor_info(const struct supervisor *supervisor, uint16_t guest, uint32_t handle,
		     struct supervisor_guest_info *info);

#endif
