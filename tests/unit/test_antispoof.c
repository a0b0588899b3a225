/* test_antispoof.c - what a guest may say it is, frame by frame
 *
 * Each row is a frame and whether it passes with the MAC alone and with a list.  Each must be judged the same
 * behind one to three VLAN tags, and with any bytes missing at its end nothing beyond it may be read (it lies
 * in a block of just its size) and nothing passes that did not before. */
#include "../../backend/antispoof.c"
#include "unit.h"

#define ALL "\xff\xff\xff\xff\xff\xff"
#define MAC "\x02\x11\x22\x33\x44\x55"
#define OTHER "\x02\x11\x22\x33\x44\x56"

#define ARP(sender, ip) ALL MAC "\x08\x06\0\1\x08\0\6\4\0\1" sender ip "\0\0\0\0\0\0\xc0\0\2\1"
#define IP4(source, fragment, protocol) \
	ALL MAC "\x08\0\x45\0\0\x30\0\0" fragment "\x40" protocol "\0\0" source "\xff\xff\xff\xff"
#define OWN4 "\xc0\0\2\x0a"			/* 192.0.2.10 */
#define NONE4 "\0\0\0\0"
#define DISCOVER "\0\x44\0\x43\0\x08\0\0"

#define IP6(source, length, next) ALL MAC "\x86\xdd\x60\0\0\0\0" length next "\xff" source TO6
#define TO6 "\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
#define LINK6 "\xfe\x80\0\0\0\0\0\0\0\x11\x22\xff\xfe\x33\x44\x55"
#define LINK6_OTHER "\xfe\x80\0\0\0\0\0\0\0\x11\x22\xff\xfe\x33\x44\x56"
#define OWN6 "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x10"
#define OTHER6 "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x11"
#define NONE6 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define TCP "\6"
#define UDP "\x11"
#define ICMP6 "\x3a"
#define NS(target) "\x87\0\0\0\0\0\0\0" target
#define NA(target) "\x88\0\0\0\0\0\0\0" target
#define FIRST_FRAGMENT(next) next "\0\0\1\0\0\0\1"
#define LATER_FRAGMENT(next) next "\0\0\x10\0\0\0\1"
#define DATA "\0\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\0\1\2\3\4\5\6\7"

#define BYTES(text) text, sizeof text - 1

