/* vif_internal.h - what vif.c (finding and dispatching), vif_life.c (one vif's life), vif_connect.c (what is
 * agreed with its guest) and vif_link.c (what it is told of its link) share; for nobody else */
#ifndef BACKEND_VIF_INTERNAL_H
#define BACKEND_VIF_INTERNAL_H

#include "key_names.h"
#include "log.h"
#include "vif.h"

#define VIF_STATUS_MAX 32

enum vif_rings {
	RINGS_NONE,
	RINGS_CONNECTING,	/* asked of the supervisor; the vif waits */
	RINGS_CONNECTED,
	RINGS_DISCONNECTING,	/* likewise */
};

/* What the guest was told last. */
enum vif_link { LINK_UNKNOWN, LINK_DOWN, LINK_UP };

struct vif {
	struct vif *next;
	struct vifs *vifs;
	uint16_t guest;
	uint32_t handle;
	char name[VIF_NAME_MAX];
	char backend[XENSTORE_PATH];	/* backend/vif/D/N, below our home */
	char frontend[XENSTORE_PATH];	/* /local/domain/D/device/vif/N; "" until read */
	char token[XENSTORE_TOKEN];
	bool watching;			/* the frontend's state */

	bool marked;			/* something changed: look at it */
	struct mono next_look, looks_since;
	uint32_t looks;			/* lately; see pause_after_look() */

	enum xenbus_state ours, theirs;
	enum xenbus_state after;	/* what to write once the rings are given back */
	bool unwritten;			/* ours could not be written */
	enum vif_rings rings;
	bool announced;			/* the device is up and our Connected is written */
	bool adopted;			/* found in another daemon's state, and not yet ours */
	bool online, gone;		/* gone: the toolstack has removed the entry */
	bool detaching;			/* the toolstack waits for Closed, and the frontend will not help */
	bool refused;			/* nothing more is done for it until it is removed */
	bool failed;			/* something of ours failed: wait for the frontend to move */
	enum xenbus_state failed_at;	/* its state then */
	struct log_limiter limiter;	/* a guest may connect and fail as often as it likes */
	char their_text[VIF_STATUS_MAX];	/* of the frontend's state, fit for a log */
	char hotplug_status[VIF_STATUS_MAX];
	char last_error[VIF_REASON_MAX];
	char ignored[VIF_REASON_MAX];	/* what the toolstack wrote that makes no sense; "" if nothing */

	struct vif_policy policy;	/* as last read */
	char policy_ignored[VIF_REASON_MAX];	/* of what was written for it; "" if nothing */

	struct hash_config hash;	/* the guest's, to be passed to the device if @hash_new */
	bool hash_new;
	enum vif_link link;
	bool link_new;			/* the device may have been set up or down */
	uint32_t queues_max;		/* what the guest was offered; 0: nothing yet */
	bool has_device;
	struct port_device device;
	struct vif_config config;
	struct key_names names[2];	/* by enum vif_key_side, while its keys are read */
};

#define ODD_NAMES_MAX 32
#define ODD_NAME_SIZE 80

struct vifs {
	struct vifs_settings settings;
	struct supervisor *supervisor;
	struct vif *list;
	uint32_t count;
	bool scan;			/* look for entries that appeared */
	bool busy;			/* many events came lately: the next are taken at next_take */
	struct mono next_take, takes_since;
	uint32_t takes;			/* turns with events lately */
	bool lost;			/* no connection to xenstored; tried again at reopen_at */
	struct mono reopen_at;
	bool full;			/* VIFS_MAX was reached, and said */
	/* What stands below backend/vif and is no vif: said once each. */
	char odd_names[ODD_NAMES_MAX][ODD_NAME_SIZE];
	uint32_t odd_count;
};

/* Looks at one vif and does what is to be done: one turn of its life.  True if it is over and the vif
 * is to be freed. */
bool vif_look(struct vif *vif);
void vif_release(struct vif *vif);	/* watches; the device stays unless @vif is gone */

void vif_watch_again(struct vif *vif);	/* after the connection to xenstored was lost */

/* vif_connect.c: actions of the state table. */
void vif_advertise(struct vif *vif);
void vif_connect_rings(struct vif *vif);
/* Has the switch told where the guest is.  For when its device has become part of the network. */
void vif_announce_guest(struct vif *vif);
/* Reads again what may change while connected, and passes it on. */
void vif_follow_changes(struct vif *vif);

/* vif_link.c: tells the guest of its link, just before our Connected; later, if it may have changed. */
void vif_announce_link(struct vif *vif);
void vif_follow_link(struct vif *vif);

/* XenStore, below @folder, which is vif->backend or vif->frontend.  As xenstore.h has them. */
int vif_read_key(struct vif *vif, const char *folder, const char *key, char *value, size_t size);
/* Into vif->backend, as long as the toolstack has not removed it. */
int vif_write_values(struct vif *vif, const struct xenstore_value *values, size_t count);
void vif_write_state(struct vif *vif, enum xenbus_state state);

/* Its entry makes no sense, or somebody else serves it: nothing is done until it is removed. */
void vif_refuse(struct vif *vif, const char *why);
void vif_forget_error(struct vif *vif);

/* Keeps @why, logs it, writes it to the error node and closes. */
void vif_fail(struct vif *vif, const char *why);

/* The supervisor's answers. */
void vif_rings_connected(struct vif *vif);
void vif_rings_disconnected(struct vif *vif);
void vif_follow_hash(struct vif *vif, const struct hash_config *hash);

#endif
