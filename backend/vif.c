/* vif.c - finds vifs and sends each what concerns it; see vif.h
 *
 * One watch on backend/vif sees all entries come, change and go; one watch a vif sees its frontend's
 * state.  Events carry no news beyond "look here", so any number of them is one mark.  They are taken as
 * they come, because a guest may spin until we have answered; only a storm is taken in portions. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vif_internal.h"
#include "vif_keys.h"

#define BACKEND_ROOT "backend/vif"
#define BACKEND_TOKEN "backend"
#define VIFS_MAX 4096		/* entries that one unetbackd keeps; the toolstack makes them */
#define EVENTS_A_TURN 4096
#define EVENTS_BURST 64		/* turns with events after which it is a storm, */
#define EVENTS_PAUSE_MS 5	/* which wakes us so often and no oftener */
#define REOPEN_MS 1000
#define DOMID_MAX  0x7fef	/* below DOMID_FIRST_RESERVED */
#define HANDLE_MAX 65535
#define TOKEN_FORMAT "%u/%u"

/* A vif that keeps changing is looked at at once LOOK_EAGER times, up to LOOK_BURST with a short pause
 * between, and then at a slow pace: what a guest costs by rewriting its keys is bounded, and a life cycle
 * (two dozen looks, half of them at what we wrote ourselves) never waits. */
#define LOOK_EAGER   40
#define LOOK_BURST   60
#define LOOK_SLOW_MS 100

/* A decimal number without sign or leading zeros; -1 for anything else. */
static long parse_name(const char *text, long max)
{
	char *end;
	long value;

	if (text[0] < '0' || text[0] > '9' || (text[0] == '0' && text[1] != '\0'))
		return -1;
	errno = 0;
	value = strtol(text, &end, 10);
	return *end == '\0' && errno == 0 && value <= max ? value : -1;
}

static struct vif *find_vif(const struct vifs *vifs, long guest, long handle)
{
	struct vif *vif = vifs->list;

	while (vif && (vif->guest != guest || vif->handle != handle))
		vif = vif->next;
	return vif;
}

static void add_vif(struct vifs *vifs, uint16_t guest, uint32_t handle)
{
	struct vif *vif = vifs->count < VIFS_MAX ? calloc(1, sizeof *vif) : NULL;

	if (!vif) {
		if (!vifs->full)
			log_error("vif%u.%u is not served, nor any further: %u are, memory or the limit "
				  "of %d is reached", guest, handle, vifs->count, VIFS_MAX);
		vifs->full = true;
		return;
	}
	vif->vifs = vifs;
	vif->guest = guest;
	vif->handle = handle;
	vif->ours = XenbusStateInitialising;
	vif->marked = true;
	snprintf(vif->name, sizeof vif->name, "vif%u.%u", guest, handle);
	snprintf(vif->backend, sizeof vif->backend, BACKEND_ROOT "/%u/%u", guest, handle);
	snprintf(vif->token, sizeof vif->token, TOKEN_FORMAT, guest, handle);
	vif->next = vifs->list;
	vifs->list = vif;
	vifs->count++;
	log_info("%s: found", vif->name);
}

/* --- finding ---------------------------------------------------------------------------------- */

/* An entry that may be new and ours.  It counts once it has a state: a folder without is on its way
 * in, or out. */
static void consider(struct vifs *vifs, uint16_t guest, uint32_t handle)
{
	char path[XENSTORE_PATH], state[16];

	if (find_vif(vifs, guest, handle) || !vifs->settings.serves(guest, handle))
		return;
	snprintf(path, sizeof path, BACKEND_ROOT "/%u/%u/state", guest, handle);
	if (xenstore_read(vifs->settings.store, path, state, sizeof state) != -ENOENT)
		add_vif(vifs, guest, handle);
}

/* Only root writes there, but once is enough for each name that is no vif. */
static void complain(struct vifs *vifs, const char *folder, const char *name, const char *what)
{
	char quoted[ODD_NAME_SIZE / 2], path[ODD_NAME_SIZE];

	vif_keys_quote(name, quoted, sizeof quoted);
	snprintf(path, sizeof path, "%s/%s", folder, quoted);
	for (uint32_t i = 0; i < vifs->odd_count; i++)
		if (strcmp(vifs->odd_names[i], path) == 0)
			return;
	if (vifs->odd_count == ODD_NAMES_MAX)
		return;
	memcpy(vifs->odd_names[vifs->odd_count++], path, sizeof path);
	log_warning("%s is left alone: %s", path, what);
}

