/* tap_reaper.h - deletes TAPs beside the main loop
 *
 * To delete a network device the kernel waits for every CPU to have done with it: 10 to 25 ms, in which
 * unetbackd would serve nobody, and as many times that as guests go at once.  So a thread does it, one device
 * after the other; it ends when none is left.  Functions are called from unetbackd's one thread. */
#ifndef OVS_GLUE_TAP_REAPER_H
#define OVS_GLUE_TAP_REAPER_H

#include "../backend/port_device.h"

/* The device and its descriptors are the reaper's from now on; @device has none afterwards. */
void tap_reaper_take(struct port_device *device);

/* Until no device of that name is left to be deleted; NULL: none at all. */
void tap_reaper_wait(const char *name);

#endif
