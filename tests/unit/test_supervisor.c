/* test_supervisor.c - instances that do well, and what the supervisor does for them */
#include "supervisor_world.c"

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

static void a_hash_is_passed_on(void **state)
{
	(void)state;
	behave("hash");
	connect_vif(0);
	until(&heard.hashed, 1);
	assert_int_equal(heard.connected, 1);
	supervisor_disconnect(supervisor, GUEST, 0);
	until(&heard.disconnected, 1);
}

/* Turns until @line is the last one logged. */
static void until_line(const char *line)
{
	const struct mono end = mono_add_ms(mono_now(), 10000);

	while (strcmp(last_line, line) != 0)
		if (mono_now().ns > end.ns)
			fail_msg("last line '%s', not '%s'", last_line, line);
		else
			turn(100);
}

/* Told to the process that runs, and to the next with the vif itself. */
static void what_changes_is_passed_on(void **state)
{
	struct vif_live live = { .limits = { 77, QUEUE_BYTES_DEFAULT, QUEUE_AGE_MS_DEFAULT } };

	(void)state;
	behave("good");
	connect_vif(3);
	supervisor_update(supervisor, GUEST, 3, &live);
	supervisor_update(supervisor, GUEST, 4, &live);		/* nobody knows it */
	until(&heard.connected, 1);
	live.limits.frames = 78;
	supervisor_update(supervisor, GUEST, 3, &live);
	until_line("guest 7: handle 3, 78 frames");
	kill(find_guest(supervisor, GUEST)->process.pid, SIGKILL);
	until(&heard.connected, 2);
	SAME("frames of the next", supervisor_entry(find_guest(supervisor, GUEST), 3)->config.live.limits.frames,
	     78);
	supervisor_disconnect(supervisor, GUEST, 3);
	supervisor_update(supervisor, GUEST, 3, &live);		/* too late, and harmless */
	until(&heard.disconnected, 1);
}

static const struct vif_state *state_of(uint32_t handle)
{
	struct supervisor_guest_info info;

	return supervisor_info(supervisor, GUEST, handle, &info) ? info.state : NULL;
}

/* A vif that is disconnected can still be asked what it counted, also when its instance has ended; when
 * it connects again it has its old slot, and others take it only when there is no other. */
static void counters_outlive_the_connection(void **state)
{
	const struct vif_state *first;

	(void)state;
	behave("good");
	connect_vif(0);
	until(&heard.connected, 1);
	first = state_of(0);
	assert_non_null(first);
	assert_null(state_of(1));
	supervisor_disconnect(supervisor, GUEST, 0);
	until(&heard.disconnected, 1);
	skew_ms += SUPERVISOR_IDLE_MS;
	while (somebody())
		turn(100);
	assert_ptr_equal(state_of(0), first);
	for (uint32_t handle = 1; handle < VIFS_PER_GUEST_MAX; handle++)
		connect_vif(handle);
	until(&heard.connected, VIFS_PER_GUEST_MAX);
	assert_ptr_equal(state_of(0), first);
	supervisor_disconnect(supervisor, GUEST, 7);
	until(&heard.disconnected, 2);
	connect_vif(0);
	until(&heard.connected, VIFS_PER_GUEST_MAX + 1);
	assert_ptr_equal(state_of(0), first);
	assert_non_null(state_of(7));
	connect_vif(VIFS_PER_GUEST_MAX);
	until(&heard.connected, VIFS_PER_GUEST_MAX + 2);
	assert_null(state_of(7));
	supervisor_guest_gone(supervisor, GUEST);
	assert_ptr_equal(state_of(0), first);	/* it is connected */
}

/* A guest that spins until it is connected does not wait for a process to start. */
static void an_expected_guest_has_its_process(void **state)
{
	pid_t first;

	(void)state;
	behave("good");
	supervisor_expect(supervisor, GUEST);
	turn(0);
	first = pid_now();
	assert_true(first > 0);
	for (int i = 0; i < 5; i++, skew_ms += SUPERVISOR_IDLE_MS)
		turn(0);
	SAME("it stays", pid_now(), first);
	connect_vif(0);
	until(&heard.connected, 1);
	SAME("and is used", pid_now(), first);
	supervisor_disconnect(supervisor, GUEST, 0);
	until(&heard.disconnected, 1);
	supervisor_expect(supervisor, GUEST);
	skew_ms += SUPERVISOR_IDLE_MS;
	turn(0);
	SAME("for the next life too", pid_now(), first);
	supervisor_guest_gone(supervisor, GUEST);
	until_nobody();
}

/* Nobody would miss it, so it is not started over and over; a vif starts the next. */
static void one_that_dies_before_it_is_used(void **state)
{
	(void)state;
	behave("early");
	supervisor_expect(supervisor, GUEST);
	turn(0);
	while (somebody())
		turn(100);
	for (int i = 0; i < 5; i++, skew_ms += 60000)
		turn(0);
	assert_false(somebody());
	SAME("restarts", lines[LOG_LEVEL_ERROR], 0);
	behave("good");
	supervisor_expect(supervisor, GUEST);
	connect_vif(0);
	until(&heard.connected, 1);
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

int main(int argc, char *argv[])
{
	const struct CMUnitTest tests[] = {
		TEST(connects_and_disconnects),
		TEST(sixteen_vifs_and_no_more),
		TEST(a_guest_that_reconnects_keeps_its_process),
		TEST(a_hash_is_passed_on),
		TEST(what_changes_is_passed_on),
		TEST(counters_outlive_the_connection),
		TEST(an_expected_guest_has_its_process),
		TEST(one_that_dies_before_it_is_used),
		TEST(an_idle_instance_ends),
		TEST(it_wakes_for_what_it_waits_for),
		TEST(guests_have_nothing_to_do_with_each_other),
		TEST(disconnect_before_anything_was_told),
	};

	return supervisor_main(argc, argv, "supervisor", tests, COUNT_OF(tests));
}