struct scan { struct vifs *vifs; uint16_t guest; };

static void scan_handle(void *context, const char *name)
{
	const struct scan *scan = context;
	long handle = parse_name(name, HANDLE_MAX);
	char path[XENSTORE_PATH];

	if (handle < 0) {
		snprintf(path, sizeof path, BACKEND_ROOT "/%u", scan->guest);
		complain(scan->vifs, path, name, "names of vifs are numbers from 0 to 65535");
		return;
	}
	consider(scan->vifs, scan->guest, (uint32_t)handle);
}

static void scan_guest(void *context, const char *name)
{
	struct vifs *vifs = context;
	long guest = parse_name(name, DOMID_MAX);
	char path[XENSTORE_PATH];
	struct scan scan;

	if (guest < 0) {
		complain(vifs, BACKEND_ROOT, name, "names of guests are domids, numbers from 0 to 32751");
		return;
	}
	scan = (struct scan){ vifs, (uint16_t)guest };
	snprintf(path, sizeof path, BACKEND_ROOT "/%ld", guest);
	xenstore_children(vifs->settings.store, path, scan_handle, &scan);
}

static void scan_all(struct vifs *vifs)
{
	int error = xenstore_children(vifs->settings.store, BACKEND_ROOT, scan_guest, vifs);

	if (error && error != -ENOENT)
		log_error("cannot read " BACKEND_ROOT ": %s", strerror(-error));
}

/* --- events ----------------------------------------------------------------------------------- */

/* A folder came or went: each vif below it must look whether it is still there. */
static void folder_event(struct vifs *vifs, long guest)
{
	vifs->scan = true;
	for (struct vif *vif = vifs->list; vif; vif = vif->next)
		if (guest < 0 || vif->guest == guest)
			vif->marked = true;
}

/* @path is backend/vif[/D[/N[/key...]]], or an absolute form of it. */
static void backend_event(struct vifs *vifs, const char *path)
{
	const char *below = strstr(path, BACKEND_ROOT "/");
	char guest_name[8] = "", handle_name[8] = "";
	long guest, handle;
	struct vif *vif;

	if (below)
		sscanf(below + strlen(BACKEND_ROOT "/"), "%7[^/]/%7[^/]", guest_name, handle_name);
	guest = parse_name(guest_name, DOMID_MAX);
	handle = parse_name(handle_name, HANDLE_MAX);
	if (guest < 0 || handle < 0) {
		folder_event(vifs, guest);
		return;
	}
	vif = find_vif(vifs, guest, handle);
	if (vif)
		vif->marked = true;
	else
		consider(vifs, (uint16_t)guest, (uint32_t)handle);
}

static void frontend_event(struct vifs *vifs, const char *token)
{
	unsigned int guest, handle;
	struct vif *vif;

	if (sscanf(token, "%5u/%5u", &guest, &handle) != 2)
		return;
	vif = find_vif(vifs, guest, handle);
	if (vif)
		vif->marked = true;
}

/* What was done @times lately, one of which is forgotten every @ms, is done again. */
static uint32_t once_more(uint32_t times, struct mono *since, struct mono now, int64_t ms)
{
	int64_t forgotten = mono_ms_between(*since, now) / ms;

	if (forgotten > 0) {
		times = forgotten >= times ? 0 : times - (uint32_t)forgotten;
		*since = now;
	}
	return times + 1;
}

static void pause_if_storm(struct vifs *vifs, struct mono now)
{
	vifs->takes = once_more(vifs->takes, &vifs->takes_since, now, EVENTS_PAUSE_MS);
	vifs->busy = vifs->takes >= EVENTS_BURST;
	if (!vifs->busy)
		return;
	vifs->takes = EVENTS_BURST;
	vifs->next_take = mono_add_ms(now, EVENTS_PAUSE_MS);
}

static int take_events(struct vifs *vifs, struct mono now)
{
	char path[XENSTORE_PATH], token[XENSTORE_TOKEN];
	int taken = 0, got = 1;

	if (vifs->busy && now.ns < vifs->next_take.ns)
		return 0;
	while (taken < EVENTS_A_TURN) {
		got = xenstore_next_event(vifs->settings.store, path, sizeof path, token);
		if (got <= 0)
			break;
		taken++;
		if (strcmp(token, BACKEND_TOKEN) == 0)
			backend_event(vifs, path);
		else
			frontend_event(vifs, token);
	}
	vifs->busy = false;
	if (taken > 0)
		pause_if_storm(vifs, now);
	return got < 0 ? got : 0;
}

