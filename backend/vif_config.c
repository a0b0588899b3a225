/* vif_config.c - checks a vif's configuration; see vif_config.h */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "frame.h"
#include "stall.h"
#include "vif_config.h"

#define DOMID_LIMIT 0x7ff0u	/* xen.h: DOMID_FIRST_RESERVED */

/* Fields that only have to lie in a range: one row each. */
#define FIELD(member) #member, offsetof(struct vif_config, member)
static const struct { const char *name; size_t offset; uint32_t min, max; } ranges[] = {
	{ FIELD(version),       VIF_CONFIG_VERSION, VIF_CONFIG_VERSION },
	{ FIELD(handle),        0, 65535 },
	{ FIELD(slot),          0, VIFS_PER_GUEST_MAX - 1 },
	{ FIELD(mtu),           68, 65535 },
	{ FIELD(csum),          CSUM_AUTO, CSUM_OFF },
	{ FIELD(antispoof.on),  0, 1 },
	{ FIELD(antispoof.listed), 0, 1 },
	{ FIELD(antispoof.count), 0, ANTISPOOF_ADDRESSES_MAX },
	{ FIELD(queue_count),   1, VIF_QUEUES_MAX },
	{ FIELD(live.limits.frames), 1, QUEUE_FRAMES_LIMIT },
	{ FIELD(live.limits.bytes),  QUEUE_BYTES_MIN, QUEUE_BYTES_LIMIT },
	{ FIELD(live.limits.age_ms), 1, QUEUE_AGE_MS_LIMIT },
	{ FIELD(control_port),  0, VIF_PORT_MAX },
	{ FIELD(live.multicast_control), 0, 1 },
	{ FIELD(live.xdp_headroom), 0, XDP_HEADROOM_MAX },
	{ FIELD(fresh),         0, 1 },
	{ FIELD(announce.times), 0, ANNOUNCE_TIMES_MAX },
	{ FIELD(announce.count), 0, ANNOUNCE_ADDRESSES_MAX },
	{ FIELD(stall_ms),      0, STALL_MS_LIMIT },
	{ FIELD(pin),           0, 1 },
	{ FIELD(guest_tx_pages), FRAME_SEGMENTS_MAX, 1024 },
	{ FIELD(guest_rx_granted_bytes), 0, QUEUE_BYTES_LIMIT },
};

static int refuse(char *why, unsigned int size, const char *name, uint32_t value,
		  uint32_t min, uint32_t max)
{
	snprintf(why, size, "%s is %u, must be %u to %u", name, value, min, max);
	return -EINVAL;
}

static int check_ranges(const struct vif_config *config, char *why, unsigned int size)
{
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		uint32_t value;

		memcpy(&value, (const char *)config + ranges[i].offset, sizeof value);
		if (value < ranges[i].min || value > ranges[i].max)
			return refuse(why, size, ranges[i].name, value, ranges[i].min, ranges[i].max);
	}
	return 0;
}

/* A ring or a channel that two queues share would be served by two threads. */
static int check_distinct(const struct vif_config *config, char *why, unsigned int size)
{
	for (uint32_t i = 0; i < config->queue_count * 2; i++)
		for (uint32_t j = 0; j < i; j++) {
			const struct queue_config *one = &config->queues[j / 2], *other = &config->queues[i / 2];
			uint32_t ref = i % 2 ? other->rx_ring_ref : other->tx_ring_ref;
			uint32_t port = i % 2 ? other->rx_port : other->tx_port;

			if (ref == (j % 2 ? one->rx_ring_ref : one->tx_ring_ref)) {
				snprintf(why, size, "ring reference %u is both queue %u's %s and queue %u's %s, "
					 "they must differ", ref, j / 2, j % 2 ? "rx" : "tx", i / 2,
					 i % 2 ? "rx" : "tx");
				return -EINVAL;
			}
			if (one != other && port == (j % 2 ? one->rx_port : one->tx_port)) {
				snprintf(why, size, "event channel %u is both queue %u's and queue %u's, they "
					 "must differ", port, j / 2, i / 2);
				return -EINVAL;
			}
		}
	return 0;
}

static int check_queue(const struct vif_config *config, uint32_t i, char *why, unsigned int size)
{
	const struct queue_config *queue = &config->queues[i];
	const struct { const char *name; uint32_t value, min, max; } rows[] = {
		{ "tx-ring-ref", queue->tx_ring_ref, VIF_REF_MIN, UINT32_MAX },
		{ "rx-ring-ref", queue->rx_ring_ref, VIF_REF_MIN, UINT32_MAX },
		{ "event channel for tx", queue->tx_port, 1, VIF_PORT_MAX },
		{ "event channel for rx", queue->rx_port, 1, VIF_PORT_MAX },
	};

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
		if (rows[r].value < rows[r].min || rows[r].value > rows[r].max)
			return refuse(why, size, rows[r].name, rows[r].value, rows[r].min, rows[r].max);
	return 0;
}

