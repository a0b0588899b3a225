/* vif_keys.c - the XenStore keys of a vif; see vif_keys.h
 *
 * First every key of the table is read and checked alone, into a plain struct; then what must hold
 * between them is checked.  A key that a later protocol feature adds is a row, or an offer. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vif_keys.h"

const struct vif_offer vif_offers[] = {
	{ "feature-sg", "1" },
	{ "feature-gso-tcpv4", "1" },
	{ "feature-gso-tcpv6", "1" },
	{ "feature-ipv6-csum-offload", "1" },
	{ "feature-no-csum-offload", "0" },	/* may have been 1 before: vif_policy.c */
	{ "feature-rx-copy", "1" },
	{ "feature-rx-flip", "0" },		/* some frontends want to see both */
	{ "feature-split-event-channels", "1" },
	{ "multi-queue-max-queues", NULL },
	{ "feature-multicast-control", "1" },
	{ "feature-dynamic-multicast-control", "1" },
	{ "feature-ctrl-ring", "1" },
	{ "feature-xdp-headroom", "1" },
	{ NULL, NULL },
};
_Static_assert(sizeof vif_offers / sizeof *vif_offers <= VIF_OFFERS_MAX, "VIF_OFFERS_MAX");

#define VIF_KEY_NAME_MAX 48

/* 65535 less the Ethernet header: a frame's size has 16 bits in its first request (netif.h), and a TAP's MTU
 * ends there, too (drivers/net/tun.c, MAX_MTU). */
#define MTU_MIN 68
#define MTU_MAX 65521
#define MTU_DEFAULT 1500
#define MTU_WITHOUT_SG 1500		/* one slot must hold it (as in xen-netback) */

struct values {
	uint32_t rx_copy;
	uint32_t control_ring_ref, control_port;	/* 0: not there */
	uint32_t sg, no_csum4, csum6, gso4, gso6, rx_notify;
	uint32_t mtu;
};

struct queue_values {
	uint32_t tx_ring_ref, rx_ring_ref;
	uint32_t tx_port, rx_port, port;	/* 0: not there */
};

#define REQUIRED -1
#define INTO(member) offsetof(struct values, member)
#define INTO_QUEUE(member) offsetof(struct queue_values, member)
#define FRONT VIF_KEY_FRONTEND
#define BACK  VIF_KEY_BACKEND

struct key {
	const char *name;
	enum vif_key_side side;
	uint32_t min, max;
	int64_t absent;			/* the value of a key that is not there */
	size_t into;
};

static const struct key keys[] = {
	/* name                    written  range                       absent       into */
	{ "request-rx-copy",           FRONT, 0, 1,                     0,           INTO(rx_copy) },
	{ "ctrl-ring-ref",             FRONT, VIF_REF_MIN, UINT32_MAX,  0,           INTO(control_ring_ref) },
	{ "event-channel-ctrl",        FRONT, 1, VIF_PORT_MAX,          0,           INTO(control_port) },
	{ "feature-sg",                FRONT, 0, 1,                     0,           INTO(sg) },
	{ "feature-no-csum-offload",   FRONT, 0, 1,                     0,           INTO(no_csum4) },
	{ "feature-ipv6-csum-offload", FRONT, 0, 1,                     0,           INTO(csum6) },
	{ "feature-gso-tcpv4",         FRONT, 0, 1,                     0,           INTO(gso4) },
	{ "feature-gso-tcpv6",         FRONT, 0, 1,                     0,           INTO(gso6) },
	{ "feature-rx-notify",         FRONT, 0, 1,                     0,           INTO(rx_notify) },
	/* Never the frontend's copy: a guest that could write it would set the MTU of the bridge. */
	{ "mtu",                       BACK,  MTU_MIN, MTU_MAX,         MTU_DEFAULT, INTO(mtu) },
};

