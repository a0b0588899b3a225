/* key_names.c - see key_names.h */
#include <string.h>

#include "key_names.h"

/* FNV-1a, folded to 8 bits. */
static unsigned int bit_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	hash ^= hash >> 16;
	return (hash ^ hash >> 8) & 255;
}

static void add(void *context, const char *name)
{
	struct key_names *names = context;
	unsigned int bit = bit_of(name);

	names->bits[bit / 64] |= 1ull << bit % 64;
}

void key_names_list(struct key_names *names, struct xenstore *store, const char *folder)
{
	*names = (struct key_names){ 0 };
	names->listed = xenstore_children(store, folder, add, names) == 0;
}

bool key_names_may_have(const struct key_names *names, const char *key)
{
	unsigned int bit = bit_of(key);

	return !names->listed || strchr(key, '/') || names->bits[bit / 64] >> bit % 64 & 1;
}
