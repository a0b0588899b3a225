/* test_xenbus.c - every cell of the state table, and where its walks lead */
#include "../../backend/xenbus.c"
#include "unit.h"

static const enum xenbus_state walk[] = {
	XenbusStateInitialising, XenbusStateInitWait, XenbusStateConnected, XenbusStateClosing,
	XenbusStateClosed,
};

/* One letter a frontend state, Unknown to Reconfigured and then the illegal one. */
static const struct { enum xenbus_state ours; const char *actions; } cells[] = {
	/*                          0123456789 */
	{ XenbusStateInitialising, "LAAAAAAAAA" },
	{ XenbusStateInitWait,     "D...CDDRRR" },
	{ XenbusStateConnected,    "DD...DDNRR" },
	{ XenbusStateReconfigured, "DD..SDD.RR" },
	{ XenbusStateClosing,      "LLLLL.LLLL" },
	{ XenbusStateClosed,       ".A..A....." },
};

static const struct { char letter; enum xenbus_action action; enum xenbus_state next; } letters[] = {
	{ '.', XENBUS_STAY,       XenbusStateUnknown },
	{ 'A', XENBUS_ADVERTISE,  XenbusStateInitWait },
	{ 'C', XENBUS_CONNECT,    XenbusStateConnected },
	{ 'D', XENBUS_DISCONNECT, XenbusStateClosing },
	{ 'L', XENBUS_CLOSE,      XenbusStateClosed },
	{ 'N', XENBUS_RECONFIGURE, XenbusStateReconfigured },
	{ 'S', XENBUS_RESUME,     XenbusStateConnected },
	{ 'R', XENBUS_REFUSE,     XenbusStateClosing },
};

static void every_cell_is_as_written(void **state)
{
	(void)state;
	for (size_t row = 0; row < COUNT_OF(cells); row++)
		for (int theirs = 0; theirs < XENBUS_STATES; theirs++) {
			struct xenbus_step step = xenbus_step(cells[row].ours, (enum xenbus_state)theirs,
							      true);
			const char *name = xenbus_state_name(cells[row].ours);
			size_t i = 0;

			while (letters[i].letter != cells[row].actions[theirs])
				i++;
			if (step.action != letters[i].action)
				fail_msg("[%s][%s] is action %d, not %d", name,
					 xenbus_state_name((enum xenbus_state)theirs), step.action,
					 letters[i].action);
			if (step.action != XENBUS_STAY)
				SAME(name, step.next, letters[i].next);
		}
}

/* Initialising may go to Closed at once: nobody is there to see more. */
static bool is_legal(enum xenbus_state from, enum xenbus_state to)
{
	switch (from) {
	case XenbusStateInitialising:
		return to == XenbusStateInitWait || to == XenbusStateClosed;
	case XenbusStateInitWait:
		return to == XenbusStateConnected || to == XenbusStateClosing;
	case XenbusStateConnected:
		return to == XenbusStateClosing || to == XenbusStateReconfigured;
	case XenbusStateReconfigured:
		return to == XenbusStateClosing || to == XenbusStateConnected;
	case XenbusStateClosing:
		return to == XenbusStateClosed;
	default:
		return from == XenbusStateClosed && to == XenbusStateInitWait;
	}
}

static void no_step_jumps(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(walk); i++)
		for (int theirs = 0; theirs < XENBUS_STATES; theirs++)
			for (int online = 0; online < 2; online++) {
				struct xenbus_step step = xenbus_step(walk[i], (enum xenbus_state)theirs,
								      online);

				if (step.action != XENBUS_STAY && !is_legal(walk[i], step.next))
					fail_msg("%s -> %s", xenbus_state_name(walk[i]),
						 xenbus_state_name(step.next));
			}
}

/* Where we come to rest, from each of our five states, while the frontend stays where it is and all
 * actions succeed. */
