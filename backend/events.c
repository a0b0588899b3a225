/* events.c - event channels of a queue; see events.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "events.h"
#include "log.h"

static int bind_port(struct events *events, uint16_t guest, uint32_t remote, evtchn_port_t *local)
{
	xenevtchn_port_or_error_t port = xenevtchn_bind_interdomain(events->evtchn, guest, remote);

	if (port < 0)
		return errno > 0 ? -errno : -EIO;
	*local = (evtchn_port_t)port;
	return 0;
}

/* libxenevtchn's handle takes the descriptor over and closes it with itself. */
static int open_handle(struct events *events, int fd)
{
	memset(events, 0, sizeof *events);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
		events->evtchn = xenevtchn_fdopen(NULL, fd, 0);
	if (!events->evtchn) {
		int error = errno > 0 ? errno : EIO;

		close(fd);
		return -error;
	}
	return 0;
}

int events_open(struct events *events, int fd, uint16_t guest, uint32_t tx_port, uint32_t rx_port)
{
	int error = open_handle(events, fd);

	if (error)
		return error;
	error = bind_port(events, guest, tx_port, &events->tx);
	events->rx = events->tx;
	if (!error && rx_port != tx_port)
		error = bind_port(events, guest, rx_port, &events->rx);
	if (error)
		events_close(events);
	return error;
}

void events_close(struct events *events)
{
	if (events->evtchn)
		xenevtchn_close(events->evtchn);	/* the kernel unbinds what is bound */
	events->evtchn = NULL;
}

uint32_t events_take(struct events *events)
{
	evtchn_port_t *room = events->fired + events->fired_count;
	size_t size = sizeof events->fired - events->fired_count * sizeof *room;
	ssize_t got = size > 0 ? read(events_fd(events), room, size) : 0;
	uint32_t taken = got > 0 ? (uint32_t)((size_t)got / sizeof *room) : 0;

	events->fired_count += taken;
	return taken;
}

void events_unmask(struct events *events)
{
	size_t size = events->fired_count * sizeof *events->fired;

	if (size > 0 && write(events_fd(events), events->fired, size) != (ssize_t)size)
		log_error("cannot unmask event channel %u: %s", events->fired[0], strerror(errno));
	events->fired_count = 0;
}

void events_notify_tx(struct events *events)
{
	xenevtchn_notify(events->evtchn, events->tx);
}

void events_notify_rx(struct events *events)
{
	xenevtchn_notify(events->evtchn, events->rx);
}
