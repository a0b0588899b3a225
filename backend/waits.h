/* waits.h - what a queue's thread sleeps on
 *
 * One epoll instance a queue: a call of the main thread, the guest's events, frames at the port.  Against
 * poll(2) it saves putting three wait queue entries in place for every sleep.  Level triggered: a port
 * is not always read empty.  Owner thread only, but for open and close. */
#ifndef BACKEND_WAITS_H
#define BACKEND_WAITS_H

#include <stdbool.h>

#define WAITS_CALL   (1u << 0)		/* the main thread wants something: to stop, or to look */
#define WAITS_EVENTS (1u << 1)
#define WAITS_PORT   (1u << 2)		/* has frames */
#define WAITS_PORT_GONE (1u << 3)	/* reports an error: its device was deleted */

struct waits {
	int epoll_fd;
	int port_fd;			/* -1: a port that never has frames */
	bool port_left_out;
};

int waits_open(struct waits *waits, int call_fd, int events_fd, int port_fd);	/* 0 or -errno */
void waits_close(struct waits *waits);

/* Sleeps @timeout milliseconds at most (-1: for ever).  WAITS_* of what woke us; 0 if time or a
 * signal did. */
unsigned int waits_sleep(struct waits *waits, int timeout);

/* Whether the port is left out of the sleeps from now on. */
void waits_leave_out_port(struct waits *waits, bool leave_out);

#endif
