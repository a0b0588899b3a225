/* checksum.c - the Internet checksum; see checksum.h */
#include <arpa/inet.h>
#include <string.h>

#include "checksum.h"
#include "packet.h"

uint64_t checksum_add(uint64_t sum, const uint8_t *data, size_t length)
{
	uint32_t word;
	uint16_t half;

	for (; length >= 4; data += 4, length -= 4) {
		memcpy(&word, data, 4);
		sum += word;	/* 64 bits: no carry is lost below 16 GiB */
	}
	if (length >= 2) {
		memcpy(&half, data, 2);
		sum += half;
		data += 2;
		length -= 2;
	}
	if (length == 1) {
		half = 0;
		memcpy(&half, data, 1);		/* padded with a zero byte behind it */
		sum += half;
	}
	return sum;
}

uint16_t checksum_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

void checksum_complete(uint8_t *frame, uint32_t length, uint32_t start, uint32_t offset)
{
	uint16_t sum = (uint16_t)~checksum_fold(checksum_add(0, frame + start, length - start));

	if (sum == 0)
		sum = 0xffff;
	memcpy(frame + start + offset, &sum, sizeof sum);
}

uint16_t checksum_pseudo_header(const uint8_t *head, const struct packet_layout *layout,
				uint32_t frame_length)
{
	const uint8_t *ip = head + layout->network;
	uint64_t sum;

	sum = layout->ip_version == 4 ? checksum_add(0, ip + 12, 8) : checksum_add(0, ip + 8, 32);
	sum += htons(layout->protocol);
	/* Up to 65,535 by 16 bits; more cannot come over a ring. */
	sum += htons((uint16_t)(frame_length - layout->transport));
	return checksum_fold(sum);
}