static const struct { const char *name, *bytes; size_t length; bool by_mac, by_list; } rows[] = {
	{ "other type", BYTES(ALL MAC "\x88\xb5" DATA), true, false },
	{ "other source", BYTES(ALL OTHER "\x88\xb5" DATA), false, false },
	{ "other source, right address", BYTES(ALL OTHER "\x08\0\x45\0\0\x30\0\0\0\0\x40\6\0\0" OWN4 OWN4), false, false },
	{ "length, not a type", BYTES(ALL MAC "\0\x18" DATA), true, false },

	{ "arp", BYTES(ARP(MAC, OWN4)), true, true },
	{ "arp of another", BYTES(ARP(MAC, "\xc0\0\2\x0b")), true, false },
	{ "arp from another mac", BYTES(ARP(OTHER, OWN4)), false, false },
	{ "arp probe", BYTES(ARP(MAC, NONE4)), true, true },
	{ "arp probe from another mac", BYTES(ARP(OTHER, NONE4)), false, false },
	{ "arp cut short", BYTES(ALL MAC "\x08\x06\0\1\x08\0\6\4\0\1" MAC OWN4), false, false },
	{ "arp of longer addresses", BYTES(ALL MAC "\x08\x06\0\1\x08\0\x08\4\0\1" MAC OWN4 DATA), false, false },
	{ "arp of something else", BYTES(ALL MAC "\x08\x06\0\1\x86\xdd\6\4\0\1" MAC OWN4 DATA), false, false },
	{ "rarp", BYTES(ALL MAC "\x80\x35\0\1\x08\0\6\4\0\3" MAC NONE4 MAC NONE4), true, true },
	{ "rarp for another", BYTES(ALL MAC "\x80\x35\0\1\x08\0\6\4\0\3" OTHER NONE4 OTHER NONE4), false, false },

	{ "ip4", BYTES(IP4(OWN4, "\0\0", TCP) DATA), true, true },
	{ "ip4 of another", BYTES(IP4("\xc0\0\2\x0b", "\0\0", TCP) DATA), true, false },
	{ "ip4 in a subnet, first", BYTES(IP4("\xc6\x33\x64\0", "\0\0", TCP) DATA), true, true },
	{ "ip4 in a subnet, last", BYTES(IP4("\xc6\x33\x64\x7f", "\0\0", TCP) DATA), true, true },
	{ "ip4 behind a subnet", BYTES(IP4("\xc6\x33\x64\x80", "\0\0", TCP) DATA), true, false },
	{ "ip4 beside a subnet", BYTES(IP4("\xc6\x33\x65\1", "\0\0", TCP) DATA), true, false },
	{ "ip4, a later fragment", BYTES(IP4(OWN4, "\0\x10", UDP) DATA), true, true },
	{ "ip4, another's fragment", BYTES(IP4("\xc0\0\2\x0b", "\0\x10", UDP) DATA), true, false },
	{ "ip4 that is none", BYTES(ALL MAC "\x08\0\x65\0\0\x30\0\0\0\0\x40\6\0\0" OWN4 OWN4), true, false },
	{ "ip4 cut short", BYTES(ALL MAC "\x08\0\x45\0\0\x30\0\0\0\0\x40\6\0\0" OWN4), true, false },
	{ "dhcp", BYTES(IP4(NONE4, "\0\0", UDP) DISCOVER), true, true },
	{ "dhcp, do not fragment", BYTES(IP4(NONE4, "\x40\0", UDP) DISCOVER), true, true },
	{ "dhcp behind options", BYTES(ALL MAC "\x08\0\x46\0\0\x30\0\0\0\0\x40\x11\0\0" NONE4 ALL "\1\1" DISCOVER), true, true },
	{ "dhcp, first fragment", BYTES(IP4(NONE4, "\x20\0", UDP) DISCOVER), true, false },
	{ "dhcp, later fragment", BYTES(IP4(NONE4, "\0\1", UDP) DISCOVER), true, false },
	{ "dhcp over tcp", BYTES(IP4(NONE4, "\0\0", TCP) DISCOVER), true, false },
	{ "dhcp from a server", BYTES(IP4(NONE4, "\0\0", UDP) "\0\x43\0\x44\0\x08\0\0"), true, false },
	{ "dhcp to elsewhere", BYTES(IP4(NONE4, "\0\0", UDP) "\0\x44\0\x45\0\x08\0\0"), true, false },
	{ "dhcp cut short", BYTES(IP4(NONE4, "\0\0", UDP) "\0\x44\0"), true, false },
	{ "dhcp from another", BYTES(IP4("\0\0\0\1", "\0\0", UDP) DISCOVER), true, false },

	{ "ip6", BYTES(IP6(OWN6, "\x18", TCP) DATA), true, true },
	{ "ip6 of another", BYTES(IP6(OTHER6, "\x18", TCP) DATA), true, false },
	{ "ip6 in a subnet", BYTES(IP6("\x20\1\x0d\xb8\0\1\x0f\xff\0\0\0\0\0\0\0\1", "\x18", TCP) DATA), true, true },
	{ "ip6 behind a subnet", BYTES(IP6("\x20\1\x0d\xb8\0\1\x10\0\0\0\0\0\0\0\0\1", "\x18", TCP) DATA), true, false },
	{ "ip6 of the link", BYTES(IP6(LINK6, "\x18", UDP) DATA), true, true },
	{ "ip6 of the link, another's", BYTES(IP6(LINK6_OTHER, "\x18", UDP) DATA), true, false },
	{ "ip6 of the link, mac not turned", BYTES(IP6("\xfe\x80\0\0\0\0\0\0\2\x11\x22\xff\xfe\x33\x44\x55", "\x18", UDP) DATA), true, false },
	{ "ip6 of nobody", BYTES(IP6(NONE6, "\x18", UDP) DATA), true, false },
	{ "ip6 of nobody, later fragment", BYTES(IP6(NONE6, "\x18", "\x2c") LATER_FRAGMENT(ICMP6) DATA), true, false },
	{ "ip6 later fragment", BYTES(IP6(OWN6, "\x18", "\x2c") LATER_FRAGMENT(ICMP6) DATA), true, true },
	{ "ip6 cut short", BYTES(ALL MAC "\x86\xdd\x60\0\0\0\0\0\6\xff" OWN6), true, false },
	{ "ip6 that is none", BYTES(ALL MAC "\x86\xdd\x40\0\0\0\0\x18\6\xff" OWN6 TO6 DATA), true, false },
	{ "ip6 extensions without end", BYTES(IP6(OWN6, "\x18", "\0") "\0\x40\0\0\0\0\0\0" DATA), false, false },

	{ "probe for a duplicate", BYTES(IP6(NONE6, "\x18", ICMP6) NS(OWN6)), true, true },
	{ "probe for the link's", BYTES(IP6(NONE6, "\x18", ICMP6) NS(LINK6)), true, true },
	{ "probe for another's", BYTES(IP6(NONE6, "\x18", ICMP6) NS(OTHER6)), true, false },
	{ "solicitation for another", BYTES(IP6(OWN6, "\x20", ICMP6) NS(OTHER6) "\1\1" MAC), true, true },
	{ "solicitation from another mac", BYTES(IP6(OWN6, "\x20", ICMP6) NS(OTHER6) "\1\1" OTHER), false, false },
	{ "advertisement", BYTES(IP6(OWN6, "\x20", ICMP6) NA(OWN6) "\2\1" MAC), true, true },
	{ "advertisement of another", BYTES(IP6(OWN6, "\x20", ICMP6) NA(OTHER6) "\2\1" MAC), true, false },
	{ "advertisement of another mac", BYTES(IP6(OWN6, "\x20", ICMP6) NA(OWN6) "\2\1" OTHER), false, false },
	{ "of another mac, second option", BYTES(IP6(OWN6, "\x28", ICMP6) NA(OWN6) "\x0e\1\0\0\0\0\0\0\2\1" OTHER), false, false },
	{ "of another mac, long option", BYTES(IP6(OWN6, "\x28", ICMP6) NA(OWN6) "\2\2" OTHER "\0\0\0\0\0\0\0\0"), false, false },
	{ "behind the packet", BYTES(IP6(OWN6, "\x18", ICMP6) NA(OWN6) "\2\1" OTHER), true, true },
	{ "option without length", BYTES(IP6(OWN6, "\x20", ICMP6) NA(OWN6) "\2\0" OTHER), true, true },
	{ "advertisement behind an extension", BYTES(IP6(OWN6, "\x28", "\x3c") ICMP6 "\0\0\0\0\0\0\0" NA(OTHER6) "\2\1" MAC), true, false },
	{ "advertisement in a fragment", BYTES(IP6(OWN6, "\x28", "\x2c") FIRST_FRAGMENT(ICMP6) NA(OWN6) "\2\1" MAC), false, false },
	{ "advertisement, whole, as a fragment", BYTES(IP6(OWN6, "\x28", "\x2c") ICMP6 "\0\0\0\0\0\0\1" NA(OWN6) "\2\1" MAC), true, true },
	{ "advertisement cut short", BYTES(IP6(OWN6, "\x18", ICMP6) "\x88\0\0\0\0\0\0\0" "\x20\1\x0d\xb8"), false, false },
	{ "echo in a fragment", BYTES(IP6(OWN6, "\x28", "\x2c") FIRST_FRAGMENT(ICMP6) "\x80\0" DATA), true, true },
	{ "router solicitation", BYTES(IP6(NONE6, "\x08", ICMP6) "\x85\0\0\0\0\0\0\0"), true, true },
	{ "router solicitation from another mac", BYTES(IP6(LINK6, "\x10", ICMP6) "\x85\0\0\0\0\0\0\0\1\1" OTHER), false, false },
	{ "redirect to another mac", BYTES(IP6(LINK6, "\x30", ICMP6) "\x89\0\0\0\0\0\0\0" OTHER6 OTHER6 "\2\1" OTHER), false, false },
	{ "listener report of nobody", BYTES(IP6(NONE6, "\x18", "\0") ICMP6 "\0\5\2\0\0\1\0\x8f\0" DATA), true, true },
	{ "older listener report of nobody", BYTES(IP6(NONE6, "\x18", "\0") ICMP6 "\0\5\2\0\0\1\0\x83\0" DATA), true, true },
	{ "echo of nobody", BYTES(IP6(NONE6, "\x18", ICMP6) "\x80\0" DATA), true, false },
	{ "listener query of nobody", BYTES(IP6(NONE6, "\x18", ICMP6) "\x82\0" DATA), true, false },
	{ "advertisement of nobody", BYTES(IP6(NONE6, "\x20", ICMP6) NA(OWN6) "\2\1" MAC), true, false },
};

