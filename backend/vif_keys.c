/* vif_keys.c - the XenStore keys of a vif; see vif_keys.h */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vif_keys.h"

/* MTU of a TAP: 65535 less the Ethernet header (drivers/net/tun.c, MAX_MTU). */
#define MTU_MIN 68
#define MTU_MAX 65521
#define MTU_DEFAULT 1500
#define MTU_WITHOUT_SG 1500		/* one slot must hold it (xen-netback, xenvif_close) */

const struct vif_offer vif_offers[] = {
	{ "feature-sg", "1" },
	{ "feature-gso-tcpv4", "1" },
	{ "feature-gso-tcpv6", "1" },
	{ "feature-ipv6-csum-offload", "1" },
	{ "feature-rx-copy", "1" },
	{ "feature-rx-flip", "0" },		/* some frontends want to see both */
	{ "feature-split-event-channels", "1" },
	{ NULL, NULL },
};

/* Keys that stand for a bit of features: "0" or "1". */
static const struct { const char *key; uint32_t bit; bool inverted; } feature_keys[] = {
	{ "feature-sg",                VIF_F_SG,        false },
	{ "feature-gso-tcpv4",         VIF_F_GSO_TCPV4, false },
	{ "feature-gso-tcpv6",         VIF_F_GSO_TCPV6, false },
	{ "feature-no-csum-offload",   VIF_F_CSUM_IPV4, true },	/* absent: offload is on */
	{ "feature-ipv6-csum-offload", VIF_F_CSUM_IPV6, false },	/* absent: offload is off */
	{ "feature-rx-notify",         VIF_F_RX_NOTIFY, false },
};

struct reader {
	vif_key_read *read;
	void *context;
	char *why;
	size_t why_size;
};

void vif_keys_quote(const char *value, char *out, size_t size)
{
	size_t used = 0;

	for (; *value && used + 5 <= size; value++) {
		unsigned char c = (unsigned char)*value;

		if (isprint(c) && c != '\\')
			out[used++] = (char)c;
		else
			used += (size_t)snprintf(out + used, size - used, "\\x%02x", c);
	}
	out[used] = '\0';
}

static int refuse(const struct reader *reader, const char *key, const char *value,
		  uint32_t min, uint32_t max)
{
	char quoted[VIF_KEY_VALUE_MAX * 4];

	vif_keys_quote(value, quoted, sizeof quoted);
	snprintf(reader->why, reader->why_size, "%s is '%s', must be a number from %u to %u", key,
		 quoted, min, max);
	return -EINVAL;
}

/* Decimal digits only: no sign, no blanks, nothing behind, no overflow. */
static bool parse_number(const char *value, uint32_t *number)
{
	uint64_t n = 0;

	if (*value == '\0')
		return false;
	for (; *value; value++) {
		if (*value < '0' || *value > '9')
			return false;
		n = n * 10 + (uint64_t)(*value - '0');
		if (n > UINT32_MAX)
			return false;
	}
	*number = (uint32_t)n;
	return true;
}

/* 0, -ENOENT without a word if the key is not there, or another error with the reason. */
static int read_number(const struct reader *reader, enum vif_key_side side, const char *key,
		       uint32_t min, uint32_t max, uint32_t *number)
{
	char value[VIF_KEY_VALUE_MAX];
	int error = reader->read(reader->context, side, key, value, sizeof value);

	if (error == -ENOENT)
		return error;
	if (error == -EMSGSIZE)
		return refuse(reader, key, "(too long)", min, max);
	if (error) {
		snprintf(reader->why, reader->why_size, "%s cannot be read: %s", key, strerror(-error));
		return error;
	}
	if (!parse_number(value, number) || *number < min || *number > max)
		return refuse(reader, key, value, min, max);
	return 0;
}