static const struct { const char *theirs; enum xenbus_state at; int rest[5]; } rests[] = {
	{ "Unknown",       XenbusStateUnknown,       { 6, 6, 6, 6, 6 } },
	{ "Initialising",  XenbusStateInitialising,  { 2, 2, 2, 2, 2 } },
	{ "InitWait",      XenbusStateInitWait,      { 2, 2, 4, 6, 6 } },
	{ "Initialised",   XenbusStateInitialised,   { 2, 2, 4, 6, 6 } },
	{ "Connected",     XenbusStateConnected,     { 4, 4, 4, 4, 4 } },
	{ "Closing",       XenbusStateClosing,       { 5, 5, 5, 5, 6 } },
	{ "Closed",        XenbusStateClosed,        { 6, 6, 6, 6, 6 } },
	{ "Reconfiguring", XenbusStateReconfiguring, { 6, 6, 8, 6, 6 } },
	{ "Reconfigured",  XenbusStateReconfigured,  { 6, 6, 6, 6, 6 } },
	{ "illegal",       XENBUS_ILLEGAL,           { 6, 6, 6, 6, 6 } },
};

static enum xenbus_state rest_of(enum xenbus_state ours, enum xenbus_state theirs, bool online)
{
	for (int steps = 0; steps < 8; steps++) {
		struct xenbus_step step = xenbus_step(ours, theirs, online);

		if (step.action == XENBUS_STAY)
			return ours;
		ours = step.next;
	}
	fail_msg("no rest with a frontend in %s", xenbus_state_name(theirs));
	return ours;
}

static void every_walk_ends_where_it_should(void **state)
{
	(void)state;
	for (size_t row = 0; row < COUNT_OF(rests); row++)
		for (size_t i = 0; i < COUNT_OF(walk); i++)
			SAME(rests[row].theirs, rest_of(walk[i], rests[row].at, true), rests[row].rest[i]);
}

static void closed_is_the_end_once_the_toolstack_says_so(void **state)
{
	(void)state;
	for (int theirs = 0; theirs < XENBUS_STATES; theirs++) {
		SAME("from Closed", xenbus_step(XenbusStateClosed, (enum xenbus_state)theirs, false).action,
		     XENBUS_STAY);
		SAME("from Closing", rest_of(XenbusStateClosing, (enum xenbus_state)theirs, false),
		     theirs == XenbusStateClosing ? XenbusStateClosing : XenbusStateClosed);
	}
}

static void text_is_a_state_or_illegal(void **state)
{
	static const struct { const char *text; int state; } rows[] = {
		{ "0", 0 }, { "1", 1 }, { "4", 4 }, { "8", 8 }, { "9", XENBUS_ILLEGAL },
		{ "", XENBUS_ILLEGAL }, { " 4", XENBUS_ILLEGAL }, { "4 ", XENBUS_ILLEGAL },
		{ "04", XENBUS_ILLEGAL }, { "44", XENBUS_ILLEGAL }, { "-1", XENBUS_ILLEGAL },
		{ "x", XENBUS_ILLEGAL }, { "/", XENBUS_ILLEGAL }, { "\xff", XENBUS_ILLEGAL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		SAME(rows[i].text, xenbus_state_parse(rows[i].text), rows[i].state);
}

static void every_state_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < XENBUS_STATES; i++)
		assert_true(strlen(xenbus_state_name((enum xenbus_state)i)) > 3);
	assert_string_equal(xenbus_state_name((enum xenbus_state)99), "illegal");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cell_is_as_written),
		cmocka_unit_test(no_step_jumps),
		cmocka_unit_test(every_walk_ends_where_it_should),
		cmocka_unit_test(closed_is_the_end_once_the_toolstack_says_so),
		cmocka_unit_test(text_is_a_state_or_illegal),
		cmocka_unit_test(every_state_has_a_name),
	};

	return cmocka_run_group_tests_name("xenbus", tests, NULL, NULL);
}
