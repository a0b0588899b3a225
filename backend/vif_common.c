/* vif_common.c - what the queues of one vif have in common; see vif_common.h */
#include <string.h>

#include "vif_common.h"

void vif_common_init(struct vif_common *common, const struct vif_live *live)
{
	pthread_mutex_init(&common->lock, NULL);
	common->live = *live;
	memset(&common->hash, 0, sizeof common->hash);
	common->generation = 1;
	for (int i = 0; i < RATE_KINDS; i++) {
		credit_fill(&common->tx_credits[i]);
		credit_fill(&common->rx_credits[i]);
	}
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

/* What was used up at the old rate means nothing at a new one. */
static void follow_rates(struct credit credits[RATE_KINDS], const struct rate before[RATE_KINDS],
			 const struct rate now[RATE_KINDS])
{
	for (int i = 0; i < RATE_KINDS; i++)
		if (memcmp(&before[i], &now[i], sizeof before[i]) != 0)
			credit_fill(&credits[i]);
}

void vif_common_set_live(struct vif_common *common, const struct vif_live *live)
{
	pthread_mutex_lock(&common->lock);
	follow_rates(common->tx_credits, common->live.tx_rates, live->tx_rates);
	follow_rates(common->rx_credits, common->live.rx_rates, live->rx_rates);
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
