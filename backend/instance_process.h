/* instance_process.h - starting, ending and burying one unetback-instance
 *
 * unetbackd's one thread.  Nothing here waits, but for instance_process_wait(). */
#ifndef BACKEND_INSTANCE_PROCESS_H
#define BACKEND_INSTANCE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"

struct instance_program {
	const char *path, *user;
	uint16_t guest, self;
};

struct instance_process {
	pid_t pid;			/* 0: none */
	int pidfd;			/* readable when it has ended; -1: none */
	int channel;			/* our end; -1 once it was told to end */
	struct mono kill_at;		/* when patience ends; set with channel -1 */
	int status;			/* of waitpid, once reaped */
};

void instance_process_init(struct instance_process *process);
/* 0, or -errno with one line logged.  The child has the channel and @state_fd as descriptors 3 and 4. */
int instance_process_start(struct instance_process *process, const struct instance_program *program,
			   int state_fd);
/* Closes the channel, which ends a healthy instance; reaped() kills one that is not. */
void instance_process_end(struct instance_process *process, struct mono now);
/* For one that cannot be trusted to end: reaped() kills it at once. */
void instance_process_kill(struct instance_process *process, struct mono now);
/* True once it has ended: status is set, pid stays until forget(). */
bool instance_process_reaped(struct instance_process *process, struct mono now);
/* Waits until it has ended, at most @ms, then kills.  False if there is none. */
bool instance_process_wait(struct instance_process *process, int ms);
/* In words: "exit status 1", "killed by signal 11 (Segmentation fault)". */
void instance_process_describe(const struct instance_process *process, char *text, size_t size);
void instance_process_forget(struct instance_process *process);	/* closes what is left; idempotent */

#endif
