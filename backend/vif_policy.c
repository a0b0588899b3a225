/* vif_policy.c - what the operator says of a vif's offloads; see vif_policy.h */
#include <errno.h>
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

static void read_csum(vif_key_read *read, void *context, struct vif_policy *policy, char *why, size_t size)
{
	char value[VIF_KEY_VALUE_MAX], quoted[VIF_KEY_VALUE_MAX * 2];
	int error = read(context, VIF_KEY_BACKEND, "unetback-csum", value, sizeof value);

	if (error == -ENOENT || (!error && vif_policy_parse_csum(value, &policy->csum) == 0))
		return;
	vif_keys_quote(error ? strerror(-error) : value, quoted, sizeof quoted);
	snprintf(why, size, "unetback-csum is '%s', must be auto, complete or off; it is %s now", quoted,
		 vif_policy_csum_names[policy->csum]);
}

void vif_policy_read(vif_key_read *read, void *context, struct vif_policy *policy, char *why, size_t size)
{
	*why = '\0';
	read_csum(read, context, policy, why, size);
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
