/* queue_thread.h - the thread that serves a queue pair
 *
 * Sleeps until the guest signals, the port has frames, time is up, or it is told to stop; then polls
 * until there is nothing left.  Start and stop are called by the instance's main thread. */
#ifndef BACKEND_QUEUE_THREAD_H
#define BACKEND_QUEUE_THREAD_H

#include <pthread.h>

#include "log.h"
#include "queue_pair.h"
#include "waits.h"

struct queue_thread {
	struct queue_pair pair;		/* the thread's own while it runs */
	pthread_t thread;
	char name[16];			/* of the thread, and of the queue in log lines */
	int cpu;			/* the thread stays on it; -1: on none, the scheduler decides.  Set before
					 * start; counted in the CPUs this process may use, modulo their number */
	bool started;
	bool stopping;			/* atomic; with call_fd it ends the thread */
	int call_fd;			/* eventfd; the main thread's calls */
	struct waits waits;
	unsigned int woken_by;		/* WAITS_* of the last sleep */
	uint64_t frames_at_wakeup;	/* what the port had given us then */
	bool port_lost;
	bool stalled;			/* as last logged */
	struct log_limiter limiter;	/* of what the guest can have logged */
	/* The guest broke a ring: called once, from the queue's thread, which then only waits to be
	 * stopped (a disabled queue keeps its thread and memory: XSA-374). */
	void (*broken)(void *context, const char *why);
	void *context;
};

/* @thread->pair is open.  0 or -errno; on failure the pair is still the caller's to close. */
int queue_thread_start(struct queue_thread *thread, const char *name);
/* Makes it look at what the queues share (vif_common.h) soon, also if it sleeps. */
void queue_thread_call(struct queue_thread *thread);
void queue_thread_stop(struct queue_thread *thread);	/* waits for it; idempotent */

#endif
