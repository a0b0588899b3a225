/* traffic.h - TCP and UDP between a guest and the host, both ways at once, every byte checked
 *
 * One owner thread; what waits serves the stack. */
#ifndef TESTS_CONFORMANCE_TRAFFIC_H
#define TESTS_CONFORMANCE_TRAFFIC_H

#include "stack.h"

struct traffic {		/* sums over all runs; zeroed by its owner */
	uint64_t streams, bytes;		/* TCP, received */
	uint64_t datagrams, lost, reordered;	/* UDP: sent, not received, received behind a newer one */
	uint64_t spoiled;			/* bytes or datagrams other than they were sent */
	uint64_t unfinished;			/* streams that did not end in time */
	uint32_t retransmits;			/* TCP segments, of both ends, as their stacks count */
	int64_t stall_ns;			/* the longest time in which a stream did not get on */
	int64_t stall_own_ns;			/* the same less what was waited for a CPU */
	int64_t took_ns;			/* of the last run */
};

/* Who serves while a run waits, also for @more: an owner's function and its context. */
struct traffic_server {
	void (*serve)(void *context, struct pollfd *more, nfds_t count, int ms);
	void *context;
};

/* Until the wire works both ways: devices whose carrier has just come drop what they are given, which is
 * no loss of the backend's. */
void traffic_await(const struct stack *stack, int family, const struct traffic_server *server);
/* Until the device follows the hash of a guest that has set one: its program changes a moment after the
 * guest has its answer, and a flow that moves then is reordered once. */
void traffic_await_hash(struct stack *stack, const struct traffic_server *server);
/* @bytes each way in a stream each, at once. */
void traffic_tcp(struct traffic *sums, const struct stack *stack, int family, uint64_t bytes,
		 const struct traffic_server *server);
/* @datagrams each way of many lengths, numbered. */
void traffic_udp(struct traffic *sums, const struct stack *stack, int family, uint32_t datagrams,
		 const struct traffic_server *server);

#endif
