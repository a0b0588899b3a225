/* test_hash.c - Toeplitz hashes of frames, by Microsoft's verification suite and a second way to compute them */
#include <arpa/inet.h>
#include <stdlib.h>

#include "../../backend/hash.c"
#include "unit.h"

static const uint8_t key[HASH_KEY_MAX] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
	0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
	0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* "Verifying the RSS Hash Calculation", learn.microsoft.com. */
static const struct vector {
	const char *from, *to;
	uint16_t from_port, to_port;
	uint32_t addresses, with_ports;
} vectors[] = {
	{ "66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178 },
	{ "199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea },
	{ "24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a },
	{ "38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f },
	{ "153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2 },
	{ "3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d },
	{ "3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf },
	{ "3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024, 0x4b61e985,
	  0x02d1feef },
};

struct frame_spec { int tags, options; uint8_t protocol; bool fragment; };

static uint32_t make(uint8_t *bytes, const struct vector *vector, struct frame_spec spec)
{
	bool six = strchr(vector->from, ':');
	uint8_t *at = bytes + 12;
	uint16_t ports[2] = { htons(vector->from_port), htons(vector->to_port) };

	memset(bytes, 0, 200);
	for (int i = 0; i < spec.tags; i++, at += 4)
		memcpy(at, spec.tags == 2 && i == 0 ? "\x88\xa8" : "\x81\x00", 2);
	memcpy(at, six ? "\x86\xdd" : "\x08\x00", 2);
	at += 2;
	at[0] = six ? 0x60 : (uint8_t)(0x45 + spec.options);
	at[six ? 6 : 9] = spec.protocol;
	at[6] |= !six && spec.fragment ? 0x20 : 0;
	inet_pton(six ? AF_INET6 : AF_INET, vector->from, at + (six ? 8 : 12));
	inet_pton(six ? AF_INET6 : AF_INET, vector->to, at + (six ? 24 : 16));
	at += six ? 40 : 20 + 4 * spec.options;
	memcpy(at, ports, 4);
	return (uint32_t)(at - bytes) + 20;
}

static struct hash_config config_of(uint32_t types)
{
	struct hash_config config = { .algorithm = HASH_TOEPLITZ, .types = types };

	memcpy(config.key, key, sizeof key);
	return config;
}

static void the_published_vectors(void **state)
{
	static const struct frame_spec specs[] = {
		{ 0, 0, 6, false }, { 1, 0, 6, false }, { 2, 0, 6, false }, { 0, 10, 6, false },
		{ 0, 0, 17, false }, { 0, 0, 1, false }, { 0, 0, 6, true }, { 2, 5, 58, false },
	};

	(void)state;
	for (size_t v = 0; v < COUNT_OF(vectors); v++)
		for (size_t s = 0; s < COUNT_OF(specs); s++)
			for (uint32_t types = 0; types <= HASH_TYPES_ALL; types++) {
				bool six = strchr(vectors[v].from, ':');
				struct hash_config config = config_of(types);
				bool tcp = specs[s].protocol == 6 && (six || !specs[s].fragment) &&
					   (types & (six ? HASH_IPV6_TCP : HASH_IPV4_TCP));
				bool any = tcp || (types & (six ? HASH_IPV6 : HASH_IPV4));
				uint8_t bytes[200];
				uint32_t length = make(bytes, &vectors[v], specs[s]), type, value;

				SAME(vectors[v].from, hash_frame(&config, bytes, length, &type, &value), any);
				if (!any)
					continue;
				SAME(vectors[v].from, value, tcp ? vectors[v].with_ports : vectors[v].addresses);
				SAME(vectors[v].from, type, tcp ? (six ? HASH_IPV6_TCP : HASH_IPV4_TCP)
							       : (six ? HASH_IPV6 : HASH_IPV4));
			}
}

/* Wherever it is cut off: no byte behind is read (ASan), and TCP without its ports is hashed as IP. */
static void frames_cut_short(void **state)
{
	struct hash_config config = config_of(HASH_TYPES_ALL);

	(void)state;
	for (size_t v = 0; v < COUNT_OF(vectors); v++) {
		bool six = strchr(vectors[v].from, ':');
		uint32_t ip = 14 + (six ? 40 : 20), type, value;
		uint8_t bytes[200];

		make(bytes, &vectors[v], (struct frame_spec){ 0, 0, 6, false });
		for (uint32_t have = 0; have <= ip + 4; have++) {
			uint8_t *copy = malloc(have ? have : 1);

			memcpy(copy, bytes, have);
			SAME("hashed", hash_frame(&config, copy, have, &type, &value), have >= ip);
			if (have >= ip)
				SAME("value", value, have < ip + 4 ? vectors[v].addresses : vectors[v].with_ports);
			free(copy);
		}
	}
}

static void what_is_no_ip_has_no_hash(void **state)
{
	static const uint8_t arp[60] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 8, 6 };
	struct hash_config config = config_of(HASH_TYPES_ALL);
	uint32_t type, value;

	(void)state;
	assert_false(hash_frame(&config, arp, sizeof arp, &type, &value));
	config.types = 0;
	assert_false(hash_is_on(&config));
}

static void configurations_are_checked(void **state)
{
	struct hash_config config = config_of(HASH_TYPES_ALL);

	(void)state;
	config.mapping_size = HASH_MAPPING_MAX;
	memset(config.mapping, 3, sizeof config.mapping);
	assert_true(hash_config_is_good(&config, 4));
	assert_false(hash_config_is_good(&config, 3));
	config.mapping_size = HASH_MAPPING_MAX + 1;
	assert_false(hash_config_is_good(&config, 4));
	config.mapping_size = 0;
	assert_true(hash_config_is_good(&config, 1));
	config.types = HASH_TYPES_ALL + 1;
	assert_false(hash_config_is_good(&config, 4));
	config.types = 0;
	config.algorithm = 2;
	assert_false(hash_config_is_good(&config, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_vectors),
		cmocka_unit_test(frames_cut_short),
		cmocka_unit_test(what_is_no_ip_has_no_hash),
		cmocka_unit_test(configurations_are_checked),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
