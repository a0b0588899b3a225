/* scene.h - a guest of some profile with all its vifs, and the real unetbackd before it
 *
 * One scene at a time, one thread.  Failures are cmocka's. */
#ifndef TESTS_CONFORMANCE_SCENE_H
#define TESTS_CONFORMANCE_SCENE_H

#include "life.h"
#include "stack.h"
#include "traffic.h"

struct scene {
	const struct profile *profile;
	struct simguest *guest;
	uint32_t domid, vifs, bound;		/* bound: ports of domain 0's before the guest came */
	uint32_t lives;
	struct stack stacks[PROFILE_VIFS];
	struct life now[PROFILE_VIFS];
	struct traffic traffic;
	uint64_t tx_frames, rx_frames;		/* of frontends that have gone */
};

void scene_open(struct scene *scene, const struct profile *profile);
void scene_close(struct scene *scene);
/* After a failure, in whatever state it is; nothing is done to one that is closed. */
void scene_abandon(struct scene *scene);

/* A domain with its vifs, none connected; and the end of it all: detached first if the frontend follows,
 * then nothing may be left. */
void scene_plug(struct scene *scene);
void scene_unplug(struct scene *scene);

/* One vif. */
bool scene_connect(struct scene *scene, uint32_t vif);
void scene_disconnect(struct scene *scene, uint32_t vif);

/* By the backend's own word: every frame is accounted for, and none was dropped. */
void scene_assert_no_drops(struct scene *scene, uint32_t vif);

/* Serves everything and waits, also for @more. */
void scene_serve(void *scene, struct pollfd *more, nfds_t count, int ms);

#endif
