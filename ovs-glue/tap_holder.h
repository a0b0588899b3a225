/* tap_holder.h - who serves a TAP
 *
 * Looks through /proc for a process that has a queue of it open, for a message that names the culprit.
 * Slow (every descriptor of every process): for the one moment when a device turns out to be busy. */
#ifndef OVS_GLUE_TAP_HOLDER_H
#define OVS_GLUE_TAP_HOLDER_H

#include <stdbool.h>
#include <sys/types.h>

struct tap_holder {
	pid_t pid;
	char program[16];	/* as /proc/PID/comm cuts it */
};

/* False if no process was found that has the TAP @name open. */
bool tap_holder_find(const char *name, struct tap_holder *holder);

#endif