static int read_required(const struct reader *reader, const char *key, uint32_t min, uint32_t max,
			 uint32_t *number)
{
	int error = read_number(reader, VIF_KEY_FRONTEND, key, min, max, number);

	if (error == -ENOENT) {
		snprintf(reader->why, reader->why_size,
			 "%s is missing, must be a number from %u to %u", key, min, max);
		error = -EINVAL;
	}
	return error;
}

/* The split pair if its first key is there, else the one channel for both. */
static int read_event_channels(const struct reader *reader, struct queue_config *queue)
{
	int error = read_number(reader, VIF_KEY_FRONTEND, "event-channel-tx", 1, UINT32_MAX,
				&queue->tx_port);

	if (error == 0) {
		error = read_required(reader, "event-channel-rx", 1, UINT32_MAX, &queue->rx_port);
		if (error == 0 && queue->rx_port == queue->tx_port) {
			snprintf(reader->why, reader->why_size, "event-channel-tx and "
				 "event-channel-rx are both %u, they must differ", queue->tx_port);
			error = -EINVAL;
		}
		return error;
	}
	if (error != -ENOENT)
		return error;
	error = read_required(reader, "event-channel", 1, UINT32_MAX, &queue->tx_port);
	queue->rx_port = queue->tx_port;
	return error;
}

static int read_queue(const struct reader *reader, struct queue_config *queue)
{
	int error = read_required(reader, "tx-ring-ref", 0, UINT32_MAX, &queue->tx_ring_ref);

	if (!error)
		error = read_required(reader, "rx-ring-ref", 0, UINT32_MAX, &queue->rx_ring_ref);
	if (!error && queue->tx_ring_ref == queue->rx_ring_ref) {
		snprintf(reader->why, reader->why_size,
			 "tx-ring-ref and rx-ring-ref are both %u, they must differ",
			 queue->tx_ring_ref);
		error = -EINVAL;
	}
	return error ? error : read_event_channels(reader, queue);
}

static int read_features(const struct reader *reader, uint32_t *features)
{
	*features = 0;
	for (size_t i = 0; i < sizeof feature_keys / sizeof *feature_keys; i++) {
		uint32_t value = 0;
		int error = read_number(reader, VIF_KEY_FRONTEND, feature_keys[i].key, 0, 1, &value);

		if (error && error != -ENOENT)
			return error;
		if (value != feature_keys[i].inverted)
			*features |= feature_keys[i].bit;
	}
	return 0;
}

/* Data is only ever copied to the guest: flipping pages, which RHEL 5 can still ask for, is gone. */
static int read_rx_copy(const struct reader *reader)
{
	uint32_t copy = 0;
	int error = read_number(reader, VIF_KEY_FRONTEND, "request-rx-copy", 0, 1, &copy);

	if (error && error != -ENOENT)
		return error;
	if (copy == 1)
		return 0;
	snprintf(reader->why, reader->why_size, "request-rx-copy is %s, must be 1: this backend copies "
		 "and cannot flip pages; set the frontend to copy mode", error ? "missing" : "0");
	return -EINVAL;
}

static int read_mtu(const struct reader *reader, struct vif_config *config)
{
	int error;

	config->mtu = MTU_DEFAULT;
	error = read_number(reader, VIF_KEY_BACKEND, "mtu", MTU_MIN, MTU_MAX, &config->mtu);
	if (error && error != -ENOENT)
		return error;
	if (!(config->features & VIF_F_SG) && config->mtu > MTU_WITHOUT_SG)
		config->mtu = MTU_WITHOUT_SG;
	return 0;
}

int vif_keys_read(vif_key_read *read, void *context, struct vif_config *config,
		  char *why, size_t why_size)
{
	const struct reader reader = { read, context, why, why_size };
	int error = read_rx_copy(&reader);

	config->queue_count = 1;
	if (!error)
		error = read_queue(&reader, &config->queues[0]);
	if (!error)
		error = read_features(&reader, &config->features);
	if (!error)
		error = read_mtu(&reader, config);
	return error;
}
