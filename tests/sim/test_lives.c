/* test_lives.c - every pair of states a frontend can bring its vif to, and what may happen to it there
 *
 * A row of `pairs` is a way for a frontend to a pair of states, theirs and ours.  From each of them the guest
 * dies in several ways, or closes at a jump and comes again (or not, where the toolstack said so), or stays
 * there for ever beside another vif that must not notice.  Besides: kernels that are replaced, drivers that are
 * reloaded, guests that come back under another domid.
 *
 * What is looked for at every end: no domain, mapping, device, node or process is left (simback_await_gone),
 * and no grant was in use after we said Closed (the model's judge). */
#include "simback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DOMID 1
#define ILLEGAL 9

static struct simguest *guest;		/* NULL: none is left */
static struct simvif *vif, *other;

/* --- XenStore and states ------------------------------------------------------------------------ */

static void set_back(const struct simvif *of, const char *key, const char *value)
{
	char path[96];

	snprintf(path, sizeof path, "%s/%s", of->backend, key);
	assert_true(xs_write(simback_xs(), XBT_NULL, path, value, (unsigned int)strlen(value)));
}

static void remove_path(const char *format, uint32_t domid)
{
	char path[96];

	snprintf(path, sizeof path, format, domid);
	xs_rm(simback_xs(), XBT_NULL, path);
}

static const char *const state_names[] = {
	"Unknown", "Initialising", "InitWait", "Initialised", "Connected", "Closing", "Closed", "Reconfiguring",
	"Reconfigured", "illegal",
};

struct pair { const struct simvif *vif; unsigned int theirs, ours; };

/* By unetbackd's word: it has seen theirs, and done what it does about it. */
static bool is_pair(void *context)
{
	const struct pair *pair = context;
	const char *text = simback_ask("show", pair->vif->name);
	char theirs[48], ours[48];

	snprintf(theirs, sizeof theirs, "\"frontend_state\": \"%s\"", state_names[pair->theirs]);
	snprintf(ours, sizeof ours, "\"backend_state\": \"%s\"", state_names[pair->ours]);
	return strstr(text, theirs) && strstr(text, ours);
}

static void await_pair(const struct simvif *of, unsigned int theirs, unsigned int ours)
{
	struct pair pair = { of, theirs, ours };

	if (!simback_until(is_pair, &pair))
		fail_msg("%s: not %s, %s but %s", of->name, state_names[theirs], state_names[ours],
			 simback_ask("show", of->name));
}

/* --- the pairs ---------------------------------------------------------------------------------- */

struct step { unsigned int theirs, ours; };

static const struct way {
	const char *name;
	bool connects;			/* begins with both sides Connected; else with our InitWait */
	bool no_script;			/* the hotplug script has not written */
	struct step steps[4];		/* what the frontend writes, and what we answer */
} pairs[] = {
	{ "just found",            false, false, { { 0, 0 } } },
	{ "InitWait",              false, false, { { 2, 2 } } },
	{ "Initialised",           false, false, { { 3, 2 } } },
	{ "Connected, no keys",    false, false, { { 4, 6 } } },
	{ "Closing at once",       false, false, { { 5, 5 } } },
	{ "Closing, Closed",       false, false, { { 5, 5 }, { 6, 6 } } },
	{ "Closed at once",        false, false, { { 6, 6 } } },
	{ "Closed, again",         false, false, { { 6, 6 }, { 1, 2 } } },
	{ "Reconfiguring early",   false, false, { { 7, 6 } } },
	{ "Reconfigured early",    false, false, { { 8, 6 } } },
	{ "illegal at once",       false, false, { { ILLEGAL, 6 } } },
	{ "no script",             true,  true,  { { 0, 0 } } },
	{ "no script, Closed",     true,  true,  { { 6, 6 } } },
	{ "Connected",             true,  false, { { 0, 0 } } },
	{ "back to InitWait",      true,  false, { { 2, 4 } } },
	{ "back to Initialised",   true,  false, { { 3, 4 } } },
	{ "kexec",                 true,  false, { { 1, 2 } } },
	{ "Connected, Closing",    true,  false, { { 5, 5 } } },
	{ "a whole life",          true,  false, { { 5, 5 }, { 6, 6 } } },
	{ "a life and again",      true,  false, { { 5, 5 }, { 6, 6 }, { 1, 2 } } },
	{ "straight to Closed",    true,  false, { { 6, 6 } } },
	{ "Reconfiguring",         true,  false, { { 7, 8 } } },
	{ "and back",              true,  false, { { 7, 8 }, { 4, 4 } } },
	{ "Reconfiguring, Closed", true,  false, { { 7, 8 }, { 6, 6 } } },
	{ "Reconfigured",          true,  false, { { 8, 6 } } },
	{ "Connected, illegal",    true,  false, { { ILLEGAL, 6 } } },
};
#define PAIRS (sizeof pairs / sizeof *pairs)

