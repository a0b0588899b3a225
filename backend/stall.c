/* stall.c - whether a guest has stopped taking frames; see stall.h */
#include "stall.h"

static void begin_to_wait(struct stall *stall, uint32_t prod, uint32_t cons, struct mono now)
{
	stall->waits = true;
	stall->prod = prod;
	stall->cons = cons;
	stall->since = now;
	stall->next = mono_add_ms(now, stall->after_ms);
}

enum stall_step stall_look(struct stall *stall, bool waiting, uint32_t prod, uint32_t cons, struct mono now)
{
	bool moved = stall->waits && (prod != stall->prod || cons != stall->cons);
	enum stall_step step = moved && stall->stalled ? STALL_ENDS : STALL_NOTHING;

	if (moved)
		stall->waits = stall->stalled = false;
	if (!waiting || stall->after_ms == 0)
		return step;
	if (!stall->waits) {
		begin_to_wait(stall, prod, cons, now);
		return step;
	}
	if (now.ns < stall->next.ns)
		return STALL_NOTHING;
	step = stall->stalled ? STALL_GOES_ON : STALL_BEGINS;
	stall->stalled = true;
	stall->next = mono_add_ms(now, stall->after_ms);
	return step;
}
