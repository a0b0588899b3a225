/* fuzz_guest_rx.c - hostile receive requests, and any frames behind any virtio headers
 *
 * The input is a program of commands (enum command).  After every delivery the answers in the ring
 * are read as a frontend reads them: each whole frame must be the next one queued that this guest can
 * take, its bytes in the pages that its requests named and not one byte beyond, every answer in the
 * place and with the id of its request.  Verdicts and what is queued add up to frames, nothing is
 * held that is not queued, and a frame that fits what is posted does not wait.  A frame that the guest does
 * not cut must come in the segments that segment.c (which has a twin) makes of it, in any number of deliveries. */
#include "../../backend/offload.h"
#include "../../backend/oversize.h"
#include "ring_world.h"

#define RING_PAGE ((uint8_t *)world->rx_ring)
#define PAGES 32u			/* that requests may name: 256 and on; and the ring's own */
#define FIRST_PAGE 256u
#define GIVEN_MAX 400
#define POKES_MAX 16

enum command {
	POST,		/* how many, page of the first, id */
	POST_RUN,	/* 64 that are right */
	PUBLISH,
	GIVE_SMALL,	/* length, flags, spec, header */
	GIVE_LARGE,	/* length * 256 and so on */
	RECEIVE,	/* how many at most */
	DELIVER,
	ARM,
	AGE,		/* ms / 64 */
	FLUSH,
	SCRIBBLE,	/* offset in the ring page, word */
	POKE_IN_COPY,
	FAIL_COPY,
	LIMITS, HASH,		/* frames, kilobytes, age */
	COMMANDS
};

struct poke { uint16_t offset; uint32_t word; };
struct record {				/* of a frame that the port has had */
	const struct frame *frame;
	struct virtio_net_hdr_v1 vnet;
	uint8_t *bytes;
	uint32_t length;
};

