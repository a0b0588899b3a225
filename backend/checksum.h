/* checksum.h - the Internet checksum (RFC 1071), for frames whose receiver cannot do it
 *
 * Pure.  A sum is kept in 64 bits, unfolded, in the byte order of memory: it may be added up from
 * pieces as long as each but the last has an even length. */
#ifndef BACKEND_CHECKSUM_H
#define BACKEND_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t checksum_add(uint64_t sum, const uint8_t *data, size_t length);
uint16_t checksum_fold(uint64_t sum);	/* to 16 bits, not inverted, still in memory order */

/* Completes a partial checksum in place, as virtio's NEEDS_CSUM defines it: the field at
 * @start + @offset holds the pseudo header's sum.  A result of 0 is stored as 0xffff (RFC 768; for
 * TCP the two are equal).  The caller has checked that the field lies in @frame. */
void checksum_complete(uint8_t *frame, uint32_t length, uint32_t start, uint32_t offset);

/* Sum of the pseudo header of a frame (RFC 793, RFC 8200 8.1): addresses, protocol, length of the
 * transport header and what follows. */
struct packet_layout;
uint16_t checksum_pseudo_header(const uint8_t *head, const struct packet_layout *layout,
				uint32_t frame_length);

#endif
