/* vif_link.c - what a guest is told of its link
 *
 * The link is up unless the administrator has set the device down (`ip link set vifD.N down`).  A guest is
 * told as long as our Connected stands, first just before it is written, so that hotplug scripts, which set
 * a device down and up again, are not heard.  Where a guest looks depends on its driver:
 *
 *	carrier		in our folder, as netif.h has it: 1 up, 0 down
 *	disconnect	in the frontend's, for Windows' xenvif (src/xenvif/mac.c): 1 down, 0 up
 *	speed		there, too: what Windows shows, such as 10G; only with --speed
 *
 * `disconnect` is the toolstack's as well: xenopsd writes it when the network of a VIF is taken away
 * (Device.Vif.set_carrier).  A 1 that stands there already stays, and only a 1 of ours becomes a 0.
 * unetback-disconnect=1 in our folder says that it is ours, also to the next unetbackd: it is written before
 * the 1, and taken back after the 0.
 *
 * The frontend's folder may be gone, or not ours to write (a backend outside of dom0): its keys then are
 * left out, and nothing is made there. */
#include <errno.h>
#include <string.h>

#include "vif_internal.h"

#define OURS "unetback-disconnect"

static bool is_one(struct vif *vif, const char *folder, const char *key)
{
	char value[4];

	return vif_read_key(vif, folder, key, value, sizeof value) == 0 && strcmp(value, "1") == 0;
}

/* @ours: the frontend's `disconnect` is ours now; @was: it was before. */
static void tell_backend(struct vif *vif, bool up, bool ours, bool was)
{
	const struct xenstore_value values[] = {
		{ "carrier", up ? "1" : "0" }, { OURS, ours ? "1" : "0" },
	};
	int error = vif_write_values(vif, values, ours || was ? 2 : 1);

	if (error && error != -ENOENT)
		log_limited(&vif->limiter, mono_now(), LOG_LEVEL_ERROR, "%s: cannot write carrier: %s",
			    vif->name, strerror(-error));
}

/* Guarded by its state, which goes with the folder. */
static void tell_frontend(struct vif *vif, bool ours, bool was)
{
	const char *speed = vif->vifs->settings.speed;
	struct xenstore_value values[2];
	size_t count = 0;
	int error;

	if (speed && vif->link == LINK_UNKNOWN)
		values[count++] = (struct xenstore_value){ "speed", speed };
	if (ours || was)
		values[count++] = (struct xenstore_value){ "disconnect", ours ? "1" : "0" };
	if (count == 0)
		return;
	error = xenstore_write_all(vif->vifs->settings.store, vif->frontend, "state", values, count);
	if (error && error != -ENOENT)
		log_limited(&vif->limiter, mono_now(), LOG_LEVEL_WARNING,
			    "%s: cannot write %s into the frontend's folder: %s; Windows does not see it",
			    vif->name, values[0].name, strerror(-error));
}

static void tell(struct vif *vif, bool up)
{
	bool was = is_one(vif, vif->backend, OURS);
	bool ours = !up && (was || !is_one(vif, vif->frontend, "disconnect"));

	if (!up)
		tell_backend(vif, up, ours, was);
	tell_frontend(vif, ours, was);
	if (up)
		tell_backend(vif, up, ours, was);
}

/* Asks the device, and tells the guest if it is news. */
static void look_at_link(struct vif *vif)
{
	bool up = vif->vifs->settings.device_class->link_is_up(&vif->device) != 0;
	enum vif_link link = up ? LINK_UP : LINK_DOWN;

	vif->link_new = false;
	if (vif->link == link)
		return;
	tell(vif, up);
	if (vif->link != LINK_UNKNOWN || !up)
		log_limited(&vif->limiter, mono_now(), LOG_LEVEL_INFO, "%s: its link is %s", vif->name,
			    up ? "up" : "down, as somebody has set the device");
	vif->link = link;
}

void vif_announce_link(struct vif *vif)
{
	vif->link = LINK_UNKNOWN;
	if (vif->has_device)
		look_at_link(vif);
}

void vif_follow_link(struct vif *vif)
{
	if (vif->has_device && vif->announced && (vif->link_new || vif->link == LINK_UNKNOWN))
		look_at_link(vif);
}

/* What changed before our Connected is seen when that is written.  An event only says that there may be
 * news: by now it may be old. */
void vifs_link_changed(void *context, int ifindex, bool up)
{
	struct vifs *vifs = context;

	for (struct vif *vif = vifs->list; vif; vif = vif->next)
		if (vif->has_device && vif->announced &&
		    (ifindex == 0 || (vif->device.ifindex == ifindex && (vif->link == LINK_UP) != up)))
			vif->link_new = vif->marked = true;
}
