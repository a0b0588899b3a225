/* test_vif.c - many vifs: finding them, telling them apart, and what a noisy guest costs */
#include "vif_world.c"
#include "../../backend/vif.c"

static void connect(unsigned int guest, unsigned int handle)
{
	tool_attach(guest, handle);
	tool_hotplug(guest, handle, "connected");
	settle();
	front_keys(guest, handle);
	front_state(guest, handle, 4);
	settle();
	SAME("state", back_state(guest, handle), 4);
}

static void forget_journal(void)
{
	settle();
	journal[0] = '\0';
}

/* --- finding ---------------------------------------------------------------------------------- */

static void what_was_there_before_us_is_found(void **state)
{
	static const unsigned int vifs[][2] = { { 1, 0 }, { 1, 1 }, { 2, 0 }, { 32751, 65535 } };

	(void)state;
	world_end();
	for (size_t i = 0; i < COUNT_OF(vifs); i++)
		tool_attach(vifs[i][0], vifs[i][1]);
	world_start();
	settle();
	for (size_t i = 0; i < COUNT_OF(vifs); i++)
		SAME("state", back_state(vifs[i][0], vifs[i][1]), 2);
	forget_journal();
}

static void names_that_are_no_vifs_are_said_once(void **state)
{
	static const char *const names[] = {
		"x/0/state", "-1/0/state", "01/0/state", "32752/0/state", "1/65536/state",
		"1/00/state", "1/0x0/state", "1/x/state", "99999999999999999999/0/state", " 1/0/state",
		"2/\x1b[31m/state",
	};

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < COUNT_OF(names); i++)
			fake_store_setf("1", "backend/vif/%s", names[i]);
		settle();
		SAME("warnings", world.lines[LOG_LEVEL_WARNING], COUNT_OF(names));
	}
	assert_null(strchr(world.last_line, '\x1b'));
	connect(1, 0);			/* their neighbours do not notice */
	forget_journal();
}

static void endless_odd_names_fill_no_memory(void **state)
{
	(void)state;
	for (int i = 0; i < 500; i++)
		fake_store_setf("1", "backend/vif/odd%d/0/state", i);
	settle();
	SAME("warnings", world.lines[LOG_LEVEL_WARNING], ODD_NAMES_MAX);
}

static bool not_guest_3(uint16_t guest, uint32_t handle)
{
	(void)handle;
	return guest != 3;
}

static void others_vifs_are_left_alone(void **state)
{
	unsigned int reads;

	(void)state;
	world.serves = not_guest_3;
	tool_attach(3, 0);
	tool_attach(4, 0);
	expect("+vif4.0 s2");
	assert_null(look(3, 0));
	reads = fake_store.reads;
	for (int i = 0; i < 1000; i++)
		fake_store_set("backend/vif/3/0/state", i % 2 ? "2" : "4");
	expect("");
	SAME("reads for another's vif", fake_store.reads, reads);
}

/* An entry whose state is not written yet, or is going away, is not taken for a vif. */
static void half_an_entry_is_waited_for(void **state)
{
	(void)state;
	fake_store_set("backend/vif/7/0/online", "1");
	expect("");
	assert_null(look(7, 0));
	fake_store_set("backend/vif/7/0/state", "1");
	expect("");			/* no frontend yet */
	fake_store_set("/local/domain/7/device/vif/0/state", "1");
	fake_store_set("backend/vif/7/0/frontend", "/local/domain/7/device/vif/0");
	expect("+vif7.0 s2");
}

/* --- telling apart ---------------------------------------------------------------------------- */

static void vifs_do_not_notice_each_other(void **state)
{
	(void)state;
	connect(1, 0);
	connect(1, 1);
	connect(11, 0);
	connect(1, 10);
	forget_journal();
	front_set(1, 1, "state", "junk");
	expect("e1 down off s5 s6");
	front_gone(1, 0);
	expect("down off s5 s6");
	SAME("11.0", back_state(11, 0), 4);
	SAME("1.10", back_state(1, 10), 4);
}

