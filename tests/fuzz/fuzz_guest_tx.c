/* fuzz_guest_tx.c - a hostile guest's transmit ring, and a naive twin that reads it too
 *
 * The input is a program of commands (enum command) that posts slots and extras, scribbles over ring
 * and pages, also in the middle of a poll: between our fetch and our copy, and between our answer and
 * our send.  The twin (tx_twin.h) reads the ring as it was when the poll began and says how many
 * requests are consumed, what each is answered, and which frames are sent.  After every poll the ring
 * page must be what it was, our answers in their slots and rsp_prod apart, byte for byte; the guest's
 * pages must be untouched; verdicts add up to frames. */
#include "ring_world.h"
#include "tx_twin.c"

#define RING_PAGE ((uint8_t *)world->tx_ring)
#define POKES_MAX 16

enum command {
	POST_SLOT,	/* page, offset, size, flags, id */
	POST_SMALL,	/* page, size: a whole frame of one slot */
	POST_EXTRA,	/* type, flags, GSO size, GSO type */
	POST_FRAME,	/* number of slots, size of each, flags */
	PUBLISH,
	POLL,
	SCRIBBLE,	/* offset in the ring page, word */
	POKE_IN_COPY,	/* likewise, in the next poll */
	POKE_IN_SEND,
	FILL_PAGE,	/* page, offset, length, bytes */
	FILL_HEADERS,	/* page, which: headers of a frame that has offloads */
	FAIL_COPY,	/* the nth operation from now on, or all of a call */
	PORT_SAYS,	/* verdict */
	ATTACH,		/* another backend takes over */
	COMMANDS
};

struct poke { uint16_t offset; uint32_t word; };

static struct {
	uint32_t prod;
	bool broken;
	_Alignas(8) uint8_t expected[XEN_PAGE];	/* the ring page, as it has to be */
	uint8_t pages[TWIN_PAGES][XEN_PAGE];	/* the guest's writable pages likewise */
	struct poke in_copy[POKES_MAX], in_send[POKES_MAX];
	int in_copy_count, in_send_count;
	bool sent;
} guest;

static void poke(uint8_t *page, const struct poke *poke)
{
	memcpy(page + poke->offset, &poke->word, sizeof poke->word);
}

static void poke_in_copy(void)
{
	for (int i = 0; i < guest.in_copy_count; i++) {
		poke(RING_PAGE, &guest.in_copy[i]);
		poke(guest.expected, &guest.in_copy[i]);
	}
	guest.in_copy_count = 0;
}

static void poke_in_send(void)
{
	for (int i = 0; i < guest.in_send_count; i++)
		poke(RING_PAGE, &guest.in_send[i]);
	guest.sent = true;
}

static void reset(struct fuzz_input *input)
{
	uint32_t start = fuzz_u8(input) - 128u;		/* around 2^32, and a little behind it */

	ring_world_reset();
	memset(&guest, 0, sizeof guest);
	memset(guest.pages, 0x5a, sizeof guest.pages);
	memcpy(fake.guest, guest.pages, sizeof guest.pages);
	memset(RING_PAGE, 0, XEN_PAGE);
	world->tx_ring->req_prod = world->tx_ring->rsp_prod = guest.prod = start;
	world->tx_ring->rsp_event = start + 1;
	CHECK(ring_tx_attach(&world->tx.ring, world->tx_ring) == 0);
	world->tx.fault = NULL;
	twin_start();
	multicast_clear(&world->multicast);
	fake.on_copy = poke_in_copy;
	fake_port_of(world->port)->on_send = poke_in_send;
}

/* --- a poll and what must hold behind it ------------------------------------------------------ */

static void put_expected_answer(uint32_t index, const struct twin_answer *want)
{
	union netif_tx_sring_entry *slots = ((struct netif_tx_sring *)guest.expected)->ring;
	struct netif_tx_response *answer = &slots[index % NETIF_RING_SIZE].rsp;
	struct netif_tx_response got;

	memcpy(&got, &world->tx_ring->ring[index % NETIF_RING_SIZE].rsp, sizeof got);
	if (guest.sent)
		memcpy(&got, &world->tx.answers[index - (world->tx.ring.rsp -
							 world->tx.answer_count)], sizeof got);
	CHECK(got.id == want->id);
	CHECK(got.status == want->status || (want->any_error && got.status == NETIF_RSP_ERROR));
	*answer = got;
}

static void check_sent(const struct twin_poll *twin)
{
	const struct fake_port *port = fake_port_of(world->port);
	int sent = 0;

	for (int i = 0; i < twin->frame_count; i++) {
		const struct twin_frame *frame = &twin->frames[i];
		const struct fake_sent *got = &port->sent[sent];
		uint32_t first = world->tx.ring.rsp - world->tx.answer_count;
		const struct netif_tx_response *answer =
			&world->tx.answers[frame->first_index - first];

		if (answer->status != NETIF_RSP_OKAY || frame->control)
			continue;
		CHECK(sent++ < port->sent_count);
		CHECK(got->length == frame->length && got->said_length == frame->length);
		twin_check_bytes(frame, (const uint8_t (*)[XEN_PAGE])fake.guest, got->bytes, &got->vnet);
	}
	CHECK(sent == port->sent_count);
}

