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
#define RECONFIGURE { XENBUS_RECONFIGURE, XenbusStateReconfigured }
#define RESUME     { XENBUS_RESUME,     XenbusStateConnected }
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
		[XENBUS_ILLEGAL]           = ADVERTISE,
	},
	[XenbusStateInitWait] = {
		[XenbusStateUnknown]       = DISCONNECT,
		[XenbusStateConnected]     = CONNECT,
		[XenbusStateClosing]       = DISCONNECT,
		[XenbusStateClosed]        = DISCONNECT,
		[XenbusStateReconfiguring] = REFUSE,
		[XenbusStateReconfigured]  = REFUSE,
		[XENBUS_ILLEGAL]           = REFUSE,
	},
	[XenbusStateConnected] = {
		[XenbusStateUnknown]       = DISCONNECT,
		[XenbusStateInitialising]  = DISCONNECT,	/* kexec */
		[XenbusStateClosing]       = DISCONNECT,
		[XenbusStateClosed]        = DISCONNECT,
		[XenbusStateReconfiguring] = RECONFIGURE,	/* XDP headroom; Linux's frontends */
		[XenbusStateReconfigured]  = REFUSE,
		[XENBUS_ILLEGAL]           = REFUSE,
	},
	[XenbusStateReconfigured] = {
		[XenbusStateUnknown]       = DISCONNECT,
		[XenbusStateInitialising]  = DISCONNECT,
		[XenbusStateConnected]     = RESUME,
		[XenbusStateClosing]       = DISCONNECT,
		[XenbusStateClosed]        = DISCONNECT,
		[XenbusStateReconfigured]  = REFUSE,
		[XENBUS_ILLEGAL]           = REFUSE,
	},
	[XenbusStateClosing] = {
		/* A frontend that is Closing gets the time to finish; any other has left that state
		 * behind, perhaps faster than we looked. */
		[XenbusStateUnknown]       = CLOSE,
		[XenbusStateInitialising]  = CLOSE,
		[XenbusStateInitWait]      = CLOSE,
		[XenbusStateInitialised]   = CLOSE,
		[XenbusStateConnected]     = CLOSE,
		[XenbusStateClosed]        = CLOSE,
		[XenbusStateReconfiguring] = CLOSE,
		[XenbusStateReconfigured]  = CLOSE,
		[XENBUS_ILLEGAL]           = CLOSE,
	},
	[XenbusStateClosed] = {
		[XenbusStateInitialising]  = ADVERTISE,
		[XenbusStateConnected]     = ADVERTISE,	/* did not wait for our InitWait */
	},
};

static const char *const names[XENBUS_STATES] = {
	[XenbusStateUnknown] = "Unknown", [XenbusStateInitialising] = "Initialising",
	[XenbusStateInitWait] = "InitWait", [XenbusStateInitialised] = "Initialised",
	[XenbusStateConnected] = "Connected", [XenbusStateClosing] = "Closing",
	[XenbusStateClosed] = "Closed", [XenbusStateReconfiguring] = "Reconfiguring",
	[XenbusStateReconfigured] = "Reconfigured", [XENBUS_ILLEGAL] = "illegal",
};

struct xenbus_step xenbus_step(enum xenbus_state ours, enum xenbus_state theirs, bool online)
{
	static const struct xenbus_step stay = { XENBUS_STAY, XenbusStateUnknown };

	return ours == XenbusStateClosed && !online ? stay : plan[ours][theirs];
}

const char *xenbus_state_name(enum xenbus_state state)
{
	return state < XENBUS_STATES ? names[state] : names[XENBUS_ILLEGAL];
}

enum xenbus_state xenbus_state_parse(const char *text)
{
	if (strlen(text) != 1 || text[0] < '0' || text[0] > '0' + XenbusStateReconfigured)
		return XENBUS_ILLEGAL;
	return (enum xenbus_state)(text[0] - '0');
}
