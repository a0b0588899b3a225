/* test_vif_life.c - one vif from its entry to its end, in the words of vif_world.h's journal */
#include "vif_world.c"
#include "../../backend/vif.c"
#include "../../backend/vif_life.c"

/* A vif 7.0 that is as far as it says. */
static void found(void)
{
	tool_attach(7, 0);
	expect("+vif7.0 s2");
}

static void connected(void)
{
	found();
	tool_hotplug(7, 0, "connected");
	front_keys(7, 0);
	front_state(7, 0, 4);
	expect("mtu1500 on up s4");
}

/* --- the good life ---------------------------------------------------------------------------- */

static void the_device_is_there_before_init_wait(void **state)
{
	(void)state;
	found();
	assert_string_equal(fake_store_get("backend/vif/7/0/feature-rx-copy"), "1");
	assert_string_equal(fake_store_get("backend/vif/7/0/feature-rx-flip"), "0");
	SAME("the instance is started", world.expected, 1);
	assert_string_equal(look(7, 0)->waiting_for, "the guest's driver to connect");
}

static void a_whole_life(void **state)
{
	(void)state;
	connected();
	SAME("config", world.config.guest, 7);
	SAME("config", world.config.self, WORLD_SELF);
	SAME("config", world.config.queues[0].tx_ring_ref, 8);
	assert_string_equal(world.config.name, "vif7.0");
	assert_true(look(7, 0)->rings_connected);
	front_state(7, 0, 5);
	expect("down off s5");
	front_state(7, 0, 6);
	expect("s6");
	tool_remove(7, 0);
	expect("-vif7.0 gone");
	assert_null(look(7, 0));
	SAME("errors", world.lines[LOG_LEVEL_ERROR] + world.lines[LOG_LEVEL_WARNING], 0);
}

/* --- the hotplug gate ------------------------------------------------------------------------- */

static void connected_waits_for_the_script(void **state)
{
	static const char *const others[] = { "", "error", "connecte", "connected ", "Connected", "1",
					      "disconnected", "connected\n" };

	(void)state;
	found();
	front_keys(7, 0);
	front_state(7, 0, 4);
	expect("mtu1500 on");
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		tool_hotplug(7, 0, others[i]);
		expect("");
	}
	SAME("state", back_state(7, 0), 2);
	assert_string_equal(look(7, 0)->waiting_for,
			    "the hotplug script to write hotplug-status 'connected'");
	tool_hotplug(7, 0, "connected");
	expect("up s4");
}

static void a_guest_that_leaves_at_the_gate_is_let_go(void **state)
{
	(void)state;
	found();
	front_keys(7, 0);
	front_state(7, 0, 4);
	expect("mtu1500 on");
	front_state(7, 0, 6);
	expect("down off s5 s6");
}

/* --- frontends that come back ----------------------------------------------------------------- */

static void again_and_again(void **state)
{
	(void)state;
	connected();
	for (int i = 0; i < 5; i++) {
		front_state(7, 0, 5);
		expect("down off s5");
		front_state(7, 0, 6);
		expect("s6");
		front_state(7, 0, 1);
		expect("s2");
		front_state(7, 0, 4);
		expect("mtu1500 on up s4");
	}
}

static void straight_to_closed(void **state)
{
	(void)state;
	connected();
	front_state(7, 0, 6);
	expect("down off s5 s6");
	front_state(7, 0, 1);
	expect("s2");
}

static void a_kernel_that_was_replaced(void **state)
{
	(void)state;
	connected();
	front_state(7, 0, 1);
	expect("down off s5 s6 s2");
	front_state(7, 0, 4);
	expect("mtu1500 on up s4");
}

static void faster_than_we_look(void **state)
{
	(void)state;
	connected();
	world.answers = false;
	front_state(7, 0, 5);
	expect("down off");
	front_state(7, 0, 6);
	front_state(7, 0, 1);
	front_state(7, 0, 4);		/* did not wait for InitWait */
	expect("");
	world.answers = true;
	vifs_disconnected(world.vifs, 7, 0);
	expect("s5 s6 s2 mtu1500 on up s4");
}

static void changes_its_mind_while_rings_are_connected(void **state)
{
	(void)state;
	found();
	world.answers = false;
	front_keys(7, 0);
	front_state(7, 0, 4);
	expect("mtu1500 on");
	front_state(7, 0, 5);
	expect("down off");
	vifs_connected(world.vifs, 7, 0);	/* too late */
	expect("");
	vifs_disconnected(world.vifs, 7, 0);
	expect("s5");
}

