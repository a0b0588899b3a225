/* vif_life.c - the life of one vif, from its entry in XenStore to the last of its device
 *
 * vif_look() reads what can change (our entry, the frontend's state, the hotplug script's word), asks
 * the table in xenbus.c what to do, does it, and goes on until nothing is left to do or an answer of
 * the instance is needed.
 *
 * Our visible Connected waits for the hotplug script: rings are connected first, Connected is written
 * when hotplug-status is exactly `connected` (as xen-netback does), so that a guest does not send
 * into a device that no bridge has.
 *
 * The device lives from before InitWait until the toolstack has removed the entry, because scripts
 * run in between that name it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "vif_internal.h"
#include "vif_keys.h"

/* The whole walk has five steps; a frontend cannot make us take more than these at once. */
#define STEPS_A_LOOK 8

/* --- XenStore --------------------------------------------------------------------------------- */

static int path_of(char path[XENSTORE_PATH], const char *folder, const char *key)
{
	return snprintf(path, XENSTORE_PATH, "%s/%s", folder, key) < XENSTORE_PATH ? 0 : -ENAMETOOLONG;
}

int vif_read_key(struct vif *vif, const char *folder, const char *key, char *value, size_t size)
{
	char path[XENSTORE_PATH];
	int error = path_of(path, folder, key);

	return error ? error : xenstore_read(vif->vifs->settings.store, path, value, size);
}

/* The state in @folder; Unknown, with -errno, if it cannot be read.  @text gets what stands there,
 * quoted. */
static int read_state(struct vif *vif, const char *folder, enum xenbus_state *state, char *text,
		      size_t size)
{
	char value[8] = "";
	int error = *folder ? vif_read_key(vif, folder, "state", value, sizeof value) : -ENOENT;

	*state = XenbusStateUnknown;
	*text = '\0';
	if (error == -EMSGSIZE || error == -EILSEQ) {
		*state = XENBUS_ILLEGAL;
		snprintf(text, size, "(too long or with a NUL)");
	} else if (error == 0) {
		*state = xenbus_state_parse(value);
		vif_keys_quote(value, text, size);
	}
	return error;
}

/* Guarded by the frontend link, which only the toolstack writes: an entry it has removed must not
 * come back because we wrote into it. */
int vif_write_values(struct vif *vif, const struct xenstore_value *values, size_t count)
{
	return xenstore_write_all(vif->vifs->settings.store, vif->backend, "frontend", values, count);
}

void vif_write_state(struct vif *vif, enum xenbus_state state)
{
	const char digit[2] = { (char)('0' + state), '\0' };
	const struct xenstore_value value = { "state", digit };
	int error;

	log_debug("%s: %s -> %s", vif->name, xenbus_state_name(vif->ours), xenbus_state_name(state));
	vif->ours = state;
	error = vif_write_values(vif, &value, 1);
	vif->unwritten = error != 0;
	if (error == -ENOENT)
		vif->gone = true;
	else if (error)
		log_limited(&vif->limiter, mono_now(), LOG_LEVEL_ERROR, "%s: cannot write state %s: %s",
			    vif->name, xenbus_state_name(state), strerror(-error));
}

/* --- errors ----------------------------------------------------------------------------------- */

/* The place and form of Linux's xenbus_dev_error: below our own home. */
static void report_error(struct vif *vif, const char *why)
{
	char path[XENSTORE_PATH], text[VIF_REASON_MAX + 32];

	snprintf(vif->last_error, sizeof vif->last_error, "%s", why);
	log_limited(&vif->limiter, mono_now(), LOG_LEVEL_ERROR, "%s: %s", vif->name, why);
	if (snprintf(path, sizeof path, "error/%s/error", vif->backend) < (int)sizeof path) {
		snprintf(text, sizeof text, "22 %s: %s", vif->name, why);
		xenstore_write(vif->vifs->settings.store, path, text);
	}
}

/* With the folders above it that nobody else needs: error/backend/vif/D. */
static void remove_error_node(struct vif *vif)
{
	char path[XENSTORE_PATH];

	if (snprintf(path, sizeof path, "error/%s", vif->backend) < (int)sizeof path)
		xenstore_remove(vif->vifs->settings.store, path, 4);
}

