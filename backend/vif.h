/* vif.h - the vifs of this domain, as the control plane sees them
 *
 * Finds the entries the toolstack makes below backend/vif, walks each through the xenbus states
 * (xenbus.h), makes its device before InitWait, has its rings connected by the guest's instance and
 * removes everything when the toolstack removes the entry.  unetbackd's one thread.
 *
 * A vif's events only mark it; each marked vif is looked at once a turn, at most every VIF_LOOK_MS if
 * many come, and more slowly if it goes on, so a guest that rewrites its keys all day costs a bounded
 * amount. */
#ifndef BACKEND_VIF_H
#define BACKEND_VIF_H

#include <stdbool.h>

#include "clock.h"
#include "port_device.h"
#include "supervisor.h"
#include "vif_config.h"
#include "vif_policy.h"
#include "xenbus.h"
#include "xenstore.h"

#define VIF_LOOK_MS 5
#define VIF_REASON_MAX 256

struct vifs;

struct vifs_settings {
	struct xenstore *store;
	uint16_t self;
	const struct port_device_class *device_class;
	bool has_device_fds;		/* the instance needs descriptors of the device */
	bool pin_queues;		/* each queue's thread to a CPU */
	const char *speed;		/* told to Windows guests, such as "10G"; NULL: nothing is */
	uint32_t queues_max;		/* offered, unless the toolstack says otherwise for a vif */
	struct queue_limits limits;
	struct vif_policy policy;	/* likewise */
	uint32_t stall_ms;		/* vif_config.h */
	uint32_t announce_times;	/* announce.h */
	uint32_t guest_tx_pages, guest_rx_granted_bytes;
	/* True for vifs that are ours to serve. */
	bool (*serves)(uint16_t guest, uint32_t handle);
};

struct vifs *vifs_create(const struct vifs_settings *settings);	/* NULL without memory */
/* Starts watching; what exists already is found by the first turn.  0 or -errno, logged. */
int vifs_start(struct vifs *vifs, struct supervisor *supervisor);
/* Forgets everything and leaves guests, devices and XenStore as they are: the next unetbackd takes
 * over where this one stopped.  NULL is fine. */
void vifs_destroy(struct vifs *vifs);

/* When xenstored is gone vifs stay as they are and their frames go on, until it is back. */
void vifs_run(struct vifs *vifs, struct mono now);
void vifs_wait(struct vifs *vifs, void (*wait_fd)(int fd, short events),
	       void (*wait_until)(struct mono when));

/* The answers of the supervisor. */
void vifs_connected(void *vifs, uint16_t guest, uint32_t handle);
void vifs_failed(void *vifs, uint16_t guest, uint32_t handle, const char *why);
void vifs_broken(void *vifs, uint16_t guest, uint32_t handle, const char *why);
void vifs_disconnected(void *vifs, uint16_t guest, uint32_t handle);
void vifs_hashed(void *vifs, uint16_t guest, uint32_t handle, const struct hash_config *hash);

/* A network device was set up or down, or may have been: any of ours if @ifindex is 0. */
void vifs_link_changed(void *vifs, int ifindex, bool up);

/* For commands. */
struct vif_info {
	uint16_t guest;
	uint32_t handle;
	const char *name;
	enum xenbus_state ours, theirs;
	bool rings_connected;
	const char *link;		/* as the guest was told: "up", "down"; "" before that */
	const char *hotplug_status;	/* "" if the script has not written it */
	const char *waiting_for;	/* in words; "" if for nothing */
	const char *last_error;		/* "" if none */
	const char *ignored;		/* what the toolstack wrote that makes no sense; "" if nothing */
	const char *policy_ignored;	/* likewise, of what holds from connect on */
	const struct vif_config *config;	/* as last connected */
	const struct port_device *device;	/* NULL while there is none */
};
void vifs_each(const struct vifs *vifs, void (*each)(void *context, const struct vif_info *info),
	       void *context);

#endif