static bool has_connected(void *context)
{
	const struct simvif *of = context;

	return of->fe->state == XenbusStateConnected &&
	       simback_number("stats", of->name, "queue-0", "thread_id") > 0;
}

/* A guest with a vif in that pair; from then on its frontend does as it is told. */
static void begin(const struct way *way)
{
	const struct netfront_config config = { .driven = !way->connects };

	print_message("# %s\n", way->name);
	guest = simback_guest(DOMID);
	vif = simvif_open(guest, 0, &config, NULL);
	if (way->no_script)
		set_back(vif, "hotplug-status", "");
	if (way->no_script)
		simback_await(has_connected, vif);
	else if (way->connects)
		simvif_exchange(vif, 2);
	else
		await_pair(vif, 1, 2);
	vif->fe->config.driven = true;
	for (const struct step *step = way->steps; step->theirs; step++) {
		netfront_set_state(vif->fe, (enum xenbus_state)step->theirs);
		await_pair(vif, step->theirs, step->ours);
	}
}

static bool has_no_children(void *context)
{
	(void)context;
	return simback_children() == 0;
}

static void free_frontends(void)
{
	simvif_free(vif);
	simvif_free(other);
	vif = other = NULL;
}

/* As libxl does: the frontend's folder, then Closing is waited for, then the rest. */
static void destroyed(void)
{
	struct simguest *last = guest;

	free_frontends();
	guest = NULL;
	simback_destroy(last);
}

static void end(void)
{
	destroyed();
	simback_await(has_no_children, NULL);
}

/* After a test that has failed: the others begin with nothing. */
static int teardown(void **state)
{
	(void)state;
	if (guest)
		destroyed();
	return 0;
}

/* --- deaths ------------------------------------------------------------------------------------- */

static void domain_dies(void)
{
	char number[16];

	free_frontends();
	simguest_crash(guest);
	guest = NULL;
	snprintf(number, sizeof number, "%u", DOMID);
	assert_int_equal(simtest_run("simxenctl", "destroy", number, NULL), 0);
}

static void remove_what_the_toolstack_knows(void)
{
	remove_path("/local/domain/0/backend/vif/%u", DOMID);
	remove_path("/libxl/%u", DOMID);
	remove_path("/vm/00000000-0000-0000-0000-%012u", DOMID);
}

/* The domain is no more before anybody has written a word; then all goes at once. */
static void vanished(void)
{
	domain_dies();
	remove_path("/local/domain/%u", DOMID);
	remove_what_the_toolstack_knows();
}

/* Our entry goes first: a toolstack that forces. */
static void entry_removed(void)
{
	remove_path("/local/domain/0/backend/vif/%u/0", DOMID);
	domain_dies();
	remove_what_the_toolstack_knows();
	remove_path("/local/domain/%u", DOMID);
}

static void dies_in_every_pair(void (*death)(void))
{
	for (size_t i = 0; i < PAIRS; i++) {
		begin(&pairs[i]);
		death();
		simback_await_gone(DOMID);
		simback_await(has_no_children, NULL);
	}
	assert_true(simtest_idle());
}

static void a_guest_is_destroyed_in_every_pair(void **state)
{
	(void)state;
	dies_in_every_pair(destroyed);
}