static void the_guests_instance_goes_with_its_last_vif(void **state)
{
	(void)state;
	connect(1, 0);
	connect(1, 1);
	forget_journal();
	tool_remove(1, 0);
	expect("off -vif1.0");
	tool_remove(1, 1);
	expect("off -vif1.1 gone");
}

static void a_guests_whole_folder_goes(void **state)
{
	(void)state;
	connect(1, 0);
	connect(1, 1);
	connect(2, 0);
	forget_journal();
	fake_store_set("/local/domain/1", NULL);
	fake_store_set("backend/vif/1", NULL);
	settle();
	assert_null(look(1, 0));
	assert_null(look(1, 1));
	SAME("vifs left", world.vifs->count, 1);
	SAME("2.0", back_state(2, 0), 4);
	forget_journal();
}

static void answers_for_vifs_that_are_no_more(void **state)
{
	(void)state;
	vifs_connected(world.vifs, 9, 9);
	vifs_failed(world.vifs, 9, 9, "why");
	vifs_broken(world.vifs, 9, 9, "why");
	vifs_disconnected(world.vifs, 9, 9);
	expect("");
}

static void an_answer_of_failed_ends_a_disconnect_too(void **state)
{
	(void)state;
	connect(1, 0);
	forget_journal();
	world.answers = false;
	front_state(1, 0, 5);
	expect("down off");
	vifs_failed(world.vifs, 1, 0, "it never was up");
	expect("s5");
	SAME("errors", world.lines[LOG_LEVEL_ERROR], 0);
}

/* --- what a guest can cost -------------------------------------------------------------------- */

/* @storm is called every millisecond for ten seconds; reads of XenStore it has cost. */
static unsigned int cost_of(void (*storm)(int ms))
{
	const struct mono from = world.now;
	unsigned int before = fake_store.reads;

	for (int ms = 0; ms < 10000; ms++) {
		storm(ms);
		world.now = mono_add_ms(from, ms);
		vifs_run(world.vifs, world.now);
		vifs_each(world.vifs, answer, NULL);
		journal[0] = '\0';
	}
	return fake_store.reads - before;
}

static void rewrite_state(int ms)
{
	(void)ms;
	for (int i = 0; i < 20; i++)
		front_state(7, 0, 4);
}

static void rewriting_the_state_is_bounded(void **state)
{
	unsigned int reads;

	(void)state;
	connect(7, 0);
	reads = cost_of(rewrite_state);
	if (reads > (LOOK_BURST + 10000 / LOOK_SLOW_MS + 10) * 10)
		fail_msg("%u reads for 200,000 writes", reads);
	SAME("state", back_state(7, 0), 4);
	forget_journal();
}

static void toggle_state(int ms)
{
	front_state(7, 0, (unsigned int)ms % 7);
}

static void connecting_and_failing_is_bounded(void **state)
{
	unsigned int reads;

	(void)state;
	connect(7, 0);
	front_set(7, 0, "tx-ring-ref", "0");
	settle();
	reads = cost_of(toggle_state);
	if (reads > 10000)
		fail_msg("%u reads", reads);
	if (world.lines[LOG_LEVEL_ERROR] > 10)
		fail_msg("%u error lines", world.lines[LOG_LEVEL_ERROR]);
	front_set(7, 0, "tx-ring-ref", "8");
	front_state(7, 0, 6);
	settle();
	front_state(7, 0, 1);
	settle();
	front_state(7, 0, 4);
	settle();
	SAME("after the storm", back_state(7, 0), 4);
	forget_journal();
}

/* A neighbour is served at once meanwhile. */
static void a_storm_delays_nobody_else(void **state)
{
	(void)state;
	connect(7, 0);
	cost_of(rewrite_state);
	tool_attach(8, 0);
	tool_hotplug(8, 0, "connected");
	for (int i = 0; i < 20; i++) {
		rewrite_state(0);
		world.now = mono_add_ms(world.now, 1);
		vifs_run(world.vifs, world.now);
	}
	SAME("neighbour", back_state(8, 0), 2);
	forget_journal();
}

