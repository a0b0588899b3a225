/* simxen_events.c - event channels
 *
 * Ports as in Xen: unbound ones wait for a domain, interdomain ones know each other, closing one
 * end leaves the other unbound and reserved for the same domain.  A send to an unbound port
 * succeeds and is lost; binding sets the local port pending.
 *
 * Delivery as by Linux's /dev/xen/evtchn since late EOI: a pending port that is not masked
 * becomes masked and is written to its handle's descriptor, one word; what fires meanwhile stays
 * pending and is delivered when the handle writes the port back.
 *
 * Unfaithful: the lowest free port is always taken (Linux's FIFO ABI does the same in practice); no
 * penalty for spurious events; virqs bind but never fire. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "hypervisor.h"

static void deliver(struct port *port, uint32_t number)
{
	if (!port->pending || port->masked || !port->owner)
		return;
	port->pending = false;
	port->masked = true;
	if (send(port->owner->fd, &number, sizeof number, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		port->pending = true;	/* it went away; its release will follow */
}

static void fire(struct domain *domain, uint32_t number)
{
	struct port *port = &domain->ports[number];

	port->pending = true;
	deliver(port, number);
}

/* The other end of an interdomain port, or NULL. */
static struct port *peer_of(const struct port *port, struct domain **domain)
{
	if (port->state != PORT_INTERDOMAIN)
		return NULL;
	*domain = domain_find(port->remote_domid);
	return *domain ? &(*domain)->ports[port->remote_port] : NULL;
}

void events_send(struct domain *domain, uint32_t number)
{
	struct domain *remote;

	if (number < SIM_PORTS && peer_of(&domain->ports[number], &remote))
		fire(remote, domain->ports[number].remote_port);
}

static int new_port(struct connection *handle, enum port_state state, uint32_t *number)
{
	for (uint32_t i = 1; i < SIM_PORTS; i++) {
		struct port *port = &handle->domain->ports[i];

		if (port->state != PORT_FREE)
			continue;
		*port = (struct port){ .state = state, .owner = handle };
		*number = i;
		return 0;
	}
	return ENOSPC;
}

static void close_port(struct domain *domain, uint32_t number)
{
	struct port *port = &domain->ports[number];
	struct domain *remote;
	struct port *peer = peer_of(port, &remote);

	if (peer) {
		peer->state = PORT_UNBOUND;
		peer->remote_domid = domain->domid;
		peer->remote_port = 0;
	}
	memset(port, 0, sizeof *port);
}

static bool forbidden(const struct connection *handle, uint32_t domid)
{
	return handle->restricted >= 0 && (uint32_t)handle->restricted != domid;
}

static int bind_unbound(struct connection *handle, uint32_t domid, uint32_t *number)
{
	int error;

	if (forbidden(handle, domid))
		return EACCES;
	error = new_port(handle, PORT_UNBOUND, number);
	if (!error)
		handle->domain->ports[*number].remote_domid =
			domid == DOMID_SELF ? handle->domain->domid : (uint16_t)domid;
	return error;
}

static int bind_interdomain(struct connection *handle, uint32_t domid, uint32_t remote_number,
			    uint32_t *number)
{
	struct domain *remote;
	struct port *local, *peer;
	int error;

	if (forbidden(handle, domid))
		return EACCES;
	remote = domain_find(domid == DOMID_SELF ? handle->domain->domid : domid);
	if (!remote)
		return ESRCH;
	if (remote_number == 0 || remote_number >= SIM_PORTS)
		return EINVAL;
	peer = &remote->ports[remote_number];
	if (peer->state != PORT_UNBOUND || peer->remote_domid != handle->domain->domid)
		return EINVAL;
	error = new_port(handle, PORT_INTERDOMAIN, number);
	if (error)
		return error;
	local = &handle->domain->ports[*number];
	local->remote_domid = remote->domid;
	local->remote_port = remote_number;
	peer->state = PORT_INTERDOMAIN;
	peer->remote_domid = handle->domain->domid;
	peer->remote_port = *number;
	fire(handle->domain, *number);
	return 0;
}

static struct port *owned_port(struct connection *handle, uint32_t number)
{
	struct port *port = number < SIM_PORTS ? &handle->domain->ports[number] : NULL;

	return port && port->state != PORT_FREE && port->owner == handle ? port : NULL;
}

static int unbind(struct connection *handle, uint32_t number)
{
	if (number == 0 || number >= SIM_PORTS)
		return EINVAL;
	if (!owned_port(handle, number))
		return ENOTCONN;
	close_port(handle->domain, number);
	return 0;
}

static int restrict_handle(struct connection *handle, uint32_t domid)
{
	if (handle->restricted >= 0)
		return EACCES;
	if (domid == 0 || domid >= DOMID_FIRST_RESERVED)
		return EINVAL;
	handle->restricted = (int)domid;
	return 0;
}

int events_call(struct connection *handle, struct sim_call *call)
{
	if (!handle->domain->alive)
		return ESRCH;
	switch (call->op) {
	case SIM_BIND_UNBOUND:
		return bind_unbound(handle, call->arg[0], &call->arg[0]);
	case SIM_BIND_INTERDOMAIN:
		return bind_interdomain(handle, call->arg[0], call->arg[1], &call->arg[0]);
	case SIM_BIND_VIRQ:
		if (handle->restricted >= 0)
			return EACCES;
		return new_port(handle, PORT_VIRQ, &call->arg[0]);
	case SIM_UNBIND:
		return unbind(handle, call->arg[0]);
	case SIM_RESTRICT:
		return restrict_handle(handle, call->arg[0]);
	default:
		return ENOSYS;
	}
}

void events_words(struct connection *handle, const uint32_t *words, size_t count)
{
	struct port *port;

	if (count == 2 && words[0] == SIM_WORD_NOTIFY) {
		if (owned_port(handle, words[1]))
			events_send(handle->domain, words[1]);
	} else if (count == 2 && words[0] == SIM_WORD_REQUEUE) {
		send(handle->fd, &words[1], sizeof words[1], MSG_DONTWAIT | MSG_NOSIGNAL);
	} else {
		for (size_t i = 0; i < count; i++) {
			port = owned_port(handle, words[i]);
			if (!port)
				continue;
			port->masked = false;
			deliver(port, words[i]);
		}
	}
}

/* A device's release unbinds.  A guest that dies keeps its ports until the domain is destroyed. */
void events_released(struct connection *handle)
{
	struct domain *domain = handle->domain;

	for (uint32_t i = 1; i < SIM_PORTS; i++) {
		if (domain->ports[i].owner != handle)
			continue;
		if (handle->kind == SIM_GUEST)
			domain->ports[i].owner = NULL;
		else
			close_port(domain, i);
	}
}

void events_domain_destroyed(struct domain *domain)
{
	for (uint32_t i = 1; i < SIM_PORTS; i++)
		if (domain->ports[i].state != PORT_FREE)
			close_port(domain, i);
}

uint32_t events_owned(const struct connection *handle, uint32_t *ports, uint32_t room)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i < SIM_PORTS; i++) {
		if (handle->domain->ports[i].state == PORT_FREE ||
		    handle->domain->ports[i].owner != handle)
			continue;
		if (count < room)
			ports[count] = i;
		count++;
	}
	return count;
}
