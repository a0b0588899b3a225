/* unetbackd.c - the control plane: the program unetbackd
 *
 * Puts together what serves vifs (vif.c), who moves their frames (supervisor.c) and the manners of an
 * Open vSwitch daemon (ovs-glue/daemon.h), and turns the handle until it is told to stop.  It maps no
 * guest page.  Ending leaves guests, devices and XenStore as they are: traffic stops until the next
 * unetbackd takes over, but no guest sees a disconnect. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xenevtchn.h>
#include <xengnttab.h>

#include "../ovs-glue/daemon.h"
#include "../ovs-glue/devices.h"
#include "../ovs-glue/link_events.h"
#include "unetbackd.h"

static struct unetbackd_options options = {
	.only_domid = -1,
	.user = "unetback",
	.device_class = &tap_device_class,
	.limits = { QUEUE_FRAMES_DEFAULT, QUEUE_BYTES_DEFAULT, QUEUE_AGE_MS_DEFAULT },
	.stall_ms = STALL_MS_DEFAULT,
	.announce_times = ANNOUNCE_TIMES_DEFAULT,
};

/* --- options ---------------------------------------------------------------------------------- */

static int parse_number(const char *option, const char *value, long min, long max, long *number)
{
	char *end;

	errno = 0;
	*number = strtol(value, &end, 10);
	if (*value != '\0' && *end == '\0' && errno == 0 && *number >= min && *number <= max)
		return 0;
	fprintf(stderr, "unetbackd: --%s is '%s', must be a number from %ld to %ld\n", option, value,
		min, max);
	return -EINVAL;
}

#define DOMID_MAX 32751

static int set_domid(const char *value)
{
	long number;

	if (parse_number("domid", value, 0, DOMID_MAX, &number) != 0)
		return -EINVAL;
	options.only_domid = (int)number;
	return 0;
}

static int set_except(const char *value)
{
	char copy[1024], *save = NULL;

	if (strlen(value) >= sizeof copy) {
		fprintf(stderr, "unetbackd: --except has %zu characters, at most %zu are taken\n",
			strlen(value), sizeof copy - 1);
		return -EINVAL;
	}
	memcpy(copy, value, strlen(value) + 1);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		long number;

		if (parse_number("except", word, 0, DOMID_MAX, &number) != 0)
			return -EINVAL;
		options.except[number / 8] |= (uint8_t)(1u << number % 8);
	}
	return 0;
}

/* 0, or -1 with errno.  To access() a folder is executable, too. */
static int check_program(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0 || access(path, X_OK) != 0)
		return -1;
	errno = S_ISDIR(status.st_mode) ? EISDIR : EACCES;
	return S_ISREG(status.st_mode) ? 0 : -1;
}

static int set_instance(const char *value)
{
	if (check_program(value) != 0) {
		fprintf(stderr, "unetbackd: --instance is '%s': %s; it must name the program "
			"unetback-instance\n", value, strerror(errno));
		return -EINVAL;
	}
	options.instance_path = realpath(value, NULL);
	return options.instance_path ? 0 : -EINVAL;
}

static int set_user(const char *value)
{
	options.user = value;
	return 0;
}

static int set_port(const char *value)
{
	const struct port_device_class *const *class = device_classes;

	for (; *class; class++)
		if (strcmp((*class)->kind, value) == 0) {
			options.device_class = *class;
			return 0;
		}
	fprintf(stderr, "unetbackd: --port is '%s', must be one of:", value);
	for (class = device_classes; *class; class++)
		fprintf(stderr, " %s", (*class)->kind);
	fputc('\n', stderr);
	return -EINVAL;
}

static int set_limit(const char *option, const char *value, long min, long max, uint32_t *limit)
{
	long number;

	if (parse_number(option, value, min, max, &number) != 0)
		return -EINVAL;
	*limit = (uint32_t)number;
	return 0;
}

static int set_frames(const char *value)
{
	return set_limit("rx-depth-frames", value, 1, QUEUE_FRAMES_LIMIT, &options.limits.frames);
}

static int set_bytes(const char *value)
{
	return set_limit("rx-depth-bytes", value, QUEUE_BYTES_MIN, QUEUE_BYTES_LIMIT,
			 &options.limits.bytes);
}

static int set_age(const char *value)
{
	return set_limit("rx-age-ms", value, 1, QUEUE_AGE_MS_LIMIT, &options.limits.age_ms);
}

static int set_stall(const char *value)
{
	return set_limit("rx-stall-ms", value, 0, STALL_MS_LIMIT, &options.stall_ms);
}

static int set_announce(const char *value)
{
	return set_limit("announce", value, 0, ANNOUNCE_TIMES_MAX, &options.announce_times);
}

static int set_queues(const char *value)
{
	return set_limit("queues", value, 1, VIF_QUEUES_MAX, &options.queues_max);
}

static int set_pin(const char *value)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0) {
		fprintf(stderr, "unetbackd: --pin-queues is '%s', must be yes or no\n", value);
		return -EINVAL;
	}
	options.pin_queues = strcmp(value, "yes") == 0;
	return 0;
}