static void check_state(const struct twin_poll *twin, uint64_t frames_before, uint32_t rsp_before)
{
	const struct queue_state *state = &world->state;
	uint64_t verdicts = 0;

	for (int i = 0; i < GUEST_TX_VERDICT_COUNT; i++)
		verdicts += state->tx_verdicts[i];
	CHECK(verdicts == state->tx_frames);
	CHECK(state->tx_frames == frames_before + (uint64_t)twin->frame_count + twin->fault);
	CHECK(world->tx.ring.cons == world->tx.ring.rsp);
	CHECK(world->tx.ring.rsp == rsp_before + twin->answer_count);
	CHECK(state->tx_notifies == fake.notified[FAKE_LOCAL(WORLD_TX_PORT)]);
	CHECK(fake.crossings == 0);
	CHECK((world->tx.fault != NULL) == twin->fault);
}

static void check_memory(const struct twin_poll *twin, uint32_t rsp_before, uint64_t notified)
{
	struct netif_tx_sring *expected = (struct netif_tx_sring *)guest.expected;

	for (uint32_t i = 0; i < twin->answer_count; i++)
		put_expected_answer(rsp_before + i, &twin->answers[i]);
	if (twin->answer_count > 0)
		expected->rsp_prod = rsp_before + twin->answer_count;
	CHECK(fake.notified[FAKE_LOCAL(WORLD_TX_PORT)] - notified ==
	      ring_world_wants_event(rsp_before, rsp_before + twin->answer_count,
				     expected->rsp_event));
	for (int i = 0; guest.sent && i < guest.in_send_count; i++)
		poke(guest.expected, &guest.in_send[i]);
	if (guest.sent)
		guest.in_send_count = 0;
	CHECK(memcmp(guest.expected, RING_PAGE, XEN_PAGE) == 0);
	CHECK(memcmp(guest.pages, fake.guest, sizeof guest.pages) == 0);
}

static int run_poll(void)
{
	static struct twin_poll twin;
	uint64_t frames = world->state.tx_frames;
	uint64_t notified = fake.notified[FAKE_LOCAL(WORLD_TX_PORT)];
	uint32_t rsp = world->tx.ring.rsp;
	int result;

	if (guest.broken)
		return 0;
	memcpy(guest.expected, RING_PAGE, XEN_PAGE);
	guest.sent = false;
	twin_run(&twin, world->tx_ring, world->tx.ring.cons, TX_PAGES_MAX, TX_BURST);
	twin_apply_copies(&twin, fake.copy_operations, fake.fail_operation, fake.fail_copy_call);
	result = guest_tx_poll(&world->tx);
	CHECK(result == (twin.fault ? -EPROTO : (int)twin.answer_count));
	check_sent(&twin);
	check_memory(&twin, rsp, notified);
	check_state(&twin, frames, rsp);
	fake_port_forget_sent(world->port);
	guest.broken = twin.fault;
	return result;
}

static void check_arm(void)
{
	bool work;

	if (guest.broken)
		return;
	memcpy(guest.expected, RING_PAGE, XEN_PAGE);
	work = guest_tx_arm(&world->tx);
	CHECK(work == (world->tx_ring->req_prod != world->tx.ring.cons));
	((struct netif_tx_sring *)guest.expected)->req_event = world->tx.ring.cons + 1;
	CHECK(memcmp(guest.expected, RING_PAGE, XEN_PAGE) == 0);
}

/* --- the guest -------------------------------------------------------------------------------- */

/* A reference to a page that may be written, to another one, or to none. */
static uint32_t gref_of(uint8_t choice)
{
	return choice < 0xc0 ? choice % TWIN_PAGES : choice < 0xf0 ? choice : FAKE_PAGES + choice - 0xf0;
}

static void post_slot(uint32_t gref, uint16_t offset, uint16_t size, uint16_t flags, uint16_t id)
{
	world->tx_ring->ring[guest.prod++ % NETIF_RING_SIZE].req = (struct netif_tx_request){
		.gref = gref, .offset = offset, .flags = flags, .id = id, .size = size,
	};
}

static void post_extra(struct fuzz_input *input)
{
	struct netif_extra_info extra = { .type = fuzz_u8(input) % 8, .flags = fuzz_u8(input) };

	extra.u.gso.size = fuzz_u16(input);
	extra.u.gso.type = fuzz_u8(input) % 8;
	memcpy(&world->tx_ring->ring[guest.prod++ % NETIF_RING_SIZE], &extra, sizeof extra);
}

