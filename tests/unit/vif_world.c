/* vif_world.c - what surrounds vif.c and vif_life.c; see vif_world.h */
#include "vif_world.h"
#include "fake_store.c"

#include "../../backend/log.h"

struct vif_world world;

static char journal[8192];

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
	size_t used = strlen(journal);
	va_list arguments;

	assert_true(used < sizeof journal - 64);
	if (used > 0)
		journal[used++] = ' ';
	va_start(arguments, format);
	vsnprintf(journal + used, sizeof journal - used, format, arguments);
	va_end(arguments);
}

/* --- devices ---------------------------------------------------------------------------------- */

static int device_create(struct port_device *device, const char *name)
{
	*device = (struct port_device){ .queue_count = 1, .ifindex = 1 };
	snprintf(device->reason, sizeof device->reason, "somebody has it");
	if (world.fail_create)
		return world.fail_create;
	snprintf(device->name, sizeof device->name, "%s", name);
	note("+%s", name);
	return 0;
}

static int device_set_queues(struct port_device *device, int queues)
{
	if (world.fail_queues)
		return world.fail_queues;
	if (queues != device->queue_count)
		note("q%d", queues);
	device->queue_count = queues;
	return 0;
}

static int device_set_hash(struct port_device *device, const struct hash_config *hash)
{
	(void)device;
	note(hash && hash_is_on(hash) ? "hash" : "nohash");
	return 0;
}

static int device_set_mtu(struct port_device *device, uint32_t mtu)
{
	(void)device;
	note("mtu%u", mtu);
	return world.fail_mtu;
}

static int device_set_carrier(struct port_device *device, int up)
{
	(void)device;
	note(up ? "up" : "down");
	return 0;
}

static int device_link_is_up(const struct port_device *device)
{
	(void)device;
	world.link_looks++;
	return !world.link_down;
}

static void device_get_counters(const struct port_device *device, struct port_device_counters *counters)
{
	(void)device;
	*counters = (struct port_device_counters){ 0, 0 };
}

static void device_destroy(struct port_device *device)
{
	note("-%s", device->name);
}

static void device_forget(struct port_device *device)
{
	note("~%s", device->name);
}

static const struct port_device_class device_class = {
	.kind = "fake", .create = device_create, .set_queues = device_set_queues, .set_hash = device_set_hash, .set_mtu = device_set_mtu,
	.set_carrier = device_set_carrier, .link_is_up = device_link_is_up, .get_counters = device_get_counters,
	.destroy = device_destroy, .forget = device_forget,
};

/* --- supervisor ------------------------------------------------------------------------------- */

struct supervisor { int unused; };
static struct supervisor the_supervisor;

int supervisor_connect(struct supervisor *supervisor, const struct vif_config *config,
		       const int *port_fds, char *why, size_t size)
{
	assert_ptr_equal(supervisor, &the_supervisor);
	assert_non_null(port_fds);
	note("on");
	world.connects++;
	world.config = *config;
	if (world.fail_connect) {
		snprintf(why, size, "the supervisor's reason");
		return world.fail_connect;
	}
	return 0;
}

void supervisor_expect(struct supervisor *supervisor, uint16_t guest)
{
	(void)guest;
	assert_ptr_equal(supervisor, &the_supervisor);
	world.expected++;
}

void supervisor_disconnect(struct supervisor *supervisor, uint16_t guest, uint32_t handle)
{
	assert_ptr_equal(supervisor, &the_supervisor);
	note("off");
	world.disconnects++;
	if (world.answers)
		vifs_disconnected(world.vifs, guest, handle);
}

void supervisor_update(struct supervisor *supervisor, uint16_t guest, uint32_t handle,
		       const struct vif_live *live)
{
	(void)guest;
	(void)handle;
	assert_ptr_equal(supervisor, &the_supervisor);
	note("live");
	world.config.live = *live;
}

void supervisor_guest_gone(struct supervisor *supervisor, uint16_t guest)
{
	(void)guest;
	assert_ptr_equal(supervisor, &the_supervisor);
	note("gone");
}

