/* frames.h - frames of every shape that headers can have, and checksums done the dumb way */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdint.h>

struct frame_spec {
	const char *name;
	int vlan_tags;
	int ip_version;			/* 4, 6, or 0: ARP */
	int ip_options;			/* bytes behind the IPv4 header, 0, 4 .. 40 */
	int extensions;			/* IPv6 extension headers, of 8, 16, 24.. bytes */
	int protocol;			/* IPPROTO_* */
	int tcp_options;		/* bytes, 0, 4 .. 40 */
	uint32_t payload;
};

struct frame_layout { uint32_t network, transport, checksum, payload, length; };

/* Builds the frame with a right and whole checksum; @out needs frame_spec_length(). */
uint32_t frame_spec_length(const struct frame_spec *spec);
void frame_build(uint8_t *out, const struct frame_spec *spec, struct frame_layout *layout);

/* Replaces the checksum by the pseudo header's sum, as a sender with checksum offload leaves it. */
void frame_blank_checksum(uint8_t *frame, const struct frame_spec *spec,
			  const struct frame_layout *layout);

/* Byte by byte, big endian, carry added at once: nothing in common with checksum.c. */
uint16_t naive_sum(uint16_t sum, const uint8_t *data, uint32_t length);
uint16_t naive_pseudo_header(const uint8_t *frame, const struct frame_spec *spec,
			     const struct frame_layout *layout);
/* What the checksum field has to hold. */
uint16_t naive_checksum(const uint8_t *frame, const struct frame_spec *spec,
			const struct frame_layout *layout);
uint16_t frame_get16(const uint8_t *at);

#endif