static int set_csum(const char *value)
{
	if (vif_policy_parse_csum(value, &options.policy.csum) == 0)
		return 0;
	fprintf(stderr, "unetbackd: --csum is '%s', must be auto, complete or off\n", value);
	return -EINVAL;
}

static int set_anti_spoof(const char *value)
{
	(void)value;
	options.policy.antispoof.on = 1;
	return 0;
}

/* As Windows' xenvif reads it, but for its unit, which it would take for G if it were not there. */
static int set_speed(const char *value)
{
	size_t digits = strspn(value, "0123456789");

	if (digits >= 1 && digits <= 6 && value[0] != '0' && value[digits] != '\0' &&
	    strchr("GMK", value[digits]) && value[digits + 1] == '\0') {
		options.speed = value;
		return 0;
	}
	fprintf(stderr, "unetbackd: --speed is '%s', must be a number from 1 to 999999 and G, M or K, such as 10G\n",
		value);
	return -EINVAL;
}

static const struct daemon_option option_table[] = {
	{ "domid", "D", "serve this guest only", set_domid },
	{ "except", "D,D,...", "leave these guests to another backend", set_except },
	{ "port", "KIND", "way into the switch: tap (default) or null", set_port },
	{ "instance", "PATH", "program that moves a guest's frames (default: beside unetbackd)",
	  set_instance },
	{ "user-instance", "NAME", "unprivileged user it becomes (default: unetback)", set_user },
	{ "queues", "N", "queues a guest may have (default: one a CPU, at most 8)", set_queues },
	{ "pin-queues", "yes|no", "keep each queue's thread on one CPU (default: no)", set_pin },
	{ "speed", "N", "link speed that Windows guests show, such as 10G (default: their own)", set_speed },
	{ "rx-depth-frames", "N", "frames that may wait for a guest (default: 1024)", set_frames },
	{ "rx-depth-bytes", "N", "memory they may take, bytes (default: 4194304)", set_bytes },
	{ "rx-age-ms", "N", "how long they may wait, milliseconds (default: 10000)", set_age },
	{ "rx-stall-ms", "N", "when a guest that takes no frames is told of and woken (default: 5000; 0: never)",
	  set_stall },
	{ "announce", "N", "times the switch is told where a new guest is (default: 3; 0: never)", set_announce },
	{ "csum", "auto|complete|off", "who fills in checksums and cuts large frames (default: auto)", set_csum },
	{ "anti-spoof", NULL, "guests send from their own addresses only", set_anti_spoof },
	{ NULL, NULL, NULL, NULL },
};

static const struct daemon_program program = {
	.name = "unetbackd",
	.purpose = "serves the network devices of Xen guests from userspace",
	.options = option_table,
};

/* The instance beside this very program. */
static void find_instance(void)
{
	static char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 32);
	char *slash;

	if (options.instance_path || length <= 0)
		return;
	path[length] = '\0';
	slash = strrchr(path, '/');
	memcpy(slash + 1, "unetback-instance", sizeof "unetback-instance");
	options.instance_path = path;
}

/* All that can be known to be wrong before anything is started. */
static void check_options(void)
{
	const struct passwd *user = getpwnam(options.user);

	find_instance();
	if (!options.instance_path || access(options.instance_path, X_OK) != 0) {
		fprintf(stderr, "unetbackd: %s cannot be executed: %s; --instance names it\n",
			options.instance_path ? options.instance_path : "unetback-instance",
			strerror(errno));
		exit(EXIT_FAILURE);
	}
	if (!user || user->pw_uid == 0) {
		fprintf(stderr, "unetbackd: --user-instance is '%s', must be an existing user that is "
			"not root, such as one made by: useradd --system unetback\n", options.user);
		exit(EXIT_FAILURE);
	}
}

/* --- serving ---------------------------------------------------------------------------------- */

/* xen-netback has a vif if its device in sysfs has a driver: a live vif is never taken from it. */
static bool kernel_has(uint16_t guest, uint32_t handle)
{
	char path[96];

	snprintf(path, sizeof path, "/sys/bus/xen-backend/devices/vif-%u-%u/driver", guest, handle);
	return access(path, F_OK) == 0;
}

static bool serves(uint16_t guest, uint32_t handle)
{
	if (options.only_domid >= 0 && options.only_domid != guest)
		return false;
	if (options.except[guest / 8] & (1u << guest % 8))
		return false;
	return !kernel_has(guest, handle);
}

static int own_domid(struct xenstore *store, uint16_t *self)
{
	char value[16], *end;
	int error = xenstore_read(store, "domid", value, sizeof value);
	long domid = error ? -1 : strtol(value, &end, 10);

	if (!error && (*value == '\0' || *end != '\0' || domid < 0 || domid > DOMID_MAX))
		error = -EINVAL;
	if (error) {
		log_error("cannot read our own domid from XenStore (key domid): %s", strerror(-error));
		return error;
	}
	*self = (uint16_t)domid;
	return 0;
}

