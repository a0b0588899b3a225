/* xenbus.c - the state machine of a backend device; see xenbus.h
 *
 * An empty cell is STAY.  Where a frontend jumps (straight to Closed, as MirageOS does, or from
 * Connected to Initialising, as a kernel that was kexec'ed does), the cell moves one step of the walk
 * and the next cell the next. */
#include <string.h>

#include "xenbus.h"

#define ADVERTISE  { XENBUS_ADVERTISE,  XenbusStateInitWait }
#define CONNECT    { XENBUS_CONNECT,    XenbusStateConnected }
#define DISCONNECT { XENBUS_DISCONNECT, XenbusStateClosing }
#define CLOSE      { XENBUS_CLOSE,      XenbusStateClosed }
#define REFUSE     { XENBUS_REFUSE,     XenbusStateClosing }

static const struct xenbus_step plan[XENBUS_STATES][XENBUS_STATES] = {	/* [ours][theirs] */
	[XenbusStateInitialising] = {
		/* As xen-netback's probe: InitWait at once, whatever the frontend does, but for one
		 * that is gone. */
		[XenbusStateUnknown]       = CLOSE,
		[XenbusStateInitialising]  = ADVERTISE,
		[XenbusStateInitWait]      = ADVERTISE,
		[XenbusStateInitialised]   = ADVERTISE,
		[XenbusStateConnected]     = ADVERTISE,
		[XenbusStateClosing]       = ADVERTISE,
		[XenbusStateClosed]        = ADVERTISE,
		[XenbusStateReconfiguring] = ADVERTISE,
		[XenbusStateReconfigured]  = ADVERTISE,
	},
	[XenbusStateInitWait] = {
		[XenbusStateUnknown]       = DISCONNECT,
		[XenbusStateConnected]     = CONNECT,
		[XenbusStateClosing]       = DISCONNECT,
		[XenbusStateClosed]        = DISCONNECT,
		[XenbusStateReconfiguring] = REFUSE,
		[XenbusStateReconfigured]  = REFUSE,
	},
	[XenbusStateConnected] = {
		[XenbusStateUnknown]       = DISCONNECT,
		[XenbusStateInitialising]  = DISCONNECT,	/* kexec */
		[XenbusStateClosing]       = DISCONNECT,
		[XenbusStateClosed]        = DISCONNECT,
		[XenbusStateReconfiguring] = REFUSE,		/* XDP headroom was not offered */
		[XenbusStateReconfigured]  = REFUSE,
	},
	[XenbusStateClosing] = {
		[XenbusStateUnknown]       = CLOSE,
		[XenbusStateInitialising]  = CLOSE,
		[XenbusStateClosed]        = CLOSE,
	},
	[XenbusStateClosed] = {
		[XenbusStateInitialising]  = ADVERTISE,
	},
};

static const char *const names[XENBUS_STATES] = {
	[XenbusStateUnknown] = "Unknown", [XenbusStateInitialising] = "Initialising",
	[XenbusStateInitWait] = "InitWait", [XenbusStateInitialised] = "Initialised",
	[XenbusStateConnected] = "Connected", [XenbusStateClosing] = "Closing",
	[XenbusStateClosed] = "Closed", [XenbusStateReconfiguring] = "Reconfiguring",
	[XenbusStateReconfigured] = "Reconfigured",
};

struct xenbus_step xenbus_step(enum xenbus_state ours, enum xenbus_state theirs)
{
	return plan[ours][theirs];
}

const char *xenbus_state_name(enum xenbus_state state)
{
	return state < XENBUS_STATES ? names[state] : "none";
}

enum xenbus_state xenbus_state_parse(const char *text)
{
	if (strlen(text) != 1 || text[0] < '0' || text[0] >= '0' + XENBUS_STATES)
		return XenbusStateUnknown;
	return (enum xenbus_state)(text[0] - '0');
}
