/* vif_state.c - names of the words of struct queue_state, from the lists that declare them */
#include <stddef.h>

#include "vif_state.h"

#define STATE_WORD(member, key, text) { key, text, offsetof(struct queue_state, member) },
const struct state_word queue_counter_words[] = { QUEUE_COUNTERS(STATE_WORD) { NULL, NULL, 0 } };
const struct state_word queue_gauge_words[] = { QUEUE_GAUGES(STATE_WORD) { NULL, NULL, 0 } };