static int check_rates(const struct rate rates[RATE_KINDS], const char *name, char *why, unsigned int size)
{
	for (int i = 0; i < RATE_KINDS; i++)
		if (rates[i].units > RATE_UNITS_MAX || rates[i].usec > RATE_USEC_MAX) {
			snprintf(why, size, "%s[%d] is %" PRIu64 " in %" PRIu64 " us, must be at most %" PRIu64
				 " in %" PRIu64, name, i, rates[i].units, rates[i].usec, RATE_UNITS_MAX,
				 RATE_USEC_MAX);
			return -EINVAL;
		}
	return 0;
}

static int check_features(uint32_t features, char *why, unsigned int size)
{
	static const struct { uint32_t bit, needs; } rows[] = {
		{ VIF_F_GSO_TCPV4, VIF_F_GSO_TCPV4_NEEDS }, { VIF_F_GSO_TCPV6, VIF_F_GSO_TCPV6_NEEDS },
	};

	if (features & ~VIF_F_ALL)
		return refuse(why, size, "features", features, 0, VIF_F_ALL);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if ((features & rows[i].bit) && (features & rows[i].needs) != rows[i].needs) {
			snprintf(why, size, "features are 0x%x, 0x%x needs 0x%x", features, rows[i].bit,
				 rows[i].needs);
			return -EINVAL;
		}
	return 0;
}

/* Names that logs and thread names are made of: what they say must be true. */
static int check_names(const struct vif_config *config, char *why, unsigned int size)
{
	char expected[VIF_NAME_MAX];

	snprintf(expected, sizeof expected, "vif%u.%u", config->guest, config->handle);
	if (strncmp(config->name, expected, sizeof config->name) != 0) {
		snprintf(why, size, "name is not %s", expected);
		return -EINVAL;
	}
	if (config->port_kind[0] == '\0' ||
	    !memchr(config->port_kind, '\0', sizeof config->port_kind)) {
		snprintf(why, size, "port_kind is empty or too long");
		return -EINVAL;
	}
	return 0;
}

/* Both keys or none, and nothing that a queue has. */
static int check_control(const struct vif_config *config, char *why, unsigned int size)
{
	if ((config->control_ring_ref == 0) != (config->control_port == 0)) {
		snprintf(why, size, "ctrl-ring-ref is %u and event-channel-ctrl %u, there must be both or none",
			 config->control_ring_ref, config->control_port);
		return -EINVAL;
	}
	if (config->control_ring_ref == 0)
		return 0;
	for (uint32_t i = 0; i < config->queue_count; i++) {
		const struct queue_config *queue = &config->queues[i];

		if (config->control_ring_ref == queue->tx_ring_ref ||
		    config->control_ring_ref == queue->rx_ring_ref) {
			snprintf(why, size, "ctrl-ring-ref is %u, as a ring of queue %u, they must differ",
				 config->control_ring_ref, i);
			return -EINVAL;
		}
		if (config->control_port == queue->tx_port || config->control_port == queue->rx_port) {
			snprintf(why, size, "event-channel-ctrl is %u, as a channel of queue %u, they must differ",
				 config->control_port, i);
			return -EINVAL;
		}
	}
	return 0;
}

static int check_antispoof(const struct vif_config *config, char *why, unsigned int size)
{
	static const uint8_t none[6];

	if (config->antispoof.on && memcmp(config->mac, none, sizeof none) == 0) {
		snprintf(why, size, "anti-spoofing is on, but the toolstack has not said the guest's mac");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < config->antispoof.count; i++) {
		const struct antispoof_address *address = &config->antispoof.addresses[i];

		if (address->version != 4 && address->version != 6)
			return refuse(why, size, "version of an address", address->version, 4, 6);
		if (address->prefix > (address->version == 4 ? 32 : 128))
			return refuse(why, size, "prefix of an address", address->prefix, 0,
				      address->version == 4 ? 32 : 128);
	}
	return 0;
}

int vif_config_check(const struct vif_config *config, char *why, unsigned int size)
{
	int error = check_ranges(config, why, size);

	if (error)
		return error;
	if (config->guest >= DOMID_LIMIT)
		return refuse(why, size, "guest", config->guest, 0, DOMID_LIMIT - 1);
	if (config->self >= DOMID_LIMIT)
		return refuse(why, size, "self", config->self, 0, DOMID_LIMIT - 1);
	error = check_features(config->features, why, size);
	if (!error)
		error = check_names(config, why, size);
	if (!error)
		error = check_rates(config->live.tx_rates, "tx_rates", why, size);
	if (!error)
		error = check_rates(config->live.rx_rates, "rx_rates", why, size);
	for (uint32_t i = 0; !error && i < config->queue_count; i++)
		error = check_queue(config, i, why, size);
	if (!error)
		error = check_distinct(config, why, size);
	if (!error)
		error = check_antispoof(config, why, size);
	return error ? error : check_control(config, why, size);
}
