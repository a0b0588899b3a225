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
	control->data_ref = simguest_grant(fe->guest, fe->backend_domid, control->data_frame, true);
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