static const struct key queue_keys[] = {
	{ "tx-ring-ref",               FRONT, VIF_REF_MIN, UINT32_MAX,  REQUIRED,    INTO_QUEUE(tx_ring_ref) },
	{ "rx-ring-ref",               FRONT, VIF_REF_MIN, UINT32_MAX,  REQUIRED,    INTO_QUEUE(rx_ring_ref) },
	{ "event-channel-tx",          FRONT, 1, VIF_PORT_MAX,          0,           INTO_QUEUE(tx_port) },
	{ "event-channel-rx",          FRONT, 1, VIF_PORT_MAX,          0,           INTO_QUEUE(rx_port) },
	{ "event-channel",             FRONT, 1, VIF_PORT_MAX,          0,           INTO_QUEUE(port) },
};

struct reader {
	vif_key_read *read;
	void *context;
	char *why;
	size_t why_size;
	char folder[20];		/* of the keys being read: "" or "queue-N/" */
};

void vif_keys_quote(const char *value, char *out, size_t size)
{
	size_t used = 0;

	for (; *value && used + 5 <= size; value++) {
		unsigned char c = (unsigned char)*value;

		if (c >= ' ' && c <= '~' && c != '\\')
			out[used++] = (char)c;
		else
			used += (size_t)snprintf(out + used, size - used, "\\x%02x", c);
	}
	out[used] = '\0';
}

/* --- one key ---------------------------------------------------------------------------------- */

static int refuse(const struct reader *reader, const struct key *key, const char *is)
{
	snprintf(reader->why, reader->why_size, "%s%s %s, must be a number from %u to %u",
		 reader->folder, key->name, is, key->min, key->max);
	return -EINVAL;
}

static int refuse_value(const struct reader *reader, const struct key *key, const char *value)
{
	char quoted[VIF_KEY_VALUE_MAX * 2], is[sizeof quoted + 8];

	vif_keys_quote(value, quoted, sizeof quoted);
	snprintf(is, sizeof is, "is '%s'", quoted);
	return refuse(reader, key, is);
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

static int read_key(const struct reader *reader, const struct key *key, uint32_t *number)
{
	char value[VIF_KEY_VALUE_MAX], name[VIF_KEY_NAME_MAX];
	int error;

	snprintf(name, sizeof name, "%s%s", reader->folder, key->name);
	error = reader->read(reader->context, key->side, name, value, sizeof value);
	if (error == -ENOENT && key->absent != REQUIRED) {
		*number = (uint32_t)key->absent;
		return 0;
	}
	switch (error) {
	case 0:
		if (parse_number(value, number) && *number >= key->min && *number <= key->max)
			return 0;
		return refuse_value(reader, key, value);
	case -ENOENT:
		return refuse(reader, key, "is missing");
	case -EMSGSIZE:
		return refuse(reader, key, "is too long");
	case -EILSEQ:
		return refuse(reader, key, "has a NUL in it");
	default:
		snprintf(reader->why, reader->why_size, "%s cannot be read: %s", name, strerror(-error));
		return error;
	}
}

#define READ_TABLE(reader, table, values) read_table(reader, table, sizeof table / sizeof *table, values)

static int read_table(const struct reader *reader, const struct key table[], size_t rows, void *values)
{
	int error = 0;

	for (size_t i = 0; !error && i < rows; i++) {
		uint32_t number = 0;

		error = read_key(reader, &table[i], &number);
		memcpy((char *)values + table[i].into, &number, sizeof number);
	}
	return error;
}

/* --- what may change at any time --------------------------------------------------------------- */

/* libxl writes `rate` from the vif line's rate=, xapi from qos_algorithm_params:kbps; the others are ours. */
static const struct { const char *name; size_t into; } rate_keys[] = {
	{ "rate",                     offsetof(struct vif_live, tx_rates[RATE_BYTES]) },
	{ "unetback-rate-packets",    offsetof(struct vif_live, tx_rates[RATE_PACKETS]) },
	{ "unetback-rate-rx",         offsetof(struct vif_live, rx_rates[RATE_BYTES]) },
	{ "unetback-rate-packets-rx", offsetof(struct vif_live, rx_rates[RATE_PACKETS]) },
};

/* "UNITS,MICROSECONDS" in decimal digits.  0 of either is no limit, which must be said by leaving the key
 * out: it is more likely a mistake. */
static bool parse_rate(const char *value, struct rate *rate)
{
	char units[24], usec[24];
	int end = 0;

	if (sscanf(value, "%23[0-9],%23[0-9]%n", units, usec, &end) != 2 || value[end] != '\0')
		return false;
	rate->units = strtoull(units, NULL, 10);	/* more than fits: the largest, which is refused */
	rate->usec = strtoull(usec, NULL, 10);
	return rate_is_limited(rate) && rate->units <= RATE_UNITS_MAX && rate->usec <= RATE_USEC_MAX;
}

static void read_rates(vif_key_read *read, void *context, struct vif_live *live, char *why, size_t size)
{
	for (size_t i = 0; i < sizeof rate_keys / sizeof *rate_keys; i++) {
		char value[VIF_KEY_VALUE_MAX] = "", quoted[VIF_KEY_VALUE_MAX * 2];
		struct rate rate = { 0, 0 };
		int error = read(context, BACK, rate_keys[i].name, value, sizeof value);

		if (error || !parse_rate(value, &rate))
			rate = (struct rate){ 0, 0 };
		memcpy((char *)live + rate_keys[i].into, &rate, sizeof rate);
		if (error == -ENOENT || rate_is_limited(&rate) || *why != '\0')
			continue;
		vif_keys_quote(error ? strerror(-error) : value, quoted, sizeof quoted);
		snprintf(why, size, "%s is '%s', must be BYTES,MICROSECONDS (or packets), both above 0, such as "
			 "1250000,50000; there is no such limit now", rate_keys[i].name, quoted);
	}
}

void vif_keys_read_live(vif_key_read *read, void *context, struct vif_live *live, char *why, size_t size)
{
	static const struct key wishes[] = {
		{ "request-multicast-control", FRONT, 0, 1, 0, offsetof(struct vif_live, multicast_control) },
		{ "xdp-headroom", FRONT, 0, XDP_HEADROOM_MAX, 0, offsetof(struct vif_live, xdp_headroom) },
	};
	const struct reader reader = { read, context, why, size, "" };

	*why = '\0';
	for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
		uint32_t number = 0;

		if (read_key(&reader, &wishes[i], &number) != 0)
			number = 0;
		memcpy((char *)live + wishes[i].into, &number, sizeof number);
	}
	read_rates(read, context, live, why, size);
}

