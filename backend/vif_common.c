/* vif_common.c - what the queues of one vif have in common; see vif_common.h */
#include <string.h>

#include "vif_common.h"

static struct vif_credits *credits_in_use(struct vif_common *common)
{
	return &common->credits[common->credits_in_use];
}

static void follow_rates(struct vif_common *common, const struct vif_live *live)
{
	const struct vif_credits *before = credits_in_use(common);

	if (memcmp(before->tx_rates, live->tx_rates, sizeof live->tx_rates) == 0 &&
	    memcmp(before->rx_rates, live->rx_rates, sizeof live->rx_rates) == 0)
		return;
	common->credits_in_use = (common->credits_in_use + 1) % VIF_COMMON_CREDITS;
	vif_credits_follow(credits_in_use(common), before, live->tx_rates, live->rx_rates);
}

void vif_common_init(struct vif_common *common, const struct vif_live *live)
{
	pthread_mutex_init(&common->lock, NULL);
	common->live = *live;
	memset(&common->hash, 0, sizeof common->hash);
	common->generation = 1;
	memset(common->credits, 0, sizeof common->credits);	/* full, for no rates */
	common->credits_in_use = 0;
	follow_rates(common, live);
}

void vif_common_inherit_credits(struct vif_common *common, const struct vif_credits *credits)
{
	vif_credits_follow(credits_in_use(common), credits, common->live.tx_rates, common->live.rx_rates);
}

void vif_common_destroy(struct vif_common *common)
{
	pthread_mutex_destroy(&common->lock);
}

/* Called with the lock held.  0 is what nobody has seen. */
static void move_on(struct vif_common *common)
{
	uint32_t next = common->generation + 1;

	__atomic_store_n(&common->generation, next ? next : 1, __ATOMIC_RELEASE);
}

void vif_common_set_live(struct vif_common *common, const struct vif_live *live)
{
	pthread_mutex_lock(&common->lock);
	follow_rates(common, live);
	common->live = *live;
	move_on(common);
	pthread_mutex_unlock(&common->lock);
}

void vif_common_set_hash(struct vif_common *common, const struct hash_config *hash)
{
	pthread_mutex_lock(&common->lock);
	common->hash = *hash;
	move_on(common);
	pthread_mutex_unlock(&common->lock);
}

uint32_t vif_common_get(struct vif_common *common, struct vif_live *live, struct hash_config *hash)
{
	uint32_t generation;

	pthread_mutex_lock(&common->lock);
	*live = common->live;
	*hash = common->hash;
	generation = common->generation;
	pthread_mutex_unlock(&common->lock);
	return generation;
}

struct vif_credits *vif_common_credits(struct vif_common *common, uint32_t seen)
{
	struct vif_credits *credits;

	pthread_mutex_lock(&common->lock);
	credits = common->generation == seen ? credits_in_use(common) : NULL;
	pthread_mutex_unlock(&common->lock);
	return credits;
}
