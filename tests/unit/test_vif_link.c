/* test_vif_link.c - what a guest is told of its link
 *
 * The world is vif_world.h's; the administrator sets devices down there. */
#include "vif_world.c"
#include "unit.h"

#define FRONT "/local/domain/7/device/vif/0"
#define BACK "backend/vif/7/0"

static void found(void)
{
	tool_attach(7, 0);
	expect("+vif7.0 s2");
}

static void connect_it(void)
{
	tool_hotplug(7, 0, "connected");
	front_keys(7, 0);
	front_state(7, 0, 4);
	expect("mtu1500 on up s4");
}

static void set_link(bool up)
{
	world.link_down = !up;
	vifs_link_changed(world.vifs, 1, up);
	expect("");
}

/* "" stands for a key that is not there. */
static void told(const char *carrier, const char *disconnect)
{
	assert_string_equal(fake_store_get(BACK "/carrier"), carrier);
	assert_string_equal(fake_store_get(FRONT "/disconnect"), disconnect);
}

static char carrier_at_connected[4];

static void wrote_state(const char *path, const char *value)
{
	if (strcmp(path, "/local/domain/5/" BACK "/state") == 0 && strcmp(value, "4") == 0)
		snprintf(carrier_at_connected, sizeof carrier_at_connected, "%s", fake_store_get(BACK "/carrier"));
	wrote(path, value);
}

static void told_before_connected(void **state)
{
	(void)state;
	fake_store.wrote = wrote_state;
	found();
	told("", "");
	assert_string_equal(look(7, 0)->link, "");
	connect_it();
	assert_string_equal(carrier_at_connected, "1");
	told("1", "");
	assert_string_equal(fake_store_get(FRONT "/speed"), "");
	assert_string_equal(look(7, 0)->link, "up");
}

static void set_down_and_up(void **state)
{
	(void)state;
	found();
	connect_it();
	for (int i = 0; i < 3; i++) {
		set_link(false);
		told("0", "1");
		assert_string_equal(look(7, 0)->link, "down");
		set_link(true);
		told("1", "0");
		assert_string_equal(look(7, 0)->link, "up");
	}
}

/* Scripts set devices down and up again: the guest hears of it once it is connected. */
static void down_before_connected(void **state)
{
	(void)state;
	found();
	set_link(false);
	told("", "");
	connect_it();
	told("0", "1");
	assert_non_null(strstr(world.last_line, "vif7.0: connected"));
	set_link(true);
	told("1", "0");
}

static void changed_while_closed(void **state)
{
	(void)state;
	found();
	connect_it();
	set_link(false);
	front_state(7, 0, 6);
	expect("down off s5 s6");
	assert_string_equal(look(7, 0)->link, "");
	set_link(true);
	told("0", "1");				/* nobody looks */
	front_state(7, 0, 1);
	expect("s2");
	front_state(7, 0, 4);
	expect("mtu1500 on up s4");
	told("1", "0");
}

/* xenopsd has taken the network of this VIF away: that is not ours to give back. */
static void the_toolstacks_word_stays(void **state)
{
	(void)state;
	found();
	front_set(7, 0, "disconnect", "1");
	connect_it();
	told("1", "1");
	set_link(false);
	told("0", "1");
	assert_string_equal(fake_store_get(BACK "/unetback-disconnect"), "");
	world_end();
	world_start();
	expect("~vif7.0 +vif7.0 mtu1500 on up");
	set_link(true);
	told("1", "1");
	front_set(7, 0, "disconnect", "0");
	set_link(false);
	told("0", "1");
	set_link(true);
	told("1", "0");
}

static void the_next_daemon_knows_what_was_ours(void **state)
{
	(void)state;
	found();
	connect_it();
	set_link(false);
	for (int i = 0; i < 2; i++) {
		world_end();
		world.link_down = i == 0;
		world_start();
		expect("~vif7.0 +vif7.0 mtu1500 on up");
		told(i == 0 ? "0" : "1", i == 0 ? "1" : "0");
	}
	assert_string_equal(fake_store_get(BACK "/unetback-disconnect"), "0");
}

