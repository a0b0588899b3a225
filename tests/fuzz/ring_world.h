/* ring_world.h - the world of tests/unit, kept from one input to the next, for targets with rings
 *
 * Making a world costs more than most inputs, so there is one, and ring_world_reset() takes every
 * trace of the last input out of it.  Guest pages that an input has no business with are write
 * protected: a copy that goes astray is a fault. */
#ifndef RING_WORLD_H
#define RING_WORLD_H

#include <sys/mman.h>

#include "../unit/world.c"
#include "fuzz.h"

/* Failed assertions of the fakes abort, which a fuzzer sees. */
static inline void ring_world_start(void)
{
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	world_setup(NULL);
}

/* All of the guest's pages but those named may be read only. */
static inline void ring_world_protect(uint32_t first, uint32_t count, uint32_t ring)
{
	CHECK(mprotect(fake.guest, FAKE_PAGES * XEN_PAGE, PROT_READ) == 0);
	CHECK(mprotect(fake.guest[first], count * XEN_PAGE, PROT_READ | PROT_WRITE) == 0);
	CHECK(mprotect(fake.guest[ring], XEN_PAGE, PROT_READ | PROT_WRITE) == 0);
}

static inline void ring_world_reset(void)
{
	struct fake_port *port = fake_port_of(world->port);

	memset(&world->state, 0, sizeof world->state);
	memset(fake.notified, 0, sizeof fake.notified);
	fake.fail_operation = FAKE_NEVER;
	fake.fail_copy_call = false;
	fake.copy_operations = fake.copy_calls = fake.crossings = 0;
	fake.on_copy = NULL;
	fake_port_forget_sent(world->port);
	port->on_send = NULL;
	port->send_verdict = GUEST_TX_SENT;
	CHECK(port->held == 0 && port->inbox_next == port->inbox_count);
	port->inbox_next = port->inbox_count = 0;
}

/* True if a backend that publishes @before..@now has to send an event to who waits for @event. */
static inline bool ring_world_wants_event(uint32_t before, uint32_t now, uint32_t event)
{
	for (uint32_t i = before; i != now; )	/* one by one, as netif.h puts it */
		if (++i == event)
			return true;
	return false;
}

#endif
