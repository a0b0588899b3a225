/* verdict.c - the names of verdicts, from the same lists as the enums */
#include "verdict.h"

#define VERDICT_NAME(symbol, key, text) { key, text },
const struct verdict_name guest_tx_verdict_names[GUEST_TX_VERDICT_COUNT] = {
	GUEST_TX_VERDICTS(VERDICT_NAME)
};
const struct verdict_name guest_rx_verdict_names[GUEST_RX_VERDICT_COUNT] = {
	GUEST_RX_VERDICTS(VERDICT_NAME)
};
