/* vif_policy.c - what the operator says of a vif's offloads and addresses; see vif_policy.h */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vif_policy.h"

const char *const vif_policy_csum_names[] = {
	[CSUM_AUTO] = "auto", [CSUM_COMPLETE] = "complete", [CSUM_OFF] = "off", NULL,
};

int vif_policy_parse_csum(const char *text, uint32_t *csum)
{
	for (uint32_t i = 0; vif_policy_csum_names[i]; i++)
		if (strcmp(text, vif_policy_csum_names[i]) == 0) {
			*csum = i;
			return 0;
		}
	return -EINVAL;
}

struct reader {
	vif_key_read *read;
	void *context;
	char *why;
	size_t size;
};

/* One more thing that was ignored. */
static void __attribute__((format(printf, 4, 5)))
tell(const struct reader *reader, const char *key, const char *value, const char *format, ...)
{
	size_t used = strlen(reader->why);
	char quoted[VIF_KEY_VALUE_MAX * 2];
	va_list arguments;

	vif_keys_quote(value, quoted, sizeof quoted);
	snprintf(reader->why + used, reader->size - used, "%s%s is '%s', ", used ? "; " : "", key, quoted);
	used = strlen(reader->why);
	va_start(arguments, format);
	vsnprintf(reader->why + used, reader->size - used, format, arguments);
	va_end(arguments);
}

static void read_csum(const struct reader *reader, uint32_t *csum)
{
	static const char key[] = "unetback-csum";
	char value[VIF_KEY_VALUE_MAX];
	int error = reader->read(reader->context, VIF_KEY_BACKEND, key, value, sizeof value);

	if (error != -ENOENT && (error || vif_policy_parse_csum(value, csum) != 0))
		tell(reader, key, error ? strerror(-error) : value, "must be auto, complete or off; it is %s now",
		     vif_policy_csum_names[*csum]);
}

static void read_on(const struct reader *reader, uint32_t *on)
{
	static const char key[] = "unetback-anti-spoof";
	char value[VIF_KEY_VALUE_MAX];
	int error = reader->read(reader->context, VIF_KEY_BACKEND, key, value, sizeof value);

	if (!error && (strcmp(value, "0") == 0 || strcmp(value, "1") == 0))
		*on = value[0] == '1';
	else if (error != -ENOENT)
		tell(reader, key, error ? strerror(-error) : value, "must be 0 or 1; it is %u now", *on);
}

#define ADDRESSES_TEXT_MAX 2048		/* 32 addresses of IPv6 with their prefix, and then some */

/* libxl writes `ip` from the vif line's ip=, addresses with blanks between them. */
static void read_addresses(const struct reader *reader, struct antispoof *antispoof)
{
	char text[ADDRESSES_TEXT_MAX], *save = NULL;
	int error = reader->read(reader->context, VIF_KEY_BACKEND, "ip", text, sizeof text);

	if (error && error != -ENOENT) {
		antispoof->listed = 1;
		tell(reader, "ip", strerror(-error), "must be addresses; none is allowed now");
	}
	if (error)
		return;
	for (char *word = strtok_r(text, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save)) {
		struct antispoof_address *address = &antispoof->addresses[antispoof->count];

		antispoof->listed = 1;
		if (antispoof->count == ANTISPOOF_ADDRESSES_MAX)
			tell(reader, "ip", word, "at most %u addresses are taken", ANTISPOOF_ADDRESSES_MAX);
		else if (antispoof_parse(word, address))
			antispoof->count++;
		else
			tell(reader, "ip", word, "must be an address, or ADDRESS/BITS; it allows nothing now");
	}
}

void vif_policy_read(vif_key_read *read, void *context, struct vif_policy *policy, char *why, size_t size)
{
	const struct reader reader = { read, context, why, size };

	*why = '\0';
	read_csum(&reader, &policy->csum);
	read_on(&reader, &policy->antispoof.on);
	if (policy->antispoof.on)
		read_addresses(&reader, &policy->antispoof);
}

const char *vif_policy_offered(const struct vif_offer *offer, uint32_t csum)
{
	static const struct vif_offer off[] = {
		{ "feature-gso-tcpv4", "0" }, { "feature-gso-tcpv6", "0" },
		{ "feature-ipv6-csum-offload", "0" }, { "feature-no-csum-offload", "1" },
	};

	for (size_t i = 0; csum == CSUM_OFF && i < sizeof off / sizeof *off; i++)
		if (strcmp(offer->name, off[i].name) == 0)
			return off[i].value;
	return offer->value;
}
