/* rx_world.c - what the tests of guest_rx have in common: frames given, delivered and read back
 *
 * Included by them. */
#include "../../backend/guest_rx.c"
#include "frame_specs.h"
#include "frames.c"
#include "unit.h"
#include "world.c"

#define LENGTH_MAX FRAME_LENGTH_MAX_GUEST_RX
#define MS(ms) ((struct mono){ (ms) * NS_PER_MS })

static uint8_t bytes[17 * 4096];

static int setup(void **state)
{
	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 241 + i / 256 * 13 + 5);
	return world_setup(state);
}

/* What a frontend makes of the next frame's answers. */
struct received {
	int slots;			/* answers, the extra included */
	uint16_t flags;			/* of the first, without more_data and extra_info */
	bool has_extra, failed;
	struct netif_extra_info extra;
	uint32_t length;
	uint8_t bytes[18 * 4096];
};

static void read_slot(struct received *got, const struct netif_rx_response *response)
{
	uint32_t at = (uint32_t)got->slots;
	const uint8_t *page = world_rx_page(at);

	SAME("id", response->id, world->rx_posted[(world->rx_seen + at) % NETIF_RING_SIZE]);
	SAME("offset", response->offset, 0);
	got->slots++;
	if (response->status < 0) {
		got->failed = true;
		return;
	}
	SAME("status", response->status > 0 && response->status <= 4096, 1);
	memcpy(got->bytes + got->length, page, (size_t)response->status);
	got->length += (uint32_t)response->status;
	for (int i = response->status; i < 4096; i++)
		SAME("behind the bytes", page[i], 0x5a);
	if (response->flags & NETRXF_more_data && response->status < 4096)
		fail_msg("a slot that is not full has more behind it");
}

static void read_frame(struct received *got)
{
	struct netif_rx_response response;

	memset(got, 0, offsetof(struct received, bytes));
	do {
		SAME("published", got->slots < world_rx_published(), 1);
		response = world_rx_answer((uint32_t)got->slots).response;
		read_slot(got, &response);
		if (got->slots > 1)
			SAME("flags of later slots", response.flags & ~NETRXF_more_data, 0);
		else
			got->flags = response.flags;
		if (response.flags & NETRXF_extra_info) {
			got->has_extra = true;
			got->extra = world_rx_answer((uint32_t)got->slots++).extra;
			SAME("one extra", got->extra.flags, 0);
			SAME("nothing else in it", got->extra.u.gso.features, 0);
		}
	} while (response.flags & NETRXF_more_data);
	got->flags &= (uint16_t)~(NETRXF_more_data | NETRXF_extra_info);
	world_rx_seen(got->slots);
}

static void give(uint32_t length, uint32_t offset)
{
	fake_port_give(world->port, bytes, length, offset, NULL);
	while (guest_rx_receive(&world->rx, RX_BURST) > 0)
		;
}

static void check_frame(uint32_t length, uint32_t offset)
{
	static struct received got;
	int slots = (int)((length + 4095) / 4096);

	give(length, offset);
	world_rx_post(slots - 1);
	SAME("too few buffers", guest_rx_deliver(&world->rx), 0);
	world_rx_post(1);
	SAME("deliver", guest_rx_deliver(&world->rx), 1);
	read_frame(&got);
	SAME("slots", got.slots, slots);
	SAME("length", got.length, length);
	SAME("flags", got.flags, 0);
	SAME("extra", got.has_extra, false);
	assert_memory_equal(got.bytes, bytes, length);
	SAME("nothing more", world_rx_published(), 0);
}

static struct virtio_net_hdr_v1 vnet_of(const struct frame_spec *spec,
					const struct frame_layout *at, bool gso)
{
	struct virtio_net_hdr_v1 vnet = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.csum_start = (uint16_t)at->transport,
		.csum_offset = (uint16_t)(at->checksum - at->transport),
	};

	if (gso) {
		vnet.gso_type = spec->ip_version == 4 ? VIRTIO_NET_HDR_GSO_TCPV4
						      : VIRTIO_NET_HDR_GSO_TCPV6;
		vnet.gso_size = 1440;
	}
	return vnet;
}