/* --- what must hold between keys -------------------------------------------------------------- */

static int refuse_equal(const struct reader *reader, const char *one, const char *other,
			uint32_t number)
{
	snprintf(reader->why, reader->why_size, "%s%s and %s are both %u, they must differ",
		 reader->folder, one, other, number);
	return -EINVAL;
}

/* Data is only ever copied to the guest: flipping pages, which RHEL 5 can still ask for, is gone. */
static int check_rx_copy(const struct reader *reader, const struct values *values)
{
	if (values->rx_copy == 1)
		return 0;
	snprintf(reader->why, reader->why_size, "request-rx-copy is missing or 0, must be 1: this "
		 "backend copies and cannot flip pages; set the frontend to copy mode");
	return -EINVAL;
}

/* The guest's MAC, which only the toolstack says; a vif without one is served all the same. */
static int read_mac(const struct reader *reader, uint8_t mac[6])
{
	char value[VIF_KEY_VALUE_MAX], quoted[VIF_KEY_VALUE_MAX * 2];
	int error = reader->read(reader->context, BACK, "mac", value, sizeof value), end = 0;

	memset(mac, 0, 6);
	if (error == -ENOENT)
		return 0;
	if (!error && sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0], &mac[1], &mac[2],
			     &mac[3], &mac[4], &mac[5], &end) == 6 && value[end] == '\0')
		return 0;
	vif_keys_quote(error ? strerror(-error) : value, quoted, sizeof quoted);
	snprintf(reader->why, reader->why_size, "mac is '%s', must be six hexadecimal bytes as in "
		 "00:16:3e:01:02:03", quoted);
	return -EINVAL;
}

