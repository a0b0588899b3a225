/* supervisor_internal.h - what supervisor.c (life and death of instances) and supervisor_talk.c (what is
 * said to them and by them) share; for nobody else */
#ifndef BACKEND_SUPERVISOR_INTERNAL_H
#define BACKEND_SUPERVISOR_INTERNAL_H

#include "instance_process.h"
#include "log.h"
#include "supervisor.h"

struct entry {
	bool used;
	bool was_used;			/* by the vif config.handle, whose counters still stand in its slot */
	bool wanted;			/* false: to be disconnected */
	/* Of the running process: */
	bool told_add, told_remove;	/* it was sent VIF_ADD / VIF_REMOVE */
	bool outdated;			/* it was told an older config.live */
	bool up;			/* it said VIF_CONNECTED */
	struct mono answer_by;		/* to what it is being told; 0 ns: to nothing */
	struct vif_config config;
	int port_fds[VIF_QUEUES_MAX];
	int port_fd_count;
};

struct guest {
	struct guest *next;
	uint16_t domid;
	struct instance_process process;
	bool gone;			/* it has no vifs any more: nobody will ask for counters */
	bool expected;			/* a vif is about to come, none has yet */
	bool ending;			/* its channel was closed on purpose */
	const char *fault;		/* why we killed it, or NULL */
	struct guest_state *state;	/* mapped read-only */
	int state_fd;
	struct entry entries[VIFS_PER_GUEST_MAX];
	struct mono started, restart_at, idle_until;
	uint32_t restarts, backoff_ms;
	struct log_limiter limiter;
	char last_end[128];
};

struct supervisor {
	struct supervisor_settings settings;
	struct guest *guests;
	int guest_count;
};

/* supervisor_talk.c: for a guest whose process runs and has an open channel. */

struct entry *supervisor_entry(struct guest *guest, uint32_t handle);	/* or NULL */
/* Frees the entry, then tells its owner. */
void supervisor_drop_entry(struct supervisor *supervisor, struct guest *guest, struct entry *entry);
/* Sends what the process has not been told; a full socket is tried again next turn. */
void supervisor_tell(struct supervisor *supervisor, struct guest *guest, struct mono now);
/* 0, or 1 when the channel has ended, or -EPROTO when it talks nonsense. */
int supervisor_hear(struct supervisor *supervisor, struct guest *guest, struct mono now);
/* What it did not answer in time, in words, or NULL. */
const char *supervisor_unanswered(const struct guest *guest, struct mono now);
bool supervisor_has_to_tell(const struct entry *entry);

#endif
