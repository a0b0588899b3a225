/* fuzz_control_ring.c - a hostile guest's control ring
 *
 * The input posts requests, fills the page they name, scribbles over the ring, also while a page is being
 * copied, and has it served.  Whatever it does: each request is answered once, in order, with its id and a status
 * of netif.h; the configuration is always one that hash_config_is_good() accepts, and if it changed that was told;
 * nothing but the ring's answers is written into the guest. */
#include <unistd.h>

#include "../../backend/control_ring.h"
#include "../unit/fake_xen.c"
#include "fuzz.h"

#define RING_REF 3u
#define DATA_REF 5u
#define PORT 9u

enum command { POST, POST_LIKELY, PUBLISH, SERVE, FILL, SCRIBBLE, POKE_IN_COPY, FAIL_COPY, COMMANDS };

static struct control_ring control;
static struct gref_map maps[VIF_QUEUES_MAX];
static xengnttab_handle *gnttab;
static struct xen_netif_ctrl_sring *ring;
static uint32_t prod;
static bool broken;
static int event_end;
static struct { uint32_t offset, word; bool set; } in_copy;

static void poke(uint32_t offset, uint32_t word)
{
	memcpy(fake.guest[RING_REF] + offset % (XEN_PAGE - 4), &word, sizeof word);
}

static void poke_in_copy(void)
{
	if (in_copy.set)
		poke(in_copy.offset, in_copy.word);
	memset(fake.guest[DATA_REF] + 8, (int)in_copy.word, 16);
}

static void open_world(uint32_t start, uint32_t queues)
{
	static const struct hash_config none;
	struct vif_config config = {
		.guest = FAKE_GUEST, .self = FAKE_SELF, .queue_count = queues,
		.control_ring_ref = RING_REF, .control_port = PORT,
	};
	char why[160];

	fake_xen_setup();
	gnttab = xengnttab_open(NULL, 0);
	ring = (struct xen_netif_ctrl_sring *)fake.guest[RING_REF];
	memset(ring, 0, XEN_PAGE);
	ring->req_prod = ring->rsp_prod = prod = start;
	broken = false;
	in_copy.set = false;
	for (uint32_t i = 0; i < queues; i++)
		gref_map_open(&maps[i], gnttab, FAKE_GUEST, GREF_MAP_MAX / queues);
	fake.on_copy = poke_in_copy;
	CHECK(control_ring_open(&control, &(struct control_setup){ &config, gnttab, fake_evtchn_fd(&event_end),
								    &none, maps, NULL, NULL }, why, sizeof why) == 0);
}

static void close_world(void)
{
	control_ring_close(&control);
	for (uint32_t i = 0; i < control.queues; i++)
		gref_map_close(&maps[i]);
	close(event_end);
	xengnttab_close(gnttab);
	fake_xen_teardown();
}

static void post(uint16_t type, uint32_t a, uint32_t b, uint32_t c)
{
	ring->ring[prod % NETIF_CONTROL_RING_SIZE].req = (struct xen_netif_ctrl_request){
		.id = (uint16_t)prod, .type = type, .data = { a, b, c },
	};
	prod++;
}

/* Answers from @before on: as many as requests, each of netif.h's statuses. */
static void check_answers(uint32_t before, uint32_t published)
{
	/* The guest may have scribbled over what we did not write since. */
	CHECK(ring->rsp_prod == control.ring.rsp || in_copy.set || control.ring.rsp == before);
	CHECK(control.ring.rsp == control.ring.cons && control.ring.rsp - before <= published - before);
	if (in_copy.set)
		return;
	for (uint32_t i = before; i != control.ring.rsp; i++) {
		const struct xen_netif_ctrl_response *answer = &ring->ring[i % NETIF_CONTROL_RING_SIZE].rsp;

		CHECK(answer->status <= XEN_NETIF_CTRL_STATUS_BUFFER_OVERFLOW);
		CHECK(answer->status == 0 || answer->data == 0 ||
		      answer->type == XEN_NETIF_CTRL_TYPE_DEL_GREF_MAPPING);
	}
}

/* Every page that is mapped is found, and as many as are counted; the ring is one more. */
static void check_maps(void)
{
	uint32_t sum = 0;

	for (uint32_t queue = 0; queue < control.queues; queue++) {
		struct gref_map *map = &maps[queue], *entered = gref_map_enter(map);
		uint32_t count = 0;

		for (uint32_t i = 0; i < GREF_MAP_MAX; i++) {
			uint8_t byte;

			if (!map->pages[i].page)
				continue;
			count++;
			CHECK(gref_map_read(entered, map->pages[i].ref, 0, &byte, 1));
			CHECK(map->pages[i].page == fake.guest[map->pages[i].ref]);
		}
		gref_map_leave(entered);
		CHECK(count == map->count && count <= map->limit);
		sum += count;
	}
	CHECK(fake.mapped == (int)sum + 1);
}

static void serve(void)
{
	struct hash_config hash = control.hash;
	uint32_t before = control.ring.rsp, published = ring->req_prod;
	int result;

	if (broken)
		return;
	result = control_ring_serve(&control);
	CHECK(result == 0 || result == -EPROTO);
	broken = result != 0;
	CHECK(broken == (control.fault != NULL));
	check_answers(before, published);
	CHECK(hash_config_is_good(&control.hash, control.queues));
	check_maps();
	CHECK(control.hash_changed == (memcmp(&hash, &control.hash, sizeof hash) != 0));
	CHECK(fake.crossings == 0);
}

static void post_likely(struct fuzz_input *input)
{
	uint8_t type = fuzz_u8(input) % 12, count = fuzz_u8(input);

	switch (type) {
	case XEN_NETIF_CTRL_TYPE_SET_HASH_KEY:
	case XEN_NETIF_CTRL_TYPE_SET_HASH_MAPPING:
		post(type, DATA_REF, count, fuzz_u8(input));
		break;
	case XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING:
	case XEN_NETIF_CTRL_TYPE_DEL_GREF_MAPPING:
		post(type, fuzz_u8(input), DATA_REF, count);
		break;
	default:
		post(type, count, 0, 0);
	}
}

static void run_command(struct fuzz_input *input)
{
	uint32_t a, b;

	switch ((enum command)(fuzz_u8(input) % COMMANDS)) {
	case POST:
		a = fuzz_u32(input);
		b = fuzz_u32(input);
		post(fuzz_u16(input), a, b, fuzz_u32(input));
		break;
	case POST_LIKELY: post_likely(input); break;
	case PUBLISH: ring->req_prod = prod; break;
	case SERVE: serve(); break;
	case FILL:
		a = fuzz_u8(input) * 4u;
		fuzz_bytes(input, fake.guest[DATA_REF] + a, fuzz_u8(input));
		break;
	case SCRIBBLE:
		a = fuzz_u16(input);
		poke(a, a < 16 ? control.ring.cons + (uint32_t)(int8_t)fuzz_u8(input) : fuzz_u32(input));
		break;
	case POKE_IN_COPY:
		in_copy.offset = fuzz_u16(input);
		in_copy.word = fuzz_u32(input);
		in_copy.set = true;
		break;
	case FAIL_COPY:
		fake.fail_operation = fake.copy_operations + fuzz_u8(input);
		fake.fail_status = GNTST_bad_gntref;
		break;
	case COMMANDS: break;
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint32_t start = fuzz_u8(&input) - 128u;

	open_world(start, 1 + fuzz_u8(&input) % VIF_QUEUES_MAX);
	while (input.left > 0)
		run_command(&input);
	close_world();
	return 0;
}