/* --- turns ------------------------------------------------------------------------------------ */

static bool guest_has_vif(const struct vifs *vifs, uint16_t guest)
{
	const struct vif *vif = vifs->list;

	while (vif && vif->guest != guest)
		vif = vif->next;
	return vif;
}

static void free_vif(struct vifs *vifs, struct vif *vif)
{
	vif_release(vif);
	vifs->count--;
	free(vif);
}

/* The vif is over.  If the toolstack has made it again meanwhile, the next scan finds it. */
static void remove_vif(struct vifs *vifs, struct vif **link)
{
	struct vif *vif = *link;
	uint16_t guest = vif->guest;

	*link = vif->next;
	free_vif(vifs, vif);
	vifs->full = false;
	vifs->scan = true;
	if (!guest_has_vif(vifs, guest))
		supervisor_guest_gone(vifs->supervisor, guest);
}

static int64_t pause_after_look(struct vif *vif, struct mono now)
{
	vif->looks = once_more(vif->looks, &vif->looks_since, now, LOOK_SLOW_MS);
	if (vif->looks < LOOK_EAGER)
		return 0;
	if (vif->looks < LOOK_BURST)
		return VIF_LOOK_MS;
	vif->looks = LOOK_BURST;
	return LOOK_SLOW_MS;
}

static void look_at_marked(struct vifs *vifs, struct mono now)
{
	struct vif **link = &vifs->list;

	while (*link) {
		struct vif *vif = *link;

		if (vif->marked && now.ns >= vif->next_look.ns) {
			vif->marked = false;
			vif->next_look = mono_add_ms(now, pause_after_look(vif, now));
			if (vif_look(vif)) {
				remove_vif(vifs, link);
				continue;
			}
		}
		link = &vif->next;
	}
}

/* --- the connection --------------------------------------------------------------------------- */

static void lose(struct vifs *vifs, struct mono now)
{
	log_error("connection to xenstored lost: guests that are connected go on, others wait until it is "
		  "back");
	vifs->lost = true;
	vifs->reopen_at = mono_add_ms(now, REOPEN_MS);
}

static void ignore_name(void *context, const char *name)
{
	(void)context;
	(void)name;
}

/* A XenStore that has forgotten everything is not believed: it would cost every guest its network. */
static bool makes_sense(struct vifs *vifs)
{
	return !vifs->list ||
	       xenstore_children(vifs->settings.store, BACKEND_ROOT, ignore_name, NULL) == 0;
}

static bool find_again(struct vifs *vifs, struct mono now)
{
	if (now.ns < vifs->reopen_at.ns)
		return false;
	vifs->reopen_at = mono_add_ms(now, REOPEN_MS);
	if (xenstore_reopen(vifs->settings.store) != 0 || !makes_sense(vifs) ||
	    xenstore_watch(vifs->settings.store, BACKEND_ROOT, BACKEND_TOKEN) != 0)
		return false;
	for (struct vif *vif = vifs->list; vif; vif = vif->next)
		vif_watch_again(vif);
	vifs->lost = false;
	vifs->scan = true;
	log_info("connected to xenstored again");
	return true;
}

/* --- turns, seen from outside ------------------------------------------------------------------ */

void vifs_run(struct vifs *vifs, struct mono now)
{
	if (vifs->lost && !find_again(vifs, now))
		return;
	if (take_events(vifs, now) != 0) {
		lose(vifs, now);
		return;
	}
	if (vifs->scan) {
		vifs->scan = false;
		scan_all(vifs);
	}
	look_at_marked(vifs, now);
}

void vifs_wait(struct vifs *vifs, void (*wait_fd)(int fd, short events),
	       void (*wait_until)(struct mono when))
{
	int sensor = xenstore_sensor_fd(vifs->settings.store);

	if (vifs->lost) {
		wait_until(vifs->reopen_at);
		return;
	}
	if (sensor >= 0)
		wait_fd(sensor, POLLIN);
	if (vifs->busy)
		wait_until(vifs->next_take);
	else
		wait_fd(xenstore_fd(vifs->settings.store), POLLIN);
	if (vifs->scan)
		wait_until((struct mono){ 0 });
	for (const struct vif *vif = vifs->list; vif; vif = vif->next)
		if (vif->marked)
			wait_until(vif->next_look);
}

