/* fuzz_antispoof.c - any frame, any list, any text for an address
 *
 * What passes must hold up: a second look, written the other way round, reads the claims of the frame that
 * passed and wants each to be the guest's.  A frame passes whole and without a list if it passes with one, and
 * an address that was taken must mean the same once it is shown and taken again. */
#include <stdbool.h>

#include "../../backend/antispoof.h"
#include "../../backend/packet.h"
#include "fuzz.h"

static const uint8_t mac[6] = { 2, 0x11, 0x22, 0x33, 0x44, 0x55 };

static uint32_t word(const uint8_t *at)
{
	return at[0] * 256u + at[1];
}

static bool listed(const struct antispoof *rules, const uint8_t *address, int version)
{
	for (uint32_t i = 0; i < rules->count; i++) {
		const struct antispoof_address *of = &rules->addresses[i];
		uint32_t bit = 0;

		while (bit < of->prefix && !((address[bit / 8] ^ of->bytes[bit / 8]) & (0x80 >> bit % 8)))
			bit++;
		if (of->version == version && bit == of->prefix)
			return true;
	}
	return false;
}

static bool zero(const uint8_t *at, int n)
{
	while (n > 0 && at[n - 1] == 0)
		n--;
	return n == 0;
}

/* Of a frame that passed with a list. */
static void check_claims(const struct antispoof *rules, const uint8_t *frame, uint32_t length)
{
	static const uint8_t link[16] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55 };
	uint32_t at = 12, type;

	CHECK(length >= 14 && memcmp(frame + 6, mac, 6) == 0);
	while ((type = word(frame + at)) == 0x8100 || type == 0x88a8 || type == 0x9100)
		at += 4;
	at += 2;
	CHECK(at <= length);
	if (type == 0x0806 || type == 0x8035) {
		CHECK(at + 28 <= length && memcmp(frame + at + 8, mac, 6) == 0);
		CHECK(zero(frame + at + 14, 4) || listed(rules, frame + at + 14, 4));
	} else if (type == 0x0800) {
		CHECK(at + 20 <= length);
		CHECK(listed(rules, frame + at + 12, 4) || (zero(frame + at + 12, 4) && frame[at + 9] == 17));
	} else {
		CHECK(type == 0x86dd && at + 40 <= length);
		CHECK(zero(frame + at + 8, 16) || memcmp(frame + at + 8, link, 16) == 0 ||
		      listed(rules, frame + at + 8, 6));
		/* The commonest place of an advertisement, and of its first option. */
		if (frame[at + 6] == 58 && frame[at + 40] == 136) {
			CHECK(at + 64 <= length);
			CHECK(memcmp(frame + at + 48, link, 16) == 0 || listed(rules, frame + at + 48, 6));
			if (word(frame + at + 4) >= 32 && frame[at + 64] == 2 && frame[at + 65] == 1)
				CHECK(memcmp(frame + at + 66, mac, 6) == 0);
		}
	}
}

static void check_text(struct fuzz_input *input, struct antispoof *rules)
{
	struct antispoof_address *address = &rules->addresses[rules->count], again;
	char text[80], shown[64];
	size_t length = fuzz_u8(input) % (sizeof text - 1);

	length = fuzz_bytes(input, (uint8_t *)text, length);
	text[length] = '\0';
	if (!antispoof_parse(text, address))
		return;
	CHECK(address->prefix <= (address->version == 4 ? 32 : 128));
	CHECK(address->version == 4 || address->version == 6);
	antispoof_format(address, shown, sizeof shown);
	CHECK(antispoof_parse(shown, &again) && memcmp(&again, address, sizeof again) == 0);
	rules->count++;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* Texts, as many as the first byte says, then the frame; its source is mostly right. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct antispoof rules = { .on = 1, .listed = 1 }, none = { .on = 1 };
	uint8_t texts = fuzz_u8(&input), *frame;
	uint32_t length;

	for (int i = 0; i < texts % 4; i++)
		check_text(&input, &rules);
	length = input.left < PACKET_HEAD_MAX ? (uint32_t)input.left : PACKET_HEAD_MAX;
	frame = malloc(length + 1);
	fuzz_bytes(&input, frame, length);
	if (length >= 12 && !(texts & 0x80))
		memcpy(frame + 6, mac, 6);
	frame = realloc(frame, length ? length : 1);
	if (antispoof_allows(&rules, mac, frame, length)) {
		check_claims(&rules, frame, length);
		CHECK(antispoof_allows(&none, mac, frame, length));
	}
	free(frame);
	return 0;
}
