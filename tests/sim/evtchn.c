/* evtchn.c - libxenevtchn for the simulator
 *
 * Symbols and versions of Xen 4.17's, errno as that on Linux.  The descriptor is all there is of
 * a handle: it can be polled, made non-blocking, passed to another process and wrapped again by
 * xenevtchn_fdopen, and closing the last copy unbinds everything.  read(2) and write(2) on it
 * work as on /dev/xen/evtchn, but a read returns one port.
 *
 * Notify and unmask are one write; which ports are ours is known here, so that errors need no
 * answer.
 *
 * Unfaithful: opening can fail with EIO when $SIMXEN_DOMID is no domain, and that shows only
 * here. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xenevtchn.h>

#include "client.h"

struct xenevtchn_handle {
	int fd, control;
	pthread_mutex_t lock;		/* calls on control */
	struct sim_call call;
	bool bound[SIM_PORTS];		/* atomic */
};

static bool is_bound(const xenevtchn_handle *xce, uint32_t port)
{
	return port < SIM_PORTS && __atomic_load_n(&xce->bound[port], __ATOMIC_RELAXED);
}

static int attach(xenevtchn_handle *xce)
{
	uint32_t ports[SIM_PORTS], count, domid;

	if (client_attach(xce->fd, &xce->control, &domid, ports, &count) != 0)
		return -1;
	for (uint32_t i = 0; i < count; i++)
		xce->bound[ports[i]] = true;
	return 0;
}

static xenevtchn_handle *wrap(int fd, bool ours)
{
	xenevtchn_handle *xce = fd >= 0 ? calloc(1, sizeof *xce) : NULL;
	int error;

	if (!xce)
		return NULL;
	xce->fd = fd;
	pthread_mutex_init(&xce->lock, NULL);
	if (attach(xce) == 0)
		return xce;
	error = errno;
	if (ours)
		close(fd);
	free(xce);
	errno = error;
	return NULL;
}

xenevtchn_handle *xenevtchn_open(struct xentoollog_logger *logger, unsigned int flags)
{
	(void)logger;
	if (flags & ~(unsigned int)XENEVTCHN_NO_CLOEXEC) {
		errno = EINVAL;
		return NULL;
	}
	return wrap(client_connect(SIM_EVTCHN, client_domid(),
				   flags & XENEVTCHN_NO_CLOEXEC ? 0 : SOCK_CLOEXEC), true);
}

xenevtchn_handle *xenevtchn_fdopen(struct xentoollog_logger *logger, int fd,
				   unsigned int open_flags)
{
	(void)logger;
	if (open_flags != 0) {
		errno = EINVAL;
		return NULL;
	}
	return wrap(fd, false);
}

int xenevtchn_close(xenevtchn_handle *xce)
{
	if (!xce)
		return 0;
	close(xce->fd);
	close(xce->control);
	pthread_mutex_destroy(&xce->lock);
	free(xce);
	return 0;
}

int xenevtchn_fd(xenevtchn_handle *xce)
{
	return xce->fd;
}

/* A call; its answer's first argument, or -1. */
static int call(xenevtchn_handle *xce, enum sim_op op, uint32_t first, uint32_t second, bool binds)
{
	int answer = -1;

	pthread_mutex_lock(&xce->lock);
	xce->call.op = op;
	xce->call.words = 0;
	xce->call.arg[0] = first;
	xce->call.arg[1] = second;
	if (client_call(xce->control, &xce->call, NULL) == 0) {
		answer = (int)xce->call.arg[0];
		if (binds)
			__atomic_store_n(&xce->bound[answer], true, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&xce->lock);
	return answer;
}

int xenevtchn_notify(xenevtchn_handle *xce, evtchn_port_t port)
{
	uint32_t words[2] = { SIM_WORD_NOTIFY, port };

	if (!is_bound(xce, port)) {
		errno = ENOTCONN;
		return -1;
	}
	return client_words(xce->fd, words, 2);
}

xenevtchn_port_or_error_t xenevtchn_bind_unbound_port(xenevtchn_handle *xce, uint32_t domid)
{
	return call(xce, SIM_BIND_UNBOUND, domid, 0, true);
}

xenevtchn_port_or_error_t xenevtchn_bind_interdomain(xenevtchn_handle *xce, uint32_t domid,
						     evtchn_port_t remote_port)
{
	return call(xce, SIM_BIND_INTERDOMAIN, domid, remote_port, true);
}

xenevtchn_port_or_error_t xenevtchn_bind_virq(xenevtchn_handle *xce, unsigned int virq)
{
	return call(xce, SIM_BIND_VIRQ, virq, 0, true);
}

int xenevtchn_unbind(xenevtchn_handle *xce, evtchn_port_t port)
{
	if (call(xce, SIM_UNBIND, port, 0, false) < 0)
		return -1;
	__atomic_store_n(&xce->bound[port], false, __ATOMIC_RELAXED);
	return 0;
}

xenevtchn_port_or_error_t xenevtchn_pending(xenevtchn_handle *xce)
{
	uint32_t port;
	ssize_t got = read(xce->fd, &port, sizeof port);

	if (got == sizeof port)
		return (int)port;
	if (got >= 0)
		errno = EIO;		/* simxen is gone */
	return -1;
}

int xenevtchn_unmask(xenevtchn_handle *xce, evtchn_port_t port)
{
	uint32_t word = port;

	return client_words(xce->fd, &word, 1);
}

int xenevtchn_restrict(xenevtchn_handle *xce, domid_t domid)
{
	return call(xce, SIM_RESTRICT, domid, 0, false) < 0 ? -1 : 0;
}
