/* multicast.c - the multicast addresses a guest wants frames of; see multicast.h */
#include "multicast.h"

/* Never 0: the first byte of a multicast address is odd. */
static uint64_t word_of(const uint8_t mac[6])
{
	uint64_t word = 0;

	for (int i = 0; i < 6; i++)
		word = word << 8 | mac[i];
	return word;
}

static uint64_t load(const uint64_t *place)
{
	return __atomic_load_n(place, __ATOMIC_RELAXED);
}

void multicast_clear(struct multicast *multicast)
{
	for (int i = 0; i < MULTICAST_MAX; i++)
		__atomic_store_n(&multicast->addresses[i], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&multicast->known, 1, __ATOMIC_RELEASE);
}

static bool has(const struct multicast *multicast, uint64_t word)
{
	for (int i = 0; i < MULTICAST_MAX; i++)
		if (load(&multicast->addresses[i]) == word)
			return true;
	return false;
}

/* Two queues that add the same address at once may take two places; removing frees both. */
bool multicast_add(struct multicast *multicast, const uint8_t mac[6])
{
	uint64_t word = word_of(mac);

	if (!multicast_is(mac))
		return false;
	if (has(multicast, word))
		return true;
	for (int i = 0; i < MULTICAST_MAX; i++) {
		uint64_t free = 0;

		if (__atomic_compare_exchange_n(&multicast->addresses[i], &free, word, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
	}
	return false;
}

void multicast_remove(struct multicast *multicast, const uint8_t mac[6])
{
	for (int i = 0; i < MULTICAST_MAX; i++) {
		uint64_t word = word_of(mac);

		__atomic_compare_exchange_n(&multicast->addresses[i], &word, 0, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	}
}

bool multicast_has(const struct multicast *multicast, const uint8_t mac[6])
{
	uint64_t word = word_of(mac);

	return __atomic_load_n(&multicast->known, __ATOMIC_ACQUIRE) == 0 || (word != 0 && has(multicast, word));
}

bool multicast_at(const struct multicast *multicast, int place, uint8_t mac[6])
{
	uint64_t word = load(&multicast->addresses[place]);

	for (int i = 5; i >= 0; i--, word >>= 8)
		mac[i] = (uint8_t)word;
	return mac[0] & 1;
}
