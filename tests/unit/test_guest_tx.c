/* test_guest_tx.c - what a frontend may put into the transmit ring and what becomes of it
 *
 * A table of rings: each row is slots and extras as the guest writes them, and says whether the
 * frame is sent, dropped (every request answered with an error, every extra with RSP_NULL) or the
 * ring is broken (nothing of that frame answered, the frame before it still served).  The rows
 * follow protocol.md 1.5; limits are those of netif.h. */
#include "../../backend/guest_tx.c"
#include "unit.h"
#include "world.c"

#define MORE NETTXF_more_data
#define EXTRA NETTXF_extra_info
#define BLANK NETTXF_csum_blank
#define LAST NETIF_SLOTS_MAX
#define FATAL NETIF_SLOTS_FATAL

struct part {
	bool used, is_extra;
	uint16_t size, offset, flags;		/* of a slot */
	struct netif_extra_info extra;
	int times;				/* how often it stands there; 0 means once */
};

/* A slot; a slot N times; an extra; N extras, each of which promises another; a GSO extra. */
#define S(size_, offset_, flags_) \
	{ .used = true, .size = (size_), .offset = (offset_), .flags = (flags_) }
#define N(times_, size_, flags_) \
	{ .used = true, .times = (times_), .size = (size_), .flags = (flags_) }
#define X(type_, more_) \
	{ .used = true, .is_extra = true, .extra = { .type = (type_), .flags = (more_) } }
#define XN(times_, type_) \
	{ .used = true, .is_extra = true, .times = (times_), \
	  .extra = { .type = (type_), .flags = XEN_NETIF_EXTRA_FLAG_MORE } }
#define G(type_, size_) \
	{ .used = true, .is_extra = true, .extra = { .type = XEN_NETIF_EXTRA_TYPE_GSO, \
	  .u.gso = { .type = (type_), .size = (size_) } } }

struct ring_row {
	const char *name;
	enum guest_tx_verdict verdict;		/* RING_BROKEN: fatal */
	const char *fault;			/* how it starts */
	struct part parts[6];			/* ended by one not used */
	uint32_t unpublished;			/* requests at the end that stay unpublished */
};

