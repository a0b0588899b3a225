/* supervisor_world.c - what surrounds the supervisor in its tests, which include this file
 *
 * Instances are the test program itself, started again by the supervisor (fake_instance.c) with the
 * behaviour that behave() has set.  Time is real plus a skew that tests advance. */
#include "../../backend/supervisor.c"
#include "../../backend/supervisor_talk.c"
#include "unit.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "fake_instance.c"

#define GUEST FAKE_INSTANCE_GUEST
#define OTHER FAKE_INSTANCE_OTHER

/* --- event channels --------------------------------------------------------------------------- */

struct xenevtchn_handle { int fd; };
static int evtchns;
static bool no_evtchn;

xenevtchn_handle *xenevtchn_open(struct xentoollog_logger *logger, unsigned int flags)
{
	xenevtchn_handle *handle = no_evtchn ? NULL : malloc(sizeof *handle);

	(void)logger;
	(void)flags;
	errno = ENOENT;
	if (!handle)
		return NULL;
	handle->fd = eventfd(0, EFD_CLOEXEC);
	evtchns++;
	return handle;
}

int xenevtchn_close(xenevtchn_handle *handle)
{
	close(handle->fd);
	free(handle);
	evtchns--;
	return 0;
}

int xenevtchn_fd(xenevtchn_handle *handle)
{
	return handle->fd;
}

/* --- the world -------------------------------------------------------------------------------- */

static struct supervisor *supervisor;
static int64_t skew_ms;
static int port_fd;
static struct { unsigned int connected, failed, broken, disconnected, hashed; char why[512]; } heard;
static unsigned int lines[4];
static char last_line[512], worst_line[512];

static void check_origin(void *context, uint16_t guest, uint32_t handle)
{
	assert_ptr_equal(context, &heard);
	assert_true((guest == GUEST || guest == OTHER) && handle <= VIFS_PER_GUEST_MAX);
}

static void on_connected(void *context, uint16_t guest, uint32_t handle)
{
	check_origin(context, guest, handle);
	heard.connected++;
}

static void on_failed(void *context, uint16_t guest, uint32_t handle, const char *why)
{
	check_origin(context, guest, handle);
	heard.failed++;
	snprintf(heard.why, sizeof heard.why, "%s", why);
}

static void on_broken(void *context, uint16_t guest, uint32_t handle, const char *why)
{
	check_origin(context, guest, handle);
	heard.broken++;
	snprintf(heard.why, sizeof heard.why, "%s", why);
}

static void on_disconnected(void *context, uint16_t guest, uint32_t handle)
{
	check_origin(context, guest, handle);
	heard.disconnected++;
}

static void on_hashed(void *context, uint16_t guest, uint32_t handle, const struct hash_config *hash)
{
	check_origin(context, guest, handle);
	assert_true(hash_config_is_good(hash, 1));
	heard.hashed++;
}

static void count_line(enum log_level level, const char *line)
{
	lines[level]++;
	snprintf(last_line, sizeof last_line, "%s", line);
	if (level <= LOG_LEVEL_WARNING)
		snprintf(worst_line, sizeof worst_line, "%s", line);
}