void vif_forget_error(struct vif *vif)
{
	if (vif->last_error[0] != '\0')
		remove_error_node(vif);
	vif->last_error[0] = '\0';
}

static void carry(struct vif *vif, bool up)
{
	if (vif->has_device && vif->vifs->settings.device_class->set_carrier(&vif->device, up) != 0)
		log_limited(&vif->limiter, mono_now(), LOG_LEVEL_ERROR, "%s: %s", vif->name,
			    vif->device.reason);
}

/* Something failed: say so and close; the guest may try again once it has moved. */
void vif_fail(struct vif *vif, const char *why)
{
	report_error(vif, why);
	vif->failed = true;
	vif->failed_at = vif->theirs;
	carry(vif, false);
	vif->announced = false;
	if (vif->rings == RINGS_CONNECTED || vif->rings == RINGS_CONNECTING) {
		vif->rings = RINGS_DISCONNECTING;
		vif->after = XenbusStateClosing;
		supervisor_disconnect(vif->vifs->supervisor, vif->guest, vif->handle);
		return;
	}
	vif_write_state(vif, XenbusStateClosing);
	vif_write_state(vif, XenbusStateClosed);
}

/* Its entry makes no sense, or somebody else serves it: nothing is done until it is removed. */
void vif_refuse(struct vif *vif, const char *why)
{
	report_error(vif, why);
	vif->refused = true;
}

/* --- what can be seen ------------------------------------------------------------------------- */

/* The frontend's directory as the toolstack named it.  It must be that guest's own: nothing else is
 * ever read for it. */
static void find_frontend(struct vif *vif)
{
	char home[40], path[XENSTORE_PATH], quoted[100], why[VIF_REASON_MAX];
	int error = vif_read_key(vif, vif->backend, "frontend", path, sizeof path);

	if (error == -ENOENT)
		return;		/* a toolstack that writes key by key */
	snprintf(home, sizeof home, "/local/domain/%u/", vif->guest);
	if (error) {
		snprintf(why, sizeof why, "key frontend cannot be read: %s; it must be a path below %s",
			 strerror(-error), home);
		vif_fail(vif, why);
		vif->refused = true;
	} else if (strncmp(path, home, strlen(home)) != 0 || strstr(path, "//") || strstr(path, "/..")) {
		vif_keys_quote(path, quoted, sizeof quoted);
		snprintf(why, sizeof why, "key frontend is '%s', must be a path below %s", quoted, home);
		vif_fail(vif, why);
		vif->refused = true;
	} else {
		memcpy(vif->frontend, path, sizeof path);
	}
}

/* What our own entry says: a backend restarted under a running guest goes on where it stood; the
 * rings then are connected again without a word in XenStore. */
static void adopt_state(struct vif *vif)
{
	char text[VIF_STATUS_MAX];

	read_state(vif, vif->backend, &vif->ours, text, sizeof text);
	if (vif->ours == XenbusStateReconfigured)
		vif->ours = XenbusStateConnected;
	vif->adopted = vif->ours == XenbusStateInitWait || vif->ours == XenbusStateConnected;
	if (vif->ours == XenbusStateConnected) {
		vif->announced = true;
		log_info("%s: was connected before, taking over", vif->name);
	} else if (vif->ours != XenbusStateClosing && vif->ours != XenbusStateClosed) {
		vif->ours = XenbusStateInitialising;
	}
}

/* Besides its state, what the frontend may change while it is connected.  Without the watch the change is
 * seen when something else makes us look. */
static void watch_changes(struct vif *vif)
{
	char path[XENSTORE_PATH];

	if (path_of(path, vif->frontend, "request-multicast-control") == 0 &&
	    xenstore_watch(vif->vifs->settings.store, path, vif->token) != 0)
		log_limited(&vif->limiter, mono_now(), LOG_LEVEL_WARNING,
			    "%s: cannot watch the frontend's request-multicast-control", vif->name);
}

static void watch_frontend(struct vif *vif)
{
	char path[XENSTORE_PATH], why[VIF_REASON_MAX];
	int error = path_of(path, vif->frontend, "state");

	if (!error)
		error = xenstore_watch(vif->vifs->settings.store, path, vif->token);
	if (error) {
		snprintf(why, sizeof why, "cannot watch the frontend's state: %s", strerror(-error));
		vif_fail(vif, why);
		vif->refused = true;
		return;
	}
	vif->watching = true;
	watch_changes(vif);
	adopt_state(vif);
}

