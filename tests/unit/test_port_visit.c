/* test_port_visit.c - reading from a port as often as it pays
 *
 * Proves, with a port that is nothing but a number of waiting frames: no frame is forgotten (the port
 * is visited until it says nothing more, as a sleep would report it); a steady trickle of one frame a
 * wake-up costs few reads that find nothing; a flood is soon read in large visits; unasked visits go
 * on while answers come, stop when none do, and come back. */
#include "../../backend/port_visit.c"
#include "unit.h"

static struct { int waiting, reads, empty_reads; } port;
static struct port_visit visit;

static int setup(void **state)
{
	(void)state;
	memset(&port, 0, sizeof port);
	memset(&visit, 0, sizeof visit);
	return 0;
}

/* As a port reads: one call a frame, and one more that finds nothing if it may go on. */
static int visit_once(bool sent)
{
	int max = port_visit_max(&visit, sent), got = 0;

	if (max == 0)
		return 0;
	assert_in_range(max, 1, PORT_VISIT_LIMIT);
	while (got < max) {
		port.reads++;
		if (port.waiting == 0) {
			port.empty_reads++;
			break;
		}
		port.waiting--;
		got++;
	}
	port_visit_done(&visit, sent, max, got);
	return got;
}

/* A wake-up for @frames, until a sleep would find the port empty; how many visits that took. */
static int wake_for(int frames)
{
	int visits = 0;

	port.waiting = frames;
	while (port.waiting > 0) {
		visit.readable = true;
		do {
			visit_once(false);
			visits++;
		} while (visit.readable);
		assert_in_range(visits, 1, 200);
	}
	return visits;
}

static void no_frame_is_forgotten(void **state)
{
	(void)state;
	for (int frames = 1; frames <= 200; frames++)
		wake_for(frames);
	for (int frames = 200; frames > 0; frames -= 7)
		wake_for(frames);
	assert_int_equal(port.waiting, 0);
}

static void a_trickle_costs_few_empty_reads(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++)
		wake_for(1);
	assert_in_range(port.empty_reads, 0, 260);
	assert_in_range(port.reads, 1000, 1260);
}

static void a_flood_is_read_in_large_visits(void **state)
{
	int visits = 0;

	(void)state;
	for (int frames = PORT_VISIT_FEW + 1; frames < PORT_VISIT_LIMIT; frames++) {
		for (int i = 0; i < PORT_VISIT_FILLED; i++)
			wake_for(frames);
		visits = 0;
		for (int i = 0; i < 100; i++)
			visits += wake_for(frames);
		SAME("visits", visits, 100);
	}
}

static void unasked_visits_follow_their_luck(void **state)
{
	int found = 0, before;

	(void)state;
	/* One-way traffic: nothing ever answers. */
	for (int i = 0; i < 3200; i++)
		found += visit_once(true);
	assert_int_equal(found, 0);
	assert_in_range(port.empty_reads, 1, 3200 / PORT_VISIT_RETRY + 1);
	/* Answers begin: found within one retry, and then each time. */
	for (int i = 0; i < PORT_VISIT_RETRY + 1; i++) {
		port.waiting = 1;
		found += visit_once(true);
	}
	assert_in_range(found, 1, PORT_VISIT_RETRY + 1);
	found = 0;
	for (int i = 0; i < 100; i++) {
		port.waiting = 1;
		found += visit_once(true);
	}
	assert_int_equal(found, 100);
	/* They end: at most PORT_VISIT_LUCK more. */
	port.waiting = 0;
	before = port.reads;
	for (int i = 0; i < PORT_VISIT_LUCK + PORT_VISIT_RETRY - 1; i++)
		visit_once(true);
	assert_in_range(port.reads - before, 1, PORT_VISIT_LUCK);
}

static void without_a_reason_the_port_is_left_alone(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++)
		visit_once(false);
	assert_int_equal(port.reads, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(no_frame_is_forgotten, setup),
		cmocka_unit_test_setup(a_trickle_costs_few_empty_reads, setup),
		cmocka_unit_test_setup(a_flood_is_read_in_large_visits, setup),
		cmocka_unit_test_setup(unasked_visits_follow_their_luck, setup),
		cmocka_unit_test_setup(without_a_reason_the_port_is_left_alone, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
