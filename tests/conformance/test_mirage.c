/* test_mirage.c - a MirageOS-like guest sends and receives in bulk, over and over, and never hangs
 *
 * usage: test_mirage [RUNS]	(5)
 *
 * mirage-net-xen has one event channel for both rings, takes events when its one thread comes to it, and
 * closes straight to Closed; hangs of its TCP are told of that nobody explained.  A run is a life:
 * connect, RUN_BYTES each way at once, close.  As many must end as began; how fast, and how long a stream
 * stood still at most, is said for a person to compare: of a guest that takes its events once a
 * millisecond, and of one that takes them at once. */
#include "scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 1000
#define RUN_BYTES (8u << 20)
#define STREAMS 2

static struct scene scene;
static unsigned int runs = 5;
static struct profile slow, eager;
static char lines[2][200];

static int compare(const void *one, const void *other)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;

	return a < b ? -1 : a > b;
}

static double mbits(int64_t took_ns)
{
	return STREAMS * RUN_BYTES * 8e3 / (double)took_ns;
}

static void lives(void **state)
{
	static const struct traffic_server server = { scene_serve, &scene };
	static int64_t took[RUNS_MAX];
	char *line = *state;
	unsigned int completed = 0;

	scene_open(&scene, line == lines[0] ? &slow : &eager);
	scene_plug(&scene);
	for (unsigned int i = 0; i < runs; i++) {
		assert_true(scene_connect(&scene, 0));
		traffic_await(&scene.stacks[0], AF_INET, &server);
		traffic_tcp(&scene.traffic, &scene.stacks[0], AF_INET, RUN_BYTES, &server);
		took[i] = scene.traffic.took_ns;
		completed += scene.traffic.unfinished == 0;
		scene_disconnect(&scene, 0);
	}
	qsort(took, runs, sizeof *took, compare);
	snprintf(line + strlen(line), sizeof *lines - strlen(line),
		 ": %u of %u runs of %u MiB each way completed, median %.0f Mbit/s, slowest %.0f, retransmits "
		 "%u, longest stall %.1f ms, %.1f of an idle machine", completed, runs, RUN_BYTES >> 20, mbits(took[runs / 2]),
		 mbits(took[runs - 1]), scene.traffic.retransmits,
		 (double)scene.traffic.stall_ns / 1e6, (double)scene.traffic.stall_own_ns / 1e6);
	assert_int_equal(completed, runs);
	assert_int_equal(scene.traffic.spoiled, 0);
	scene_unplug(&scene);
	scene_close(&scene);
}

static int clean_up(void **state)
{
	(void)state;
	scene_abandon(&scene);
	return 0;
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

int main(int argc, char **argv)
{
	struct CMUnitTest tests[2];

	slow = eager = *profile_named("mirage");
	eager.name = "mirage, never late";
	eager.pause_us = 0;

	if (argc > 1)
		runs = (unsigned int)strtoul(argv[1], NULL, 10);
	if (runs == 0 || runs > RUNS_MAX) {
		fprintf(stderr, "usage: test_mirage [RUNS]; 1 to %d\n", RUNS_MAX);
		return EXIT_FAILURE;
	}
	for (int i = 0; i < 2; i++) {
		snprintf(lines[i], sizeof lines[i], "%s", i == 0 ? slow.name : eager.name);
		tests[i] = (struct CMUnitTest){ .name = lines[i], .initial_state = lines[i],
						.test_func = lives, .teardown_func = clean_up };
	}
	return _cmocka_run_group_tests("mirage", tests, 2, start, stop);
}