static const uint8_t mac[6] = MAC;
static const char *const listed[] = { "192.0.2.10", "198.51.100.0/25", "2001:db8::10", "2001:db8:1::/52" };

static struct antispoof rules_of(const char *const texts[], uint32_t count)
{
	struct antispoof rules = { .on = 1, .listed = count > 0, .count = count };

	for (uint32_t i = 0; i < count; i++)
		assert_true(antispoof_parse(texts[i], &rules.addresses[i]));
	return rules;
}

/* In a block of its own, behind @tags VLAN tags. */
static bool allows(const struct antispoof *rules, const char *bytes, size_t length, int tags)
{
	static const char tag[] = "\x81\0\0\5\x88\xa8\0\5\x91\0\0\5";
	size_t tag_bytes = (size_t)tags * 4, addresses = length < 12 ? length : 12;
	uint8_t *frame = malloc(length + tag_bytes + 1) + 1;	/* not aligned */
	bool allowed;

	memcpy(frame, bytes, addresses);
	memcpy(frame + addresses, tag, tag_bytes);
	memcpy(frame + addresses + tag_bytes, bytes + addresses, length - addresses);
	allowed = antispoof_allows(rules, mac, frame, (uint32_t)(length + tag_bytes));
	free(frame - 1);
	return allowed;
}

