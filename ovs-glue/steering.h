/* steering.h - the programs that choose the queue of a TAP (steering.bpf.c)
 *
 * They run in the kernel and stay set for as long as the TAP lives, whatever becomes of this process.  All
 * return 0 or -errno: the kernel has no BPF, or we may not.  unetbackd's one thread. */
#ifndef OVS_GLUE_STEERING_H
#define OVS_GLUE_STEERING_H

#include "steering_hash.h"

/* Each flow stays on one queue.  @tap_fd: any queue of the TAP. */
int steering_by_flow(int tap_fd);

/* The guest's own hash decides.  *@map_fd (-1 at first) belongs to the caller from then on; as long as it is
 * open, calls with it only change the hash, between two frames. */
int steering_by_guest(int tap_fd, const struct steering_hash *hash, int *map_fd);

#endif
