/* announce.c - frames that tell the switch where a guest is; see announce.h */
#include <arpa/inet.h>
#include <string.h>

#include "announce.h"

/* What RFC 826 has behind the Ethernet header, as it stands in the frame. */
struct arp {
	uint8_t hardware[2], protocol[2];	/* Ethernet, IPv4 */
	uint8_t hardware_length, protocol_length;
	uint8_t operation[2];
	uint8_t sender_mac[6], sender_ip[4];
	uint8_t target_mac[6], target_ip[4];
};
_Static_assert(sizeof(struct arp) == 28, "RFC 826");

#define TYPE_ARP      0x0806
#define TYPE_RARP     0x8035
#define REQUEST         1
#define REQUEST_REVERSE 3

bool announce_is_possible(const uint8_t mac[6])
{
	static const uint8_t none[6];

	return memcmp(mac, none, sizeof none) != 0 && !(mac[0] & 1);
}

/* To everybody, from @mac; nobody is asked for. */
static struct arp begin(uint8_t frame[ANNOUNCE_LENGTH], const uint8_t mac[6], uint16_t type, uint8_t operation)
{
	struct arp arp = {
		.hardware = { 0, 1 }, .protocol = { 0x08, 0x00 },
		.hardware_length = 6, .protocol_length = 4, .operation = { 0, operation },
	};

	memset(frame, 0, ANNOUNCE_LENGTH);
	memset(frame, 0xff, 6);
	memcpy(frame + 6, mac, 6);
	frame[12] = (uint8_t)(type >> 8);
	frame[13] = (uint8_t)type;
	memcpy(arp.sender_mac, mac, 6);
	return arp;
}

void announce_rarp(uint8_t frame[ANNOUNCE_LENGTH], const uint8_t mac[6])
{
	struct arp arp = begin(frame, mac, TYPE_RARP, REQUEST_REVERSE);

	memcpy(arp.target_mac, mac, 6);
	memcpy(frame + 14, &arp, sizeof arp);
}

void announce_arp(uint8_t frame[ANNOUNCE_LENGTH], const uint8_t mac[6], const uint8_t address[4])
{
	struct arp arp = begin(frame, mac, TYPE_ARP, REQUEST);

	memcpy(arp.sender_ip, address, 4);
	memcpy(arp.target_ip, address, 4);
	memcpy(frame + 14, &arp, sizeof arp);
}

/* One host's own: not 0/8, not 127/8, neither multicast nor what is beyond. */
static bool is_a_hosts(const uint8_t address[4])
{
	return address[0] != 0 && address[0] != 127 && address[0] < 224;
}

static bool parse_word(const char *word, size_t length, uint8_t address[4])
{
	char text[INET_ADDRSTRLEN];

	if (length > 3 && memcmp(word + length - 3, "/32", 3) == 0)
		length -= 3;
	if (length >= sizeof text)
		return false;
	memcpy(text, word, length);
	text[length] = '\0';
	return inet_pton(AF_INET, text, address) == 1 && is_a_hosts(address);
}

void announce_parse(const char *text, struct announce *announce)
{
	static const char blanks[] = " \t\n";

	announce->count = 0;
	while (announce->count < ANNOUNCE_ADDRESSES_MAX) {
		size_t length;

		text += strspn(text, blanks);
		length = strcspn(text, blanks);
		if (length == 0)
			break;
		if (parse_word(text, length, announce->addresses[announce->count]))
			announce->count++;
		text += length;
	}
}