static int setup(void **state)
{
	static char path[4096];
	const struct supervisor_settings settings = {
		.self = 5, .instance_path = path, .user = "somebody",
		.connected = on_connected, .failed = on_failed, .broken = on_broken,
		.disconnected = on_disconnected, .hashed = on_hashed, .context = &heard,
	};

	(void)state;
	path[readlink("/proc/self/exe", path, sizeof path - 1)] = '\0';
	memset(&heard, 0, sizeof heard);
	memset(lines, 0, sizeof lines);
	worst_line[0] = '\0';
	skew_ms = no_evtchn = 0;
	log_set_sink(count_line);
	port_fd = eventfd(0, EFD_CLOEXEC);
	supervisor = supervisor_create(&settings);
	return supervisor ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	supervisor_destroy(supervisor);
	supervisor = NULL;
	close(port_fd);
	log_set_sink(NULL);
	assert_int_equal(evtchns, 0);
	/* No process is left, not even a dead one. */
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

static struct mono now(void)
{
	return mono_add_ms(mono_now(), skew_ms);
}

static struct pollfd waiting[64];
static nfds_t waiting_count;
static struct mono wake_at;

static void note_fd(int fd, short poll_events)
{
	waiting[waiting_count++] = (struct pollfd){ .fd = fd, .events = poll_events };
}

static void note_wake(struct mono when)
{
	if (when.ns < wake_at.ns)
		wake_at = when;
}

/* One turn of the daemon's loop: sleeps as it would, but no longer than @ms. */
static void turn(int64_t ms)
{
	waiting_count = 0;
	wake_at = mono_add_ms(now(), ms);
	supervisor_wait(supervisor, note_fd, note_wake);
	ms = mono_ms_between(now(), wake_at);
	poll(waiting, waiting_count, ms < 0 ? 0 : (int)ms);
	supervisor_run(supervisor, now());
}

/* Turns until @counter is @value; no more than ten seconds. */
static void until(const unsigned int *counter, unsigned int value)
{
	const struct mono end = mono_add_ms(mono_now(), 10000);

	while (*counter != value)
		if (mono_now().ns > end.ns)
			fail_msg("still %u, not %u; last line: %s", *counter, value, last_line);
		else
			turn(100);
}

static void connect_of(uint16_t guest, uint32_t handle)
{
	struct vif_config config = {
		.version = VIF_CONFIG_VERSION, .guest = guest, .self = 5, .handle = handle,
		.port_kind = "tap", .features = VIF_F_CSUM_IPV4, .mtu = 1500, .queue_count = 1,
		.queues = { { 8, 9, 1, 2 } },
		.live.limits = { QUEUE_FRAMES_DEFAULT, QUEUE_BYTES_DEFAULT, QUEUE_AGE_MS_DEFAULT },
		.guest_tx_pages = 96,
	};
	char why[128] = "";

	snprintf(config.name, sizeof config.name, "vif%u.%u", guest, handle);
	if (supervisor_connect(supervisor, &config, &port_fd, why, sizeof why) != 0)
		fail_msg("vif %u: %s", handle, why);
}

static void connect_vif(uint32_t handle)
{
	connect_of(GUEST, handle);
}

static void behave(const char *behaviour)
{
	setenv(FAKE_INSTANCE_BEHAVIOUR, behaviour, 1);
}

static pid_t pid_of(uint16_t guest)
{
	struct supervisor_guest_info info;

	return supervisor_info(supervisor, guest, 0, &info) ? info.pid : 0;
}

static pid_t pid_now(void)
{
	return pid_of(GUEST);
}

/* Milliseconds until the daemon would wake without a message. */
static int64_t sleep_ms(void)
{
	waiting_count = 0;
	wake_at.ns = INT64_MAX;
	supervisor_wait(supervisor, note_fd, note_wake);
	return wake_at.ns == INT64_MAX ? -1 : mono_ms_between(now(), wake_at);
}

static bool somebody(void)
{
	for (const struct guest *guest = supervisor->guests; guest; guest = guest->next)
		if (guest->process.pid > 0)
			return true;
	return false;
}

/* No process is left; then, once their vifs are gone, no guest. */
static void until_nobody(void)
{
	const struct mono end = mono_add_ms(mono_now(), 10000);

	while (somebody()) {
		if (mono_now().ns > end.ns)
			fail_msg("an instance is left");
		turn(100);
	}
	SAME("nothing to wait for", sleep_ms(), -1);
	supervisor_guest_gone(supervisor, GUEST);
	supervisor_guest_gone(supervisor, OTHER);
	supervisor_run(supervisor, now());
	assert_null(supervisor->guests);
}

/* The test program's main(). */
static int supervisor_main(int argc, char *argv[], const char *name, const struct CMUnitTest tests[],
			   size_t count)
{
	if (argc > 1 && strncmp(argv[1], "--guest=", 8) == 0)
		return fake_instance(argc, argv);
	return _cmocka_run_group_tests(name, tests, count, NULL, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