static const struct ring_row rows[] = {
	{ "smallest frame", GUEST_TX_SENT, NULL, { S(14, 0, 0) }, 0 },
	{ "a whole page", GUEST_TX_SENT, NULL, { S(4096, 0, 0) }, 0 },
	{ "the end of a page", GUEST_TX_SENT, NULL, { S(60, 4036, 0) }, 0 },
	{ "unknown flags", GUEST_TX_SENT, NULL, { S(60, 0, 0xfff0) }, 0 },
	{ "two slots", GUEST_TX_SENT, NULL, { S(5000, 0, MORE), S(1000, 3096, 0) }, 0 },
	{ "ethernet header split", GUEST_TX_SENT, NULL, { S(60, 4095, MORE), S(59, 0, 0) }, 0 },
	{ "all slots", GUEST_TX_SENT, NULL,
	  { S(60, 0, MORE), N(LAST - 2, 1, MORE), S(1, 0, 0) }, 0 },
	{ "all slots of one byte", GUEST_TX_SENT, NULL,
	  { S(LAST, 0, MORE), N(LAST - 2, 1, MORE), S(1, 0, 0) }, 0 },
	{ "the largest frame", GUEST_TX_SENT, NULL,
	  { S(65535, 0, MORE), N(14, 4096, MORE), S(4095, 1, 0) }, 0 },
	{ "hash extra", GUEST_TX_SENT, NULL,
	  { S(60, 0, EXTRA), X(XEN_NETIF_EXTRA_TYPE_HASH, 0) }, 0 },
	{ "hash extras, three, then a slot", GUEST_TX_SENT, NULL,
	  { S(60, 0, EXTRA | MORE), X(4, 1), X(4, 1), X(4, 0), S(40, 0, 0) }, 0 },

	{ "empty later slot", GUEST_TX_SENT, NULL, { S(60, 0, MORE), S(0, 0, 0) }, 0 },
	{ "empty later slot at the page's end", GUEST_TX_SENT, NULL,
	  { S(60, 0, MORE), S(0, 4096, 0) }, 0 },
	{ "empty first slot", GUEST_TX_SENT, NULL, { S(60, 0, MORE), S(60, 0, 0) }, 0 },
	{ "only the last has bytes", GUEST_TX_SENT, NULL,
	  { S(60, 0, MORE), N(LAST - 2, 0, MORE), S(60, 0, 0) }, 0 },
	{ "only the first has bytes", GUEST_TX_SENT, NULL,
	  { S(60, 0, MORE), N(LAST - 2, 0, MORE), S(0, 0, 0) }, 0 },

	{ "empty", GUEST_TX_TOO_SHORT, NULL, { S(0, 0, 0) }, 0 },
	{ "13 bytes", GUEST_TX_TOO_SHORT, NULL, { S(13, 0, 0) }, 0 },
	{ "13 bytes in two slots", GUEST_TX_TOO_SHORT, NULL, { S(13, 0, MORE), S(7, 0, 0) }, 0 },
	{ "all slots empty", GUEST_TX_TOO_SHORT, NULL,
	  { S(0, 0, MORE), N(16, 0, MORE), S(0, 0, 0) }, 0 },
	{ "13 bytes across the page", GUEST_TX_TOO_SHORT, NULL, { S(13, 4090, 0) }, 0 },
	{ "13 bytes and an extra", GUEST_TX_TOO_SHORT, NULL, { S(13, 0, EXTRA), X(4, 0) }, 0 },

	{ "one slot too many", GUEST_TX_TOO_MANY_SLOTS, NULL,
	  { S(1000, 0, MORE), N(LAST - 1, 1, MORE), S(1, 0, 0) }, 0 },
	{ "as many as are not fatal", GUEST_TX_TOO_MANY_SLOTS, NULL,
	  { S(1000, 0, MORE), N(FATAL - 2, 1, MORE), S(1, 0, 0) }, 0 },
	{ "as many, with an extra", GUEST_TX_TOO_MANY_SLOTS, NULL,
	  { S(1000, 0, MORE | EXTRA), X(4, 0), N(FATAL - 2, 1, MORE), S(1, 0, 0) }, 0 },
	{ "one more is fatal", GUEST_TX_RING_BROKEN, "slots of a frame",
	  { S(1000, 0, MORE), N(FATAL - 1, 1, MORE), S(1, 0, 0) }, 0 },
	{ "a ring full of one frame", GUEST_TX_RING_BROKEN, "slots of a frame",
	  { S(1000, 0, MORE), N(200, 1, MORE) }, 0 },

	{ "later slot larger", GUEST_TX_SLOT_TOO_LARGE, NULL,
	  { S(100, 0, MORE), S(101, 0, 0) }, 0 },
	{ "over 64 KiB wrapped", GUEST_TX_SLOT_TOO_LARGE, NULL,
	  { S(70000 - 65536, 0, MORE), N(16, 4096, MORE), S(70000 - 17 * 4096, 0, 0) }, 0 },
	{ "larger in the middle", GUEST_TX_SLOT_TOO_LARGE, NULL,
	  { S(100, 0, MORE), S(50, 0, MORE), S(51, 0, MORE), S(5, 0, 0) }, 0 },

	{ "first slot crosses", GUEST_TX_RING_BROKEN, "slot crosses", { S(100, 3997, 0) }, 0 },
	{ "first slot's offset outside", GUEST_TX_RING_BROKEN, "slot crosses",
	  { S(60, 65535, 0) }, 0 },
	{ "first slot longer than a page", GUEST_TX_RING_BROKEN, "slot crosses",
	  { S(4097, 0, 0) }, 0 },
	{ "rest of the first crosses", GUEST_TX_RING_BROKEN, "slot crosses",
	  { S(5000, 0, MORE), S(903, 0, 0) }, 0 },
	{ "later slot crosses", GUEST_TX_RING_BROKEN, "slot crosses",
	  { S(5000, 0, MORE), S(1000, 3097, 0) }, 0 },
	{ "later slot's sum wraps at 16 bits", GUEST_TX_RING_BROKEN, "slot crosses",
	  { S(60, 0, MORE), S(2, 65535, 0) }, 0 },
	{ "empty later slot outside", GUEST_TX_RING_BROKEN, "slot crosses",
	  { S(60, 0, MORE), S(0, 4097, 0) }, 0 },
	{ "largest numbers", GUEST_TX_RING_BROKEN, "slot crosses",
	  { S(65535, 65535, MORE), S(65535, 65535, 0) }, 0 },
	{ "crossing in a chain to be dropped", GUEST_TX_RING_BROKEN, "slot crosses",
	  { S(100, 0, MORE), S(101, 0, MORE), S(1, 4096, 0) }, 0 },

	{ "more promised", GUEST_TX_RING_BROKEN, "slot promised", { S(100, 0, MORE) }, 0 },
	{ "more promised, last hidden", GUEST_TX_RING_BROKEN, "slot promised",
	  { S(100, 0, MORE), S(10, 0, MORE), S(10, 0, 0) }, 1 },
	{ "more promised behind an extra", GUEST_TX_RING_BROKEN, "slot promised",
	  { S(100, 0, MORE | EXTRA), X(4, 0) }, 0 },
	{ "extra promised", GUEST_TX_RING_BROKEN, "extra promised", { S(60, 0, EXTRA) }, 0 },
	{ "extra promised, hidden", GUEST_TX_RING_BROKEN, "extra promised",
	  { S(60, 0, EXTRA), X(4, 1), X(4, 0) }, 1 },
	{ "extras to the ring's end", GUEST_TX_RING_BROKEN, "extra promised",
	  { S(60, 0, EXTRA), XN(254, XEN_NETIF_EXTRA_TYPE_HASH) }, 0 },
	{ "extra of type 0", GUEST_TX_RING_BROKEN, "unknown type",
	  { S(60, 0, EXTRA), X(0, 0) }, 0 },
	{ "extra of a type too high", GUEST_TX_RING_BROKEN, "unknown type",
	  { S(60, 0, EXTRA), X(NETIF_EXTRA_TYPE_LIMIT, 0) }, 0 },
	{ "extra of the XDP type, which only backends send", GUEST_TX_SENT, NULL,
	  { S(60, 0, EXTRA), X(NETIF_EXTRA_TYPE_LIMIT - 1, 0) }, 0 },
	{ "second extra of type 255", GUEST_TX_RING_BROKEN, "unknown type",
	  { S(60, 0, EXTRA), X(4, 1), X(255, 0) }, 0 },

	{ "gso size 0", GUEST_TX_RING_BROKEN, "GSO size", { S(60, 0, EXTRA | BLANK), G(1, 0) }, 0 },
	{ "gso type 0", GUEST_TX_RING_BROKEN, "unknown GSO",
	  { S(60, 0, EXTRA | BLANK), G(0, 1448) }, 0 },
	{ "gso type 3", GUEST_TX_RING_BROKEN, "unknown GSO",
	  { S(60, 0, EXTRA | BLANK), G(3, 1448) }, 0 },
	{ "gso of what is no tcp", GUEST_TX_BAD_OFFLOAD, NULL,
	  { S(60, 0, EXTRA | BLANK), G(1, 1448) }, 0 },
	{ "blank checksum of what is no ip", GUEST_TX_BAD_OFFLOAD, NULL, { S(60, 0, BLANK) }, 0 },

	{ "multicast add of no address", GUEST_TX_CONTROL, NULL,
	  { S(0, 0, EXTRA), X(XEN_NETIF_EXTRA_TYPE_MCAST_ADD, 0) }, 0 },
	{ "multicast add, nonsense slot", GUEST_TX_CONTROL, NULL,
	  { S(65535, 65535, EXTRA), X(XEN_NETIF_EXTRA_TYPE_MCAST_ADD, 0) }, 0 },
};