/* The toolstack wants the device away (it wrote Closing into our entry): a frontend that never
 * connected will not answer, and need not. */
static bool wants_detach(const struct vif *vif, enum xenbus_state visible)
{
	return visible == XenbusStateClosing && !vif->online && vif->theirs != XenbusStateConnected &&
	       vif->theirs != XenbusStateClosing;
}

/* Our entry: false if it is gone, or another one stands in its place (removed and made again since we
 * last looked), which is found when this one is buried.  Only the toolstack writes Initialising. */
static bool is_still_there(struct vif *vif, enum xenbus_state *visible)
{
	char text[VIF_STATUS_MAX];
	int error = read_state(vif, vif->backend, visible, text, sizeof text);

	if (error == -ENOENT)
		return false;
	return *visible != XenbusStateInitialising || vif->ours == XenbusStateInitialising ||
	       vif->unwritten;
}

static void refresh(struct vif *vif)
{
	enum xenbus_state visible;
	char value[VIF_STATUS_MAX];

	vif->gone = !is_still_there(vif, &visible);
	if (vif->gone)
		return;
	if (vif->frontend[0] == '\0' && !vif->refused)
		find_frontend(vif);
	if (vif->frontend[0] != '\0' && !vif->watching && !vif->refused)
		watch_frontend(vif);
	read_state(vif, vif->frontend, &vif->theirs, vif->their_text, sizeof vif->their_text);
	vif->online = vif_read_key(vif, vif->backend, "online", value, sizeof value) == 0 &&
		      strcmp(value, "1") == 0;
	if (vif_read_key(vif, vif->backend, "hotplug-status", vif->hotplug_status,
		     sizeof vif->hotplug_status) != 0)
		vif->hotplug_status[0] = '\0';
	vif->detaching = wants_detach(vif, visible);
	/* The toolstack asked again for what is done already. */
	if (visible == XenbusStateClosing && vif->ours == XenbusStateClosed)
		vif_write_state(vif, XenbusStateClosed);
}

/* --- actions ---------------------------------------------------------------------------------- */

/* Gives back what is the guest's, then writes @next; at once if there is nothing to give back. */
static void disconnect_rings(struct vif *vif, enum xenbus_state next)
{
	carry(vif, false);
	vif->announced = false;
	if (vif->rings == RINGS_NONE) {
		vif_write_state(vif, next);
		return;
	}
	vif->rings = RINGS_DISCONNECTING;
	vif->after = next;
	supervisor_disconnect(vif->vifs->supervisor, vif->guest, vif->handle);
}

/* Rings are up: the visible state follows once the script is done. */
static void announce(struct vif *vif)
{
	if (strcmp(vif->hotplug_status, "connected") != 0)
		return;
	carry(vif, true);
	vif_announce_link(vif);
	vif->announced = true;
	vif_write_state(vif, XenbusStateConnected);
	vif_announce_guest(vif);
	log_limited(&vif->limiter, mono_now(), LOG_LEVEL_INFO, "%s: connected", vif->name);
}

/* The supervisor's answers. */
void vif_rings_connected(struct vif *vif)
{
	vif->rings = RINGS_CONNECTED;
	if (vif->announced)	/* a new instance, or a new unetbackd: nothing changes for the guest */
		carry(vif, true);
}

void vif_rings_disconnected(struct vif *vif)
{
	bool in_hand = vif->rings == RINGS_DISCONNECTING;

	vif->rings = RINGS_NONE;
	if (in_hand && !vif->gone)
		vif_write_state(vif, vif->after);
}

static void refuse_state(struct vif *vif)
{
	char why[VIF_REASON_MAX];

	if (vif->theirs == XENBUS_ILLEGAL)
		snprintf(why, sizeof why, "the frontend's state is '%s', must be a number from 1 to 8",
			 vif->their_text);
	else
		snprintf(why, sizeof why, "the frontend's state %s makes no sense while ours is %s",
			 xenbus_state_name(vif->theirs), xenbus_state_name(vif->ours));
	vif_fail(vif, why);
}