static struct {
	uint32_t prod;
	int64_t now_ms;
	bool broken;
	_Alignas(8) uint8_t expected[XEN_PAGE];	/* the ring page, as it has to be */
	uint8_t pages[PAGES][XEN_PAGE];		/* likewise */
	struct poke in_copy[POKES_MAX];
	int in_copy_count;
	struct record given[GIVEN_MAX];
	int given_count;
	const struct record *cutting;		/* of the frame at the queue's head, if the guest has part of it */
	uint32_t pieces;			/* segments of it that it has */
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

static void reset(struct fuzz_input *input)
{
	static const uint32_t mtus[] = { FRAME_LENGTH_MAX_GUEST_RX - 14, 1500, 9000, 100 };
	uint32_t start = fuzz_u8(input) - 128u;

	ring_world_reset();
	memset(&guest, 0, sizeof guest);
	memset(guest.pages, 0x5a, sizeof guest.pages);
	memcpy(fake.guest[FIRST_PAGE], guest.pages, sizeof guest.pages);
	memset(RING_PAGE, 0, XEN_PAGE);
	world->rx_ring->req_prod = world->rx_ring->rsp_prod = guest.prod = start;
	world->rx_ring->rsp_event = start + 1;
	CHECK(ring_rx_attach(&world->rx.ring, world->rx_ring) == 0);
	world->rx.fault = NULL;
	world->rx.features = fuzz_u8(input);
	world->rx.mtu = mtus[world->rx.features >> 6];
	world->rx.features &= VIF_F_ALL;
	memset(&world->rx.hash, 0, sizeof world->rx.hash);
	world->rx.headroom = 0;
	world->rx.queue.head = world->rx.queue.tail = start;
	world->rx.queue.limits = (struct queue_limits){ 64, QUEUE_BYTES_MIN, 1000 };
	fake.on_copy = poke_in_copy;
}

/* --- what must hold behind a delivery --------------------------------------------------------- */

static struct record *given_of(const struct frame *frame)
{
	for (int i = guest.given_count; i-- > 0; )	/* the latest: memory is used again */
		if (guest.given[i].frame == frame)
			return &guest.given[i];
	return NULL;
}

/* The guest's page behind a reference, as it has to be; NULL if there is none. */
static uint8_t *expected_page(uint32_t ref, const uint8_t **real)
{
	if (ref == WORLD_RX_RING) {
		*real = RING_PAGE;
		return guest.expected;
	}
	*real = NULL;
	if (ref < FIRST_PAGE || ref >= FIRST_PAGE + PAGES)
		return NULL;
	*real = fake.guest[ref];
	return guest.pages[ref - FIRST_PAGE];
}

/* How the frames that were queued stand in the ring. */
struct reading {
	_Alignas(8) uint8_t before[XEN_PAGE];	/* the ring page, with the requests */
	uint32_t index, end;
	uint64_t delivered, failed, refused;
};

static union netif_rx_sring_entry *request_at(struct reading *reading, uint32_t index)
{
	return &((struct netif_rx_sring *)reading->before)->ring[index % NETIF_RING_SIZE];
}

static const union ring_rx_answer *answer_at(uint32_t index)
{
	return &world->rx.answers[index - (world->rx.ring.rsp - world->rx.answer_count)];
}

static void check_slot(struct reading *reading, const struct record *given, const uint8_t *bytes,
		       uint32_t offset, uint32_t to, uint16_t flags, bool failed)
{
	const struct netif_rx_response *answer = &answer_at(reading->index)->response;
	const struct netif_rx_request *request = &request_at(reading, reading->index)->req;
	uint32_t n = given->length - offset < XEN_PAGE - to ? given->length - offset : XEN_PAGE - to;
	const uint8_t *real;
	uint8_t *page = expected_page(request->gref, &real);

	CHECK(reading->index != reading->end);
	CHECK(answer->id == request->id && answer->offset == to);
	CHECK(answer->status == (failed ? NETIF_RSP_ERROR : (int)n));
	CHECK(answer->flags == (flags | (offset + n < given->length ? NETRXF_more_data : 0)));
	CHECK(failed || request->gref < FAKE_PAGES);
	if (page)		/* of a frame that failed in part anything may have arrived */
		memcpy(page + to, failed ? real + to : bytes + offset, n);
	reading->index++;
}

/* The extras a frame must have, in their order: how many. */
static int make_extras_twin(const struct record *given, const uint8_t *bytes,
			    const struct offload_to_guest *offload, struct netif_extra_info extras[3])
{
	uint32_t type, value;
	int count = 0;

	memset(extras, 0, 3 * sizeof *extras);
	if (offload->has_gso)
		extras[count++] = offload->gso;
	if (hash_is_on(&world->rx.hash) && hash_frame(&world->rx.hash, bytes, given->length, &type, &value)) {
		extras[count].type = XEN_NETIF_EXTRA_TYPE_HASH;
		extras[count].u.hash.algorithm = 1;
		while (type >>= 1)
			extras[count].u.hash.type++;
		memcpy(extras[count++].u.hash.value, &value, sizeof value);	/* we are little endian */
	}
	if (world->rx.headroom) {
		extras[count].type = 5;
		extras[count++].u.pad[0] = (uint16_t)world->rx.headroom;
	}
	for (int i = 0; i + 1 < count; i++)
		extras[i].flags = XEN_NETIF_EXTRA_FLAG_MORE;
	return count;
}

static void check_frame(struct reading *reading, const struct record *given, const uint8_t *bytes,
			const struct offload_to_guest *offload)
{
	bool failed = answer_at(reading->index)->response.status < 0;
	uint16_t flags = offload->flags;
	struct netif_extra_info extras[3];
	uint32_t first = XEN_PAGE - world->rx.headroom;
	int count = make_extras_twin(given, bytes, offload, extras);

	if (count > 0)
		flags |= NETRXF_extra_info;
	check_slot(reading, given, bytes, 0, world->rx.headroom, flags, failed);
	for (int i = 0; i < count; i++) {
		CHECK(reading->index != reading->end);
		CHECK(memcmp(answer_at(reading->index++), &extras[i], sizeof extras[i]) == 0);
	}
	for (uint32_t at = first; at < given->length; at += XEN_PAGE)
		check_slot(reading, given, bytes, at, 0, 0, failed);
	CHECK(!failed || fake.fail_copy_call || fake.copy_operations > 0);
	*(failed ? &reading->failed : &reading->delivered) += 1;
}

/* What the engine makes of this frame for this guest, on a copy. */
static enum guest_rx_verdict offload_copy(const struct record *given, uint8_t *bytes,
					  struct offload_to_guest *offload)
{
	struct segment segment = { bytes, given->length, NULL };
	struct frame frame = { .vnet = given->vnet, .segment_count = 1, .length = given->length,
			       .segments = &segment };

