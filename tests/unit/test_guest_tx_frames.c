/* test_guest_tx_frames.c - frames reach the port byte for byte, or not at all
 *
 * Every size from 14 to 65,535 around the page boundaries, headers split at every byte over slots,
 * offloads set and mended, each copy of a burst failing in turn, every answer of the port. */
#include "../../backend/guest_tx.c"
#include "frame_specs.h"
#include "frames.c"
#include "unit.h"
#include "world.c"

static uint8_t bytes[65535];

static const struct fake_sent *sent(int which)
{
	const struct fake_port *port = fake_port_of(world->port);

	SAME("sent", which < port->sent_count, 1);
	return &port->sent[which];
}

static struct netif_tx_request *first_slot(void)
{
	union netif_tx_sring_entry *slots = world->tx_ring->ring;

	return &slots[WORLD_START % NETIF_RING_SIZE].req;
}

static void fill_bytes(void)
{
	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 251 + i / 256 * 17 + 3);
	bytes[12] = bytes[13] = 0x77;	/* no protocol we know */
}

/* Posts one frame, runs, checks the answers, and returns what the port got. */
static const struct fake_sent *send_frame(const uint8_t *frame, const uint32_t *sizes, int n,
					  uint16_t flags, const struct netif_extra_info *gso)
{
	int16_t statuses[NETIF_RING_SIZE];

	fake_port_forget_sent(world->port);
	world_tx_frame(frame, sizes, n, flags, gso);
	world_tx_publish();
	SAME("run", world_tx_run(), 0);
	SAME("answers", world_tx_answers(statuses), n + (gso != NULL));
	for (int i = 0; i < n + (gso != NULL); i++)
		SAME("status", statuses[i], gso && i == 1 ? NETIF_RSP_NULL : NETIF_RSP_OKAY);
	return sent(0);
}

static int slots_of(uint32_t length, uint32_t *sizes)
{
	int n = 0;

	for (; length > 4096; length -= 4096)
		sizes[n++] = 4096;
	sizes[n++] = length;
	return n;
}

static void check_length(uint32_t length)
{
	uint32_t sizes[NETIF_SLOTS_MAX];
	int n = slots_of(length, sizes);
	const struct fake_sent *got = send_frame(bytes, sizes, n, 0, NULL);

	SAME("length", got->length, length);
	SAME("said", got->said_length, length);
	SAME("segments", got->segment_count, n);
	assert_memory_equal(got->bytes, bytes, length);
}

static void every_length_arrives(void **state)
{
	(void)state;
	fill_bytes();
	for (uint32_t length = 14; length < 2048; length++)
		check_length(length);
	for (uint32_t page = 4096; page <= 65536; page += 4096)
		for (uint32_t length = page - 3; length <= page + 3 && length <= 65535; length++)
			check_length(length);
	for (uint32_t length = 2048; length <= 65535; length += 997)
		check_length(length);
	assert_int_equal(world_tx_verdict(GUEST_TX_SENT), world->state.tx_frames);
}

static void plain_buffers_serve_as_well(void **state)
{
	fake_port_granted = false;
	world_setup(state);
	fill_bytes();
	check_length(60);
	check_length(4097);
	check_length(65535);
	world_teardown(state);
	fake_port_granted = true;
}

/* A zero-length slot in each place of a frame of @n slots, and in each two of them. */
static void empty_slots_in_every_place(void **state)
{
	(void)state;
	fill_bytes();
	for (int n = 2; n <= (int)NETIF_SLOTS_MAX; n++)
		for (int first = 0; first < n; first++)
			for (int second = first; second < n; second++) {
				uint32_t sizes[NETIF_SLOTS_MAX], total = 0;
				const struct fake_sent *got;

				if (n == 2 && first != second)
					continue;	/* nothing would be left */
				for (int i = 0; i < n; i++)
					sizes[i] = i == first || i == second ? 0 : 20;
				for (int i = 0; i < n; i++)
					total += sizes[i];
				got = send_frame(bytes, sizes, n, 0, NULL);
				SAME("length", got->length, total);
				assert_memory_equal(got->bytes, bytes, total);
			}
}

/* --- offloads --------------------------------------------------------------------------------- */

static struct netif_extra_info gso_of(const struct frame_spec *spec)
{
	return (struct netif_extra_info){
		.type = XEN_NETIF_EXTRA_TYPE_GSO,
		.u.gso = { .size = 1000, .type = spec->ip_version == 4 ? XEN_NETIF_GSO_TYPE_TCPV4
								       : XEN_NETIF_GSO_TYPE_TCPV6 },
	};
}

