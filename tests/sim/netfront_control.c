/* netfront_control.c - the control ring of the frontend model: one request at a time, as Windows does
 *
 * Judged: an answer nobody waits for, of another request, or more answers than requests. */
#include "netfront.h"

#define RING 128u			/* slots of a page */

static struct xen_netif_ctrl_sring *ring_of(const struct netfront *fe)
{
	return fe->control_ring.shared;
}

int netfront_control_create(struct netfront *fe)
{
	struct netfront_control *control = &fe->control_ring;
	int port = simguest_port_alloc(fe->guest, fe->backend_domid);

	*control = (struct netfront_control){ .frame = simguest_page_alloc(fe->guest),
					      .data_frame = simguest_page_alloc(fe->guest) };
	control->ref = simguest_grant(fe->guest, fe->backend_domid, control->frame, false);
	control->data_ref = simguest_grant(fe->guest, fe->backend_domid, control->data_frame, false);
	control->shared = simguest_page(fe->guest, control->frame);
	control->shared->req_event = control->shared->rsp_event = 1;
	control->port = (uint32_t)port;
	return port < 0 ? -1 : 0;
}

void netfront_control_free(struct netfront *fe)
{
	simguest_port_close(fe->guest, fe->control_ring.port);
	netfront_ring_free(fe, fe->control_ring.frame, fe->control_ring.ref, "control");
	netfront_ring_free(fe, fe->control_ring.data_frame, fe->control_ring.data_ref, "control data");
}

void *netfront_control_page(struct netfront *fe)
{
	return simguest_page(fe->guest, fe->control_ring.data_frame);
}

uint32_t netfront_control_ref(const struct netfront *fe)
{
	return fe->control_ring.data_ref;
}

static void send_request(struct netfront *fe, uint16_t type, const uint32_t arguments[3])
{
	struct netfront_control *control = &fe->control_ring;
	struct xen_netif_ctrl_sring *ring = ring_of(fe);
	struct xen_netif_ctrl_request request = { .id = (uint16_t)control->req_prod, .type = type };
	uint32_t old = control->req_prod++;

	for (int i = 0; i < 3; i++)
		request.data[i] = arguments[i];
	ring->ring[old % RING].req = request;
	__atomic_store_n(&ring->req_prod, control->req_prod, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (control->req_prod - __atomic_load_n(&ring->req_event, __ATOMIC_RELAXED) < control->req_prod - old)
		simguest_notify(fe->guest, control->port);
}

static bool has_answer(struct netfront *fe, void *context)
{
	(void)context;
	return __atomic_load_n(&ring_of(fe)->rsp_prod, __ATOMIC_ACQUIRE) != fe->control_ring.rsp_cons;
}

bool netfront_control(struct netfront *fe, uint16_t type, const uint32_t arguments[3], uint32_t *status,
		      uint32_t *data, int timeout)
{
	struct netfront_control *control = &fe->control_ring;
	struct xen_netif_ctrl_response response;

	if (!fe->rings || !fe->control)
		return false;
	send_request(fe, type, arguments);
	if (!netfront_until(fe, has_answer, NULL, timeout))
		return false;
	response = ring_of(fe)->ring[control->rsp_cons % RING].rsp;
	if (response.id != (uint16_t)control->rsp_cons || response.type != type)
		netfront_violation(fe, "control answer of id %u and type %u, not %u and %u", response.id,
				   response.type, (uint16_t)control->rsp_cons, type);
	control->rsp_cons++;
	if (ring_of(fe)->rsp_prod != control->rsp_cons)
		netfront_violation(fe, "more control answers than requests");
	__atomic_store_n(&ring_of(fe)->rsp_event, control->rsp_cons + 1, __ATOMIC_RELAXED);
	*status = response.status;
	if (data)
		*data = response.data;
	return true;
}

/* --- staging grants --------------------------------------------------------------------------- */

/* The page @i of @count: first those of the tx ring, which are for reading only, then as many of the rx ring. */
static struct netfront_slot *slot_of(struct netfront_queue *queue, uint32_t i, uint32_t count)
{
	return i < count / 2 ? &queue->tx.slots[i] : &queue->rx.slots[i - count / 2];
}

static uint32_t write_list(struct netfront *fe, struct netfront_queue *queue, uint32_t limit)
{
	struct xen_netif_gref *list = netfront_control_page(fe);
	uint32_t count = limit < 2 * NETFRONT_RING ? limit : 2 * NETFRONT_RING;

	for (uint32_t i = 0; i < count; i++)
		list[i] = (struct xen_netif_gref){ .ref = slot_of(queue, i, count)->ref, .status = 99,
						   .flags = i < count / 2 ? XEN_NETIF_CTRLF_GREF_readonly : 0 };
	return count;
}

static bool ask(struct netfront *fe, uint16_t type, uint32_t queue, uint32_t count, uint32_t *data, int timeout)
{
	const uint32_t arguments[3] = { queue, fe->control_ring.data_ref, count };
	uint32_t status;

	return netfront_control(fe, type, arguments, &status, data, timeout) &&
	       status == XEN_NETIF_CTRL_STATUS_SUCCESS;
}

static void end_staging(struct netfront *fe, struct netfront_slot *slot)
{
	slot->staged = false;
	if (!slot->used)
		netfront_revoke(fe, slot, "unstaged");
}

int netfront_stage(struct netfront *fe, uint32_t number, int timeout)
{
	struct netfront_queue *queue = &fe->queues[number];
	uint32_t count;

	if (!ask(fe, XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE, number, 0, &count, timeout))
		return -1;
	count = write_list(fe, queue, count);
	for (uint32_t i = 0; i < count; i++) {
		struct netfront_slot *slot = slot_of(queue, i, count);

		if (!slot->granted)
			simguest_grant_again(fe->guest, slot->ref, fe->backend_domid, slot->frame, i < count / 2);
		slot->granted = slot->staged = true;	/* from now on it may be mapped */
	}
	if (ask(fe, XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING, number, count, NULL, timeout))
		return (int)count;
	for (uint32_t i = 0; i < count; i++)
		end_staging(fe, slot_of(queue, i, count));
	return -1;
}

int netfront_unstage(struct netfront *fe, uint32_t number, int timeout)
{
	struct netfront_queue *queue = &fe->queues[number];
	const struct xen_netif_gref *list = netfront_control_page(fe);
	uint32_t count, unmapped, told = 0;

	if (!ask(fe, XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE, number, 0, &count, timeout))
		return -1;
	count = write_list(fe, queue, count);
	if (!ask(fe, XEN_NETIF_CTRL_TYPE_DEL_GREF_MAPPING, number, count, &unmapped, timeout))
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		told += list[i].status == XEN_NETIF_CTRL_STATUS_SUCCESS;
		if (list[i].status != XEN_NETIF_CTRL_STATUS_SUCCESS &&
		    list[i].status != XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER)
			netfront_violation(fe, "status %u of an unstaged grant", list[i].status);
		end_staging(fe, slot_of(queue, i, count));
	}
	if (told != unmapped)
		netfront_violation(fe, "%u grants unstaged by their statuses, %u by the answer", told, unmapped);
	return (int)unmapped;
}