	memcpy(bytes, given->bytes, given->length);
	return offload_to_guest(&frame, world->rx.features, offload);
}

static bool is_cut_twin(const struct record *given)
{
	uint32_t takes = offload_of_features(world->rx.features);
	uint8_t type = given->vnet.gso_type & 0x7f;

	return (type == 1 && !(takes & OFFLOAD_TSO4)) || (type == 4 && !(takes & OFFLOAD_TSO6));
}

/* False if it cannot be cut; else @s gives segments that fit the MTU. */
static bool begin_twin(const struct record *given, struct segmentation *s)
{
	bool four = (given->vnet.gso_type & 0x7f) == 1;
	bool partial = world->rx.features & (four ? VIF_F_CSUM_IPV4 : VIF_F_CSUM_IPV6);
	struct virtio_net_hdr_v1 vnet = given->vnet;

	for (;; vnet.gso_size--) {
		if (segment_begin(s, given->bytes, given->length, &vnet,
				  partial ? SEGMENT_CHECKSUM_PARTIAL : SEGMENT_CHECKSUM_WHOLE, 1 << 17) != 0)
			return false;
		if (s->length_max <= world->rx.mtu + s->layout.network)
			return true;
	}
}

/* The segments of a frame that came in this delivery: all that are left if it was @popped. */
static void check_pieces(struct reading *reading, const struct record *given, bool popped)
{
	uint32_t done = given == guest.cutting ? guest.pieces : 0, number = 0;
	uint8_t *bytes = malloc(given->length), *after = malloc(given->length);
	struct record piece = { 0 };
	struct segmentation s;

	if (!begin_twin(given, &s)) {
		CHECK(done == 0);
		reading->refused += popped;	/* else its turn has not come */
		s.count = 0;
	}
	while (number < s.count && (popped || number < done || reading->index != reading->end)) {
		struct offload_to_guest offload;

		piece.length = segment_next(&s, bytes);
		piece.bytes = bytes;
		piece.vnet = s.vnet;
		if (number++ < done)
			continue;
		CHECK(offload_copy(&piece, after, &offload) == GUEST_RX_DELIVERED && !offload.has_gso);
		check_frame(reading, &piece, after, &offload);
	}
	CHECK(popped || s.count == 0 || number < s.count);
	guest.cutting = popped || number == 0 ? NULL : given;
	guest.pieces = number;
	free(bytes);
	free(after);
}

/* Goes through the frames as they were queued, until the answers are used up. */
static void check_frames(struct reading *reading, const struct record *const queued[], int count)
{
	int popped = count - (int)rx_queue_count(&world->rx.queue);

	CHECK(popped >= 0);
	for (int i = 0; i < popped; i++) {
		struct offload_to_guest offload;
		uint8_t *bytes;

		if (is_cut_twin(queued[i])) {
			check_pieces(reading, queued[i], true);
			continue;
		}
		bytes = malloc(queued[i]->length);
		if (offload_copy(queued[i], bytes, &offload) == GUEST_RX_DELIVERED)
			check_frame(reading, queued[i], bytes, &offload);
		else
			reading->refused++;
		free(bytes);
	}
	if (popped < count && is_cut_twin(queued[popped]))
		check_pieces(reading, queued[popped], false);
	CHECK(reading->index == reading->end);
}

static void check_state(void)
{
	const struct queue_state *state = &world->state;
	uint64_t verdicts = 0;

	for (int i = 0; i < GUEST_RX_VERDICT_COUNT; i++)
		verdicts += state->rx_verdicts[i];
	CHECK(verdicts + state->rx_queued_frames == state->rx_frames);
	CHECK(state->rx_queued_frames == rx_queue_count(&world->rx.queue));
	CHECK(fake_port_of(world->port)->held == (int)state->rx_queued_frames);
	CHECK(world->rx.ring.cons == world->rx.ring.rsp);
	CHECK(state->rx_notifies == fake.notified[FAKE_LOCAL(WORLD_RX_PORT)]);
	CHECK(fake.crossings == 0);
}

static void check_memory(uint32_t before, uint64_t notified)
{
	struct netif_rx_sring *expected = (struct netif_rx_sring *)guest.expected;
	uint32_t now = world->rx.ring.rsp;

	for (uint32_t i = before; i != now; i++)
		memcpy(&expected->ring[i % NETIF_RING_SIZE], answer_at(i), 8);
	if (before != now)
		expected->rsp_prod = now;
	CHECK(memcmp(guest.expected, RING_PAGE, XEN_PAGE) == 0);
	CHECK(memcmp(guest.pages, fake.guest[FIRST_PAGE], sizeof guest.pages) == 0);
	CHECK(fake.notified[FAKE_LOCAL(WORLD_RX_PORT)] - notified ==
	      ring_world_wants_event(before, now, world->rx_ring->rsp_event));
}

/* Nothing was done although the first frame needs no more than there is. */
static void check_no_stall(int result, int count, const struct record *first, uint32_t posted)
{
	uint32_t need, length, most = world->rx.mtu + 22;

	if (result != 0 || count == 0 || (int)rx_queue_count(&world->rx.queue) < count)
		return;
	length = is_cut_twin(first) && first->length > most ? most : first->length;
	need = (world->rx.headroom + length + XEN_PAGE - 1) / XEN_PAGE +
	       (first->vnet.gso_type != 0 && !is_cut_twin(first)) +
	       hash_is_on(&world->rx.hash) + (world->rx.headroom > 0);
	CHECK(need > posted);
}

/* What was scribbled over the ring may name pages that are write protected: a guest may do that to
 * itself, but then no fault would tell a copy that goes astray. */
static void tame_requests(void)
{
	const uint8_t *real;

	for (int i = 0; i < (int)NETIF_RING_SIZE; i++) {
		struct netif_rx_request *request = &world->rx_ring->ring[i].req;

		if (request->gref < FAKE_PAGES && !expected_page(request->gref, &real))
			request->gref = FIRST_PAGE + request->gref % PAGES;
	}
}

/* What was too long for the MTU waits in the queue only if it is to be cut now. */
static bool leave_to_cut(struct record *given)
{
	struct segment segment = { given->bytes, given->length, NULL };
	struct frame frame = { .vnet = given->vnet, .segment_count = 1, .length = given->length,
			       .segments = &segment };
	bool good = !oversize_is(&frame, world->rx.mtu) || oversize_leave_to_cut(&frame, world->rx.mtu);

	given->vnet = frame.vnet;
	return good;
}

static int deliver(void)
{
	static struct reading reading;
	static const struct record *queued[QUEUE_FRAMES_LIMIT];
	int count = (int)rx_queue_count(&world->rx.queue), result;
	uint64_t notified = fake.notified[FAKE_LOCAL(WORLD_RX_PORT)];
	uint32_t before = world->rx.ring.rsp, posted = world->rx_ring->req_prod - before;

	if (guest.broken)
		return 0;
	tame_requests();
	memcpy(guest.expected, RING_PAGE, XEN_PAGE);
	memcpy(reading.before, RING_PAGE, XEN_PAGE);
	for (int i = 0; i < count; i++) {
		struct record *given = given_of(rx_queue_peek(&world->rx.queue, (uint32_t)i));

		CHECK(leave_to_cut(given));
		queued[i] = given;
	}
	reading.delivered = reading.failed = reading.refused = 0;
	world->rx.answer_count = 0;
	result = guest_rx_deliver(&world->rx);
	reading.index = before;
	reading.end = world->rx.ring.rsp;
	CHECK(reading.end - before <= posted || posted > NETIF_RING_SIZE);
	check_frames(&reading, queued, count);
	guest.broken = result < 0;
	CHECK(guest.broken == (count > 0 && posted > NETIF_RING_SIZE));
	if (!guest.broken)
		CHECK(result == (int)(reading.delivered + reading.failed));
	check_no_stall(result, count, queued[0], posted);
	check_memory(before, notified);
	check_state();
	return guest.broken ? 0 : result + (int)reading.refused;
}

static void arm(void)
{
	const struct frame *head = rx_queue_peek(&world->rx.queue, 0);
	bool work;

	if (guest.broken)
		return;
	memcpy(guest.expected, RING_PAGE, XEN_PAGE);
	work = guest_rx_arm(&world->rx);
	if (head) {
		uint32_t need = world->rx_ring->req_event - world->rx.ring.cons;

		CHECK(need >= 1 && need <= RX_SLOTS_MAX);
		CHECK(work == (world->rx_ring->req_prod - world->rx.ring.cons >= need));
		((struct netif_rx_sring *)guest.expected)->req_event = world->rx_ring->req_event;
	} else {
		CHECK(!work);
	}
	CHECK(memcmp(guest.expected, RING_PAGE, XEN_PAGE) == 0);
}

/* --- the guest and the port ------------------------------------------------------------------- */

static void post(uint32_t count, uint8_t choice, uint16_t id)
{
	for (uint32_t i = 0; i < count; i++, guest.prod++) {
		uint32_t gref = choice < 0xe0 ? FIRST_PAGE + (choice + i) % PAGES :
				choice < 0xf0 ? WORLD_RX_RING : FAKE_PAGES + choice - 0xf0;

		world->rx_ring->ring[guest.prod % NETIF_RING_SIZE].req = (struct netif_rx_request){
			.id = (uint16_t)(id + i), .gref = gref,
		};
	}
}

static void set_headers(uint8_t *bytes, uint8_t which)
{
	static const uint8_t heads[][60] = {
		"\2\0\0\0\0\1\2\0\0\0\0\2\x77\x77",
		"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0\x45\0\5\xdc\0\0\x40\0\x40\6",	/* TCP over IPv4 */
		"\2\0\0\0\0\1\2\0\0\0\0\2\x86\xdd\x60\0\0\0\5\xa0\6\x40",	/* TCP over IPv6 */
		"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0\x45\0\5\xdc\0\0\x40\0\x40\x11",	/* UDP over IPv4 */
	};

	memcpy(bytes, heads[which % 4], sizeof heads[0]);
	bytes[which % 4 == 2 ? 66 : 46] = 0x50;
}

static void set_vnet(struct fuzz_input *input, uint8_t choice, struct virtio_net_hdr_v1 *vnet)
{
	static const uint16_t starts[] = { 0, 34, 54, 34 }, offsets[] = { 0, 16, 16, 6 };

	if (choice & 0x80) {
		fuzz_bytes(input, (uint8_t *)vnet, sizeof *vnet);
		return;
	}
	vnet->flags = choice & 4 ? VIRTIO_NET_HDR_F_NEEDS_CSUM : choice & 8 ? VIRTIO_NET_HDR_F_DATA_VALID : 0;
	vnet->csum_start = starts[choice % 4];
	vnet->csum_offset = offsets[choice % 4];
	if (choice & 16)
		vnet->gso_type = choice & 32 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4;
	vnet->gso_size = choice & 16 ? 1448 : 0;
}

static void give(struct fuzz_input *input, uint32_t length)
{
	static uint8_t bytes[1 << 17];
	struct record *given = &guest.given[guest.given_count];
	uint8_t choice = fuzz_u8(input), where = fuzz_u8(input);

	if (guest.given_count == GIVEN_MAX || length == 0)
		return;
	guest.given_count++;
	memset(bytes, choice ^ 0x33, length < 80 ? 80 : length);
	set_headers(bytes, choice);
	bytes[length - 1] ^= where;
	memset(&given->vnet, 0, sizeof given->vnet);
	set_vnet(input, choice, &given->vnet);
	fake_port_granted = where & 1;
	given->frame = fake_port_give(world->port, bytes, length, where * 16u % XEN_PAGE, &given->vnet);
	fake_port_granted = true;
	given->length = length;
	given->bytes = malloc(length);
	memcpy(given->bytes, bytes, length);
}

static void add_poke(struct fuzz_input *input, struct poke pokes[], int *count)
{
	struct poke poke = { fuzz_u16(input) % (XEN_PAGE - 4), fuzz_u32(input) };

	if (poke.offset < 64)
		poke.word = world->rx.ring.cons + (int8_t)poke.word;
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

static void fail_copy(struct fuzz_input *input)
{
	uint8_t nth = fuzz_u8(input);

	fake.fail_copy_call = nth == 0xff;
	fake.fail_operation = fake.copy_operations + nth;
	fake.fail_status = GNTST_bad_gntref;
}

static void set_limits(struct fuzz_input *input)
{
	struct queue_limits *limits = &world->rx.queue.limits;

	limits->frames = 1 + fuzz_u8(input);
	limits->bytes = 1 + fuzz_u8(input) * 1024u;
	limits->age_ms = 1 + fuzz_u8(input) * 16u;
}

/* And headroom, which the frames on their way meet like those that come. */
static void choose_hash(struct fuzz_input *input)
{
	struct hash_config *hash = &world->rx.hash;

	hash->algorithm = fuzz_u8(input) % 2;
	hash->types = fuzz_u8(input) % 16;
	fuzz_bytes(input, hash->key, 8);
	world->rx.headroom = fuzz_u8(input) % 2 ? fuzz_u16(input) % (XDP_HEADROOM_MAX + 1) : 0;
}

static void age(uint8_t by)
{
	guest.now_ms += by * 64;
	guest_rx_age(&world->rx, (struct mono){ guest.now_ms * 1000000 });
}

static void run_command(struct fuzz_input *input)
{
	uint32_t count;
	uint8_t choice;

	switch ((enum command)(fuzz_u8(input) % COMMANDS)) {
	case POST:
		count = fuzz_u8(input) % 20 + 1;
		choice = fuzz_u8(input);
		post(count, choice, fuzz_u8(input));
		break;
	case POST_RUN: post(64, 0, (uint16_t)guest.prod); break;
	case PUBLISH: world->rx_ring->req_prod = guest.prod; break;
	case GIVE_SMALL: give(input, fuzz_u8(input)); break;
	case GIVE_LARGE: give(input, (fuzz_u16(input) + (input->left % 8 == 7) * 0xff00u)); break;
	case RECEIVE: guest_rx_receive(&world->rx, fuzz_u8(input)); break;
	case DELIVER: deliver(); break;
	case ARM: arm(); break;
	case AGE: age(fuzz_u8(input)); break;
	case FLUSH: guest_rx_flush(&world->rx, GUEST_RX_DISCONNECTED); break;
	case SCRIBBLE: scribble(input); break;
	case POKE_IN_COPY: add_poke(input, guest.in_copy, &guest.in_copy_count); break;
	case FAIL_COPY: fail_copy(input); break;
	case LIMITS: set_limits(input); break;
	case HASH: choose_hash(input); break;
	case COMMANDS: break;
	}
	check_state();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	ring_world_start();
	ring_world_protect(FIRST_PAGE, PAGES, WORLD_RX_RING);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };

	reset(&input);
	while (input.left > 0)
		run_command(&input);
	while (guest_rx_receive(&world->rx, RX_BURST) > 0)
		;
	world->rx_ring->req_prod = guest.prod;
	while (deliver() > 0)
		;
	guest_rx_flush(&world->rx, GUEST_RX_DISCONNECTED);
	check_state();
	for (int i = 0; i < guest.given_count; i++)
		free(guest.given[i].bytes);
	return 0;
}