static void check_offload(const struct frame_spec *spec, const struct frame_layout *at,
			  const struct fake_sent *got, bool gso, const uint8_t *partial)
{
	SAME(spec->name, got->length, at->length);
	SAME(spec->name, got->vnet.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
	SAME(spec->name, got->vnet.csum_start, at->transport);
	SAME(spec->name, got->vnet.csum_start + got->vnet.csum_offset, at->checksum);
	SAME(spec->name, got->vnet.gso_size, gso ? 1000 : 0);
	SAME(spec->name, got->vnet.hdr_len, gso ? at->payload : 0);
	assert_memory_equal(got->bytes, partial, at->length);
}

static void split_header(const struct frame_spec *spec, uint32_t first, uint32_t second)
{
	struct netif_extra_info gso = gso_of(spec);
	uint8_t whole[2048], partial[2048];
	const struct fake_sent *got;
	struct frame_layout at;
	uint32_t sizes[3] = { first, second };

	frame_build(whole, spec, &at);
	if (first + second > at.length)
		return;
	sizes[2] = at.length - first - second;
	memcpy(partial, whole, sizeof partial);
	frame_blank_checksum(partial, spec, &at);
	got = send_frame(partial, sizes, 3, NETTXF_csum_blank, NULL);
	check_offload(spec, &at, got, false, partial);
	if (spec->protocol != IPPROTO_TCP)
		return;
	got = send_frame(partial, sizes, 3, NETTXF_csum_blank, &gso);
	check_offload(spec, &at, got, true, partial);
	got = send_frame(whole, sizes, 3, 0, &gso);
	check_offload(spec, &at, got, true, partial);	/* mended */
}

static void headers_split_at_every_byte(void **state)
{
	uint32_t tcp = 0, rounds = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(frame_specs); i++)
		for (uint32_t first = 0; first < 250; first++)
			for (uint32_t second = 0; second <= 20; second += 10) {
				uint64_t before = world->state.tx_frames;

				split_header(&frame_specs[i], first, second);
				rounds += world->state.tx_frames > before;
				tcp += world->state.tx_frames - before == 3;
			}
	assert_in_range(rounds, 5000, 20000);
	assert_int_equal(world->state.tx_gso_frames, 2 * tcp);
	assert_int_equal(world->state.tx_gso_checksum_fixup, tcp);
}

static void the_largest_gso_frame(void **state)
{
	const struct frame_spec spec = { "64k", 0, 4, 0, 0, IPPROTO_TCP, 12, 65535 - 66 };
	struct netif_extra_info gso = gso_of(&spec);
	uint32_t sizes[NETIF_SLOTS_MAX];
	uint8_t *partial = malloc(65535);
	const struct fake_sent *got;
	struct frame_layout at;

	(void)state;
	frame_build(bytes, &spec, &at);
	memcpy(partial, bytes, 65535);
	frame_blank_checksum(partial, &spec, &at);
	got = send_frame(bytes, sizes, slots_of(65535, sizes), 0, &gso);
	check_offload(&spec, &at, got, true, partial);
	free(partial);
}

static void one_frame_of_all_slots_and_one_byte_each(void **state)
{
	const struct frame_spec spec = { "tiny", 0, 4, 0, 0, IPPROTO_UDP, 0, 0 };
	uint32_t sizes[NETIF_SLOTS_MAX];
	const struct fake_sent *got;
	uint8_t frame[64];
	struct frame_layout at;

	(void)state;
	frame_build(frame, &spec, &at);	/* 42 bytes: what slots of one byte leave is in the last */
	frame_blank_checksum(frame, &spec, &at);
	for (uint32_t i = 0; i < NETIF_SLOTS_MAX; i++)
		sizes[i] = i + 1 < NETIF_SLOTS_MAX ? 1 : at.length - (NETIF_SLOTS_MAX - 1);
	got = send_frame(frame, sizes, NETIF_SLOTS_MAX, NETTXF_csum_blank, NULL);
	check_offload(&spec, &at, got, false, frame);
}

/* --- copies and ports that fail --------------------------------------------------------------- */

/* Three frames of 1, 3 and 2 slots, the middle one with an extra: 6 operations. */
static void post_three(void)
{
	const struct netif_extra_info hash = { .type = XEN_NETIF_EXTRA_TYPE_HASH };

	world_tx_slot(100, 0, 0);
	world_tx_slot(300, 0, NETTXF_more_data | NETTXF_extra_info);
	world_tx_extra(&hash);
	world_tx_slot(100, 0, NETTXF_more_data);
	world_tx_slot(100, 0, 0);
	world_tx_slot(200, 0, NETTXF_more_data);
	world_tx_slot(100, 0, 0);
	world_tx_publish();
}

