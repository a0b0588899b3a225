/* test_guest_rx_extras.c - what a guest is told of a frame besides its bytes: GSO, hash, headroom */
#include "rx_world.c"

/* The extras of the next answer, which has @count of them, in ring order. */
static void take_extras(struct netif_extra_info extras[], int count)
{
	SAME("announced", !!(world_rx_answer(0).response.flags & NETRXF_extra_info), count > 0);
	for (int i = 0; i < count; i++) {
		extras[i] = world_rx_answer((uint32_t)i + 1).extra;
		SAME("more", extras[i].flags, i + 1 < count ? XEN_NETIF_EXTRA_FLAG_MORE : 0);
	}
}

/* The guest that chose a hash is told it of each frame that has one, behind the GSO extra. */
static void frames_are_told_their_hash(void **state)
{
	const struct frame_spec spec = { "tso4", 0, 4, 0, 0, IPPROTO_TCP, 0, 5000 };
	static uint8_t frame[6000];
	struct netif_extra_info extras[2];
	struct virtio_net_hdr_v1 vnet;
	struct frame_layout at;
	uint32_t type, value, told;

	(void)state;
	frame_build(frame, &spec, &at);
	frame_blank_checksum(frame, &spec, &at);
	vnet = vnet_of(&spec, &at, true);
	world->rx.hash = (struct hash_config){ .algorithm = HASH_TOEPLITZ, .types = HASH_TYPES_ALL, .key = { 9, 8, 7, 6 } };
	assert_true(hash_frame(&world->rx.hash, frame, at.length, &type, &value));
	fake_port_give(world->port, frame, at.length, 0, &vnet);
	fake_port_give(world->port, bytes, 60, 0, NULL);		/* no IP: no hash */
	assert_int_equal(guest_rx_receive(&world->rx, RX_BURST), 2);
	world_rx_post(3);
	assert_int_equal(guest_rx_deliver(&world->rx), 0);		/* two pages, two extras */
	world_rx_post(1 + 2);
	assert_int_equal(guest_rx_deliver(&world->rx), 2);
	take_extras(extras, 2);
	assert_int_equal(extras[0].type, XEN_NETIF_EXTRA_TYPE_GSO);
	assert_int_equal(extras[1].type, XEN_NETIF_EXTRA_TYPE_HASH);
	assert_int_equal(extras[1].u.hash.type, 1);			/* _XEN_NETIF_CTRL_HASH_TYPE_IPV4_TCP */
	assert_int_equal(extras[1].u.hash.algorithm, 1);
	memcpy(&told, extras[1].u.hash.value, sizeof told);
	assert_int_equal(le32toh(told), value);
	world_rx_seen(4);
	take_extras(extras, 0);
	world_rx_seen(1);
	assert_int_equal(world->state.rx_hashed, 1);
}

/* The first page is filled behind the headroom, the others whole; extra and offset say so. */
static void check_headroom(uint32_t headroom, uint32_t length)
{
	uint32_t slots = (headroom + length + 4095) / 4096, first = length < 4096 - headroom ? length : 4096 - headroom;
	struct netif_extra_info extra;
	const uint8_t *page;

	world->rx.headroom = headroom;
	give(length, 0);
	world_rx_post((int)slots);
	SAME("the extra needs a slot", guest_rx_deliver(&world->rx), 0);
	world_rx_post(1);
	SAME("deliver", guest_rx_deliver(&world->rx), 1);
	take_extras(&extra, 1);
	SAME("type", extra.type, 5);
	SAME("headroom", extra.u.pad[0], headroom);
	SAME("offset", world_rx_answer(0).response.offset, headroom);
	SAME("status", world_rx_answer(0).response.status, first);
	page = world_rx_page(0);
	for (uint32_t i = 0; i < headroom; i++)
		SAME("before it", page[i], 0x5a);
	assert_memory_equal(page + headroom, bytes, first);
	for (uint32_t i = 1, at = first; i < slots; i++) {
		const struct netif_rx_response response = world_rx_answer(i + 1).response;

		SAME("offset of later slots", response.offset, 0);
		assert_memory_equal(world_rx_page(i + 1), bytes + at, (size_t)response.status);
		at += (uint32_t)response.status;
		SAME("all of it", i + 1 < slots || at == length, true);
	}
	world_rx_seen((int)slots + 1);
}

static void headroom_for_an_xdp_program(void **state)
{
	static const uint32_t lengths[] = { 14, 60, 1514, 3840, 3841, 4096, 9014, 60000, LENGTH_MAX };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		check_headroom(256, lengths[i]);
		check_headroom(1, lengths[i]);
		check_headroom(XDP_HEADROOM_MAX, lengths[i]);
	}
	world->rx.headroom = 0;
	check_frame(1514, 0);
	world->rx.headroom = 256;
	world->rx.features &= ~VIF_F_SG;		/* one slot, less the headroom */
	give(3840, 0);
	give(3841, 0);
	assert_int_equal(world_rx_verdict(GUEST_RX_TOO_LARGE), 1);
	guest_rx_flush(&world->rx, GUEST_RX_DISCONNECTED);
}

/* Each data slot says so, no extra does. */
static void a_failed_copy_leaves_extras_alone(void **state)
{
	const struct frame_spec spec = { "tso4", 0, 4, 0, 0, IPPROTO_TCP, 0, 5000 };
	static uint8_t frame[6000];
	struct netif_extra_info extras[2];
	struct virtio_net_hdr_v1 vnet;
	struct frame_layout at;

	(void)state;
	frame_build(frame, &spec, &at);
	frame_blank_checksum(frame, &spec, &at);
	vnet = vnet_of(&spec, &at, true);
	world->rx.hash = (struct hash_config){ .algorithm = HASH_TOEPLITZ, .types = HASH_TYPES_ALL };
	fake_port_give(world->port, frame, at.length, 0, &vnet);
	guest_rx_receive(&world->rx, RX_BURST);
	world_rx_post(4);
	fake.fail_operation = fake.copy_operations + 1;
	fake.fail_status = GNTST_bad_gntref;
	assert_int_equal(guest_rx_deliver(&world->rx), 1);
	take_extras(extras, 2);
	assert_int_equal(extras[0].type, XEN_NETIF_EXTRA_TYPE_GSO);
	assert_int_equal(extras[1].type, XEN_NETIF_EXTRA_TYPE_HASH);
	assert_int_equal(world_rx_answer(0).response.status, NETIF_RSP_ERROR);
	assert_int_equal(world_rx_answer(3).response.status, NETIF_RSP_ERROR);
	world_rx_seen(4);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_are_told_their_hash),
		TEST(a_failed_copy_leaves_extras_alone),
		TEST(headroom_for_an_xdp_program),
	};

	return cmocka_run_group_tests_name("guest_rx_extras", tests, NULL, NULL);
}
