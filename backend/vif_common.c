/* vif_common.c - what the queues of one vif have in common; see vif_common.h */
#include "vif_common.h"

void vif_common_init(struct vif_common *common, const struct vif_live *live)
{
	pthread_mutex_init(&common->lock, NULL);
	common->live = *live;
	common->generation = 1;
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
	common->live = *live;
	move_on(common);
	pthread_mutex_unlock(&common->lock);
}

uint32_t vif_common_get(struct vif_common *common, struct vif_live *live)
{
	uint32_t generation;

	pthread_mutex_lock(&common->lock);
	*live = common->live;
	generation = common->generation;
	pthread_mutex_unlock(&common->lock);
	return generation;
}