static void speed_is_told_when_it_is_said(void **state)
{
	(void)state;
	world_end();
	world.speed = "25G";
	world_start();
	found();
	assert_string_equal(fake_store_get(FRONT "/speed"), "");
	connect_it();
	assert_string_equal(fake_store_get(FRONT "/speed"), "25G");
	front_set(7, 0, "speed", NULL);		/* the guest may do so; the link's changes do not mend it */
	set_link(false);
	assert_string_equal(fake_store_get(FRONT "/speed"), "");
}

/* Lost events, those of other devices, and those that bring no news. */
static void only_news_make_us_look(void **state)
{
	static const struct { int ifindex; bool up, down; int looks; } rows[] = {
		{ 1, true, false, 0 }, { 2, false, true, 0 }, { 2, false, false, 0 },
		{ 1, false, false, 1 },		/* old by now: it is up again */
		{ 0, false, false, 1 }, { 0, false, true, 1 },
	};

	unsigned int reads;

	(void)state;
	vifs_link_changed(world.vifs, 1, false);	/* nobody there */
	found();
	reads = fake_store.reads;
	vifs_link_changed(world.vifs, 1, true);		/* nobody to be told */
	expect("");
	SAME("reads", fake_store.reads, reads);
	connect_it();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		unsigned int writes = fake_store.writes;

		world.link_looks = 0;
		world.link_down = rows[i].down;
		vifs_link_changed(world.vifs, rows[i].ifindex, rows[i].up);
		expect("");
		SAME("looks", world.link_looks, rows[i].looks);
		if (i < COUNT_OF(rows) - 1)
			SAME("writes", fake_store.writes, writes);
		world.link_down = false;
	}
	told("0", "1");
}

/* A folder the toolstack has removed does not come back; the guest's own end is not waited for. */
static void a_folder_that_is_gone_stays_so(void **state)
{
	(void)state;
	world_end();
	world.speed = "10G";
	world_start();
	found();
	connect_it();
	front_gone(7, 0);
	world.link_down = true;
	vifs_link_changed(world.vifs, 1, false);
	expect("down off s5 s6");
	assert_false(fake_store_exists(FRONT));
	tool_remove(7, 0);
	expect("-vif7.0 gone");
	vifs_link_changed(world.vifs, 1, true);
	expect("");
	assert_false(fake_store_exists(FRONT));
	assert_false(fake_store_exists(BACK));
}

/* In a driver domain the frontend's folder is not ours to write. */
static void a_folder_that_is_not_ours_to_write(void **state)
{
	(void)state;
	fake_store.read_only = FRONT;
	found();
	connect_it();
	SAME("warnings", world.lines[LOG_LEVEL_WARNING], 0);
	set_link(false);
	told("0", "");
	SAME("warnings", world.lines[LOG_LEVEL_WARNING], 1);
	set_link(true);
	told("1", "");
}

/* Entries that cannot be written now are written later. */
static void told_again_when_xenstored_is_back(void **state)
{
	(void)state;
	found();
	connect_it();
	fake_store.fail_write = -EIO;		/* xenstored is about to go */
	set_link(false);
	told("1", "");
	fake_store.fail_write = 0;
	fake_store.lost = true;
	expect("");
	fake_store.lost = false;
	world.now = mono_add_ms(world.now, 2000);
	expect("");
	told("0", "1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(told_before_connected), TEST(set_down_and_up), TEST(down_before_connected),
		TEST(changed_while_closed), TEST(the_toolstacks_word_stays),
		TEST(the_next_daemon_knows_what_was_ours), TEST(speed_is_told_when_it_is_said),
		TEST(only_news_make_us_look), TEST(a_folder_that_is_gone_stays_so),
		TEST(a_folder_that_is_not_ours_to_write), TEST(told_again_when_xenstored_is_back),
	};

	return cmocka_run_group_tests_name("vif_link", tests, NULL, NULL);
}