static void post_row(const struct ring_row *row)
{
	for (size_t i = 0; i < COUNT_OF(row->parts) && row->parts[i].used; i++) {
		const struct part *part = &row->parts[i];

		for (int n = 0; n < (part->times ? part->times : 1); n++)
			if (part->is_extra)
				world_tx_extra(&part->extra);
			else
				world_tx_slot(part->size, part->offset, part->flags);
	}
	world->tx_prod -= row->unpublished;
	world_tx_publish();
}

static void check_sent(const struct ring_row *row)
{
	bool sent = row->verdict == GUEST_TX_SENT;

	SAME(row->name, fake_port_of(world->port)->sent_count, sent);
	if (sent)
		SAME(row->name, fake_port_of(world->port)->sent[0].length, row->parts[0].size);
}

/* All answered: with the status asked for, extras with RSP_NULL (which world_tx_answers checks). */
static void check_answers(const struct ring_row *row, uint32_t requests)
{
	int16_t want = row->verdict == GUEST_TX_SENT ? NETIF_RSP_OKAY : NETIF_RSP_ERROR;
	int16_t statuses[NETIF_RING_SIZE];
	int n = world_tx_answers(statuses);

	SAME(row->name, n, requests);
	for (int i = 0; i < n; i++)
		if (statuses[i] != NETIF_RSP_NULL)
			SAME(row->name, statuses[i], want);
}

