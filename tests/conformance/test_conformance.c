/* test_conformance.c - every frontend there is, as far as its profile goes, before the real unetbackd
 *
 * Each connects, passes TCP and UDP both ways over IPv4 and IPv6, closes in its own way, comes back,
 * passes traffic again and is removed while it is connected.  A test's name says what was counted. */
#include "scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROFILES_MAX 24
#define STREAM_BYTES (2u << 20)
#define DATAGRAMS 1000u

static char lines[PROFILES_MAX][240];
static struct scene scene;

static void traffic(uint32_t vif)
{
	static const int families[] = { AF_INET, AF_INET6 };
	static const struct traffic_server server = { scene_serve, &scene };
	struct stack *stack = &scene.stacks[vif];

	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		traffic_await(stack, families[i], &server);
		traffic_await_hash(stack, &server);
		traffic_udp(&scene.traffic, stack, families[i], DATAGRAMS, &server);
		traffic_tcp(&scene.traffic, stack, families[i], STREAM_BYTES, &server);
	}
	scene_assert_no_drops(&scene, vif);
}

/* Of every vif that is connected: a twin must not notice what happens to the other. */
static void traffic_everywhere(void)
{
	for (uint32_t i = 0; i < scene.vifs; i++)
		if (scene.now[i].connected)
			traffic(i);
}

static void first_lives(void)
{
	scene_plug(&scene);
	for (uint32_t i = 0; i < scene.vifs; i++) {
		assert_true(scene_connect(&scene, i));
		traffic_everywhere();
	}
}

static void second_lives(void)
{
	if (scene.profile->reboots) {
		scene_unplug(&scene);
		first_lives();
		return;
	}
	for (uint32_t i = 0; i < scene.vifs; i++) {
		scene_disconnect(&scene, i);
		traffic_everywhere();
		assert_true(scene_connect(&scene, i));
		traffic_everywhere();
	}
}

static void describe(char line[sizeof *lines])
{
	const struct traffic *t = &scene.traffic;
	const struct life *slowest = &scene.now[0];
	int64_t own = slowest->longest_own_ns;

	if (scene.vifs > 1 && scene.now[1].longest_ns > slowest->longest_ns)
		slowest = &scene.now[1];
	if (scene.vifs > 1 && scene.now[1].longest_own_ns > own)
		own = scene.now[1].longest_own_ns;
	snprintf(line, sizeof *lines,
		 "%s: %u lives, frames %" PRIu64 " from and %" PRIu64 " to it, tcp %" PRIu64
		 " MiB, retransmits %u, udp %" PRIu64 ", lost %" PRIu64 ", reordered %" PRIu64
		 ", longest wait %.1f ms for %s, %.1f of an idle machine", scene.profile->name, scene.lives, scene.tx_frames,
		 scene.rx_frames, t->bytes >> 20, t->retransmits, t->datagrams, t->lost, t->reordered,
		 (double)slowest->longest_ns / 1e6, slowest->longest_for, (double)own / 1e6);
}

static void a_life(void **state)
{
	char *line = *state;
	const struct traffic *t = &scene.traffic;

	scene_open(&scene, profile_named(line));
	first_lives();
	second_lives();
	scene_unplug(&scene);
	describe(line);
	for (uint32_t i = 0; i < scene.vifs; i++)
		assert_int_equal(scene.stacks[i].large + scene.stacks[i].not_taken +
				 scene.stacks[i].misplaced, 0);
	assert_int_equal(t->lost, 0);
	assert_int_equal(t->reordered, 0);
	assert_int_equal(t->spoiled, 0);
	assert_int_equal(t->unfinished, 0);
	scene_close(&scene);
}

/* What cannot work is refused with a reason that helps, and works once it is mended. */
static void a_refusal(void **state)
{
	char *line = *state, path[64], *reason;
	unsigned int length;

	scene_open(&scene, profile_named(line));
	scene_plug(&scene);
	assert_false(scene_connect(&scene, 0));
	snprintf(path, sizeof path, "error/backend/vif/%u/0/error", scene.domid);
	reason = xs_read(simback_xs(), XBT_NULL, path, &length);
	assert_non_null(reason);
	assert_non_null(strstr(reason, scene.profile->refused));
	life_follow(&scene.now[0]);
	scene_unplug(&scene);
	snprintf(line, sizeof *lines, "%s: refused: %s", scene.profile->name, reason);
	free(reason);
	scene_close(&scene);
}

/* Of a test that failed. */
static int clean_up(void **state)
{
	(void)state;
	scene_abandon(&scene);
	return 0;
}

static int start(void **state)
{
	static const char *const options[] = { "--queues=4", NULL };

	(void)state;
	return simback_start(options);
}

static int stop(void **state)
{
	(void)state;
	return simback_stop();
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[PROFILES_MAX];
	size_t count = 0;

	for (const struct profile *profile = profiles; profile->name; profile++) {
		if (argc > 1 && strcmp(argv[1], profile->name) != 0)
			continue;
		assert_true(count < PROFILES_MAX);
		snprintf(lines[count], sizeof lines[count], "%s", profile->name);
		tests[count] = (struct CMUnitTest){
			.name = lines[count], .initial_state = lines[count],
			.test_func = profile->refused ? a_refusal : a_life,
			.teardown_func = clean_up,
		};
		count++;
	}
	return _cmocka_run_group_tests("conformance", tests, count, start, stop);
}