int vifs_start(struct vifs *vifs, struct supervisor *supervisor)
{
	int error = xenstore_watch(vifs->settings.store, BACKEND_ROOT, BACKEND_TOKEN);

	vifs->supervisor = supervisor;
	if (error)
		log_error("cannot watch " BACKEND_ROOT ": %s", strerror(-error));
	return error;
}

struct vifs *vifs_create(const struct vifs_settings *settings)
{
	struct vifs *vifs = calloc(1, sizeof *vifs);

	if (vifs) {
		vifs->settings = *settings;
		vifs->scan = true;
	}
	return vifs;
}

void vifs_destroy(struct vifs *vifs)
{
	struct vif *next;

	if (!vifs)
		return;
	for (struct vif *vif = vifs->list; vif; vif = next) {
		next = vif->next;
		free_vif(vifs, vif);
	}
	free(vifs);
}

/* --- the supervisor's answers ----------------------------------------------------------------- */

void vifs_connected(void *context, uint16_t guest, uint32_t handle)
{
	struct vif *vif = find_vif(context, guest, handle);

	if (!vif || vif->rings == RINGS_DISCONNECTING)
		return;
	vif_rings_connected(vif);
	vif->marked = true;
}

/* The guest was Connected then and may have moved on since: it is held back only if it has not. */
static void connection_failed(struct vif *vif, const char *why)
{
	vif_fail(vif, why);
	vif->failed_at = XenbusStateConnected;
}

void vifs_failed(void *context, uint16_t guest, uint32_t handle, const char *why)
{
	struct vif *vif = find_vif(context, guest, handle);

	if (!vif)
		return;
	if (vif->rings == RINGS_DISCONNECTING) {
		vif_rings_disconnected(vif);
	} else {
		vif->rings = RINGS_NONE;
		connection_failed(vif, why);
	}
	vif->marked = true;
}

void vifs_broken(void *context, uint16_t guest, uint32_t handle, const char *why)
{
	struct vif *vif = find_vif(context, guest, handle);

	if (vif && vif->rings == RINGS_CONNECTED)
		connection_failed(vif, why);
}

void vifs_disconnected(void *context, uint16_t guest, uint32_t handle)
{
	struct vif *vif = find_vif(context, guest, handle);

	if (!vif)
		return;
	vif_rings_disconnected(vif);
	vif->marked = true;
}

void vifs_hashed(void *context, uint16_t guest, uint32_t handle, const struct hash_config *hash)
{
	struct vif *vif = find_vif(context, guest, handle);

	if (vif)
		vif_follow_hash(vif, hash);
}

/* --- for commands ----------------------------------------------------------------------------- */

static const char *waiting_for(const struct vif *vif)
{
	if (vif->refused)
		return "the toolstack to remove it: it cannot be served, see last_error";
	if (vif->rings == RINGS_CONNECTING)
		return "the guest's instance to connect the rings";
	if (vif->rings == RINGS_DISCONNECTING)
		return "the guest's instance to give the rings back";
	if (vif->rings == RINGS_CONNECTED && !vif->announced)
		return "the hotplug script to write hotplug-status 'connected'";
	if (vif->failed)
		return "the guest to try again after the last error";
	if (vif->ours == XenbusStateInitWait)
		return "the guest's driver to connect";
	return "";
}

static const char *link_of(const struct vif *vif)
{
	static const char *const words[] = { [LINK_UNKNOWN] = "", [LINK_DOWN] = "down", [LINK_UP] = "up" };

	return words[vif->announced ? vif->link : LINK_UNKNOWN];
}

void vifs_each(const struct vifs *vifs, void (*each)(void *context, const struct vif_info *info),
	       void *context)
{
	for (const struct vif *vif = vifs->list; vif; vif = vif->next) {
		const struct vif_info info = {
			.guest = vif->guest, .handle = vif->handle, .name = vif->name,
			.ours = vif->ours, .theirs = vif->theirs,
			.rings_connected = vif->rings == RINGS_CONNECTED,
			.link = link_of(vif),
			.hotplug_status = vif->hotplug_status,
			.waiting_for = waiting_for(vif),
			.last_error = vif->last_error,
			.ignored = vif->ignored,
			.policy_ignored = vif->policy_ignored,
			.config = &vif->config,
			.device = vif->has_device ? &vif->device : NULL,
		};

		each(context, &info);
	}
}
