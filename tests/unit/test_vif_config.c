/* test_vif_config.c - each field of a configuration at and beyond its limits */
#include "../../backend/vif_config.c"
#include "unit.h"

static struct vif_config good(void)
{
	struct vif_config config = {
		.version = VIF_CONFIG_VERSION, .guest = 7, .self = 0, .handle = 1, .slot = 2,
		.name = "vif7.1", .port_kind = "tap", .features = VIF_F_ALL, .mtu = 1500,
		.queue_count = 2,
		.queues = { { 8, 9, 21, 22 }, { 10, 11, 23, 23 } },
		.live.limits = { QUEUE_FRAMES_DEFAULT, QUEUE_BYTES_DEFAULT, QUEUE_AGE_MS_DEFAULT },
		.guest_tx_pages = 96, .guest_rx_granted_bytes = 64 * 4096,
	};

	return config;
}

static char why[160];

static int check(const struct vif_config *config)
{
	why[0] = '\0';
	return vif_config_check(config, why, sizeof why);
}

static void what_unetbackd_makes_is_good(void **state)
{
	struct vif_config config = good();

	(void)state;
	assert_int_equal(check(&config), 0);
}

#define ADDRESSES 32
#define OFFSET(member) #member, offsetof(struct vif_config, member)
static const struct row { const char *name; size_t offset; uint32_t min, max; } rows[] = {
	{ OFFSET(version), VIF_CONFIG_VERSION, VIF_CONFIG_VERSION },
	{ OFFSET(slot), 0, 15 },
	{ OFFSET(mtu), 68, 65535 },
	{ OFFSET(live.limits.frames), 1, 8192 },
	{ OFFSET(live.limits.bytes), 1 << 17, 64 << 20 },
	{ OFFSET(live.limits.age_ms), 1, 60000 },
	{ OFFSET(guest_tx_pages), FRAME_SEGMENTS_MAX, 1024 },
	{ OFFSET(guest_rx_granted_bytes), 0, 64 << 20 },
	{ OFFSET(live.multicast_control), 0, 1 },
	{ OFFSET(live.xdp_headroom), 0, 2048 },
	{ OFFSET(fresh), 0, 1 },
	{ OFFSET(pin), 0, 1 },
	{ OFFSET(csum), 0, 2 },
	{ OFFSET(antispoof.listed), 0, 1 },
	{ OFFSET(announce.times), 0, 10 },
	{ OFFSET(announce.count), 0, 4 },
	{ OFFSET(stall_ms), 0, 600000 },
	{ OFFSET(queues[0].tx_port), 1, 0x1ffff },
	{ OFFSET(queues[0].rx_port), 1, 0x1ffff },
	{ OFFSET(queues[1].tx_port), 1, 0x1ffff },
	{ OFFSET(queues[1].rx_port), 1, 0x1ffff },
	{ OFFSET(queues[0].tx_ring_ref), 1, UINT32_MAX },
	{ OFFSET(queues[1].rx_ring_ref), 1, UINT32_MAX },
};

static int with(const struct row *row, uint32_t value)
{
	struct vif_config config = good();

	memcpy((char *)&config + row->offset, &value, sizeof value);
	return check(&config);
}

static void every_field_keeps_its_range(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		SAME(rows[i].name, with(&rows[i], rows[i].min), 0);
		SAME(rows[i].name, with(&rows[i], rows[i].max), 0);
		if (rows[i].min > 0)
			SAME(rows[i].name, with(&rows[i], rows[i].min - 1), -EINVAL);
		if (rows[i].max < UINT32_MAX) {
			SAME(rows[i].name, with(&rows[i], rows[i].max + 1), -EINVAL);
			SAME(rows[i].name, with(&rows[i], UINT32_MAX), -EINVAL);
		}
	}
}

static void the_reason_names_field_value_and_range(void **state)
{
	struct vif_config config = good();

	(void)state;
	config.mtu = 67;
	assert_int_equal(check(&config), -EINVAL);
	assert_string_equal(why, "mtu is 67, must be 68 to 65535");
}