static void a_failed_copy_costs_its_frame_only(void **state)
{
	static const int frame_of_operation[] = { 0, 1, 1, 1, 2, 2 };
	static const int frame_of_answer[] = { 0, 1, 1, 1, 1, 2, 2 };

	for (uint32_t failing = 0; failing < 6; failing++)
		for (int16_t status = GNTST_eagain; status < GNTST_okay; status++) {
			int16_t statuses[NETIF_RING_SIZE];

			world_setup(state);
			fake.fail_operation = failing;
			fake.fail_status = status;
			post_three();
			SAME("run", world_tx_run(), 0);
			SAME("answers", world_tx_answers(statuses), 7);
			for (int i = 0; i < 7; i++)
				SAME("status", statuses[i], i == 2 ? NETIF_RSP_NULL :
				     frame_of_answer[i] == frame_of_operation[failing] ?
				     NETIF_RSP_ERROR : NETIF_RSP_OKAY);
			SAME("sent", fake_port_of(world->port)->sent_count, 2);
			SAME("verdict", world_tx_verdict(GUEST_TX_COPY_FAILED), 1);
			world_teardown(state);
		}
}

static void a_failed_call_costs_the_burst(void **state)
{
	int16_t statuses[NETIF_RING_SIZE];

	(void)state;
	fake.fail_copy_call = true;
	post_three();
	assert_int_equal(world_tx_run(), 0);
	assert_int_equal(world_tx_answers(statuses), 7);
	assert_int_equal(world_tx_verdict(GUEST_TX_COPY_FAILED), 3);
	assert_int_equal(fake_port_of(world->port)->sent_count, 0);
}

static void a_reference_that_is_not_ours_is_an_error(void **state)
{
	int16_t statuses[NETIF_RING_SIZE];

	(void)state;
	world_tx_slot(100, 0, 0);
	first_slot()->gref = 0xdeadbeef;
	world_tx_publish();
	assert_int_equal(world_tx_run(), 0);
	assert_int_equal(world_tx_answers(statuses), 1);
	assert_int_equal(statuses[0], NETIF_RSP_ERROR);
}

static void what_the_port_says_is_counted_and_hidden_from_the_guest(void **state)
{
	static const enum guest_tx_verdict verdicts[] = {
		GUEST_TX_SENT, GUEST_TX_PORT_FULL, GUEST_TX_PORT_DOWN, GUEST_TX_PORT_ERROR,
	};

	for (size_t i = 0; i < COUNT_OF(verdicts); i++) {
		int16_t statuses[NETIF_RING_SIZE];

		world_setup(state);
		fake_port_of(world->port)->send_verdict = verdicts[i];
		post_three();
		SAME("run", world_tx_run(), 0);
		SAME("answers", world_tx_answers(statuses), 7);
		SAME("status", statuses[0], NETIF_RSP_OKAY);
		SAME("verdict", world_tx_verdict(verdicts[i]), 3);
		SAME("bytes", world->state.tx_bytes, verdicts[i] == GUEST_TX_SENT ? 600 : 0);
		world_teardown(state);
	}
}

/* The guest rewrites its slots after we read them, while we copy (XSA-155). */
static void rewrite_slots(void)
{
	union netif_tx_sring_entry *slots = world->tx_ring->ring;

	for (uint32_t i = 0; i < NETIF_RING_SIZE; i++)
		memset(&slots[i].req, 0xff, sizeof slots[i].req);
	world->tx_ring->req_prod += 1000;
}

static void slots_rewritten_after_they_were_read_change_nothing(void **state)
{
	int16_t statuses[NETIF_RING_SIZE];

	(void)state;
	fake.on_copy = rewrite_slots;
	fill_bytes();
	memcpy(world_tx_page(), bytes, 1000);
	post_three();
	assert_int_equal(guest_tx_poll(&world->tx), 7);
	assert_int_equal(world_tx_answers(statuses), 7);
	assert_int_equal(fake_port_of(world->port)->sent_count, 3);
	assert_int_equal(sent(0)->length, 100);
	assert_int_equal(sent(1)->length, 300);
	assert_memory_equal(sent(0)->bytes, bytes, 100);
	assert_int_equal(guest_tx_poll(&world->tx), -EPROTO);
}