/* A frame that is right by itself, of 1 to 24 slots, all of one size, an extra behind the first. */
static void post_frame(struct fuzz_input *input)
{
	uint8_t count = fuzz_u8(input) % 24 + 1, flags = fuzz_u8(input);
	uint16_t size = fuzz_u16(input) % 4097, id = fuzz_u8(input);

	post_slot(0, 0, (uint16_t)(size * count), (uint16_t)(flags & 0xb) | (count > 1 ? 4 : 0), id);
	if (flags & NETTXF_extra_info)
		post_extra(input);
	for (int i = 1; i < count; i++)
		post_slot((uint32_t)i % TWIN_PAGES, 0, size, i + 1 < count ? NETTXF_more_data : 0,
			  (uint16_t)(id + i));
}

static void add_poke(struct fuzz_input *input, struct poke pokes[], int *count)
{
	struct poke poke = { fuzz_u16(input) % (XEN_PAGE - 4), fuzz_u32(input) };

	if (poke.offset < 64)		/* an index: near where it is, else nothing goes on */
		poke.word = world->tx.ring.cons + (int8_t)poke.word;
	if (*count < POKES_MAX)
		pokes[(*count)++] = poke;
}

static void scribble(struct fuzz_input *input)
{
	struct poke now[1];
	int count = 0;

	add_poke(input, now, &count);
	poke(RING_PAGE, &now[0]);
}

static void fill_page(struct fuzz_input *input)
{
	uint32_t page = fuzz_u8(input) % TWIN_PAGES, offset = fuzz_u16(input) % XEN_PAGE;
	uint32_t length = fuzz_u8(input);

	if (length > XEN_PAGE - offset)
		length = XEN_PAGE - offset;
	length = (uint32_t)fuzz_bytes(input, &guest.pages[page][offset], length);
	memcpy(fake.guest[page], guest.pages[page], XEN_PAGE);
}

static void fill_headers(struct fuzz_input *input)
{
	static const uint8_t heads[][60] = {
		"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0\x45\0\5\xdc\0\0\x40\0\x40\6",	/* TCP over IPv4 */
		"\2\0\0\0\0\1\2\0\0\0\0\2\x86\xdd\x60\0\0\0\5\xa0\6\x40",	/* TCP over IPv6 */
		"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0\x45\0\5\xdc\0\0\x40\0\x40\x11",	/* UDP over IPv4 */
		"\2\0\0\0\0\1\2\0\0\0\0\2\x86\xdd\x60\0\0\0\5\xa0\x11\x40",	/* UDP over IPv6 */
	};
	uint32_t page = fuzz_u8(input) % TWIN_PAGES, which = fuzz_u8(input) % 4;

	memcpy(guest.pages[page], heads[which], sizeof heads[which]);
	guest.pages[page][which % 2 ? 66 : 46] = 0x50;	/* 20 bytes of TCP */
	memcpy(fake.guest[page], guest.pages[page], XEN_PAGE);
}

static void fail_copy(struct fuzz_input *input)
{
	uint8_t nth = fuzz_u8(input);

	fake.fail_copy_call = nth == 0xff;
	fake.fail_operation = fake.copy_operations + nth;
	fake.fail_status = GNTST_bad_gntref;
}

static void attach(void)
{
	if (!guest.broken)
		guest.broken = ring_tx_attach(&world->tx.ring, world->tx_ring) != 0;
}

static void run_command(struct fuzz_input *input)
{
	uint32_t page;

	switch ((enum command)(fuzz_u8(input) % COMMANDS)) {
	case POST_SLOT:
		page = gref_of(fuzz_u8(input));
		{
			uint16_t offset = fuzz_u16(input), size = fuzz_u16(input);
			uint16_t flags = fuzz_u8(input), id = fuzz_u16(input);

			post_slot(page, offset, size, flags, id);
		}
		break;
	case POST_SMALL:
		page = gref_of(fuzz_u8(input));
		post_slot(page, 0, fuzz_u8(input), 0, (uint16_t)guest.prod);
		break;
	case POST_EXTRA: post_extra(input); break;
	case POST_FRAME: post_frame(input); break;
	case PUBLISH: world->tx_ring->req_prod = guest.prod; break;
	case POLL: check_arm(); run_poll(); break;
	case SCRIBBLE: scribble(input); break;
	case POKE_IN_COPY: add_poke(input, guest.in_copy, &guest.in_copy_count); break;
	case POKE_IN_SEND: add_poke(input, guest.in_send, &guest.in_send_count); break;
	case FILL_PAGE: fill_page(input); break;
	case FILL_HEADERS: fill_headers(input); break;
	case FAIL_COPY: fail_copy(input); break;
	case PORT_SAYS:
		fake_port_of(world->port)->send_verdict = fuzz_u8(input) % 2 ? GUEST_TX_SENT
									     : GUEST_TX_PORT_FULL;
		break;
	case ATTACH: attach(); break;
	case COMMANDS: break;
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	ring_world_start();
	ring_world_protect(0, TWIN_PAGES, WORLD_TX_RING);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	int polls = 0;

	reset(&input);
	while (input.left > 0)
		run_command(&input);
	world->tx_ring->req_prod = guest.prod;
	while (run_poll() > 0)		/* each takes at least a request of at most a ring */
		CHECK(++polls <= (int)NETIF_RING_SIZE);
	return 0;
}
