/* link_events.h - hears when a network device of the host is set up or down
 *
 * A cover over libopenvswitch's rtnetlink notifier, in the daemon's loop: run and wait once a turn, as
 * those of daemon.h.  One listener a process, in the network namespace in which it was started. */
#ifndef OVS_GLUE_LINK_EVENTS_H
#define OVS_GLUE_LINK_EVENTS_H

#include <stdbool.h>

/* @changed is called by link_events_run() for every change of any device: @up if it is set up now, false if
 * it is gone.  @ifindex 0: changes were lost, each device must be looked at.  A kernel that refuses is
 * logged, and nothing will be heard. */
void link_events_start(void (*changed)(void *context, int ifindex, bool up), void *context);
void link_events_run(void);
void link_events_wait(void);
void link_events_stop(void);		/* also if it was not started */

#endif