static uint32_t published_at_send;

static void note_published(void)
{
	published_at_send = world->tx_ring->rsp_prod;
	first_slot()->size = 60000;	/* too late to matter */
	memset(fake.guest[WORLD_START % 256], 0xff, 4096);
}

static void the_guest_is_answered_before_the_port_is_called(void **state)
{
	(void)state;
	fake_port_of(world->port)->on_send = note_published;
	fill_bytes();
	memcpy(world_tx_page(), bytes, 100);
	world_tx_slot(100, 0, 0);
	world_tx_publish();
	assert_int_equal(guest_tx_poll(&world->tx), 1);
	assert_int_equal(published_at_send, WORLD_START + 1);
	assert_memory_equal(sent(0)->bytes, bytes, 100);
}

/* A burst of the largest frames takes more pages than there are: it is cut, not overrun. */
static void bursts_end_with_the_pages(void **state)
{
	int16_t statuses[NETIF_RING_SIZE];
	uint32_t sizes[NETIF_SLOTS_MAX];
	int slots = slots_of(65535, sizes), n;

	(void)state;
	fill_bytes();
	for (int i = 0; i < 256 / slots; i++)
		world_tx_frame(bytes, sizes, slots, 0, NULL);
	world_tx_publish();
	n = guest_tx_poll(&world->tx);
	assert_in_range(n, slots, TX_PAGES_MAX);
	assert_int_equal(world_tx_run(), 0);
	assert_int_equal(world_tx_answers(statuses), 256 / slots * slots);
	assert_int_equal(fake_port_of(world->port)->sent_count, 256 / slots);
	for (int i = 0; i < 256 / slots; i++)
		assert_memory_equal(sent(i)->bytes, bytes, 65535);
}

/* Small slots lie together, so that the hypervisor need not look up a page of ours for each: a burst
 * of the smallest frames fits into one page, frames of 1514 bytes two to a page.  None overlap. */
static void small_frames_share_pages(void **state)
{
	static const struct { uint16_t length; int frames, pages; } table[] = {
		{ 60, 64, 1 }, { 64, 64, 1 }, { 65, 64, 2 }, { 1514, 64, 32 }, { 2048, 64, 32 },
		{ 2049, 64, 64 }, { 4096, 64, 64 },
	};

	(void)state;
	fill_bytes();
	for (size_t row = 0; row < COUNT_OF(table); row++) {
		const uint32_t size = table[row].length;

		for (int i = 0; i < table[row].frames; i++)
			world_tx_frame(bytes + i, &size, 1, 0, NULL);
		world_tx_publish();
		SAME("requests", guest_tx_poll(&world->tx), table[row].frames);
		SAME("pages", world->tx.page + 1, table[row].pages);
	}
	for (int i = 0; i < fake_port_of(world->port)->sent_count; i++)
		assert_memory_equal(sent(i)->bytes, bytes + i % 64, sent(i)->length);
}

static void fewer_pages_than_a_frame_needs_do_not_open(void **state)
{
	(void)state;
	for (int pages = 1; pages <= TX_PAGES_MAX + 1; pages++) {
		guest_tx_close(&world->tx);
		guest_tx_close(&world->tx);	/* once too often */
		SAME("open", guest_tx_open(&world->tx, pages),
		     pages < (int)TX_PAGES_MIN ? -ENOMEM : 0);
		SAME("pages", world->tx.page_count, pages < TX_PAGES_MAX ? pages : TX_PAGES_MAX);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_length_arrives),
		cmocka_unit_test(plain_buffers_serve_as_well),
		TEST(empty_slots_in_every_place),
		TEST(headers_split_at_every_byte),
		TEST(the_largest_gso_frame),
		TEST(one_frame_of_all_slots_and_one_byte_each),
		cmocka_unit_test(a_failed_copy_costs_its_frame_only),
		TEST(a_failed_call_costs_the_burst),
		TEST(a_reference_that_is_not_ours_is_an_error),
		cmocka_unit_test(what_the_port_says_is_counted_and_hidden_from_the_guest),
		TEST(slots_rewritten_after_they_were_read_change_nothing),
		TEST(the_guest_is_answered_before_the_port_is_called),
		TEST(bursts_end_with_the_pages),
		TEST(small_frames_share_pages),
		TEST(fewer_pages_than_a_frame_needs_do_not_open),
	};

	return cmocka_run_group_tests_name("guest_tx_frames", tests, NULL, NULL);
}
