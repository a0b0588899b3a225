/* announce.h - frames that tell the switch where a guest is
 *
 * A switch learns a guest's port from the first frame it sends.  One that has just been attached, restored or
 * migrated may be silent for long, and what is meant for it goes to where it was.  So frames with its MAC as
 * their source are sent into its port as if it had sent them: a RARP request, which asks for nothing anybody
 * answers, and for each IPv4 address that the toolstack says it has an ARP announcement (RFC 5227), which
 * neighbours take to heart, too.
 *
 * Pure. */
#ifndef BACKEND_ANNOUNCE_H
#define BACKEND_ANNOUNCE_H

#include <stdbool.h>
#include <stdint.h>

#define ANNOUNCE_LENGTH        60	/* the least an Ethernet frame has, without its checksum */
#define ANNOUNCE_ADDRESSES_MAX 4
#define ANNOUNCE_TIMES_DEFAULT 3	/* a switch may not yet listen when the carrier comes */
#define ANNOUNCE_TIMES_MAX     10
#define ANNOUNCE_INTERVAL_MS   500	/* between them; RFC 5227 asks for 2 s, of hosts that may be wrong */

struct announce {
	uint32_t times;			/* 0: nothing is announced */
	uint32_t count;			/* of addresses */
	uint8_t addresses[ANNOUNCE_ADDRESSES_MAX][4];
};

/* Zeros (not known) and group addresses are nobody's. */
bool announce_is_possible(const uint8_t mac[6]);

/* RFC 903: "who am I?", of @mac. */
void announce_rarp(uint8_t frame[ANNOUNCE_LENGTH], const uint8_t mac[6]);
/* RFC 5227, section 2.3: "@address is at @mac". */
void announce_arp(uint8_t frame[ANNOUNCE_LENGTH], const uint8_t mac[6], const uint8_t address[4]);

/* The IPv4 addresses among words with blanks between them, "ADDRESS" or "ADDRESS/32", as the toolstack writes
 * them; what is none, or nobody's own, is passed over, and so are those beyond the limit. */
void announce_parse(const char *text, struct announce *announce);

#endif
