/* verdict.h - what became of each frame
 *
 * Every frame the engine sees ends in exactly one verdict, and every verdict is a counter with a name
 * (keys of `unetback stats`) and a sentence.  So for each queue and direction
 *
 *	frames seen = sum of all verdicts + frames still queued (guest_rx only)
 *
 * holds whenever no poll is running.  Directions are the guest's. */
#ifndef BACKEND_VERDICT_H
#define BACKEND_VERDICT_H

/*	symbol		key			what it means */
#define GUEST_TX_VERDICTS(X)                                                                       \
	X(SENT,		"sent",			"handed to the port")                              \
	X(CONTROL,	"control",		"a request without a frame, such as a multicast filter change") \
	X(TOO_SHORT,	"too-short",		"less than 14 bytes, the Ethernet header")         \
	X(TOO_MANY_SLOTS, "too-many-slots",	"more than 19 slots; answered with an error")      \
	X(SLOT_TOO_LARGE, "slot-too-large",	"a later slot is larger than what is left of the frame") \
	X(COPY_FAILED,	"copy-failed",		"a grant could not be copied (status of the hypervisor)") \
	X(BAD_OFFLOAD,	"bad-offload",		"checksum or segmentation asked of a frame that is not TCP or UDP") \
	X(SPOOFED,	"spoofed",		"not from the guest's own MAC, or from an address not in its list") \
	X(PORT_FULL,	"port-full",		"the port's queue had no room")                    \
	X(PORT_DOWN,	"port-down",		"the port's device is down")                       \
	X(PORT_ERROR,	"port-error",		"the port refused the frame")                      \
	X(RING_BROKEN,	"ring-broken",		"the guest broke the ring; the vif was closed")

#define GUEST_RX_VERDICTS(X)                                                                       \
	X(DELIVERED,	"delivered",		"lies in the guest's buffers")                     \
	X(QUEUE_FRAMES,	"queue-full-frames",	"the queue held as many frames as its depth allows") \
	X(QUEUE_BYTES,	"queue-full-bytes",	"the queue held as many bytes as its limit allows") \
	X(TOO_OLD,	"too-old",		"waited for the guest to post buffers, or for its rate, longer than the age limit") \
	X(TOO_LARGE,	"too-large",		"larger than this guest can take (no scatter-gather, or over 65,557 bytes)") \
	X(TOO_LONG,	"too-long-for-mtu",	"longer than the vif's MTU, and no TCP that could be cut") \
	X(NO_OFFLOAD,	"no-offload",		"needs an offload that this guest did not ask for, and is no TCP to be cut") \
	X(FILTERED,	"filtered",		"to a multicast address that the guest asked not to get") \
	X(BAD_FRAME,	"bad-frame",		"the port delivered a frame that makes no sense")  \
	X(COPY_FAILED,	"copy-failed",		"a grant could not be copied (status of the hypervisor)") \
	X(DISCONNECTED,	"disconnected",		"still queued when the guest disconnected")

#define VERDICT_ENUM_TX(symbol, key, text) GUEST_TX_##symbol,
#define VERDICT_ENUM_RX(symbol, key, text) GUEST_RX_##symbol,
enum guest_tx_verdict { GUEST_TX_VERDICTS(VERDICT_ENUM_TX) GUEST_TX_VERDICT_COUNT };
enum guest_rx_verdict { GUEST_RX_VERDICTS(VERDICT_ENUM_RX) GUEST_RX_VERDICT_COUNT };
#undef VERDICT_ENUM_TX
#undef VERDICT_ENUM_RX

struct verdict_name { const char *key; const char *text; };
extern const struct verdict_name guest_tx_verdict_names[GUEST_TX_VERDICT_COUNT];
extern const struct verdict_name guest_rx_verdict_names[GUEST_RX_VERDICT_COUNT];

#endif
