/* steering.h - the program that keeps each flow on one queue of a TAP (steering.bpf.c) */
#ifndef OVS_GLUE_STEERING_H
#define OVS_GLUE_STEERING_H

/* Sets it on the TAP of which @tap_fd is a queue, for as long as the TAP lives.  The first call loads it;
 * it stays loaded until this process ends.  0, or -errno: the kernel has no BPF, or we may not.  Not to
 * be called by two threads at once. */
int steering_attach(int tap_fd);

#endif