/* What connect has asked for is answered between turns, as by a real instance. */
static void answer(void *context, const struct vif_info *info)
{
	(void)context;
	if (!world.answers || strncmp(info->waiting_for, "the guest's instance to connect", 31) != 0)
		return;
	if (world.fail_rings)
		vifs_failed(world.vifs, info->guest, info->handle, world.fail_rings);
	else
		vifs_connected(world.vifs, info->guest, info->handle);
}

/* --- the daemon ------------------------------------------------------------------------------- */

static void count_line(enum log_level level, const char *line)
{
	world.lines[level]++;
	snprintf(world.last_line, sizeof world.last_line, "%s", line);
}

static void wrote(const char *path, const char *value)
{
	const char *name = strrchr(path, '/');
	unsigned int handle;

	if (strcmp(name, "/state") == 0)
		note("s%s", value);
	if (strcmp(name, "/error") == 0 &&
	    sscanf(path, "/local/domain/5/error/backend/vif/%*u/%u/error", &handle) == 1)
		note("e%u", handle);
}

static bool serves(uint16_t guest, uint32_t handle)
{
	return !world.serves || world.serves(guest, handle);
}

static struct xenstore *store;

void world_start(void)
{
	const struct vifs_settings settings = {
		.store = store, .self = WORLD_SELF, .device_class = &device_class, .has_device_fds = true,
		.queues_max = WORLD_QUEUES_MAX, .speed = world.speed,
		.announce_times = world.announce_times,
		.limits = { QUEUE_FRAMES_DEFAULT, QUEUE_BYTES_DEFAULT, QUEUE_AGE_MS_DEFAULT },
		.guest_tx_pages = 96, .guest_rx_granted_bytes = 4096, .serves = serves,
	};

	world.vifs = vifs_create(&settings);
	assert_non_null(world.vifs);
	assert_int_equal(vifs_start(world.vifs, &the_supervisor), 0);
}

void world_end(void)
{
	vifs_destroy(world.vifs);
	world.vifs = NULL;
	xenstore_unwatch(store, "backend/vif", "backend");	/* the connection's end does it */
}

int world_setup(void **state)
{
	(void)state;
	world = (struct vif_world){ .answers = true, .now = { 1000 * NS_PER_S } };
	store = fake_store_open(WORLD_SELF);
	fake_store.wrote = wrote;
	journal[0] = '\0';
	log_set_sink(count_line);
	world_start();
	return 0;
}

int world_teardown(void **state)
{
	(void)state;
	if (world.vifs)
		world_end();
	fake_store_close();
	log_set_sink(NULL);
	return 0;
}

static bool woken, listening;
static struct mono wake_at;

static void note_fd(int fd, short poll_events)
{
	(void)poll_events;
	if (fd == xenstore_fd(store))
		listening = true;
	else
		assert_int_equal(fd, xenstore_sensor_fd(store));
}

static void note_wake(struct mono when)
{
	woken = true;
	if (when.ns < wake_at.ns)
		wake_at = when;
}

/* As the daemon's loop: sleeps until it is woken by an event, an answer or the time it asked for. */
void settle(void)
{
	for (int turns = 0; ; turns++) {
		if (turns == 1000)
			fail_msg("no rest: %s", journal);
		vifs_run(world.vifs, world.now);
		vifs_each(world.vifs, answer, NULL);
		woken = listening = false;
		wake_at.ns = INT64_MAX;
		vifs_wait(world.vifs, note_fd, note_wake);
		if (listening && event_head != event_tail)
			continue;
		if (!woken || fake_store.lost)
			return;
		if (wake_at.ns > world.now.ns)
			world.now = wake_at;
	}
}

void expect(const char *words)
{
	settle();
	assert_string_equal(journal, words);
	journal[0] = '\0';
}

static struct { unsigned int guest, handle; struct vif_info info; bool found; } wanted;

