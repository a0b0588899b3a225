/* test_supervisor.c - instances that do well, die, lie and hang
 *
 * The instance is this very program, started again by the supervisor (fake_instance.c).  Time is real
 * plus a skew that tests advance. */
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
static struct { unsigned int connected, failed, broken, disconnected; char why[512]; } heard;
static unsigned int lines[4];
static char last_line[512], worst_line[512];

static void check_origin(void *context, uint16_t guest, uint32_t handle)
{
	assert_ptr_equal(context, &heard);
	assert_true((guest == GUEST || guest == OTHER) && handle < VIFS_PER_GUEST_MAX);
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
		.disconnected = on_disconnected, .context = &heard,
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
		.limits = { QUEUE_FRAMES_DEFAULT, QUEUE_BYTES_DEFAULT, QUEUE_AGE_MS_DEFAULT },
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

static void until_nobody(void)
{
	const struct mono end = mono_add_ms(mono_now(), 10000);

	while (supervisor->guests) {
		if (mono_now().ns > end.ns)
			fail_msg("an instance is left");
		turn(100);
	}
}

/* --- instances that do well ------------------------------------------------------------------- */

static void connects_and_disconnects(void **state)
{
	struct supervisor_guest_info info;

	(void)state;
	behave("good");
	connect_vif(0);
	until(&heard.connected, 1);
	assert_true(supervisor_info(supervisor, GUEST, 0, &info));
	assert_true(info.pid > 0 && info.state);
	SAME("restarts", info.restarts, 0);
	assert_false(supervisor_info(supervisor, GUEST + 1, 0, &info));
	supervisor_disconnect(supervisor, GUEST, 0);
	until(&heard.disconnected, 1);
	supervisor_guest_gone(supervisor, GUEST);
	until_nobody();
	SAME("lines", lines[LOG_LEVEL_ERROR] + lines[LOG_LEVEL_WARNING], 0);
}

static void sixteen_vifs_and_no_more(void **state)
{
	struct vif_config config = { .guest = GUEST, .handle = 16, .queue_count = 1 };
	char why[128];

	(void)state;
	behave("good");
	for (uint32_t handle = 0; handle < VIFS_PER_GUEST_MAX; handle++)
		connect_vif(handle);
	SAME("17th", supervisor_connect(supervisor, &config, &port_fd, why, sizeof why), -ENOSPC);
	assert_string_equal(why, "one more than the 16 vifs of a guest that are served");
	until(&heard.connected, VIFS_PER_GUEST_MAX);
	for (uint32_t handle = 0; handle < VIFS_PER_GUEST_MAX; handle++)
		supervisor_disconnect(supervisor, GUEST, handle);
	until(&heard.disconnected, VIFS_PER_GUEST_MAX);
	SAME("failed", heard.failed, 0);
}

static void a_guest_that_reconnects_keeps_its_process(void **state)
{
	pid_t first;

	(void)state;
	behave("good");
	connect_vif(0);
	until(&heard.connected, 1);
	first = pid_now();
	for (unsigned int i = 1; i < 10; i++) {
		supervisor_disconnect(supervisor, GUEST, 0);
		until(&heard.disconnected, i);
		connect_vif(0);
		until(&heard.connected, i + 1);
		SAME("pid", pid_now(), first);
	}
}

static void an_idle_instance_ends(void **state)
{
	(void)state;
	behave("good");
	connect_vif(0);
	until(&heard.connected, 1);
	supervisor_disconnect(supervisor, GUEST, 0);
	until(&heard.disconnected, 1);
	turn(0);
	assert_true(pid_now() > 0);
	skew_ms += SUPERVISOR_IDLE_MS;
	until_nobody();
}

static void it_wakes_for_what_it_waits_for(void **state)
{
	(void)state;
	behave("keep");
	connect_vif(0);
	until(&heard.connected, 1);
	SAME("nothing to wait for", sleep_ms(), -1);
	supervisor_disconnect(supervisor, GUEST, 0);
	supervisor_run(supervisor, now());
	assert_in_range(sleep_ms(), SUPERVISOR_ANSWER_MS - 500, SUPERVISOR_ANSWER_MS);
	kill(pid_now(), SIGKILL);
	until(&heard.disconnected, 1);
	until_nobody();

	behave("good");
	connect_vif(0);
	until(&heard.connected, 2);
	supervisor_disconnect(supervisor, GUEST, 0);
	until(&heard.disconnected, 2);
	assert_in_range(sleep_ms(), SUPERVISOR_IDLE_MS - 500, SUPERVISOR_IDLE_MS);
}

static void guests_have_nothing_to_do_with_each_other(void **state)
{
	pid_t first;

	(void)state;
	behave("good");
	connect_vif(0);
	connect_of(OTHER, 0);
	until(&heard.connected, 2);
	first = pid_now();
	assert_true(first > 0 && pid_of(OTHER) > 0 && first != pid_of(OTHER));
	kill(pid_of(OTHER), SIGKILL);
	until(&heard.connected, 3);
	SAME("first", pid_now(), first);
	supervisor_disconnect(supervisor, OTHER, 0);
	until(&heard.disconnected, 1);
	supervisor_guest_gone(supervisor, OTHER);
	while (pid_of(OTHER) > 0)
		turn(100);
	SAME("first", pid_now(), first);
}

static void disconnect_before_anything_was_told(void **state)
{
	(void)state;
	behave("good");
	connect_vif(0);
	supervisor_disconnect(supervisor, GUEST, 0);
	SAME("at once", heard.disconnected, 1);
	supervisor_disconnect(supervisor, GUEST, 0);
	SAME("of nothing", heard.disconnected, 2);
	until_nobody();
}

/* --- instances that say no -------------------------------------------------------------------- */

static void reasons_come_through_printable(void **state)
{
	(void)state;
	behave("fail");
	connect_vif(0);
	until(&heard.failed, 1);
	assert_string_equal(heard.why, "bad?[31m?luck");
	SAME("connected", heard.connected, 0);
}

static void a_broken_ring_is_told(void **state)
{
	(void)state;
	behave("break");
	connect_vif(0);
	until(&heard.broken, 1);
	assert_string_equal(heard.why, "the ring");
	supervisor_disconnect(supervisor, GUEST, 0);
	until(&heard.disconnected, 1);
}

static void without_event_channels_a_vif_fails(void **state)
{
	(void)state;
	behave("good");
	no_evtchn = true;
	connect_vif(0);
	until(&heard.failed, 1);
	assert_string_equal(heard.why, "/dev/xen/evtchn cannot be opened: No such file or directory");
	for (int i = 0; i < 10; i++)
		turn(0);
	SAME("failed", heard.failed, 1);
}

/* --- instances that die ----------------------------------------------------------------------- */

static void a_crash_is_mended_at_once(void **state)
{
	struct supervisor_guest_info info;

	(void)state;
	behave("crash-once");
	connect_vif(0);
	until(&heard.connected, 1);
	assert_true(supervisor_info(supervisor, GUEST, 0, &info));
	SAME("restarts", info.restarts, 1);
	assert_string_equal(info.last_end, "killed by signal 9 (Killed)");
	assert_string_equal(worst_line, "guest 7: its instance ended: killed by signal 9 (Killed); "
			    "starting another in 0 ms");
	kill(info.pid, SIGKILL);
	skew_ms += PEACE_MS + 1000;		/* it has served for long */
	until(&heard.connected, 2);
}

static void crash_after_crash_is_slowed_down(void **state)
{
	static const uint32_t pauses[] = { 0, 1000, 2000, 4000, 8000, 16000, 30000, 30000 };

	(void)state;
	behave("exit");
	connect_vif(0);
	for (unsigned int i = 0; i < COUNT_OF(pauses); i++) {
		char line[160];

		until(&lines[LOG_LEVEL_ERROR], i + 1);
		snprintf(line, sizeof line, "guest 7: its instance ended: exit status 3; starting "
			 "another in %u ms", pauses[i]);
		assert_string_equal(worst_line, line);
		skew_ms += pauses[i];
	}
	SAME("vif", heard.failed + heard.disconnected + heard.connected, 0);
	supervisor_disconnect(supervisor, GUEST, 0);
	SAME("not in the way of the end", heard.disconnected, 1);
	until_nobody();
}

static void one_that_cannot_start(void **state)
{
	(void)state;
	behave("early");
	connect_vif(0);
	until(&lines[LOG_LEVEL_ERROR], 1);
	assert_non_null(strstr(worst_line, "exit status 1; starting"));
	supervisor->settings.instance_path = "/nonexistent/unetback-instance";
	until(&lines[LOG_LEVEL_ERROR], 2);
	skew_ms += 1000;
	until(&lines[LOG_LEVEL_ERROR], 3);
	assert_non_null(strstr(worst_line, "exit status 127 (the program cannot be executed)"));
}

static void death_counts_as_disconnect(void **state)
{
	(void)state;
	behave("keep");				/* never answers VIF_REMOVE */
	connect_vif(0);
	until(&heard.connected, 1);
	supervisor_disconnect(supervisor, GUEST, 0);
	turn(50);
	SAME("still held", heard.disconnected, 0);
	kill(pid_now(), SIGKILL);
	until(&heard.disconnected, 1);
	until_nobody();
}

static void a_bad_end_is_mentioned(void **state)
{
	(void)state;
	behave("bad-end");
	connect_vif(0);
	until(&heard.connected, 1);
	supervisor_disconnect(supervisor, GUEST, 0);
	until(&heard.disconnected, 1);
	supervisor_guest_gone(supervisor, GUEST);
	until_nobody();
	assert_string_equal(worst_line, "guest 7: its instance ended: exit status 9");

	worst_line[0] = '\0';		/* likewise at our own end */
	connect_vif(0);
	until(&heard.connected, 2);
	supervisor_destroy(supervisor);
	supervisor = NULL;
	assert_string_equal(worst_line, "guest 7: its instance ended: exit status 9");
}

/* --- instances that a guest has taken over ---------------------------------------------------- */

static void one_that_does_not_answer_is_killed(void **state)
{
	static const struct { const char *behaviour, *line; } rows[] = {
		{ "mute", "guest 7: its instance ended: no answer to VIF_ADD: killed by signal 9 (Killed); "
		  "starting another in 0 ms" },
		{ "keep", "guest 7: its instance ended: no answer to VIF_REMOVE: killed by signal 9 "
		  "(Killed)" },
	};

	(void)state;
	behave(rows[0].behaviour);
	connect_vif(0);
	for (int i = 0; i < 5; i++)
		turn(20);
	SAME("patience", lines[LOG_LEVEL_ERROR], 0);
	skew_ms += SUPERVISOR_ANSWER_MS;
	behave(rows[1].behaviour);
	until(&heard.connected, 1);
	assert_string_equal(worst_line, rows[0].line);
	supervisor_disconnect(supervisor, GUEST, 0);
	turn(0);
	skew_ms += SUPERVISOR_ANSWER_MS;
	until(&heard.disconnected, 1);
	assert_string_equal(worst_line, rows[1].line);
}

static void one_that_talks_nonsense_is_killed(void **state)
{
	static const char *const behaviours[] = { "nonsense", "order" };

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(behaviours); i++) {
		behave(behaviours[i]);
		connect_vif(0);
		until(&lines[LOG_LEVEL_ERROR], i + 1);
		assert_non_null(strstr(worst_line, "sent a malformed message: killed by signal 9"));
		supervisor_disconnect(supervisor, GUEST, 0);
		until_nobody();
	}
}