/* Each makes a good one bad. */
static void no_queues(struct vif_config *c) { c->queue_count = 0; }
static void nine_queues(struct vif_config *c) { c->queue_count = 9; }
static void reserved_guest(struct vif_config *c) { c->guest = 0x7ff0; }
static void reserved_self(struct vif_config *c) { c->self = 0x7ff0; }
static void unknown_feature(struct vif_config *c) { c->features |= VIF_F_ALL + 1; }
static void gso4_without_sg(struct vif_config *c) { c->features = VIF_F_GSO_TCPV4 | VIF_F_CSUM_IPV4; }
static void gso6_without_csum6(struct vif_config *c) { c->features &= ~VIF_F_CSUM_IPV6; }
static void no_name(struct vif_config *c) { c->name[0] = '\0'; }
static void wrong_name(struct vif_config *c) { strcpy(c->name, "vif7.2"); }
static void endless_name(struct vif_config *c) { memset(c->name, 'v', sizeof c->name); }
static void longer_name(struct vif_config *c) { strcpy(c->name, "vif7.1x"); }
static void no_kind(struct vif_config *c) { c->port_kind[0] = '\0'; }
static void endless_kind(struct vif_config *c) { memset(c->port_kind, 't', sizeof c->port_kind); }
static void same_refs(struct vif_config *c) { c->queues[1].rx_ring_ref = c->queues[1].tx_ring_ref; }
static void refs_across(struct vif_config *c) { c->queues[1].rx_ring_ref = c->queues[0].tx_ring_ref; }
static void ports_across(struct vif_config *c) { c->queues[1].tx_port = c->queues[0].rx_port; }
static void control_is_a_ring(struct vif_config *c) { c->control_ring_ref = 9; c->control_port = 5; }
static void control_is_a_channel(struct vif_config *c) { c->control_ring_ref = 5; c->control_port = 23; }
static void control_without_a_channel(struct vif_config *c) { c->control_ring_ref = 5; }
static void spoof_without_mac(struct vif_config *c) { c->antispoof.on = 1; }
static void spoof_2(struct vif_config *c) { c->mac[5] = 1; c->antispoof.on = 2; }
static struct antispoof_address *last_address(struct vif_config *c)
{
	for (uint32_t i = 0; i < ADDRESSES; i++)
		c->antispoof.addresses[i] = (struct antispoof_address){ .version = i % 2 ? 6 : 4, .prefix = 32 };
	c->antispoof.count = ADDRESSES;
	return &c->antispoof.addresses[ADDRESSES - 1];
}
static void address_of_5(struct vif_config *c) { last_address(c)->version = 5; }
static void prefix_33(struct vif_config *c)
{
	*last_address(c) = (struct antispoof_address){ .version = 4, .prefix = 33 };
}
static void prefix_129(struct vif_config *c) { last_address(c)->prefix = 129; }
static void huge_handle(struct vif_config *c) { c->handle = 65536; }

static const struct { const char *why; void (*spoil)(struct vif_config *); } bad[] = {
	{ "queue_count is 0, must be 1 to 8", no_queues },
	{ "queue_count is 9, must be 1 to 8", nine_queues },
	{ "guest is 32752, must be 0 to 32751", reserved_guest },
	{ "self is 32752, must be 0 to 32751", reserved_self },
	{ "features is 127, must be 0 to 63", unknown_feature },
	{ "features are 0xa, 0x2 needs 0x9", gso4_without_sg },
	{ "features are 0x2f, 0x4 needs 0x11", gso6_without_csum6 },
	{ "name is not vif7.1", no_name },
	{ "name is not vif7.1", wrong_name },
	{ "name is not vif7.1", longer_name },
	{ "name is not vif7.1", endless_name },
	{ "port_kind is empty or too long", no_kind },
	{ "port_kind is empty or too long", endless_kind },
	{ "ring reference 10 is both queue 1's tx and queue 1's rx, they must differ", same_refs },
	{ "ring reference 8 is both queue 0's tx and queue 1's rx, they must differ", refs_across },
	{ "event channel 22 is both queue 0's and queue 1's, they must differ", ports_across },
	{ "ctrl-ring-ref is 9, as a ring of queue 0, they must differ", control_is_a_ring },
	{ "event-channel-ctrl is 23, as a channel of queue 1, they must differ", control_is_a_channel },
	{ "ctrl-ring-ref is 5 and event-channel-ctrl 0, there must be both or none", control_without_a_channel },
	{ "anti-spoofing is on, but the toolstack has not said the guest's mac", spoof_without_mac },
	{ "antispoof.on is 2, must be 0 to 1", spoof_2 },
	{ "version of an address is 5, must be 4 to 6", address_of_5 },
	{ "prefix of an address is 33, must be 0 to 32", prefix_33 },
	{ "prefix of an address is 129, must be 0 to 128", prefix_129 },
	{ "handle is 65536, must be 0 to 65535", huge_handle },
};

static void a_full_list_is_good(void **state)
{
	struct vif_config config = good();

	(void)state;
	last_address(&config)->prefix = 128;
	config.antispoof.on = config.antispoof.listed = config.mac[0] = 1;
	assert_int_equal(check(&config), 0);
	config.antispoof.count++;
	assert_int_equal(check(&config), -EINVAL);
}

static void bad_ones_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct vif_config config = good();

		bad[i].spoil(&config);
		SAME(bad[i].why, check(&config), -EINVAL);
		assert_string_equal(why, bad[i].why);
	}
}

static void the_longest_name_fits(void **state)
{
	struct vif_config config = good();

	(void)state;
	config.guest = 32751;
	config.handle = 65535;
	strcpy(config.name, "vif32751.65535");
	assert_int_equal(check(&config), 0);
}

/* Queues that are not in use may hold anything. */
static void unused_queues_are_not_looked_at(void **state)
{
	struct vif_config config = good();

	(void)state;
	memset(&config.queues[2], 0xff, sizeof config.queues[2]);
	assert_int_equal(check(&config), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_unetbackd_makes_is_good),
		cmocka_unit_test(every_field_keeps_its_range),
		cmocka_unit_test(the_reason_names_field_value_and_range),
		cmocka_unit_test(a_full_list_is_good),
		cmocka_unit_test(bad_ones_are_refused),
		cmocka_unit_test(the_longest_name_fits),
		cmocka_unit_test(unused_queues_are_not_looked_at),
	};

	return cmocka_run_group_tests_name("vif_config", tests, NULL, NULL);
}