static void every_row_behind_any_tags(void **state)
{
	const struct antispoof by_mac = rules_of(NULL, 0), by_list = rules_of(listed, COUNT_OF(listed));

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int tags = 0; tags <= 3; tags++) {
			SAME(rows[i].name, allows(&by_mac, rows[i].bytes, rows[i].length, tags), rows[i].by_mac);
			SAME(rows[i].name, allows(&by_list, rows[i].bytes, rows[i].length, tags), rows[i].by_list);
		}
}

/* What an advertisement says must be seen; what is not to be seen of it is no reason to let it pass. */
static void less_of_a_frame_never_allows_more(void **state)
{
	const struct antispoof by_list = rules_of(listed, COUNT_OF(listed));

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t length = 0; length < rows[i].length; length++)
			for (int tags = 0; tags <= 3; tags++)
				if (allows(&by_list, rows[i].bytes, length, tags))
					SAME(rows[i].name, rows[i].by_list, true);
}

/* Nothing but tags, as many as are looked at. */
static void tags_without_end_do_not_pass(void **state)
{
	const struct antispoof rules = rules_of(NULL, 0);
	uint8_t frame[256];

	(void)state;
	for (size_t i = 0; i < sizeof frame; i += 4)
		memcpy(frame + i, "\x81\0\0\1", 4);
	memcpy(frame, ALL MAC, 12);
	assert_false(antispoof_allows(&rules, mac, frame, sizeof frame));
}

