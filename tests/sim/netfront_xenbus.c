/* netfront_xenbus.c - negotiation and states of the frontend model
 *
 * As Linux: when the backend says InitWait and we are Initialising, make the rings, write the
 * keys in one transaction and say Connected; when it says Closing or Closed, say Closed and take
 * the rings away.  A removed backend counts as Closed.
 *
 * Unfaithful: everything is read and written as domain 0, as xenstored knows no other client. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netfront.h"

/* "@directory/name" as a number, or @missing. */
static unsigned int read_number(struct netfront *fe, const char *directory, const char *name,
				unsigned int missing)
{
	char path[256], *text;
	unsigned int value = missing;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	text = xs_read(fe->xs, XBT_NULL, path, NULL);
	if (text)
		sscanf(text, "%u", &value);
	free(text);
	return value;
}

static bool write_key(struct netfront *fe, xs_transaction_t transaction, const char *name,
		      const char *value)
{
	char path[128];

	for (size_t i = 0; i < sizeof fe->config.override / sizeof fe->config.override[0]; i++) {
		const struct netfront_key *override = &fe->config.override[i];

		if (override->name && strcmp(override->name, name) == 0)
			value = override->value;
	}
	snprintf(path, sizeof path, "%s/%s", fe->path, name);
	if (!value)
		return xs_rm(fe->xs, transaction, path) || errno == ENOENT;
	return xs_write(fe->xs, transaction, path, value, (unsigned int)strlen(value));
}

static bool write_number(struct netfront *fe, xs_transaction_t transaction, const char *name,
			 uint32_t value)
{
	char text[16];

	snprintf(text, sizeof text, "%" PRIu32, value);
	return write_key(fe, transaction, name, text);
}

static void read_features(struct netfront *fe)
{
	const struct netfront_config *config = &fe->config;
	const char *b = fe->backend;

	fe->sg = read_number(fe, b, "feature-sg", 0) && !config->no_sg;
	fe->gso4 = read_number(fe, b, "feature-gso-tcpv4", 0) && fe->sg && !config->no_gso4;
	fe->gso6 = read_number(fe, b, "feature-gso-tcpv6", 0) && fe->sg && !config->no_gso6;
	fe->csum6 = read_number(fe, b, "feature-ipv6-csum-offload", 0) && !config->no_csum6;
	fe->backend_csum4 = !read_number(fe, b, "feature-no-csum-offload", 0);
	fe->split = read_number(fe, b, "feature-split-event-channels", 0) && !config->single_event;
	fe->control = read_number(fe, b, "feature-ctrl-ring", 0) && config->control_ring;
	fe->queue_count = read_number(fe, b, "multi-queue-max-queues", 1);
	if (fe->queue_count > config->queues)
		fe->queue_count = config->queues;
	if (fe->queue_count > NETFRONT_QUEUES)
		fe->queue_count = NETFRONT_QUEUES;
	if (fe->queue_count == 0)
		fe->queue_count = 1;
}

/* A key of @queue: below a folder of its own if there are several (netif.h). */
static bool write_queue_key(struct netfront *fe, xs_transaction_t t, const struct netfront_queue *queue,
			    const char *name, uint32_t value)
{
	char path[64];

	if (fe->queue_count == 1)
		return write_number(fe, t, name, value);
	snprintf(path, sizeof path, "queue-%u/%s", queue->index, name);
	return write_number(fe, t, path, value);
}

static bool write_queue(struct netfront *fe, xs_transaction_t t, const struct netfront_queue *queue)
{
	bool ok = write_queue_key(fe, t, queue, "tx-ring-ref", queue->tx.ref) &&
		  write_queue_key(fe, t, queue, "rx-ring-ref", queue->rx.ref);

	if (fe->split)
		return ok && write_queue_key(fe, t, queue, "event-channel-tx", queue->tx.port) &&
		       write_queue_key(fe, t, queue, "event-channel-rx", queue->rx.port);
	return ok && write_queue_key(fe, t, queue, "event-channel", queue->tx.port);
}

