/* echo_backend.h - a trivial backend that sends every frame back, to test the frontend model with
 *
 * One thread, one vif of domain 0, one queue.  With a fault set it breaks the protocol in that
 * way, for the frontend's judge to notice. */
#ifndef TESTS_SIM_ECHO_BACKEND_H
#define TESTS_SIM_ECHO_BACKEND_H

#include <stdint.h>

enum echo_fault {
	ECHO_GOOD,
	ECHO_WRONG_ID,		/* tx response for an id that is not in use */
	ECHO_ANSWER_TWICE,	/* tx response count beyond the requests */
	ECHO_NO_NULL,		/* extras are answered OKAY */
	ECHO_TX_STATUS,		/* a status there is not */
	ECHO_RX_ID,		/* rx response with another id */
	ECHO_RX_FLAGS,		/* a flag there is not */
	ECHO_RX_TAIL,		/* writes one byte too many */
	ECHO_RX_PARTIAL,	/* publishes the first slot of a frame alone */
	ECHO_RX_BARE_GSO,	/* gso without csum_blank */
	ECHO_INDEX_BACK,	/* rsp_prod goes back by one */
	ECHO_KEEP_MAPPED,	/* says Closed with the rings still mapped */
};

struct echo_backend;
struct echo_backend *echo_start(uint32_t domid, uint32_t handle);
void echo_set_fault(struct echo_backend *echo, enum echo_fault fault);
void echo_stop(struct echo_backend *echo);

#endif
