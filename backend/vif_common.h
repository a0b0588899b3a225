/* vif_common.h - what the queues of one vif have in common, and what changes while they run
 *
 * One object a vif, in its instance.  The instance's main thread changes it when unetbackd says so;
 * each queue's thread works with a copy of its own and takes a new one when the generation has moved,
 * which costs it one plain load a poll.  So nothing a frame passes is ever locked.
 *
 * What queue threads write themselves (a filter, a bucket) is made of words that are each stored whole,
 * and says so where it is declared. */
#ifndef BACKEND_VIF_COMMON_H
#define BACKEND_VIF_COMMON_H

#include <pthread.h>
#include <stdbool.h>

#include "hash.h"
#include "vif_config.h"

#define VIF_COMMON_CREDITS 4	/* no poll of a queue lasts as long as so many changes of rates */

struct vif_common {
	uint32_t generation;		/* of what stands below; atomic, never 0 */
	pthread_mutex_t lock;		/* of what stands below; nothing that waits is done under it */
	struct vif_live live;
	struct hash_config hash;	/* the guest's, told over the control ring */

	/* Taken from by all queues: each word is changed whole.  New rates have new buckets: a queue that has
	 * not yet heard of them charges the old ones, instead of the new ones at the old rate. */
	uint32_t credits_in_use;
	struct vif_credits credits[VIF_COMMON_CREDITS];
};

void vif_common_init(struct vif_common *common, const struct vif_live *live);
/* Goes on with what an earlier life of the vif left in its buckets: a guest does not fill them by connecting
 * again.  Before any queue runs. */
void vif_common_inherit_credits(struct vif_common *common, const struct vif_credits *credits);
void vif_common_destroy(struct vif_common *common);

/* By the main thread; a queue sees it at its next poll, and only if it is awake. */
void vif_common_set_live(struct vif_common *common, const struct vif_live *live);
void vif_common_set_hash(struct vif_common *common, const struct hash_config *hash);

/* By a queue's thread: whether anything is newer than @seen (0: nothing was seen yet). */
static inline bool vif_common_moved(const struct vif_common *common, uint32_t seen)
{
	return __atomic_load_n(&common->generation, __ATOMIC_ACQUIRE) != seen;
}
/* The newest, and its generation. */
uint32_t vif_common_get(struct vif_common *common, struct vif_live *live, struct hash_config *hash);
/* The buckets of generation @seen; NULL if there is a newer one. */
struct vif_credits *vif_common_credits(struct vif_common *common, uint32_t seen);

#endif
