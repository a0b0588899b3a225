/* test_xdp.c - a guest that asks for XDP headroom, as Linux's netfront does, served by the real unetbackd
 *
 * Shown: headroom asked for at connect and while connected (Reconfiguring, Reconfigured, Connected again) is
 * there, in frames of one slot and of several, and gone when it is asked for no more; frames flow all the while.
 * The judge in netfront_rx.c checks where the bytes lie. */
#include "simback.h"

#include <stdio.h>
#include <string.h>

static struct simguest *guest;
static struct simvif *vif;
static uint32_t last_headroom;
static void (*take)(struct netfront *, const struct netfront_frame *, void *);

static void note_headroom(struct netfront *fe, const struct netfront_frame *frame, void *context)
{
	last_headroom = frame->headroom;
	take(fe, frame, context);
}

static struct simvif *open_vif(const struct netfront_config *config)
{
	vif = simvif_open(guest, 0, config, "9000");
	take = vif->fe->config.hooks.receive;
	vif->fe->config.hooks.receive = note_headroom;
	simvif_exchange(vif, 4);
	return vif;
}

static int setup(void **state)
{
	(void)state;
	guest = simback_guest(1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(vif->fe->violations, 0);
	assert_int_equal(vif->spoiled, 0);
	simback_await(simvif_balanced, vif);
	simvif_free(vif);
	simback_destroy(guest);
	return 0;
}

static bool is_at_guest(void *context)
{
	(void)context;
	return vif->at_guest == vif->number;
}

static bool has_headroom(void *wanted)
{
	simvif_flood(vif, 1, 1514);
	simback_await(is_at_guest, NULL);
	return last_headroom == *(uint32_t *)wanted;
}

static void frames_have(uint32_t headroom)
{
	static const uint32_t lengths[] = { 60, 1514, 4096, 9014 };

	simback_await(has_headroom, &headroom);
	for (int i = 0; i < 4; i++) {
		simvif_flood(vif, 1, lengths[i]);
		simback_await(is_at_guest, NULL);
		assert_int_equal(last_headroom, headroom);
	}
}

static void headroom_comes_and_goes(void **state)
{
	(void)state;
	open_vif(NULL);
	frames_have(0);
	for (int i = 0; i < 3; i++) {
		assert_true(netfront_reconfigure(vif->fe, 256, SIMBACK_PATIENCE));
		frames_have(256);
		assert_int_equal(simback_number("show", vif->name, NULL, "xdp_headroom"), 256);
		assert_true(netfront_reconfigure(vif->fe, 0, SIMBACK_PATIENCE));
		frames_have(0);
	}
	simvif_exchange(vif, 4);
}

static void headroom_from_the_start(void **state)
{
	const struct netfront_config config = { .xdp_headroom = 256 };

	(void)state;
	open_vif(&config);
	frames_have(256);
	assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
	assert_true(netfront_reopen(vif->fe));
	simvif_exchange(vif, 4);
	frames_have(256);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(headroom_comes_and_goes),
		TEST(headroom_from_the_start),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