static void a_guest_vanishes_in_every_pair(void **state)
{
	(void)state;
	dies_in_every_pair(vanished);
}

static void its_entry_is_removed_in_every_pair(void **state)
{
	(void)state;
	dies_in_every_pair(entry_removed);
}

/* --- closing at a jump -------------------------------------------------------------------------- */

static void close_at_a_jump(void)
{
	netfront_set_state(vif->fe, XenbusStateClosed);
	await_pair(vif, 6, 6);
	assert_int_equal(simtest_count(DOMID, "mapped"), 0);
}

static void it_comes_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAIRS; i++) {
		begin(&pairs[i]);
		close_at_a_jump();
		set_back(vif, "hotplug-status", "connected");
		vif->fe->config.driven = false;
		assert_true(netfront_reopen(vif->fe));
		simvif_exchange(vif, 2);
		assert_int_equal(vif->fe->violations, 0);
		end();
	}
}

/* The toolstack has said that Closed is the end. */
static void it_does_not_come_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAIRS; i++) {
		begin(&pairs[i]);
		set_back(vif, "online", "0");
		close_at_a_jump();
		netfront_set_state(vif->fe, XenbusStateInitialising);
		await_pair(vif, 1, 6);
		end();
	}
}

/* --- beside another ----------------------------------------------------------------------------- */

/* HVM guests have two vifs of the same name, of which the emulated one's twin may never connect. */
static void a_twin_in_any_pair_delays_nobody(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAIRS; i++) {
		begin(&pairs[i]);
		other = simvif_open(guest, 1, NULL, NULL);
		simvif_exchange(other, 4);
		assert_true(netfront_close(other->fe, SIMBACK_PATIENCE));
		assert_true(netfront_reopen(other->fe));
		simvif_exchange(other, 4);
		simback_await(simvif_balanced, other);
		assert_int_equal(simback_number("show", other->name, "instance", "restarts"), 0);
		end();
	}
}

/* --- the same guest, again ---------------------------------------------------------------------- */

static void load(struct simvif *of)
{
	for (int i = 0; i < 20 && of->fe->rings && simvif_send(of, 1514); i++)
		;
	simvif_flood(of, 20, 1514);
	simback_serve(0);
}

/* A kernel that knows nothing of the one before: its rings, its channels, what it had sent. */
static void a_kernel_is_replaced_under_load(void **state)
{
	static const struct way connected = { "kexec under load", true, false, { { 0, 0 } } };

	(void)state;
	begin(&connected);
	for (int i = 0; i < 6; i++) {
		struct netfront_config config = vif->fe->config;

		load(vif);
		config.driven = false;
		config.single_event = i % 2;
		config.first_index = i * 0x55555555u;
		netfront_free(vif->fe);
		simguest_crash(guest);
		guest = simguest_start(DOMID);
		assert_non_null(guest);
		vif->fe = netfront_open(guest, &config);
		assert_non_null(vif->fe);
		simvif_exchange(vif, 4);
		assert_int_equal(simtest_count(DOMID, "mapped"), 2);
	}
	end();
}

static void a_driver_is_reloaded_under_load(void **state)
{
	static const struct way connected = { "reload under load", true, false, { { 0, 0 } } };

	(void)state;
	begin(&connected);
	vif->fe->config.driven = false;
	for (int i = 0; i < 10; i++) {
		load(vif);
		assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
		assert_int_equal(simtest_count(DOMID, "mapped"), 0);
		assert_true(netfront_reopen(vif->fe));
		simvif_exchange(vif, 4);
	}
	end();
}

/* --- under another domid ------------------------------------------------------------------------ */

static bool has_ended(void *context)
{
	pid_t *child = context;
	int status;

	if (waitpid(*child, &status, WNOHANG) != *child)
		return false;
	assert_int_equal(status, 0);
	return true;
}

/* The toolstack, beside us. */
static pid_t begin_to_destroy(uint32_t domid)
{
	pid_t child = fork();
	char number[16];

	assert_true(child >= 0);
	if (child > 0)
		return child;
	snprintf(number, sizeof number, "%u", domid);
	_exit(simtest_run(SIMBACK_TOOLSTACK, "destroy", number, "timeout=20", NULL));
}