/* After a storm a normal life cycle is quick again. */
static void a_quiet_guest_is_looked_at_at_once(void **state)
{
	struct mono before;

	(void)state;
	connect(7, 0);
	cost_of(rewrite_state);
	world.now = mono_add_ms(world.now, LOOK_BURST * LOOK_SLOW_MS);
	settle();
	before = world.now;
	front_state(7, 0, 5);
	settle();
	front_state(7, 0, 6);
	settle();
	front_state(7, 0, 1);
	settle();
	front_state(7, 0, 4);
	settle();
	SAME("state", back_state(7, 0), 4);
	assert_true(mono_ms_between(before, world.now) <= 20 * VIF_LOOK_MS);
	forget_journal();
}

static void more_vifs_than_can_be_served(void **state)
{
	static bool (*const all)(uint16_t, uint32_t) = NULL;
	const uint32_t count = world.vifs->count;

	(void)state;
	world.serves = all;
	world.vifs->count = VIFS_MAX;
	for (unsigned int handle = 0; handle < 5; handle++)
		tool_attach(7, handle);
	expect("");
	SAME("error lines", world.lines[LOG_LEVEL_ERROR], 1);
	world.vifs->count = count;
}

/* --- the connection --------------------------------------------------------------------------- */

static void guests_outlive_xenstored(void **state)
{
	(void)state;
	connect(7, 0);
	forget_journal();
	fake_store.lost = true;
	expect("");
	SAME("lines", world.lines[LOG_LEVEL_ERROR], 1);
	assert_non_null(strstr(world.last_line, "connection to xenstored lost"));
	for (int i = 0; i < 10; i++) {
		world.now = mono_add_ms(world.now, 500);
		expect("");
	}
	SAME("lines", world.lines[LOG_LEVEL_ERROR], 1);
	front_state(7, 0, 5);		/* nobody hears of it */
	tool_attach(8, 0);
	fake_store.lost = false;
	world.now = mono_add_ms(world.now, 1000);
	expect("+vif8.0 s2 down off s5");
	front_state(7, 0, 6);		/* watches are back */
	expect("s6");
}

/* The entries are back a moment after xenstored: nobody is taken for removed meanwhile. */
static void an_empty_xenstore_is_not_believed(void **state)
{
	(void)state;
	connect(7, 0);
	forget_journal();
	fake_store.lost = true;
	expect("");
	fake_store_set("backend", NULL);
	fake_store.lost = false;
	world.now = mono_add_ms(world.now, 1000);
	vifs_run(world.vifs, world.now);
	assert_string_equal(journal, "");
	tool_attach(7, 0);
	fake_store_set("backend/vif/7/0/state", "4");
	tool_hotplug(7, 0, "connected");
	front_state(7, 0, 4);
	world.now = mono_add_ms(world.now, 1000);
	expect("");
	assert_true(look(7, 0)->rings_connected);
}

static void a_watch_that_cannot_be_set(void **state)
{
	(void)state;
	settle();
	fake_store.fail_watch = -ENOSPC;
	tool_attach(7, 0);
	expect("e0 s5 s6");
	assert_string_equal(back_error(7, 0),
			    "22 vif7.0: cannot watch the frontend's state: No space left on device");
	SAME("start", vifs_start(world.vifs, &the_supervisor), -ENOSPC);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_was_there_before_us_is_found), TEST(names_that_are_no_vifs_are_said_once),
		TEST(endless_odd_names_fill_no_memory), TEST(others_vifs_are_left_alone),
		TEST(half_an_entry_is_waited_for), TEST(vifs_do_not_notice_each_other),
		TEST(the_guests_instance_goes_with_its_last_vif), TEST(a_guests_whole_folder_goes),
		TEST(answers_for_vifs_that_are_no_more), TEST(an_answer_of_failed_ends_a_disconnect_too),
		TEST(rewriting_the_state_is_bounded), TEST(connecting_and_failing_is_bounded),
		TEST(a_storm_delays_nobody_else), TEST(a_quiet_guest_is_looked_at_at_once),
		TEST(more_vifs_than_can_be_served), TEST(guests_outlive_xenstored), TEST(an_empty_xenstore_is_not_believed),
		TEST(a_watch_that_cannot_be_set),
	};

	return cmocka_run_group_tests_name("vif", tests, NULL, NULL);
}
