/* hash.h - the hash by which a guest spreads its frames over its queues
 *
 * Chosen over the control ring (control_ring.h): Toeplitz, as Microsoft's Receive Side Scaling has it, over
 * the addresses and, of TCP, the ports.  What the switch side needs of it (steering.bpf.c computes the same in
 * the kernel to choose the queue) and what guest_rx tells the guest of each frame (extra HASH).
 *
 * Fixed size, no pointers: part of messages and of the state memory.  Pure. */
#ifndef BACKEND_HASH_H
#define BACKEND_HASH_H

#include <stdbool.h>
#include <stdint.h>

/* netif.h's XEN_NETIF_CTRL_HASH_ALGORITHM_*, XEN_NETIF_CTRL_HASH_TYPE_*; hash.c asserts it. */
#define HASH_NONE      0u
#define HASH_TOEPLITZ  1u
#define HASH_IPV4      (1u << 0)
#define HASH_IPV4_TCP  (1u << 1)
#define HASH_IPV6      (1u << 2)
#define HASH_IPV6_TCP  (1u << 3)
#define HASH_TYPES_ALL 0xfu

#define HASH_KEY_MAX     40	/* Linux's XEN_NETBK_MAX_HASH_KEY_SIZE; 36 bytes of input need no more */
#define HASH_MAPPING_MAX 128	/* Linux's XEN_NETBK_MAX_HASH_MAPPING_SIZE */

struct hash_config {
	uint32_t algorithm;			/* HASH_NONE: the host is free to choose the queue */
	uint32_t types;				/* HASH_IPV4 etc. that are hashed */
	uint32_t mapping_size;			/* 0: the hash modulo the number of queues */
	uint8_t key[HASH_KEY_MAX];		/* zeros behind a shorter one */
	uint8_t mapping[HASH_MAPPING_MAX];	/* queues */
};

/* True if every field is in its range for a guest of @queues. */
bool hash_config_is_good(const struct hash_config *config, uint32_t queues);

/* True if the guest chose a hash that says anything. */
static inline bool hash_is_on(const struct hash_config *config)
{
	return config->algorithm != HASH_NONE && config->types != 0;
}

/* Of a frame with @head as its first @have bytes: false if it is of no type that is hashed, else which one
 * (a bit of HASH_TYPES_ALL) and the value. */
bool hash_frame(const struct hash_config *config, const uint8_t *head, uint32_t have, uint32_t *type,
		uint32_t *value);

#endif
