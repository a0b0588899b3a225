/* vif_connect.c - what is agreed with a guest: what it is offered, what it chose, what changes later
 *
 * The steps of vif_life.c that read and write more than states.  What the guest chose is read once, checked
 * (vif_keys.c, vif_config.c) and handed to its instance; what may change while it is connected is read again
 * whenever the vif is looked at, and passed on if it has changed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "vif_internal.h"
#include "vif_keys.h"

/* 0, or -errno once the vif has failed.  What another daemon had in hand and still holds stays its. */
static int make_device(struct vif *vif)
{
	const struct vifs_settings *settings = &vif->vifs->settings;
	char why[VIF_REASON_MAX];
	int error;

	if (vif->has_device)
		return 0;
	error = settings->device_class->create(&vif->device, vif->name);
	vif->has_device = error == 0;
	if (error) {
		snprintf(why, sizeof why, "cannot make the device %s: %s", vif->name, vif->device.reason);
		if (vif->adopted && error == -EBUSY)
			vif_refuse(vif, why);
		else
			vif_fail(vif, why);
	}
	vif->adopted = false;
	return error;
}

static int read_vif_key(void *context, enum vif_key_side side, const char *key, char *value,
			size_t size)
{
	struct vif *vif = context;

	if (!key_names_may_have(&vif->names[side], key))
		return -ENOENT;
	return vif_read_key(vif, side == VIF_KEY_FRONTEND ? vif->frontend : vif->backend, key, value, size);
}

/* Keys are asked for from now on only if they are there. */
static void list_keys(struct vif *vif, const char *frontend)
{
	key_names_list(&vif->names[VIF_KEY_BACKEND], vif->vifs->settings.store, vif->backend);
	if (frontend)
		key_names_list(&vif->names[VIF_KEY_FRONTEND], vif->vifs->settings.store, frontend);
}

static void forget_keys(struct vif *vif)
{
	memset(vif->names, 0, sizeof vif->names);
}

/* How many queues this guest may have: the toolstack's word for this vif, or the daemon's for all. */
static int choose_queues_max(struct vif *vif)
{
	char why[VIF_REASON_MAX];
	int error;

	vif->queues_max = vif->vifs->settings.queues_max;
	error = vif_keys_read_queues_max(read_vif_key, vif, &vif->queues_max, why, sizeof why);
	if (error)
		vif_fail(vif, why);
	return error;
}

/* The operator's word on offloads; said once each time it changes to something odd. */
static void read_policy(struct vif *vif)
{
	char ignored[VIF_REASON_MAX];

	vif->policy = vif->vifs->settings.policy;
	vif_policy_read(read_vif_key, vif, &vif->policy, ignored, sizeof ignored);
	if (strcmp(ignored, vif->policy_ignored) != 0 && ignored[0] != '\0')
		log_limited(&vif->limiter, mono_now(), LOG_LEVEL_WARNING, "%s: %s", vif->name, ignored);
	memcpy(vif->policy_ignored, ignored, sizeof ignored);
}

void vif_advertise(struct vif *vif)
{
	struct xenstore_value values[VIF_OFFERS_MAX];
	char why[VIF_REASON_MAX], queues[12];
	size_t count = 0;
	int error;

	if (make_device(vif) != 0 || choose_queues_max(vif) != 0)
		return;
	read_policy(vif);
	snprintf(queues, sizeof queues, "%u", vif->queues_max);
	for (const struct vif_offer *offer = vif_offers; offer->name; offer++) {
		const char *value = vif_policy_offered(offer, vif->policy.csum);

		values[count++] = (struct xenstore_value){ offer->name, value ? value : queues };
	}
	error = vif_write_values(vif, values, count);
	if (error == -ENOENT) {
		vif->gone = true;
	} else if (error) {
		snprintf(why, sizeof why, "cannot write features: %s", strerror(-error));
		vif_fail(vif, why);
	} else {
		vif_forget_error(vif);
		supervisor_expect(vif->vifs->supervisor, vif->guest);
		vif_write_state(vif, XenbusStateInitWait);
	}
}

/* What may change while the guest is connected; said once each time it changes to something odd. */
static void read_live(struct vif *vif, struct vif_live *live)
{
	char ignored[VIF_REASON_MAX];

	vif_keys_read_live(read_vif_key, vif, live, ignored, sizeof ignored);
	if (strcmp(ignored, vif->ignored) != 0 && ignored[0] != '\0')
		log_limited(&vif->limiter, mono_now(), LOG_LEVEL_WARNING, "%s: %s", vif->name, ignored);
	memcpy(vif->ignored, ignored, sizeof ignored);
}

static bool is_same(const struct vif_live *one, const struct vif_live *other)
{
	return memcmp(one->tx_rates, other->tx_rates, sizeof one->tx_rates) == 0 &&
	       memcmp(one->rx_rates, other->rx_rates, sizeof one->rx_rates) == 0 &&
	       one->multicast_control == other->multicast_control && one->xdp_headroom == other->xdp_headroom;
}

