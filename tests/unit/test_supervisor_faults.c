/* test_supervisor_faults.c - instances that say no, die, lie and hang */
#include "supervisor_world.c"

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
	const struct CMUnitTest tests[] = {
		TEST(reasons_come_through_printable),
		TEST(a_broken_ring_is_told),
		TEST(without_event_channels_a_vif_fails),
		TEST(a_crash_is_mended_at_once),
		TEST(crash_after_crash_is_slowed_down),
		TEST(one_that_cannot_start),
		TEST(death_counts_as_disconnect),
		TEST(a_bad_end_is_mentioned),
		TEST(one_that_does_not_answer_is_killed),
		TEST(one_that_talks_nonsense_is_killed),
		TEST(one_that_does_not_end_is_killed),
		TEST(lies_change_nothing),
		TEST(talk_does_not_fill_the_log),
		TEST(the_state_memory_cannot_be_cut),
	};

	return supervisor_main(argc, argv, "supervisor_faults", tests, COUNT_OF(tests));
}
