/* stack.h - the network of a model's guest: Linux's stack in a namespace of its own, behind the rings
 *
 * A TAP in that namespace is joined to netfront frame by frame, as tests/sim/simfront does in a process
 * of its own.  Here the same thread has the guest's sockets and the host's.
 *
 * One owner thread.  Failures are cmocka's. */
#ifndef TESTS_CONFORMANCE_STACK_H
#define TESTS_CONFORMANCE_STACK_H

#include <netinet/in.h>
#include <poll.h>

#include "life.h"

#define STACK_MTU 1500u
#define STACK_FDS (2 + NETFRONT_QUEUES)

struct stack {
	const struct profile *profile;
	uint32_t number;		/* in addresses: 10.78.N.1 and fd78:N::1, the host has .254, ::fe */
	int netns, host_netns;
	int taps[NETFRONT_QUEUES];
	struct netfront *fe;		/* while there is one */
	bool up;
	int64_t next;			/* when its events may be handled next, ns */
	uint64_t large;			/* frames that Windows would drop: above the MTU and not segmented */
	uint64_t hashed, misplaced;	/* frames with a hash; those on another queue than it says */
	uint64_t not_taken;		/* frames the namespace did not take */
};

void stack_open(struct stack *stack, const struct profile *profile, uint32_t number);
void stack_close(struct stack *stack);
/* The host's end of the wire, in the caller's namespace. */
void stack_address_host(const struct stack *stack, const char *device);

/* A hook of netfront's, with a stack as its context. */
void stack_receive(struct netfront *fe, const struct netfront_frame *frame, void *context);
/* Carrier and offloads. */
void stack_set_up(struct stack *stack, bool up);
/* Handles what is ready; true if there may be more. */
bool stack_serve(struct stack *stack);
/* What to wait for; the number of @fds.  *@ms becomes less if it must be served earlier. */
nfds_t stack_fds(const struct stack *stack, struct pollfd fds[STACK_FDS], int *ms);

/* A socket that does not block, in the guest or in the host. */
int stack_socket(const struct stack *stack, bool guest, int family, int type);
/* The address of either end. */
socklen_t stack_address(const struct stack *stack, bool guest, int family, uint16_t port,
			struct sockaddr_storage *address);

#endif