/* Passes on what has changed under a guest that is connected. */
static void follow_live(struct vif *vif)
{
	struct vif_live live = vif->config.live;

	list_keys(vif, NULL);
	read_live(vif, &live);
	forget_keys(vif);
	if (is_same(&live, &vif->config.live))
		return;
	vif->config.live = live;
	supervisor_update(vif->vifs->supervisor, vif->guest, vif->handle, &live);
}

/* Those that the toolstack says the guest has (xl: ip=).  That some make no sense is no reason not to announce
 * the others. */
static void read_addresses(struct vif *vif, struct announce *announce)
{
	char text[512];

	if (read_vif_key(vif, VIF_KEY_BACKEND, "ip", text, sizeof text) == 0)
		announce_parse(text, announce);
}

static int configure(struct vif *vif, char *why, size_t size)
{
	const struct vifs_settings *settings = &vif->vifs->settings;
	struct vif_config *config = &vif->config;
	int error;

	*config = (struct vif_config){
		.version = VIF_CONFIG_VERSION,
		.guest = vif->guest, .self = settings->self, .handle = vif->handle,
		.fresh = vif->ours != XenbusStateConnected,
		.pin = settings->pin_queues,
		.stall_ms = settings->stall_ms,
		.announce.times = settings->announce_times,
		.live.limits = settings->limits,
		.guest_tx_pages = settings->guest_tx_pages,
		.guest_rx_granted_bytes = settings->guest_rx_granted_bytes,
	};
	memcpy(config->name, vif->name, sizeof config->name);
	snprintf(config->port_kind, sizeof config->port_kind, "%s", settings->device_class->kind);
	list_keys(vif, vif->frontend);
	read_live(vif, &config->live);
	read_policy(vif);
	config->csum = vif->policy.csum;
	config->antispoof = vif->policy.antispoof;
	read_addresses(vif, &config->announce);
	error = vif_keys_read(read_vif_key, vif, vif->queues_max, config, why, size);
	forget_keys(vif);
	return error ? error : vif_config_check(config, why, (unsigned int)size);
}

static int set_mtu(struct vif *vif, char *why, size_t size)
{
	int error = vif->vifs->settings.device_class->set_mtu(&vif->device, vif->config.mtu);

	if (error)
		snprintf(why, size, "the device does not accept mtu %u: %s", vif->config.mtu,
			 vif->device.reason);
	return error;
}

static int set_queues(struct vif *vif, char *why, size_t size)
{
	int error = vif->vifs->settings.device_class->set_queues(&vif->device,
								 (int)vif->config.queue_count);

	if (error)
		snprintf(why, size, "the device cannot have %u queues: %s", vif->config.queue_count,
			 vif->device.reason);
	return error;
}

/* Its queues are running. */
void vif_announce_guest(struct vif *vif)
{
	if (vif->config.announce.times == 0)
		return;
	vif->config.live.announcements++;
	supervisor_update(vif->vifs->supervisor, vif->guest, vif->handle, &vif->config.live);
}

void vif_connect_rings(struct vif *vif)
{
	const struct vifs_settings *settings = &vif->vifs->settings;
	char why[VIF_REASON_MAX] = "";
	int error;

	/* After taking over there may be neither device nor offer. */
	if (make_device(vif) != 0 || (vif->queues_max == 0 && choose_queues_max(vif) != 0))
		return;
	error = configure(vif, why, sizeof why);
	if (!error)
		error = set_queues(vif, why, sizeof why);
	if (!error)
		error = set_mtu(vif, why, sizeof why);
	if (!error) {
		vif->rings = RINGS_CONNECTING;
		error = supervisor_connect(vif->vifs->supervisor, &vif->config,
					   settings->has_device_fds ? vif->device.queue_fds : NULL,
					   why, sizeof why);
	}
	if (error) {
		vif->rings = RINGS_NONE;
		vif_fail(vif, why);
	}
}

/* The guest may choose another hash as often as it likes: it is passed on when the vif is looked at. */
void vif_follow_hash(struct vif *vif, const struct hash_config *hash)
{
	vif->hash = *hash;
	vif->hash_new = vif->marked = true;
}

/* The device spreads frames as the guest wants it. */
static void pass_hash(struct vif *vif)
{
	vif->hash_new = false;
	if (vif->has_device && vif->rings != RINGS_NONE &&
	    vif->vifs->settings.device_class->set_hash(&vif->device, &vif->hash) != 0)
		log_limited(&vif->limiter, mono_now(), LOG_LEVEL_ERROR, "%s: its queues are not chosen by the "
			    "guest's hash: %s", vif->name, vif->device.reason);
}

void vif_follow_changes(struct vif *vif)
{
	if (vif->rings == RINGS_CONNECTING || vif->rings == RINGS_CONNECTED)
		follow_live(vif);
	if (vif->hash_new)
		pass_hash(vif);
	vif_follow_link(vif);
}
