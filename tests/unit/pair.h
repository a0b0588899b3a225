/* pair.h - a queue pair to be opened on the world's rings, with a port of the fake kind */
#ifndef PAIR_H
#define PAIR_H

#include "../../backend/queue_pair.h"
#include "world.h"

extern struct queue_pair_setup pair_setup;	/* for queue_pair_open(); may be changed before */
extern struct vif_config pair_config;
extern struct queue_state pair_state;
extern struct vif_common pair_common;
extern int pair_event_end;			/* where fired ports are written */

int pair_prepare(void **state);			/* the world, bare, and the setup */
int pair_finish(void **state);			/* looks for leaks; the pair is closed */
void pair_check_verdicts(void);			/* sums of verdicts are the frames seen */

#endif
