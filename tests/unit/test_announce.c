/* test_announce.c - announcements, byte by byte as RFC 903 and RFC 5227 have them; addresses as written */
#include <stdio.h>

#include "../../backend/announce.c"
#include "unit.h"

static const uint8_t mac[6] = { 0x00, 0x16, 0x3e, 0x5a, 0xa5, 0x01 };

static void rarp_is_as_rfc_903_has_it(void **state)
{
	static const uint8_t wanted[ANNOUNCE_LENGTH] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff,		/* to everybody */
		0x00, 0x16, 0x3e, 0x5a, 0xa5, 0x01,		/* from the guest */
		0x80, 0x35,					/* RARP */
		0x00, 0x01,					/* hardware: Ethernet */
		0x08, 0x00,					/* protocol: IPv4 */
		0x06, 0x04,					/* lengths of their addresses */
		0x00, 0x03,					/* request reverse */
		0x00, 0x16, 0x3e, 0x5a, 0xa5, 0x01,		/* the sender */
		0x00, 0x00, 0x00, 0x00,
		0x00, 0x16, 0x3e, 0x5a, 0xa5, 0x01,		/* whose address is asked for: its own */
		0x00, 0x00, 0x00, 0x00,
	};
	uint8_t frame[ANNOUNCE_LENGTH];

	(void)state;
	memset(frame, 0xee, sizeof frame);
	announce_rarp(frame, mac);
	assert_memory_equal(frame, wanted, sizeof wanted);
}

static void arp_is_as_rfc_5227_has_it(void **state)
{
	static const uint8_t address[4] = { 192, 0, 2, 77 };
	static const uint8_t wanted[ANNOUNCE_LENGTH] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0x00, 0x16, 0x3e, 0x5a, 0xa5, 0x01,
		0x08, 0x06,					/* ARP */
		0x00, 0x01,
		0x08, 0x00,
		0x06, 0x04,
		0x00, 0x01,					/* a request, as 5227 wants it */
		0x00, 0x16, 0x3e, 0x5a, 0xa5, 0x01,
		192, 0, 2, 77,					/* sender and target: the same */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		192, 0, 2, 77,
	};
	uint8_t frame[ANNOUNCE_LENGTH];

	(void)state;
	memset(frame, 0xee, sizeof frame);
	announce_arp(frame, mac, address);
	assert_memory_equal(frame, wanted, sizeof wanted);
}

static void only_one_guests_mac_is_announced(void **state)
{
	static const struct { uint8_t mac[6]; bool possible; } rows[] = {
		{ { 0 }, false },
		{ { 0, 0, 0, 0, 0, 1 }, true },
		{ { 0x00, 0x16, 0x3e, 1, 2, 3 }, true },
		{ { 0x02, 0, 0, 0, 0, 0 }, true },
		{ { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff }, true },
		{ { 0x01, 0, 0x5e, 0, 0, 1 }, false },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		SAME("row", announce_is_possible(rows[i].mac), rows[i].possible);
}

static void addresses_are_found_among_words(void **state)
{
	static const struct { const char *text, *found; } rows[] = {
		{ "", "" },
		{ " ", "" },
		{ "10.0.0.1", "10.0.0.1 " },
		{ "10.0.0.1/32", "10.0.0.1 " },
		{ "10.0.0.0/24", "" },			/* a network is nobody's address */
		{ "10.0.0.1/3", "" },
		{ "/32", "" },
		{ "2001:db8::1", "" },
		{ " 10.0.0.1\t192.0.2.7\n", "10.0.0.1 192.0.2.7 " },
		{ "fe80::1 10.0.0.1 nonsense 10.0.0.256 10.0.0.2 10.0.0", "10.0.0.1 10.0.0.2 " },
		{ "0.0.0.0 0.1.2.3 127.0.0.1 224.0.0.1 239.255.255.255 255.255.255.255", "" },
		{ "223.255.255.255 1.0.0.0", "223.255.255.255 1.0.0.0 " },
		{ "1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4 1.1.1.5", "1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4 " },
		{ "1.1.1.1,1.1.1.2", "" },
		{ "111.111.111.111/32 111.111.111.1111", "111.111.111.111 " },
		{ "111.111.111.111111111111111111111111111111111111111111", "" },
		{ "010.0.0.1", "" },
	};

	(void)state;
	for (size_t row = 0; row < COUNT_OF(rows); row++) {
		struct announce announce = { .times = 3, .count = 2 };
		char found[100] = "";

		announce_parse(rows[row].text, &announce);
		for (uint32_t i = 0; i < announce.count; i++) {
			const uint8_t *a = announce.addresses[i];

			snprintf(found + strlen(found), sizeof found - strlen(found), "%u.%u.%u.%u ", a[0], a[1],
				 a[2], a[3]);
		}
		assert_string_equal(found, rows[row].found);
		assert_int_equal(announce.times, 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rarp_is_as_rfc_903_has_it),
		cmocka_unit_test(arp_is_as_rfc_5227_has_it),
		cmocka_unit_test(only_one_guests_mac_is_announced),
		cmocka_unit_test(addresses_are_found_among_words),
	};

	return cmocka_run_group_tests_name("announce", tests, NULL, NULL);
}
