/* stall.h - whether a guest has stopped taking frames
 *
 * A guest that posts no receive buffers for long may be stopped, may be slow, or may sleep over an event that
 * it lost.  xen-netback takes the carrier away from it (XSA-392); here a stall is told and the guest is woken,
 * and nothing else changes: what may wait is limited by the queue anyway.
 *
 * A stall is: frames waited for buffers, and neither the guest's index nor ours moved for the stall time.
 * It ends when one of them does.  In between the queue may be empty, when all that waited grew too old.
 *
 * Pure.  Guests without feature-rx-notify have none, as with xen-netback: nobody asks them for a sign. */
#ifndef BACKEND_STALL_H
#define BACKEND_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/* xen-netback: rx_stall_timeout_msecs, 60 s, which is after its queue was thrown away.  Half of the age limit:
 * the guest is woken before the first frame is lost. */
#define STALL_MS_DEFAULT 5000
#define STALL_MS_LIMIT   600000

struct stall {
	uint32_t after_ms;		/* the stall time; 0: there are no stalls */
	bool waits;			/* frames waited at a look, and nothing has moved since */
	bool stalled;
	uint32_t prod, cons;		/* the indices then */
	struct mono since;		/* when they began to wait */
	struct mono next;		/* when the stall begins, or the guest is to be woken again */
};

enum stall_step { STALL_NOTHING, STALL_BEGINS, STALL_GOES_ON, STALL_ENDS };

/* A look: do frames wait for buffers, and where do the guest's request index and ours stand?  At BEGINS and
 * GOES_ON, one a stall time, the guest is to be woken. */
enum stall_step stall_look(struct stall *stall, bool waiting, uint32_t prod, uint32_t cons, struct mono now);

#endif