static void one_that_does_not_end_is_killed(void **state)
{
	(void)state;
	behave("undead");
	connect_vif(0);
	until(&heard.connected, 1);
	supervisor_disconnect(supervisor, GUEST, 0);
	until(&heard.disconnected, 1);
	supervisor_guest_gone(supervisor, GUEST);
	turn(0);
	turn(50);
	assert_true(pid_now() > 0);
	skew_ms += 5000;
	until_nobody();
	assert_string_equal(worst_line, "guest 7: its instance ended: killed by signal 9 (Killed)");
}

static void lies_change_nothing(void **state)
{
	(void)state;
	behave("liar");
	connect_vif(0);
	connect_vif(1);
	until(&heard.connected, 2);
	for (int i = 0; i < 5; i++)
		turn(10);
	SAME("disconnected", heard.disconnected, 0);
	SAME("failed", heard.failed, 0);
}

static void talk_does_not_fill_the_log(void **state)
{
	(void)state;
	behave("chatty");
	connect_vif(0);
	until(&heard.connected, 1);
	assert_true(lines[LOG_LEVEL_INFO] <= LOG_LIMIT_BURST + 2);
	assert_null(strchr(last_line, 7));
}

static void the_state_memory_cannot_be_cut(void **state)
{
	(void)state;
	behave("shrink");
	connect_vif(0);
	until(&heard.failed, 1);
	assert_string_equal(heard.why, "sealed");
	SAME("readable", supervisor->guests->state->vifs[0].connected, 0);
}

int main(int argc, char *argv[])
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(connects_and_disconnects), TEST(sixteen_vifs_and_no_more),
		TEST(a_guest_that_reconnects_keeps_its_process), TEST(an_idle_instance_ends),
		TEST(it_wakes_for_what_it_waits_for), TEST(guests_have_nothing_to_do_with_each_other),
		TEST(disconnect_before_anything_was_told), TEST(reasons_come_through_printable),
		TEST(a_broken_ring_is_told), TEST(without_event_channels_a_vif_fails),
		TEST(a_crash_is_mended_at_once), TEST(crash_after_crash_is_slowed_down),
		TEST(one_that_cannot_start), TEST(death_counts_as_disconnect),
		TEST(a_bad_end_is_mentioned), TEST(one_that_does_not_answer_is_killed),
		TEST(one_that_talks_nonsense_is_killed), TEST(one_that_does_not_end_is_killed),
		TEST(lies_change_nothing), TEST(talk_does_not_fill_the_log),
		TEST(the_state_memory_cannot_be_cut),
	};

	if (argc > 1 && strncmp(argv[1], "--guest=", 8) == 0)
		return fake_instance(argc, argv);
	return cmocka_run_group_tests_name("supervisor", tests, NULL, NULL);
}