static bool write_queues(struct netfront *fe, xs_transaction_t t)
{
	bool ok = fe->queue_count == 1 || write_number(fe, t, "multi-queue-num-queues", fe->queue_count);

	for (uint32_t i = 0; ok && i < fe->queue_count; i++)
		ok = write_queue(fe, t, &fe->queues[i]);
	if (ok && fe->control)
		ok = write_number(fe, t, "ctrl-ring-ref", fe->control_ring.ref) &&
		     write_number(fe, t, "event-channel-ctrl", fe->control_ring.port);
	return ok;
}

static bool write_features(struct netfront *fe, xs_transaction_t t)
{
	const struct netfront_config *config = &fe->config;
	char headroom[12];
	const struct netfront_key keys[] = {
		{ "request-rx-copy", "1" },
		{ "feature-rx-notify", config->no_rx_notify ? NULL : "1" },
		{ "feature-sg", config->no_sg ? NULL : "1" },
		{ "feature-gso-tcpv4", config->no_sg || config->no_gso4 ? NULL : "1" },
		{ "feature-gso-tcpv6", config->no_sg || config->no_gso6 ? NULL : "1" },
		{ "feature-no-csum-offload", config->no_csum4 ? "1" : NULL },
		{ "feature-ipv6-csum-offload", config->no_csum6 ? NULL : "1" },
		{ "xdp-headroom", config->xdp_headroom ? headroom : NULL },
	};

	snprintf(headroom, sizeof headroom, "%u", config->xdp_headroom);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (!write_key(fe, t, keys[i].name, keys[i].value))
			return false;
	return true;
}

/* Keys of an earlier connection of the other kind would confuse the backend. */
static void remove_stale(struct netfront *fe, xs_transaction_t t)
{
	static const char *const names[] = { "event-channel", "event-channel-tx", "event-channel-rx",
					     "tx-ring-ref", "rx-ring-ref", "multi-queue-num-queues",
					     "ctrl-ring-ref", "event-channel-ctrl" };
	char path[128];

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", fe->path, names[i]);
		xs_rm(fe->xs, t, path);
	}
	for (uint32_t i = 0; i < NETFRONT_QUEUES; i++) {
		snprintf(path, sizeof path, "%s/queue-%u", fe->path, i);
		xs_rm(fe->xs, t, path);
	}
}

static bool write_keys(struct netfront *fe)
{
	for (;;) {
		xs_transaction_t t = xs_transaction_start(fe->xs);
		bool ok;

		if (t == XBT_NULL)
			return false;
		remove_stale(fe, t);
		ok = write_queues(fe, t) && write_features(fe, t);
		if (xs_transaction_end(fe->xs, t, !ok))
			return ok;
		if (errno != EAGAIN)
			return false;
	}
}

int netfront_set_state(struct netfront *fe, enum xenbus_state state)
{
	fe->state = state;
	return write_number(fe, XBT_NULL, "state", state) ? 0 : -1;
}

int netfront_prepare(struct netfront *fe)
{
	read_features(fe);
	return netfront_rings_create(fe);
}

static void connect_backend(struct netfront *fe)
{
	if (netfront_prepare(fe) != 0 || !write_keys(fe)) {
		fprintf(stderr, "netfront: cannot connect: %s\n", strerror(errno));
		return;
	}
	netfront_at(fe, NETFRONT_CONNECTING);
	netfront_set_state(fe, XenbusStateConnected);
	netfront_rx_refill(fe);
}

static void backend_changed(struct netfront *fe, enum xenbus_state state)
{
	fe->backend_state = state;
	if (fe->config.driven)
		return;
	switch (state) {
	case XenbusStateInitWait:
		if (fe->state == XenbusStateInitialising)
			connect_backend(fe);
		break;
	case XenbusStateUnknown:
	case XenbusStateClosing:
	case XenbusStateClosed:
		/* A Closed left over from before we reopened means nothing yet. */
		if (fe->state == XenbusStateConnected)
			netfront_set_state(fe, XenbusStateClosed);
		if (state != XenbusStateClosing && fe->state == XenbusStateClosed)
			netfront_rings_free(fe);
		break;
	default:
		break;
	}
}

