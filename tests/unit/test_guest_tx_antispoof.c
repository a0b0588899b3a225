/* test_guest_tx_antispoof.c - a guest cannot hide whom it says it is by how it cuts the frame
 *
 * An ARP, an IPv4 and an IPv6 frame, tagged and not, right and with one byte of the claim wrong, split at every byte
 * into three slots with an empty one between: dropped or sent as a whole frame would be. */
#include "../../backend/guest_tx.c"
#include "unit.h"
#include "world.c"

#define MAC "\x02\x11\x22\x33\x44\x55"
#define BYTES(text) text, sizeof text - 1

static const struct { const char *name, *bytes; size_t length, claim; } frames[] = {
	{ "arp", BYTES("\xff\xff\xff\xff\xff\xff" MAC "\x08\x06\0\1\x08\0\6\4\0\1" MAC "\xc0\0\2\x0a\0\0\0\0\0\0\xc0\0\2\1"), 31 },
	{ "source", BYTES("\xff\xff\xff\xff\xff\xff" MAC "\x08\x06\0\1\x08\0\6\4\0\1" MAC "\xc0\0\2\x0a\0\0\0\0\0\0\xc0\0\2\1"), 6 },
	{ "ip4", BYTES("\xff\xff\xff\xff\xff\xff" MAC "\x81\0\0\1\x08\0\x45\0\0\x14\0\0\0\0\x40\6\0\0\xc0\0\2\x0a\xc0\0\2\1"), 30 },
	{ "ip6", BYTES("\xff\xff\xff\xff\xff\xff" MAC "\x86\xdd\x60\0\0\0\0\0\6\xff\xfe\x80\0\0\0\0\0\0\0\x11\x22\xff\xfe\x33\x44\x55"
		       "\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1"), 37 },
};

static void send_split(size_t which, bool wrong, uint32_t first, uint32_t second)
{
	uint32_t length = (uint32_t)frames[which].length, sizes[4] = { first, 0, second, length - first - second };
	uint64_t spoofed = world_tx_verdict(GUEST_TX_SPOOFED), sent = world_tx_verdict(GUEST_TX_SENT);
	int16_t statuses[NETIF_RING_SIZE];
	uint8_t bytes[128];
	int n;

	memcpy(bytes, frames[which].bytes, length);
	bytes[frames[which].claim] ^= wrong;
	world_tx_frame(bytes, sizes, 4, 0, NULL);
	world_tx_publish();
	SAME(frames[which].name, world_tx_run(), 0);
	SAME(frames[which].name, world_tx_verdict(GUEST_TX_SPOOFED) - spoofed, wrong);
	SAME(frames[which].name, world_tx_verdict(GUEST_TX_SENT) - sent, !wrong);
	n = world_tx_answers(statuses);
	SAME("answers", n, 4);
	while (n-- > 0)
		SAME("answer", statuses[n], wrong ? NETIF_RSP_ERROR : NETIF_RSP_OKAY);
	SAME("at the port", fake_port_of(world->port)->sent_count, !wrong);
	fake_port_forget_sent(world->port);
}

static void no_split_hides_a_claim(void **state)
{
	(void)state;
	world->tx.antispoof = (struct antispoof){ .on = 1, .listed = 1, .count = 1 };
	assert_true(antispoof_parse("192.0.2.10", &world->tx.antispoof.addresses[0]));
	memcpy(world->tx.mac, MAC, 6);
	for (size_t i = 0; i < COUNT_OF(frames); i++)
		for (uint32_t first = 0; first < frames[i].length; first++)
			for (uint32_t second = 0; first + second <= frames[i].length; second += 3) {
				send_split(i, false, first, second);
				send_split(i, true, first, second);
			}
}

/* Off is off: what is in the list does not matter, nor does a frame that says nothing right. */
static void off_lets_all_pass(void **state)
{
	static const uint32_t sizes[] = { 14 };
	const uint8_t bytes[14] = { 0 };

	(void)state;
	world->tx.antispoof.listed = 1;
	memcpy(world->tx.mac, MAC, 6);
	world_tx_frame(bytes, sizes, 1, 0, NULL);
	world_tx_publish();
	assert_int_equal(world_tx_run(), 0);
	assert_int_equal(world_tx_verdict(GUEST_TX_SENT), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_split_hides_a_claim, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(off_lets_all_pass, world_setup, world_teardown),
	};

	return cmocka_run_group_tests_name("guest_tx_antispoof", tests, NULL, NULL);
}