/* --- the end ---------------------------------------------------------------------------------- */

static void a_crash_gives_everything_back_at_once(void **state)
{
	(void)state;
	connected();
	front_gone(7, 0);
	expect("down off s5 s6");
	tool_remove(7, 0);
	expect("-vif7.0 gone");
}

static void destroyed_while_connected(void **state)
{
	(void)state;
	connected();
	tool_remove(7, 0);
	expect("off -vif7.0 gone");
}

static void destroyed_while_connecting(void **state)
{
	(void)state;
	found();
	world.answers = false;
	front_keys(7, 0);
	front_state(7, 0, 4);
	expect("mtu1500 on");
	tool_remove(7, 0);
	expect("off");			/* the device waits for the instance to let go */
	vifs_disconnected(world.vifs, 7, 0);
	expect("-vif7.0 gone");
	SAME("connects", world.connects, world.disconnects);
}

static void detached_while_connected(void **state)
{
	(void)state;
	connected();
	tool_detach(7, 0);
	expect("");			/* Linux: the frontend sees Closing and closes */
	front_state(7, 0, 6);
	expect("down off s5 s6");
	tool_remove(7, 0);
	expect("-vif7.0 gone");
}

static void detached_with_nobody_there(void **state)
{
	static const unsigned int states[] = { 1, 2, 3, 6, 0 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(states); i++) {
		found();
		if (states[i] != 1)
			front_state(7, 0, states[i]);
		settle();
		journal[0] = '\0';
		tool_detach(7, 0);
		settle();
		SAME("state", back_state(7, 0), 6);
		tool_remove(7, 0);
		settle();
		assert_null(look(7, 0));
		journal[0] = '\0';
	}
}

static void a_detached_vif_does_not_come_back(void **state)
{
	(void)state;
	connected();
	tool_detach(7, 0);
	front_state(7, 0, 6);
	expect("down off s5 s6");
	front_state(7, 0, 1);
	expect("");
	front_state(7, 0, 4);
	expect("");
	tool_detach(7, 0);		/* asked again for what is done */
	expect("s6");
}

static void removed_and_made_again_between_two_looks(void **state)
{
	(void)state;
	connected();
	tool_remove(7, 0);
	tool_attach(7, 0);
	expect("off -vif7.0 gone +vif7.0 s2");
}

static void an_entry_that_is_gone_is_not_written_to_life(void **state)
{
	(void)state;
	connected();
	world.answers = false;
	front_state(7, 0, 5);
	expect("down off");
	fake_store_set("backend/vif/7/0", NULL);
	vifs_disconnected(world.vifs, 7, 0);	/* before we have looked */
	expect("-vif7.0 gone");
	assert_false(fake_store_exists("backend/vif/7"));
}

/* --- failures --------------------------------------------------------------------------------- */

static const struct { const char *key, *value, *error; } bad_keys[] = {
	{ "tx-ring-ref", NULL, "22 vif7.0: tx-ring-ref is missing, must be a number from 1 to 4294967295" },
	{ "tx-ring-ref", "9", "22 vif7.0: tx-ring-ref and rx-ring-ref are both 9, they must differ" },
	{ "event-channel-rx", "x", "22 vif7.0: event-channel-rx is 'x', must be a number from 1 to 131071" },
	{ "request-rx-copy", "0", "22 vif7.0: request-rx-copy is missing or 0, must be 1: this backend "
	  "copies and cannot flip pages; set the frontend to copy mode" },
	{ "feature-sg", "\x01%s%n", "22 vif7.0: feature-sg is '\\x01%s%n', must be a number from 0 to 1" },
};

static void bad_keys_close_the_vif_with_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad_keys); i++) {
		found();
		tool_hotplug(7, 0, "connected");
		front_keys(7, 0);
		front_set(7, 0, bad_keys[i].key, bad_keys[i].value);
		front_state(7, 0, 4);
		expect("e0 down s5 s6");
		assert_string_equal(back_error(7, 0), bad_keys[i].error);
		assert_string_equal(look(7, 0)->last_error, bad_keys[i].error + strlen("22 vif7.0: "));
		SAME("connects", world.connects, 0);
		front_state(7, 0, 4);		/* written again: no news */
		expect("");
		tool_remove(7, 0);
		expect("-vif7.0 gone");
		assert_false(fake_store_exists("error/backend/vif/7"));
	}
}