static bool learnt_here(void *context)
{
	char command[128];

	snprintf(command, sizeof command, "bridge fdb show dev %s | grep -q '^00:16:3e:00:0a:00 .*master br0'",
		 ((struct simvif *)context)->name);
	return system(command) == 0;
}

static void plug(const struct simvif *of, const char *where)
{
	char command[64];

	snprintf(command, sizeof command, "ip link set %s %s", of->name, where);
	assert_int_equal(system(command), 0);
}

/* It connects as soon as it is served: MAC and bridge are there before. */
static struct simvif *open_in_bridge(struct simguest *of)
{
	struct simvif *new = simvif_open(of, 0, NULL, NULL);

	set_back(new, "mac", "00:16:3e:00:0a:00");
	plug(new, "master br0");
	return new;
}

static bool is_at_guest(void *context)
{
	const struct simvif *of = context;

	return of->at_guest == of->number;
}

/* The bridge takes everything before a packet socket hears of it, and sends the guest what others announce:
 * that is over when a frame sent behind it has arrived. */
static void exchange_without_bridge(struct simvif *of)
{
	plug(of, "nomaster");
	simvif_flood(of, 1, 60);
	simback_await(is_at_guest, of);
	of->spoiled = 0;
	simvif_exchange(of, 4);
	plug(of, "master br0");
}

enum order { OLD_ENDS_FIRST, AT_ONCE, NEW_CONNECTS_FIRST };

/* A guest that was suspended is there no more but for its domain, and comes back as a new one with the same
 * MAC: silent, and yet the bridge knows where it is now. */
static void resume(enum order order, uint32_t domid)
{
	struct simguest *resumed;
	struct simvif *new;
	pid_t child;

	load(vif);
	free_frontends();
	simguest_crash(guest);
	guest = NULL;
	if (order == OLD_ENDS_FIRST) {
		child = begin_to_destroy(domid);
		simback_await(has_ended, &child);
	}
	resumed = simback_guest(domid + 1);
	new = open_in_bridge(resumed);
	if (order == NEW_CONNECTS_FIRST)
		simback_await(simvif_connected, new);
	if (order != OLD_ENDS_FIRST)
		child = begin_to_destroy(domid);
	simback_await(simvif_connected, new);
	simback_await(learnt_here, new);
	assert_int_equal(simback_number("stats", new->name, "queue-0", "guest_tx_frames"), 0);
	if (order != OLD_ENDS_FIRST)
		simback_await(has_ended, &child);
	simback_await_gone(domid);
	exchange_without_bridge(new);
	guest = resumed;
	vif = new;
}

static void a_guest_comes_back_under_another_domid(void **state)
{
	uint32_t domid = DOMID;

	(void)state;
	assert_int_equal(system("ip link add br0 type bridge && ip link set br0 up"), 0);
	guest = simback_guest(domid);
	vif = open_in_bridge(guest);
	simback_await(simvif_connected, vif);
	exchange_without_bridge(vif);
	for (int i = 0; i < 6; i++)
		resume((enum order)(i % 3), domid++);
	end();
	assert_int_equal(system("ip link del br0"), 0);
	assert_true(simtest_idle());
}

static int start(void **state)
{
	(void)state;
	return simback_start(NULL);
}

static int stop(void **state)
{
	(void)state;
	return simback_stop();
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_guest_is_destroyed_in_every_pair),
		TEST(a_guest_vanishes_in_every_pair),
		TEST(its_entry_is_removed_in_every_pair),
		TEST(it_comes_again),
		TEST(it_does_not_come_again),
		TEST(a_twin_in_any_pair_delays_nobody),
		TEST(a_kernel_is_replaced_under_load),
		TEST(a_driver_is_reloaded_under_load),
		TEST(a_guest_comes_back_under_another_domid),
	};

	return cmocka_run_group_tests_name("lives", tests, start, stop);
}