static void run_row(const struct ring_row *row)
{
	uint32_t before = world->tx_prod;
	int16_t statuses[NETIF_RING_SIZE];

	post_row(row);
	if (row->verdict == GUEST_TX_RING_BROKEN) {
		SAME(row->name, world_tx_run(), -EPROTO);
		if (strncmp(world->tx.fault, row->fault, strlen(row->fault)) != 0)
			fail_msg("%s: fault is '%s'", row->name, world->tx.fault);
		SAME(row->name, world_tx_answers(statuses), 0);
		SAME(row->name, fake_port_of(world->port)->sent_count, 0);
	} else {
		SAME(row->name, world_tx_run(), 0);
		check_sent(row);
		check_answers(row, world->tx_prod - before);
		assert_null(world->tx.fault);
	}
	SAME(row->name, world_tx_verdict(row->verdict), 1);
	SAME(row->name, world->state.tx_frames, 1);
}

static void every_row_gets_its_verdict(void **state)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		world_setup(state);
		run_row(&rows[i]);
		world_teardown(state);
	}
}

/* A frame before and one behind: both are served if the row is no fault, else the first is. */
static void rows_do_not_harm_their_neighbours(void **state)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool fatal = rows[i].verdict == GUEST_TX_RING_BROKEN;
		struct fake_port *port;
		int16_t statuses[NETIF_RING_SIZE];
		int n;

		if (rows[i].unpublished || rows[i].parts[1].times > 100)
			continue;
		world_setup(state);
		port = fake_port_of(world->port);
		world_tx_slot(100, 0, 0);
		post_row(&rows[i]);
		if (!fatal)
			world_tx_slot(200, 0, 0);
		world_tx_publish();
		SAME(rows[i].name, world_tx_run(), fatal ? -EPROTO : 0);
		n = world_tx_answers(statuses);
		SAME(rows[i].name, statuses[0], NETIF_RSP_OKAY);
		SAME(rows[i].name, port->sent[0].length, 100);
		if (!fatal) {
			SAME(rows[i].name, statuses[n - 1], NETIF_RSP_OKAY);
			SAME(rows[i].name, port->sent[port->sent_count - 1].length, 200);
		} else {
			SAME(rows[i].name, n, 1);
		}
		world_teardown(state);
	}
}

/* A request with the extras of @types (0: none) for 01:00:5e:00:00:@last; its status. */
static int16_t edit_multicast(uint8_t one, uint8_t other, uint8_t last)
{
	struct netif_extra_info extra = { .u.mcast.addr = { 0x01, 0, 0x5e, 0, 0, last } };
	int16_t statuses[NETIF_RING_SIZE];

	world_tx_slot(0, 0, EXTRA);
	extra.type = one;
	extra.flags = other ? XEN_NETIF_EXTRA_FLAG_MORE : 0;
	world_tx_extra(&extra);
	if (other) {
		extra.type = other;
		extra.flags = 0;
		world_tx_extra(&extra);
	}
	world_tx_publish();
	assert_int_equal(world_tx_run(), 0);
	assert_int_equal(world_tx_answers(statuses), other ? 3 : 2);
	return statuses[0];
}

