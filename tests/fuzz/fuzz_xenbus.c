/* fuzz_xenbus.c - any frontend, any order of states, and any text for one
 *
 * Each byte is a state of the frontend's (and whether the device is online); after it the backend
 * does what the table says until there is nothing to do.  It must come to rest, walk only from a
 * state to those the protocol has next, hold the guest's rings in Connected and Reconfigured only, and refuse
 * nothing but nonsense. */
#include <stdbool.h>

#include "../../backend/xenbus.h"
#include "fuzz.h"

struct device {
	enum xenbus_state ours;
	bool rings;		/* mapped, between CONNECT and DISCONNECT or REFUSE */
	bool failed;		/* as in vif_life.c: until the frontend moves, only the way to */
	enum xenbus_state failed_at;		/* Closed is walked */
};

static bool may_follow(enum xenbus_state from, enum xenbus_state to)
{
	switch (from) {
	case XenbusStateInitialising:
		return to == XenbusStateInitWait || to == XenbusStateClosed;
	case XenbusStateInitWait:
		return to == XenbusStateConnected || to == XenbusStateClosing;
	case XenbusStateConnected:
		return to == XenbusStateClosing || to == XenbusStateReconfigured;
	case XenbusStateReconfigured:
		return to == XenbusStateClosing || to == XenbusStateConnected;
	case XenbusStateClosing:
		return to == XenbusStateClosed;
	case XenbusStateClosed:
		return to == XenbusStateInitWait;
	default:
		return false;
	}
}

static void act(struct device *device, struct xenbus_step step, enum xenbus_state theirs, bool fails)
{
	if (step.action == XENBUS_CONNECT) {
		CHECK(!device->rings && theirs == XenbusStateConnected);
		device->rings = !fails;
		if (fails)		/* keys that make no sense */
			step.next = XenbusStateClosing;
	}
	if (step.action == XENBUS_REFUSE || (step.action == XENBUS_CONNECT && fails)) {
		device->failed = true;
		device->failed_at = theirs;
	}
	if (step.action == XENBUS_REFUSE)
		CHECK(theirs == XenbusStateReconfiguring || theirs == XenbusStateReconfigured ||
		      theirs == XENBUS_ILLEGAL);
	if (step.action == XENBUS_DISCONNECT || step.action == XENBUS_REFUSE)
		device->rings = false;
	CHECK(may_follow(device->ours, step.next));
	device->ours = step.next;
	CHECK(device->rings == (device->ours == XenbusStateConnected || device->ours == XenbusStateReconfigured));
}

static void settle(struct device *device, enum xenbus_state theirs, bool online, bool fails)
{
	struct xenbus_step step;
	int steps = 0;

	if (theirs != device->failed_at)
		device->failed = false;
	while ((step = xenbus_step(device->ours, theirs, online)).action != XENBUS_STAY) {
		if (device->failed && step.action != XENBUS_CLOSE)
			break;
		act(device, step, theirs, fails);
		CHECK(++steps <= 5);
	}
	if (theirs == XenbusStateUnknown)	/* crashed: nothing may be left */
		CHECK(device->ours == XenbusStateClosed);
}

static void check_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	enum xenbus_state state;

	memcpy(text, data, size);
	text[size] = '\0';
	state = xenbus_state_parse(text);
	CHECK(state <= XENBUS_ILLEGAL);
	if (state != XENBUS_ILLEGAL)
		CHECK(strlen(text) == 1 && text[0] == '0' + (char)state);
	CHECK(xenbus_state_name(state) != NULL && xenbus_state_name((enum xenbus_state)size) != NULL);
	free(text);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct device device = { .ours = XenbusStateInitialising };

	check_text(data, size);
	for (size_t i = 0; i < size; i++)
		settle(&device, (enum xenbus_state)((data[i] & 15) % XENBUS_STATES), data[i] & 16,
		       data[i] & 32);
	return 0;
}