static void act(struct vif *vif, struct xenbus_step step)
{
	switch (step.action) {
	case XENBUS_ADVERTISE:
		vif_advertise(vif);
		break;
	case XENBUS_CONNECT:
		vif_connect_rings(vif);
		break;
	case XENBUS_DISCONNECT:
		disconnect_rings(vif, step.next);
		break;
	case XENBUS_CLOSE:
	case XENBUS_RESUME:
	case XENBUS_RECONFIGURE:	/* what has changed was passed on as the vif was looked at */
		vif_write_state(vif, step.next);
		break;
	case XENBUS_REFUSE:
		refuse_state(vif);
		break;
	case XENBUS_STAY:
		break;
	}
}

/* --- turns ------------------------------------------------------------------------------------ */

/* The entry is gone: nothing is written any more; what is the guest's is given back, then the device
 * goes.  True when all is done. */
static bool bury(struct vif *vif)
{
	if (vif->rings == RINGS_CONNECTED || vif->rings == RINGS_CONNECTING) {
		vif->rings = RINGS_DISCONNECTING;
		supervisor_disconnect(vif->vifs->supervisor, vif->guest, vif->handle);
	}
	if (vif->rings != RINGS_NONE)
		return false;
	remove_error_node(vif);
	if (vif->has_device)
		vif->vifs->settings.device_class->destroy(&vif->device);
	vif->has_device = false;
	log_info("%s: removed", vif->name);
	return true;
}

/* While the instance works on what it was told, only a frontend that has changed its mind counts. */
static bool waits_for_instance(const struct vif *vif, struct xenbus_step next)
{
	return vif->rings == RINGS_DISCONNECTING ||
	       (vif->rings == RINGS_CONNECTING && next.action != XENBUS_DISCONNECT &&
		next.action != XENBUS_REFUSE);
}

/* After a failure only the rest of the way to Closed is walked, until the frontend moves. */
static bool held_back(struct vif *vif, struct xenbus_step next)
{
	if (vif->theirs != vif->failed_at)
		vif->failed = false;
	return vif->failed && next.action != XENBUS_CLOSE;
}

/* One step; false when there is nothing to do for now. */
static bool take_step(struct vif *vif)
{
	enum xenbus_state theirs = vif->detaching ? XenbusStateUnknown : vif->theirs;
	struct xenbus_step next = xenbus_step(vif->ours, theirs, vif->online);

	if (held_back(vif, next) || waits_for_instance(vif, next))
		return false;
	/* Connected before us: the rings only have to be mapped again. */
	if (vif->ours == XenbusStateConnected && vif->rings == RINGS_NONE &&
	    theirs == XenbusStateConnected) {
		vif_connect_rings(vif);
		return true;
	}
	if (vif->rings == RINGS_CONNECTED && next.action == XENBUS_CONNECT) {
		announce(vif);
		return false;
	}
	act(vif, next);
	return next.action != XENBUS_STAY;
}

bool vif_look(struct vif *vif)
{
	refresh(vif);
	if (!vif->gone)
		vif_follow_changes(vif);
	for (int steps = 0; steps < STEPS_A_LOOK; steps++)
		if (vif->gone || vif->refused || !vif->watching || !take_step(vif))
			break;
	return vif->gone && bury(vif);
}

void vif_watch_again(struct vif *vif)
{
	char path[XENSTORE_PATH];

	vif->marked = true;
	vif->link = LINK_UNKNOWN;	/* what was not written then is written now */
	if (vif->watching && path_of(path, vif->frontend, "state") == 0 &&
	    xenstore_watch(vif->vifs->settings.store, path, vif->token) != 0)
		log_error("%s: cannot watch the frontend's state", vif->name);
	if (vif->watching)
		watch_changes(vif);
}

void vif_release(struct vif *vif)
{
	char path[XENSTORE_PATH];

	if (vif->watching && path_of(path, vif->frontend, "state") == 0)
		xenstore_unwatch(vif->vifs->settings.store, path, vif->token);
	if (vif->watching && path_of(path, vif->frontend, "request-multicast-control") == 0)
		xenstore_unwatch(vif->vifs->settings.store, path, vif->token);
	vif->watching = false;
	if (vif->has_device)
		vif->vifs->settings.device_class->forget(&vif->device);
}