/* Room for the buffers of some dozens of guests: the kernel's limit of 1024 pages for the host would
 * leave all after the first few with plain memory.  It is a cap, not a reservation. */
static void raise_gntalloc_limit(void)
{
	static const char path[] = "/sys/module/xen_gntalloc/parameters/limit";
	unsigned int limit = 0;
	FILE *file = fopen(path, "r+");

	if (!file)
		return;		/* no such module: the instances say so */
	if (fscanf(file, "%u", &limit) == 1 && limit < GNTALLOC_PAGES) {
		rewind(file);
		if (fprintf(file, "%u\n", GNTALLOC_PAGES) < 0 || fflush(file) != 0)
			log_warning("%s stays at %u: %s", path, limit, strerror(errno));
		else
			log_info("%s raised from %u to %u pages", path, limit, GNTALLOC_PAGES);
	}
	fclose(file);
}

/* What only instances use, but better known before the first guest comes. */
static int check_xen_devices(void)
{
	xenevtchn_handle *evtchn = xenevtchn_open(NULL, 0);
	xengnttab_handle *gnttab;

	if (!evtchn) {
		log_error("/dev/xen/evtchn cannot be opened: %s; this must be a Xen domain with the module "
			  "xen-evtchn loaded", strerror(errno));
		return -ENODEV;
	}
	xenevtchn_close(evtchn);
	gnttab = xengnttab_open(NULL, 0);
	if (!gnttab) {
		log_error("/dev/xen/gntdev cannot be opened: %s; this must be a Xen domain with the module "
			  "xen-gntdev loaded", strerror(errno));
		return -ENODEV;
	}
	xengnttab_close(gnttab);
	return 0;
}

/* A guest takes half a dozen descriptors. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		log_warning("cannot raise the limit of open files: %s", strerror(errno));
}

/* As xen-netback: more queues than CPUs only cost wake-ups. */
static uint32_t default_queues(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1 ? 1 : cpus > VIF_QUEUES_MAX ? VIF_QUEUES_MAX : (uint32_t)cpus;
}

static struct vifs *make_vifs(struct xenstore *store, uint16_t self)
{
	const struct vifs_settings settings = {
		.store = store,
		.self = self,
		.device_class = options.device_class,
		.has_device_fds = options.device_class != &null_device_class,
		.pin_queues = options.pin_queues,
		.speed = options.speed,
		.queues_max = options.queues_max ? options.queues_max : default_queues(),
		.limits = options.limits,
		.stall_ms = options.stall_ms,
		.announce_times = options.announce_times,
		.policy = options.policy,
		.guest_tx_pages = GUEST_TX_PAGES,
		.guest_rx_granted_bytes = GUEST_RX_GRANTED_BYTES,
		.serves = serves,
	};

	return vifs_create(&settings);
}

static struct supervisor *make_supervisor(struct vifs *vifs, uint16_t self)
{
	const struct supervisor_settings settings = {
		.self = self,
		.instance_path = options.instance_path,
		.user = options.user,
		.connected = vifs_connected,
		.failed = vifs_failed,
		.broken = vifs_broken,
		.disconnected = vifs_disconnected,
		.hashed = vifs_hashed,
		.context = vifs,
	};

	return supervisor_create(&settings);
}

static int serve(struct vifs *vifs, struct supervisor *supervisor)
{
	int error = vifs_start(vifs, supervisor);

	if (error)
		return error;
	link_events_start(vifs_link_changed, vifs);
	unetbackd_commands(vifs, supervisor, options.device_class);
	daemon_ready();
	while (!daemon_exiting()) {
		struct mono now = mono_now();

		link_events_run();
		vifs_run(vifs, now);
		supervisor_run(supervisor, now);
		daemon_run();
		vifs_wait(vifs, daemon_wait_fd, daemon_wait_until);
		supervisor_wait(supervisor, daemon_wait_fd, daemon_wait_until);
		link_events_wait();
		daemon_block();
	}
	link_events_stop();
	return 0;
}

static int run(struct xenstore *store)
{
	struct supervisor *supervisor = NULL;
	struct vifs *vifs = NULL;
	uint16_t self;
	int error = own_domid(store, &self);

	if (!error)
		error = check_xen_devices();
	if (!error) {
		raise_gntalloc_limit();
		raise_descriptor_limit();
		vifs = make_vifs(store, self);
		supervisor = vifs ? make_supervisor(vifs, self) : NULL;
		error = supervisor ? serve(vifs, supervisor) : -ENOMEM;
	}
	supervisor_destroy(supervisor);		/* uses the devices of the vifs until it is gone */
	vifs_destroy(vifs);
	options.device_class->finish();
	return error;
}

int main(int argc, char *argv[])
{
	struct xenstore *store = NULL;
	int error;

	daemon_parse_options(argc, argv, &program);
	check_options();
	daemon_start();
	error = xenstore_open(&store);
	if (!error)
		error = run(store);
	xenstore_close(store);
	daemon_stop();
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