static void the_guest_edits_its_multicast_list(void **state)
{
	enum { ADD = XEN_NETIF_EXTRA_TYPE_MCAST_ADD, DEL = XEN_NETIF_EXTRA_TYPE_MCAST_DEL, HASH = 4 };
	const uint8_t seven[6] = { 0x01, 0, 0x5e, 0, 0, 7 };

	(void)state;
	assert_int_equal(edit_multicast(DEL, 0, 7), NETIF_RSP_OKAY);	/* as xen-netback: never an error */
	assert_int_equal(edit_multicast(ADD, 0, 7), NETIF_RSP_OKAY);
	assert_int_equal(edit_multicast(HASH, ADD, 7), NETIF_RSP_OKAY);
	assert_true(multicast_has(&world->multicast, seven));
	assert_int_equal(edit_multicast(DEL, ADD, 7), NETIF_RSP_OKAY);	/* only the addition counts */
	assert_true(multicast_has(&world->multicast, seven));
	assert_int_equal(edit_multicast(DEL, HASH, 7), NETIF_RSP_OKAY);
	assert_false(multicast_has(&world->multicast, seven));
	for (uint8_t i = 0; i < MULTICAST_MAX; i++)
		assert_int_equal(edit_multicast(ADD, 0, i), NETIF_RSP_OKAY);
	assert_int_equal(edit_multicast(ADD, 0, MULTICAST_MAX), NETIF_RSP_ERROR);
	assert_int_equal(world->state.tx_multicast_refused, 1);
	assert_int_equal(world_tx_verdict(GUEST_TX_CONTROL), 6 + MULTICAST_MAX);
	assert_int_equal(fake_port_of(world->port)->sent_count, 0);
}

static void an_overrun_is_fatal_and_nothing_is_read(void **state)
{
	(void)state;
	world->tx_ring->req_prod = WORLD_START + 257;
	assert_int_equal(guest_tx_poll(&world->tx), -EPROTO);
	assert_string_equal(world->tx.fault, "requests in the ring");
	assert_int_equal(world->tx.fault_got, 257);
	assert_int_equal(fake.copy_operations, 0);
	assert_true(guest_tx_arm(&world->tx));	/* not to be slept over */
}

static void a_full_ring_is_served_and_arming_asks_for_the_next(void **state)
{
	int16_t statuses[NETIF_RING_SIZE];

	(void)state;
	assert_false(guest_tx_arm(&world->tx));
	assert_int_equal(world->tx_ring->req_event, WORLD_START + 1);
	for (uint32_t i = 0; i < NETIF_RING_SIZE; i++)
		world_tx_slot(60, 0, 0);
	world_tx_publish();
	assert_true(guest_tx_arm(&world->tx));
	assert_int_equal(guest_tx_poll(&world->tx), TX_BURST);
	assert_int_equal(world_tx_run(), 0);
	assert_int_equal(world_tx_answers(statuses), NETIF_RING_SIZE);
	assert_int_equal(fake_port_of(world->port)->sent_count, NETIF_RING_SIZE);
	assert_false(guest_tx_arm(&world->tx));
	assert_int_equal(world->tx_ring->req_event, WORLD_START + 257);
	assert_int_equal(world->state.tx_req_cons, WORLD_START + 256);
	assert_int_equal(world->state.tx_rsp_prod, WORLD_START + 256);
}

static void events_are_sent_when_the_guest_asked_for_one(void **state)
{
	for (int32_t event = -2; event <= 14; event++) {
		world_setup(state);
		world->tx_ring->rsp_event = WORLD_START + (uint32_t)event;
		for (int i = 0; i < 10; i++)
			world_tx_slot(60, 0, 0);
		world_tx_publish();
		world_tx_run();
		SAME("notified", fake.notified[FAKE_LOCAL(WORLD_TX_PORT)],
		     event >= 1 && event <= 10);
		SAME("other port", fake.notified[FAKE_LOCAL(WORLD_RX_PORT)], 0);
		world_teardown(state);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_gets_its_verdict),
		cmocka_unit_test(rows_do_not_harm_their_neighbours),
		TEST(the_guest_edits_its_multicast_list),
		TEST(an_overrun_is_fatal_and_nothing_is_read),
		TEST(a_full_ring_is_served_and_arming_asks_for_the_next),
		cmocka_unit_test(events_are_sent_when_the_guest_asked_for_one),
	};

	return cmocka_run_group_tests_name("guest_tx", tests, NULL, NULL);
}
