/* vif_world.h - what surrounds vif.c and vif_life.c: toolstack, frontends, supervisor and devices
 *
 * All in one thread and one struct.  What the code under test does is written down in a journal, a word
 * each:
 *
 *	+vifD.N		device made		-vifD.N		device destroyed
 *	~vifD.N		device given up, stays	mtuN, up, down	set_mtu, carrier
 *	hash, nohash	device told of the guest's hash
 *	qN		device set to another number of queues
 *	sN		state N written		eN		an error node written for handle N
 *	on, off		supervisor asked to connect, to disconnect
 *	live		supervisor told of a change while connected
 *	gone		supervisor told that the guest has no more vifs
 *
 * With one vif in a test the journal says all; it is read and emptied by expect(). */
#ifndef VIF_WORLD_H
#define VIF_WORLD_H

#include "../../backend/vif.h"

#define WORLD_SELF 5		/* a driver domain */
#define WORLD_QUEUES_MAX 4	/* offered to every guest */

struct vif_world {
	struct vifs *vifs;
	struct mono now;
	uint32_t announce_times;	/* of the next world_start() */
	bool answers;			/* the supervisor answers connect and disconnect at once */
	int fail_create, fail_queues, fail_mtu, fail_connect;	/* -errno */
	bool link_down;			/* the administrator has set the devices down; vifs_link_changed() tells */
	const char *speed;		/* --speed of the daemon that world_start() starts next */
	const char *fail_rings;		/* connect is answered by failed() with this reason */
	bool (*serves)(uint16_t guest, uint32_t handle);	/* NULL: all */
	struct vif_config config;	/* of the last connect */
	int expected, connects, disconnects;
	int link_looks;			/* times the device was asked for its link */
	unsigned int lines[4];		/* logged, by level */
	char last_line[512];
};
extern struct vif_world world;

int world_setup(void **state);
int world_teardown(void **state);
void world_start(void);			/* a new daemon in a store that may have vifs already */
void world_end(void);			/* it ends; XenStore stays */

/* The toolstack. */
void tool_attach(unsigned int guest, unsigned int handle);	/* with online=1, both ends in state 1 */
void tool_hotplug(unsigned int guest, unsigned int handle, const char *status);
void tool_detach(unsigned int guest, unsigned int handle);	/* online=0, state=5 */
void tool_remove(unsigned int guest, unsigned int handle);	/* both ends */

/* A frontend. */
void front_keys(unsigned int guest, unsigned int handle);	/* those of a modern one */
/* Writes @count queues where netif.h wants them, with references and ports of their own. */
void front_queues(unsigned int guest, unsigned int handle, unsigned int count);
void front_set(unsigned int guest, unsigned int handle, const char *key, const char *value);
void front_state(unsigned int guest, unsigned int handle, unsigned int state);
void front_gone(unsigned int guest, unsigned int handle);

unsigned int back_state(unsigned int guest, unsigned int handle);	/* 0: none */
const char *back_error(unsigned int guest, unsigned int handle);	/* "" if there is none */

/* Turns until nothing is marked any more; time passes. */
void settle(void);
/* Settles, then the journal must be @words. */
void expect(const char *words);
const struct vif_info *look(unsigned int guest, unsigned int handle);	/* NULL: not served */

#endif