/* The split pair if both its keys are there, else the one channel for both. */
static int choose_ports(const struct reader *reader, const struct queue_values *values,
			struct queue_config *queue)
{
	queue->tx_port = values->tx_port;
	queue->rx_port = values->rx_port;
	if (values->tx_port && values->tx_port == values->rx_port)
		return refuse_equal(reader, "event-channel-tx", "event-channel-rx", values->tx_port);
	if (values->tx_port && values->rx_port)
		return 0;
	queue->tx_port = queue->rx_port = values->port;
	if (values->port)
		return 0;
	snprintf(reader->why, reader->why_size, "%s%s is missing, must be a number from 1 to %u",
		 reader->folder, values->tx_port ? "event-channel-rx" :
		 values->rx_port ? "event-channel-tx" : "event-channel", VIF_PORT_MAX);
	return -EINVAL;
}

static int read_queue(const struct reader *reader, struct queue_config *queue)
{
	struct queue_values values = { 0 };
	int error = READ_TABLE(reader, queue_keys, &values);

	if (error)
		return error;
	queue->tx_ring_ref = values.tx_ring_ref;
	queue->rx_ring_ref = values.rx_ring_ref;
	if (queue->tx_ring_ref == queue->rx_ring_ref)
		return refuse_equal(reader, "tx-ring-ref", "rx-ring-ref", queue->tx_ring_ref);
	return choose_ports(reader, &values, queue);
}

/* That no two queues have the same ring or channel is vif_config_check's. */
static int read_queues(struct reader *reader, uint32_t queues_max, struct vif_config *config)
{
	const struct key count = { "multi-queue-num-queues", FRONT, 1, queues_max, 1, 0 };
	int error = read_key(reader, &count, &config->queue_count);

	if (!error && config->queue_count == 1)
		return read_queue(reader, &config->queues[0]);
	for (uint32_t i = 0; !error && i < config->queue_count; i++) {
		snprintf(reader->folder, sizeof reader->folder, "queue-%u/", i);
		error = read_queue(reader, &config->queues[i]);
	}
	reader->folder[0] = '\0';
	return error;
}

int vif_keys_read_queues_max(vif_key_read *read, void *context, uint32_t *queues_max,
			     char *why, size_t why_size)
{
	const struct reader reader = { read, context, why, why_size, "" };
	const struct key key = { "unetback-queues", BACK, 1, VIF_QUEUES_MAX, *queues_max, 0 };

	return read_key(&reader, &key, queues_max);
}

/* A feature counts only with those it builds on, as Linux's netdev_fix_features has it: a frame to be
 * cut into segments is larger than a slot and has no checksum yet. */
static uint32_t choose_features(const struct values *values)
{
	const struct { bool asked; uint32_t bit, needs; } rows[] = {
		{ values->sg,        VIF_F_SG,        0 },
		{ !values->no_csum4, VIF_F_CSUM_IPV4, 0 },	/* absent: offload is on */
		{ values->csum6,     VIF_F_CSUM_IPV6, 0 },	/* absent: offload is off */
		{ values->gso4,      VIF_F_GSO_TCPV4, VIF_F_GSO_TCPV4_NEEDS },
		{ values->gso6,      VIF_F_GSO_TCPV6, VIF_F_GSO_TCPV6_NEEDS },
		{ values->rx_notify, VIF_F_RX_NOTIFY, 0 },
	};
	uint32_t features = 0;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].asked && (features & rows[i].needs) == rows[i].needs)
			features |= rows[i].bit;
	return features;
}

int vif_keys_read(vif_key_read *read, void *context, uint32_t queues_max, struct vif_config *config,
		  char *why, size_t why_size)
{
	struct reader reader = { read, context, why, why_size, "" };
	struct values values = { 0 };
	int error = READ_TABLE(&reader, keys, &values);

	if (!error)
		error = check_rx_copy(&reader, &values);
	if (!error)
		error = read_queues(&reader, queues_max, config);
	if (!error)
		error = read_mac(&reader, config->mac);
	config->control_ring_ref = values.control_ring_ref;
	/* Without a ring its channel means nothing, whatever an earlier driver left. */
	config->control_port = values.control_ring_ref ? values.control_port : 0;
	config->features = choose_features(&values);
	config->mtu = values.mtu;
	if (!(config->features & VIF_F_SG) && config->mtu > MTU_WITHOUT_SG)
		config->mtu = MTU_WITHOUT_SG;
	return error;
}
