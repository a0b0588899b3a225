/* test_checksum.c - equal to adding byte by byte, for every length, alignment and cut */
#include "../../backend/checksum.c"
#include "../../backend/packet.h"
#include "frame_specs.h"
#include "frames.c"
#include "unit.h"

static uint16_t in_memory(uint16_t value)	/* of a naive sum, to compare with ours */
{
	return htons(value);
}

static void fill(uint8_t *data, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < length; i++) {
		seed = seed * 1103515245 + 12345;
		data[i] = (uint8_t)(seed >> 16);
	}
}

static void equals_naive_for_every_length_and_alignment(void **state)
{
	static uint8_t data[512];

	(void)state;
	fill(data, sizeof data, 1);
	for (size_t at = 0; at < 64; at++)
		for (size_t length = 0; length <= 300; length++)
			SAME("sum", checksum_fold(checksum_add(0, data + at, length)),
			     in_memory(naive_sum(0, data + at, (uint32_t)length)));
}

static void equals_naive_for_the_largest_and_for_the_worst_bytes(void **state)
{
	static uint8_t data[65557];

	(void)state;
	fill(data, sizeof data, 2);
	for (uint32_t length = 65557 - 9; length <= 65557; length++)
		SAME("random", checksum_fold(checksum_add(0, data, length)),
		     in_memory(naive_sum(0, data, length)));
	memset(data, 0xff, sizeof data);
	SAME("ones", checksum_fold(checksum_add(0, data, sizeof data)),
	     in_memory(naive_sum(0, data, sizeof data)));
	memset(data, 0, sizeof data);
	SAME("zeros", checksum_fold(checksum_add(0, data, sizeof data)), 0);
}

static void pieces_of_even_length_add_up(void **state)
{
	static uint8_t data[300];

	(void)state;
	fill(data, sizeof data, 3);
	for (size_t cut = 0; cut < sizeof data; cut += 2) {
		uint64_t sum = checksum_add(0, data, cut);

		sum = checksum_add(sum, data + cut, sizeof data - cut);
		SAME("sum", checksum_fold(sum), in_memory(naive_sum(0, data, sizeof data)));
	}
}

static struct packet_layout layout_of(const struct frame_spec *spec, const struct frame_layout *at)
{
	return (struct packet_layout){
		.network = (uint16_t)at->network, .transport = (uint16_t)at->transport,
		.payload = (uint16_t)at->payload,
		.checksum = (uint16_t)(at->checksum - at->transport),
		.ip_version = (uint8_t)spec->ip_version, .protocol = (uint8_t)spec->protocol,
	};
}

static void pseudo_header_and_completion_equal_naive(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(frame_specs); i++)
		for (uint32_t payload = 0; payload < 70; payload++) {
			struct frame_spec spec = frame_specs[i];
			uint8_t frame[2048], whole[2048];
			struct frame_layout at;
			struct packet_layout layout;

			spec.payload = payload;
			frame_build(whole, &spec, &at);
			layout = layout_of(&spec, &at);
			SAME(spec.name, checksum_pseudo_header(whole, &layout, at.length),
			     in_memory(naive_pseudo_header(whole, &spec, &at)));
			memcpy(frame, whole, sizeof frame);
			frame_blank_checksum(frame, &spec, &at);
			checksum_complete(frame, at.length, at.transport,
					  at.checksum - at.transport);
			assert_memory_equal(frame, whole, at.length);
		}
}

/* The pseudo header's length has 16 bits on a ring: the largest frame's must not wrap wrongly. */
static void largest_frame_completes(void **state)
{
	struct frame_spec spec = { "largest", 0, 4, 0, 0, IPPROTO_TCP, 0, 65535 - 54 };
	uint8_t *whole = malloc(65535), *frame = malloc(65535);
	struct frame_layout at;

	(void)state;
	frame_build(whole, &spec, &at);
	assert_int_equal(at.length, 65535);
	memcpy(frame, whole, 65535);
	frame_blank_checksum(frame, &spec, &at);
	checksum_complete(frame, at.length, at.transport, 16);
	assert_memory_equal(frame, whole, 65535);
	free(whole);
	free(frame);
}

/* RFC 768: a sum of 0 means "no checksum"; it is sent as all ones. */
static void a_result_of_zero_is_stored_as_ones(void **state)
{
	uint8_t bytes[4] = { 0xff, 0xff, 0x00, 0x00 };

	(void)state;
	checksum_complete(bytes, 4, 0, 2);
	assert_int_equal(frame_get16(bytes + 2), 0xffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_naive_for_every_length_and_alignment),
		cmocka_unit_test(equals_naive_for_the_largest_and_for_the_worst_bytes),
		cmocka_unit_test(pieces_of_even_length_add_up),
		cmocka_unit_test(pseudo_header_and_completion_equal_naive),
		cmocka_unit_test(largest_frame_completes),
		cmocka_unit_test(a_result_of_zero_is_stored_as_ones),
	};

	return cmocka_run_group_tests_name("checksum", tests, NULL, NULL);
}
