/* multicast.h - the multicast addresses a guest wants frames of
 *
 * One list a vif, in the guest's state memory: the guest says what it wants once, in extras of its
 * transmit ring, and an instance that is started again cannot ask.  All queues' threads edit and read it
 * without a lock: an address is one word, stored whole.  Whether the list counts is the guest's
 * request-multicast-control (struct vif_live); it may be edited before. */
#ifndef BACKEND_MULTICAST_H
#define BACKEND_MULTICAST_H

#include <stdbool.h>
#include <stdint.h>

#define MULTICAST_MAX 64		/* Linux's XEN_NETBK_MCAST_MAX */

struct multicast {
	/* 1 once the guest's list is known from its beginning.  0 after unetbackd was started anew under a
	 * connected guest: then nothing is filtered, rather than the guest cut off. */
	uint64_t known;
	uint64_t addresses[MULTICAST_MAX];	/* 0: a free place */
};

static inline bool multicast_is(const uint8_t mac[6])	/* a group's, and not everybody's */
{
	return (mac[0] & 1) && !(mac[0] == 0xff && mac[1] == 0xff && mac[2] == 0xff && mac[3] == 0xff &&
				 mac[4] == 0xff && mac[5] == 0xff);
}

/* Empty, and known. */
void multicast_clear(struct multicast *multicast);
/* True also if it is there already; false if the list is full or @mac is no multicast address. */
bool multicast_add(struct multicast *multicast, const uint8_t mac[6]);
/* One that is not there is none afterwards, too. */
void multicast_remove(struct multicast *multicast, const uint8_t mac[6]);
bool multicast_has(const struct multicast *multicast, const uint8_t mac[6]);

/* The address at @place; false if that is free. */
bool multicast_at(const struct multicast *multicast, int place, uint8_t mac[6]);

#endif