static void a_guest_may_try_again(void **state)
{
	(void)state;
	found();
	tool_hotplug(7, 0, "connected");
	front_state(7, 0, 4);		/* no keys */
	expect("e0 down s5 s6");
	front_state(7, 0, 6);
	expect("");
	front_state(7, 0, 1);
	expect("s2");
	assert_string_equal(back_error(7, 0), "");
	front_keys(7, 0);
	front_state(7, 0, 4);
	expect("mtu1500 on up s4");
}

static void illegal_states_close_with_a_reason(void **state)
{
	static const struct { const char *text, *error; } rows[] = {
		{ "9", "22 vif7.0: the frontend's state is '9', must be a number from 1 to 8" },
		{ "4 ", "22 vif7.0: the frontend's state is '4 ', must be a number from 1 to 8" },
		{ "", "22 vif7.0: the frontend's state is '', must be a number from 1 to 8" },
		{ "\x1b]0;", "22 vif7.0: the frontend's state is '\\x1b]0;', must be a number from 1 to 8" },
		{ "123456789", "22 vif7.0: the frontend's state is '(too long or with a NUL)', "
		  "must be a number from 1 to 8" },
		{ "8", "22 vif7.0: the frontend's state Reconfigured makes no sense while ours is "
		  "Connected" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		connected();
		front_set(7, 0, "state", rows[i].text);
		expect("e0 down off s5 s6");
		assert_string_equal(back_error(7, 0), rows[i].error);
		tool_remove(7, 0);
		expect("-vif7.0 gone");
	}
}

static void what_the_supervisor_cannot_do_is_said(void **state)
{
	(void)state;
	found();
	tool_hotplug(7, 0, "connected");
	front_keys(7, 0);
	world.fail_connect = -ENOSPC;
	front_state(7, 0, 4);
	expect("mtu1500 on e0 down s5 s6");
	assert_string_equal(back_error(7, 0), "22 vif7.0: the supervisor's reason");
	front_state(7, 0, 1);
	expect("s2");
	world.fail_connect = 0;
	world.fail_rings = "cannot map tx-ring-ref 8: Invalid argument";
	front_state(7, 0, 4);
	expect("mtu1500 on e0 down s5 s6");
	assert_string_equal(back_error(7, 0), "22 vif7.0: cannot map tx-ring-ref 8: Invalid argument");
	front_state(7, 0, 1);
	expect("s2");
	world.fail_rings = NULL;
	world.fail_mtu = -EINVAL;
	front_state(7, 0, 4);
	expect("mtu1500 e0 down s5 s6");
}

/* It has closed and begun anew before it is known that its rings could not be connected. */
static void a_failure_that_is_old_by_now(void **state)
{
	(void)state;
	found();
	tool_hotplug(7, 0, "connected");
	front_keys(7, 0);
	world.answers = false;
	front_state(7, 0, 4);
	expect("mtu1500 on");
	front_state(7, 0, 6);
	front_state(7, 0, 1);
	settle();
	vifs_failed(world.vifs, 7, 0, "cannot map tx-ring-ref 8: Invalid argument");
	expect("e0 down s5 s6 s2");
}

static void a_guest_that_breaks_a_ring_is_closed(void **state)
{
	(void)state;
	connected();
	vifs_broken(world.vifs, 7, 0, "more requests than slots");
	expect("e0 down off s5 s6");
	assert_string_equal(back_error(7, 0), "22 vif7.0: more requests than slots");
	vifs_broken(world.vifs, 7, 0, "again");		/* of what is no more */
	expect("");
	front_state(7, 0, 6);
	expect("");
	front_state(7, 0, 1);
	expect("s2");
}

static void a_device_that_cannot_be_made(void **state)
{
	(void)state;
	world.fail_create = -EBUSY;
	tool_attach(7, 0);
	expect("e0 s5 s6");
	assert_string_equal(back_error(7, 0),
			    "22 vif7.0: cannot make the device vif7.0: somebody has it");
	tool_remove(7, 0);
	expect("gone");
}

static void features_that_cannot_be_written(void **state)
{
	(void)state;
	fake_store.fail_write = -ENOSPC;
	tool_attach(7, 0);
	expect("+vif7.0 down");
	assert_string_equal(look(7, 0)->last_error, "cannot write features: No space left on device");
	fake_store.fail_write = 0;
}

static void the_frontends_path_must_be_the_guests(void **state)
{
	static const char *const paths[] = {
		"", "device/vif/0", "/local/domain/8/device/vif/0", "/local/domain/70/device/vif/0",
		"/local/domain/7", "/local/domain/7/../8/device/vif/0", "/local/domain/7//device",
		"/local/domain/0/device/vif/0", "/local/domain/7x/device/vif/0", "/vm",
	};
	char endless[XENSTORE_PATH + 20] = "/local/domain/7/";

	(void)state;
	memset(endless + strlen(endless), 'x', sizeof endless - strlen(endless) - 1);
	for (size_t i = 0; i <= COUNT_OF(paths); i++) {
		tool_attach(7, 0);
		fake_store_set("backend/vif/7/0/frontend", i < COUNT_OF(paths) ? paths[i] : endless);
		expect("e0 s5 s6");
		assert_non_null(strstr(back_error(7, 0), "below /local/domain/7/"));
		front_state(7, 0, 4);
		fake_store_fire("backend/vif/7/0/online");
		expect("");
		tool_remove(7, 0);
		expect("gone");
	}
}

/* A store that stumbles must not cost a guest its device. */
static void an_unreadable_entry_is_not_a_removed_one(void **state)
{
	(void)state;
	connected();
	fake_store.fail_read = "/backend/vif/7/0/state";
	fake_store_fire("backend/vif/7/0/state");
	expect("");
	fake_store.fail_read = NULL;
	fake_store_fire("backend/vif/7/0/state");
	expect("");
	SAME("state", back_state(7, 0), 4);
}

/* --- a new daemon ----------------------------------------------------------------------------- */

static void the_next_daemon_takes_over_without_a_word(void **state)
{
	(void)state;
	connected();
	world_end();
	world_start();
	expect("~vif7.0 +vif7.0 mtu1500 on up");
	SAME("state", back_state(7, 0), 4);
	front_state(7, 0, 5);
	expect("down off s5");
}

/* Frontends that moved while nobody served them. */
static void the_next_daemon_finds_a_frontend_that_moved(void **state)
{
	static const struct { unsigned int theirs; const char *journal; } rows[] = {
		{ 1, "~vif7.0 s5 s6 +vif7.0 s2" }, { 5, "~vif7.0 s5" }, { 6, "~vif7.0 s5 s6" },
		{ 4, "~vif7.0 +vif7.0 mtu1500 on up" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		connected();
		world_end();
		front_state(7, 0, rows[i].theirs);
		world_start();
		expect(rows[i].journal);
		tool_remove(7, 0);
		settle();
		journal[0] = '\0';
	}
}

/* Another daemon still serves it: nothing is written into its XenStore entry. */
static void what_another_daemon_holds_stays_its(void **state)
{
	(void)state;
	connected();
	world_end();
	world.fail_create = -EBUSY;
	world_start();
	expect("~vif7.0 e0");
	SAME("state", back_state(7, 0), 4);
	assert_non_null(strstr(look(7, 0)->waiting_for, "cannot be served"));
}

static void a_new_instance_changes_nothing_for_the_guest(void **state)
{
	(void)state;
	connected();
	vifs_connected(world.vifs, 7, 0);	/* as after a restart */
	expect("up");
	SAME("state", back_state(7, 0), 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_device_is_there_before_init_wait), TEST(a_whole_life),
		TEST(connected_waits_for_the_script), TEST(a_guest_that_leaves_at_the_gate_is_let_go),
		TEST(again_and_again), TEST(straight_to_closed), TEST(a_kernel_that_was_replaced),
		TEST(faster_than_we_look), TEST(changes_its_mind_while_rings_are_connected),
		TEST(a_crash_gives_everything_back_at_once), TEST(destroyed_while_connected),
		TEST(destroyed_while_connecting), TEST(detached_while_connected),
		TEST(detached_with_nobody_there), TEST(a_detached_vif_does_not_come_back),
		TEST(removed_and_made_again_between_two_looks),
		TEST(an_entry_that_is_gone_is_not_written_to_life),
		TEST(bad_keys_close_the_vif_with_a_reason), TEST(a_guest_may_try_again),
		TEST(illegal_states_close_with_a_reason), TEST(what_the_supervisor_cannot_do_is_said),
		TEST(a_failure_that_is_old_by_now),
		TEST(a_guest_that_breaks_a_ring_is_closed), TEST(a_device_that_cannot_be_made),
		TEST(features_that_cannot_be_written), TEST(the_frontends_path_must_be_the_guests),
		TEST(an_unreadable_entry_is_not_a_removed_one),
		TEST(the_next_daemon_takes_over_without_a_word),
		TEST(the_next_daemon_finds_a_frontend_that_moved),
		TEST(what_another_daemon_holds_stays_its),
		TEST(a_new_instance_changes_nothing_for_the_guest),
	};

	return cmocka_run_group_tests_name("vif_life", tests, NULL, NULL);
}
