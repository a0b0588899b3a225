/* steering_hash.h - a guest's hash, as the steering program reads it (steering.bpf.c)
 *
 * In one map of one element a TAP; plain numbers, host order.  Included by the BPF program, too. */
#ifndef OVS_GLUE_STEERING_HASH_H
#define OVS_GLUE_STEERING_HASH_H

#include <linux/types.h>

/* netif.h: XEN_NETIF_CTRL_HASH_TYPE_*.  What is hashed: TCP's ports and addresses, or addresses alone. */
#define STEERING_HASH_IPV4     (1u << 0)
#define STEERING_HASH_IPV4_TCP (1u << 1)
#define STEERING_HASH_IPV6     (1u << 2)
#define STEERING_HASH_IPV6_TCP (1u << 3)

#define STEERING_KEY_BYTES   40
#define STEERING_MAPPING_MAX 128

struct steering_hash {
	__u32 types;			/* STEERING_HASH_*; frames of none hash to 0 */
	__u32 queues;			/* of the guest; at least 1 */
	__u32 mapping_size;		/* entries in use; 0: the hash modulo the number of queues */
	__u8 key[STEERING_KEY_BYTES];	/* zeros behind a shorter one */
	__u8 mapping[STEERING_MAPPING_MAX];	/* queue numbers */
};

#endif
