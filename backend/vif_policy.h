/* vif_policy.h - what the operator says of a vif's offloads, and of whom its guest may say it is
 *
 * unetbackd's options say it for all vifs, keys in a vif's backend folder, which only the toolstack writes,
 * for one.  A word that makes no sense counts as not there: a typing error must not cut a guest off.  But of a list
 * of addresses only those count that are some: a typing error must not let a guest loose.
 * Pure but for @read. */
#ifndef BACKEND_VIF_POLICY_H
#define BACKEND_VIF_POLICY_H

#include "vif_keys.h"

/* What holds for vifs of which their folder says nothing. */
struct vif_policy {
	uint32_t csum;			/* enum csum_policy */
	struct antispoof antispoof;	/* a default has no list */
};

extern const char *const vif_policy_csum_names[];	/* [CSUM_*], ended by NULL */
int vif_policy_parse_csum(const char *text, uint32_t *csum);	/* 0, or -EINVAL and *@csum as it was */

/* Reads the keys into @policy, which holds the defaults.  What was ignored, and why, is told in @why, "" if
 * nothing was. */
void vif_policy_read(vif_key_read *read, void *context, struct vif_policy *policy, char *why, size_t why_size);

/* What a guest is offered under @csum: the value of @offer, or another one. */
const char *vif_policy_offered(const struct vif_offer *offer, uint32_t csum);

#endif
