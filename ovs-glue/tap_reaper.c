/* tap_reaper.c - see tap_reaper.h
 *
 * A list of jobs under one lock.  The thread takes the first, works without the lock, and removes it when it
 * is done, so that a waiter finds what is being deleted as well as what is to be.  Without memory or a thread
 * the device is deleted at once, by the caller. */
#include <config.h>	/* first: OVS brings shims of its own for Linux headers */

#include <errno.h>
#include <linux/if_tun.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../backend/log.h"
#include "net_link.h"
#include "tap_reaper.h"

struct job {
	struct job *next;
	struct port_device device;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;		/* a job is done */
	struct job *first, **last;
	pthread_t thread;
	bool started;			/* @thread is to be joined; only the main thread looks */
	bool working;			/* it will look for another job before it ends */
} reaper = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .last = &reaper.first };

/* By the kernel's hand and not by closing: an instance that still has a queue must not keep it. */
static void delete(struct port_device *device)
{
	int error = device->ifindex > 0 ? net_link_delete(device->ifindex) : 0;

	if (error && error != -ENODEV) {
		log_error("%s: cannot delete the TAP: %s", device->name, strerror(-error));
		if (device->queue_count > 0)
			ioctl(device->queue_fds[0], TUNSETPERSIST, 0);	/* at least with its last user */
	}
	for (int i = 0; i < device->queue_count; i++)
		close(device->queue_fds[i]);
	if (device->hash_fd >= 0)
		close(device->hash_fd);
}

static void remove_first(void)
{
	struct job *job = reaper.first;

	reaper.first = job->next;
	if (!reaper.first)
		reaper.last = &reaper.first;
	free(job);
	pthread_cond_broadcast(&reaper.changed);
}

static void *work(void *unused)
{
	pthread_mutex_lock(&reaper.lock);
	while (reaper.first) {
		struct job *job = reaper.first;

		pthread_mutex_unlock(&reaper.lock);
		delete(&job->device);
		pthread_mutex_lock(&reaper.lock);
		remove_first();
	}
	reaper.working = false;
	pthread_mutex_unlock(&reaper.lock);
	return unused;
}

/* With the lock held.  Of a thread that has ended only what pthread_join() gives back is left. */
static void see_to_it_that_it_works(void)
{
	if (reaper.working)
		return;
	if (reaper.started)
		pthread_join(reaper.thread, NULL);
	reaper.started = reaper.working = pthread_create(&reaper.thread, NULL, work, NULL) == 0;
}

void tap_reaper_take(struct port_device *device)
{
	struct job *job = calloc(1, sizeof *job);

	pthread_mutex_lock(&reaper.lock);
	if (job) {
		job->device = *device;
		*reaper.last = job;
		reaper.last = &job->next;
		see_to_it_that_it_works();
	}
	pthread_mutex_unlock(&reaper.lock);
	if (!job)
		delete(device);
	else if (!reaper.started)
		work(NULL);
	device->queue_count = device->ifindex = 0;
	device->hash_fd = -1;
}

/* With the lock held. */
static bool has(const char *name)
{
	for (const struct job *job = reaper.first; job; job = job->next)
		if (!name || strcmp(job->device.name, name) == 0)
			return true;
	return false;
}

void tap_reaper_wait(const char *name)
{
	pthread_mutex_lock(&reaper.lock);
	while (has(name))
		pthread_cond_wait(&reaper.changed, &reaper.lock);
	pthread_mutex_unlock(&reaper.lock);
	if (!name && reaper.started) {
		pthread_join(reaper.thread, NULL);
		reaper.started = false;
	}
}
