/* fuzz.h - what every fuzz target starts with
 *
 * A target is one LLVMFuzzerTestOneInput().  With libFuzzer (make fuzz) it looks for inputs that
 * break it; with replay.c (make check-unit) it runs those that are checked in.  Nothing is left of an
 * input when the next one runs, so that each can be replayed alone. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define CHECK(holds) do {                                                                          \
	if (!(holds)) {                                                                            \
		fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds);         \
		abort();                                                                           \
	}                                                                                          \
} while (0)

/* The input, taken piece by piece.  Past its end there are zeros. */
struct fuzz_input { const uint8_t *at; size_t left; };

static inline uint32_t fuzz_take(struct fuzz_input *input, int bytes)
{
	uint32_t value = 0;

	for (int i = 0; i < bytes && input->left > 0; i++, input->left--)
		value |= (uint32_t)*input->at++ << (8 * i);
	return value;
}

static inline uint8_t fuzz_u8(struct fuzz_input *input) { return (uint8_t)fuzz_take(input, 1); }
static inline uint16_t fuzz_u16(struct fuzz_input *input) { return (uint16_t)fuzz_take(input, 2); }
static inline uint32_t fuzz_u32(struct fuzz_input *input) { return fuzz_take(input, 4); }

/* Copies at most @n bytes: how many there were. */
static inline size_t fuzz_bytes(struct fuzz_input *input, uint8_t *out, size_t n)
{
	if (n > input->left)
		n = input->left;
	if (n > 0)
		memcpy(out, input->at, n);
	input->at += n;
	input->left -= n;
	return n;
}

#endif
