/* instance.h - the data plane of one guest
 *
 * One process a guest.  Its main thread waits for unetbackd's messages (channel.h), makes and ends
 * queue pairs and their threads; those move the frames.  It has no XenStore, no file system and no
 * privileges, and knows only what unetbackd sends, which it checks again. */
#ifndef BACKEND_INSTANCE_H
#define BACKEND_INSTANCE_H

#include <stdint.h>
#include <xengnttab.h>

#include "port.h"
#include "vif_state.h"

struct instance_setup {
	uint16_t guest, self;			/* domids */
	int channel;				/* socket to unetbackd */
	struct guest_state *state;		/* written by us, read by unetbackd */
	xengnttab_handle *gnttab;
	struct pages *pages;
	const struct port_class *const *port_classes;	/* ended by NULL */
};

/* Serves until the channel closes; then disconnects all vifs.  0, or -errno for a channel that
 * talks nonsense. */
int instance_run(const struct instance_setup *setup);

#endif