static void an_empty_list_allows_dhcp_and_the_link_only(void **state)
{
	const struct antispoof rules = { .on = 1, .listed = 1 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool others = strstr(rows[i].name, "dhcp") || strstr(rows[i].name, "link") ||
			      strstr(rows[i].name, "nobody") || strstr(rows[i].name, "router") ||
			      strstr(rows[i].name, "arp");

		if (!others)
			SAME(rows[i].name, allows(&rules, rows[i].bytes, rows[i].length, 0), false);
		if (strcmp(rows[i].name, "dhcp") == 0 || strcmp(rows[i].name, "ip6 of the link") == 0)
			SAME(rows[i].name, allows(&rules, rows[i].bytes, rows[i].length, 0), true);
	}
}

static void addresses_as_the_toolstack_writes_them(void **state)
{
	static const struct { const char *text, *shown; uint8_t version, prefix; } good[] = {
		{ "192.0.2.10", "192.0.2.10", 4, 32 }, { "192.0.2.10/24", "192.0.2.10/24", 4, 24 },
		{ "0.0.0.0/0", "0.0.0.0/0", 4, 0 }, { "192.0.2.1/32", "192.0.2.1", 4, 32 },
		{ "2001:DB8::1", "2001:db8::1", 6, 128 }, { "fe80::/64", "fe80::/64", 6, 64 },
		{ "::/0", "::/0", 6, 0 }, { "::ffff:192.0.2.1/128", "::ffff:192.0.2.1", 6, 128 },
		{ "1111:2222:3333:4444:5555:6666:123.123.123.123/127", NULL, 6, 127 },
	};
	static const char *const bad[] = {
		"", "/", "192.0.2", "192.0.2.256", "192.0.2.1/", "192.0.2.1/33", "192.0.2.1/-1", "192.0.2.1/+1",
		"192.0.2.1/ 1", "192.0.2.1/1x", "192.0.2.1/24/24", "192.0.2.1/255.255.255.0", "192.0.2.1/0032",
		"::1/129", "::1/", ":", "g::1", "fe80::1%eth0", "any", "10.0.0.1,10.0.0.2", "/24",
		"1111:2222:3333:4444:5555:6666:123.123.123.123/1234567",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct antispoof_address address;
		char text[64];

		SAME(good[i].text, antispoof_parse(good[i].text, &address), true);
		SAME(good[i].text, address.version, good[i].version);
		SAME(good[i].text, address.prefix, good[i].prefix);
		antispoof_format(&address, text, sizeof text);
		if (good[i].shown)
			assert_string_equal(text, good[i].shown);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct antispoof_address address;

		SAME(bad[i], antispoof_parse(bad[i], &address), false);
	}
}

/* Bit by bit, for each prefix. */
static void a_prefix_is_as_many_bits_as_it_says(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits <= 128; bits++)
		for (uint32_t differs = 0; differs < 128; differs++) {
			struct antispoof_address of = { .version = 6, .prefix = (uint8_t)bits };
			uint8_t address[16];

			memset(of.bytes, 0xa5, sizeof of.bytes);
			memcpy(address, of.bytes, sizeof address);
			address[differs / 8] ^= (uint8_t)(0x80 >> differs % 8);
			SAME("in", is_in(address, &of), differs >= bits);
			SAME("in", is_in(of.bytes, &of), true);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_behind_any_tags),
		cmocka_unit_test(less_of_a_frame_never_allows_more),
		cmocka_unit_test(tags_without_end_do_not_pass),
		cmocka_unit_test(an_empty_list_allows_dhcp_and_the_link_only),
		cmocka_unit_test(addresses_as_the_toolstack_writes_them),
		cmocka_unit_test(a_prefix_is_as_many_bits_as_it_says),
	};

	return cmocka_run_group_tests_name("antispoof", tests, NULL, NULL);
}
