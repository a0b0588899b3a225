/* waits.c - what a queue's thread sleeps on; see waits.h */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "waits.h"

#define SOURCES 3

static int add(struct waits *waits, int fd, uint32_t events, uint32_t what)
{
	struct epoll_event event = { .events = events, .data.u32 = what };

	return epoll_ctl(waits->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 ? -errno : 0;
}

int waits_open(struct waits *waits, int call_fd, int events_fd, int port_fd)
{
	int error;

	waits->port_fd = port_fd;
	waits->port_left_out = false;
	waits->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (waits->epoll_fd < 0)
		return -errno;
	error = add(waits, call_fd, EPOLLIN, WAITS_CALL);
	if (!error)
		error = add(waits, events_fd, EPOLLIN, WAITS_EVENTS);
	if (!error && port_fd >= 0)
		error = add(waits, port_fd, EPOLLIN, WAITS_PORT);
	if (error)
		waits_close(waits);
	return error;
}

void waits_close(struct waits *waits)
{
	close(waits->epoll_fd);
}

unsigned int waits_sleep(struct waits *waits, int timeout)
{
	struct epoll_event events[SOURCES];
	int n = epoll_wait(waits->epoll_fd, events, SOURCES, timeout);
	unsigned int woken_by = 0;

	for (int i = 0; i < n; i++) {
		if (events[i].data.u32 == WAITS_PORT && !(events[i].events & EPOLLIN))
			woken_by |= WAITS_PORT_GONE;
		else
			woken_by |= events[i].data.u32;
	}
	return woken_by;
}

void waits_leave_out_port(struct waits *waits, bool leave_out)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = WAITS_PORT };

	if (leave_out == waits->port_left_out || waits->port_fd < 0)
		return;
	waits->port_left_out = leave_out;
	/* Removed, not silenced: epoll reports errors even of a descriptor with no events asked for. */
	epoll_ctl(waits->epoll_fd, leave_out ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, waits->port_fd, &event);
}