static void pick(void *context, const struct vif_info *info)
{
	(void)context;
	if (info->guest == wanted.guest && info->handle == wanted.handle) {
		wanted.info = *info;
		wanted.found = true;
	}
}

const struct vif_info *look(unsigned int guest, unsigned int handle)
{
	wanted.guest = guest;
	wanted.handle = handle;
	wanted.found = false;
	vifs_each(world.vifs, pick, NULL);
	return wanted.found ? &wanted.info : NULL;
}

/* --- the toolstack and the frontend ----------------------------------------------------------- */

static void back_set(unsigned int guest, unsigned int handle, const char *key, const char *value)
{
	fake_store_setf(value, "backend/vif/%u/%u/%s", guest, handle, key);
}

void tool_attach(unsigned int guest, unsigned int handle)
{
	char path[XENSTORE_PATH];

	front_state(guest, handle, 1);
	snprintf(path, sizeof path, "/local/domain/%u/device/vif/%u", guest, handle);
	back_set(guest, handle, "frontend", path);
	back_set(guest, handle, "online", "1");
	back_set(guest, handle, "hotplug-status", "");
	back_set(guest, handle, "state", "1");
}

void tool_hotplug(unsigned int guest, unsigned int handle, const char *status)
{
	back_set(guest, handle, "hotplug-status", status);
}

void tool_detach(unsigned int guest, unsigned int handle)
{
	back_set(guest, handle, "online", "0");
	back_set(guest, handle, "state", "5");
}

void tool_remove(unsigned int guest, unsigned int handle)
{
	front_gone(guest, handle);
	fake_store_setf(NULL, "backend/vif/%u/%u", guest, handle);
}

void front_set(unsigned int guest, unsigned int handle, const char *key, const char *value)
{
	fake_store_setf(value, "/local/domain/%u/device/vif/%u/%s", guest, handle, key);
}

void front_keys(unsigned int guest, unsigned int handle)
{
	static const char *const keys[][2] = {
		{ "tx-ring-ref", "8" }, { "rx-ring-ref", "9" }, { "event-channel-tx", "3" },
		{ "event-channel-rx", "4" }, { "request-rx-copy", "1" }, { "feature-rx-notify", "1" },
		{ "feature-sg", "1" }, { "feature-gso-tcpv4", "1" },
	};

	for (size_t i = 0; i < COUNT_OF(keys); i++)
		front_set(guest, handle, keys[i][0], keys[i][1]);
}

void front_queues(unsigned int guest, unsigned int handle, unsigned int count)
{
	static const char *const names[] = { "tx-ring-ref", "rx-ring-ref", "event-channel-tx", "event-channel-rx" };
	char key[40], value[12];

	snprintf(value, sizeof value, "%u", count);
	front_set(guest, handle, "multi-queue-num-queues", value);
	for (unsigned int i = 0; i < count * COUNT_OF(names); i++) {
		snprintf(key, sizeof key, "queue-%u/%s", i / 4, names[i % 4]);
		snprintf(value, sizeof value, "%u", 20 + i);
		front_set(guest, handle, count == 1 ? names[i] : key, value);
	}
}

void front_state(unsigned int guest, unsigned int handle, unsigned int state)
{
	const char digit[2] = { (char)('0' + state), '\0' };

	front_set(guest, handle, "state", digit);
}

void front_gone(unsigned int guest, unsigned int handle)
{
	fake_store_setf(NULL, "/local/domain/%u/device/vif/%u", guest, handle);
}

unsigned int back_state(unsigned int guest, unsigned int handle)
{
	char path[XENSTORE_PATH];

	snprintf(path, sizeof path, "backend/vif/%u/%u/state", guest, handle);
	return (unsigned int)atoi(fake_store_get(path));
}

const char *back_error(unsigned int guest, unsigned int handle)
{
	char path[XENSTORE_PATH];

	snprintf(path, sizeof path, "error/backend/vif/%u/%u/error", guest, handle);
	return fake_store_get(path);
}
