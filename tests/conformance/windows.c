/* windows.c - what win-xenvif does over the control ring, src/xenvif/frontend.c __FrontendUpdateHash()
 *
 * Each time it is enabled, if it has several queues: algorithm, mapping of 128 entries over its CPUs, key,
 * flags, in that order, each answered before the next is asked for. */
#include <string.h>

#include "life.h"

#define MAPPING 128u
#define KEY 40u
#define TYPES (XEN_NETIF_CTRL_HASH_TYPE_IPV4 | XEN_NETIF_CTRL_HASH_TYPE_IPV4_TCP |                   \
	       XEN_NETIF_CTRL_HASH_TYPE_IPV6 | XEN_NETIF_CTRL_HASH_TYPE_IPV6_TCP)

static void ask(struct netfront *fe, uint16_t type, uint32_t a, uint32_t b)
{
	const uint32_t arguments[3] = { a, b, 0 };
	uint32_t status;

	assert_true(netfront_control(fe, type, arguments, &status, NULL, LIFE_PATIENCE));
	assert_int_equal(status, XEN_NETIF_CTRL_STATUS_SUCCESS);
}

uint32_t windows_queue(const struct netfront *fe, uint32_t hash)
{
	return hash % MAPPING % fe->queue_count;
}

void windows_up(struct netfront *fe)
{
	uint32_t *entries = netfront_control_page(fe);

	if (fe->queue_count == 1)
		return;
	fe->hashing = true;
	ask(fe, XEN_NETIF_CTRL_TYPE_SET_HASH_ALGORITHM, XEN_NETIF_CTRL_HASH_ALGORITHM_TOEPLITZ, 0);
	ask(fe, XEN_NETIF_CTRL_TYPE_SET_HASH_MAPPING_SIZE, MAPPING, 0);
	for (uint32_t i = 0; i < MAPPING; i++)
		entries[i] = windows_queue(fe, i);
	ask(fe, XEN_NETIF_CTRL_TYPE_SET_HASH_MAPPING, netfront_control_ref(fe), MAPPING);
	for (uint32_t i = 0; i < KEY; i++)
		((uint8_t *)entries)[i] = (uint8_t)(i * 37 + 5);
	ask(fe, XEN_NETIF_CTRL_TYPE_SET_HASH_KEY, netfront_control_ref(fe), KEY);
	ask(fe, XEN_NETIF_CTRL_TYPE_SET_HASH_FLAGS, TYPES, 0);
}