void netfront_xenbus_watch(struct netfront *fe)
{
	struct pollfd pollfd = { .fd = xs_fileno(fe->xs), .events = POLLIN };
	unsigned int state, count;
	char **event;
	bool any = false;

	while (poll(&pollfd, 1, 0) > 0) {
		event = xs_read_watch(fe->xs, &count);
		if (!event)
			break;
		free(event);
		any = true;
	}
	if (!any)
		return;
	state = read_number(fe, fe->backend, "state", XenbusStateUnknown);
	if (state != fe->backend_state)
		backend_changed(fe, state);
}

int netfront_xs_fd(const struct netfront *fe)
{
	return xs_fileno(fe->xs);
}

static bool find_device(struct netfront *fe)
{
	char path[128], *backend;

	snprintf(fe->path, sizeof fe->path, "/local/domain/%u/device/vif/%u", fe->guest->domid,
		 fe->config.handle);
	snprintf(path, sizeof path, "%s/backend", fe->path);
	backend = xs_read(fe->xs, XBT_NULL, path, NULL);
	if (!backend || strlen(backend) >= sizeof fe->backend) {
		free(backend);
		errno = ENOENT;
		return false;
	}
	strcpy(fe->backend, backend);
	free(backend);
	fe->backend_domid = read_number(fe, fe->path, "backend-id", 0);
	snprintf(path, sizeof path, "%s/state", fe->backend);
	return xs_watch(fe->xs, path, "backend");
}

struct netfront *netfront_open(struct simguest *guest, const struct netfront_config *config)
{
	struct netfront *fe = calloc(1, sizeof *fe);

	if (!fe)
		return NULL;
	fe->config = *config;
	if (fe->config.rx_requests == 0 || fe->config.rx_requests > NETFRONT_RING)
		fe->config.rx_requests = NETFRONT_RING;
	fe->guest = guest;
	fe->judge = true;
	fe->xs = xs_open(0);
	if (!fe->xs || !find_device(fe)) {
		netfront_free(fe);
		return NULL;
	}
	netfront_set_state(fe, XenbusStateInitialising);
	return fe;
}

void netfront_free(struct netfront *fe)
{
	if (!fe)
		return;
	fe->judge = false;
	netfront_rings_free(fe);
	if (fe->xs)
		xs_close(fe->xs);
	free(fe);
}

static bool followed(struct netfront *fe, void *context)
{
	const bool *closed = context;

	switch (fe->backend_state) {
	case XenbusStateUnknown:
	case XenbusStateClosed:
		return true;
	case XenbusStateInitWait:
		return *closed;		/* it has closed and is ready again */
	case XenbusStateClosing:
		return !*closed;
	default:
		return false;
	}
}

bool netfront_close(struct netfront *fe, int timeout)
{
	bool closed = false, ok;

	if (fe->state == XenbusStateConnected) {
		netfront_set_state(fe, XenbusStateClosing);
		if (!netfront_until(fe, followed, &closed, timeout))
			return false;
	}
	netfront_set_state(fe, XenbusStateClosed);
	closed = true;
	ok = netfront_until(fe, followed, &closed, timeout);
	netfront_rings_free(fe);
	return ok;
}

static bool is_in_state(struct netfront *fe, void *state)
{
	return fe->backend_state == *(const enum xenbus_state *)state;
}

bool netfront_reconfigure(struct netfront *fe, uint32_t xdp_headroom, int timeout)
{
	enum xenbus_state wanted = XenbusStateReconfigured;

	fe->config.xdp_headroom = xdp_headroom;
	if (!write_number(fe, XBT_NULL, "xdp-headroom", xdp_headroom) ||
	    netfront_set_state(fe, XenbusStateReconfiguring) != 0 ||
	    !netfront_until(fe, is_in_state, &wanted, timeout))
		return false;
	wanted = XenbusStateConnected;
	return netfront_set_state(fe, XenbusStateConnected) == 0 &&
	       netfront_until(fe, is_in_state, &wanted, timeout);
}

bool netfront_reopen(struct netfront *fe)
{
	netfront_rings_free(fe);
	if (netfront_set_state(fe, XenbusStateInitialising) != 0)
		return false;
	if (fe->backend_state == XenbusStateInitWait)
		connect_backend(fe);
	return true;
}
