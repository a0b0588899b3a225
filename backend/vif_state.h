/* vif_state.h - what an instance tells by memory: counters, indices, fill
 *
 * A memfd per guest that unetbackd makes, maps read-only for its commands and hands to the instance,
 * which writes it from its queue threads: each word has one writer and is stored and loaded whole
 * (state_add, state_set, state_get), so there is no lock and no torn value.  Readers see each word
 * as of some recent moment; sums agree exactly when the queue is idle.
 *
 * unetbackd takes what it reads here for numbers to print and for nothing else: a compromised
 * instance can lie, and only about its own guest. */
#ifndef BACKEND_VIF_STATE_H
#define BACKEND_VIF_STATE_H

#include <stdint.h>

#include "hash.h"
#include "multicast.h"
#include "verdict.h"
#include "vif_config.h"

#define GUEST_STATE_MAGIC 0x756e6574u	/* "unet" */

/*	member			key in `unetback stats`	meaning */
#define QUEUE_COUNTERS(X)                                                                          \
	X(tx_frames,		"guest_tx_frames",	"frames seen from the guest")              \
	X(tx_bytes,		"guest_tx_bytes",	"bytes of the frames sent on")             \
	X(tx_slots,		"guest_tx_slots",	"requests consumed, extras included")      \
	X(tx_gso_frames,	"guest_tx_gso_frames",	"frames the guest left to be cut into segments") \
	X(tx_gso_checksum_fixup, "guest_tx_gso_checksum_fixup", "GSO frames without the checksum flag, mended") \
	X(tx_segments,		"guest_tx_segments",	"segments we cut frames into for the port") \
	X(tx_checksummed,	"guest_tx_checksummed",	"frames whose checksum we completed for the guest") \
	X(tx_hashed,		"guest_tx_hashed",	"frames that came with a hash")            \
	X(tx_multicast_refused,	"guest_tx_multicast_refused", "multicast addresses beyond the 64 that fit, or none") \
	X(tx_no_credit,		"guest_tx_no_credit",	"times the queue waited, frames in the ring, as the rate was used up") \
	X(tx_polls,		"guest_tx_polls",	"polls that found frames")                 \
	X(tx_notifies,		"guest_tx_notifies",	"events sent for responses")               \
	X(announced,		"announced",		"frames sent to tell the switch where the guest is; none of the guest's") \
	X(rx_frames,		"guest_rx_frames",	"frames read from the port")               \
	X(rx_bytes,		"guest_rx_bytes",	"bytes of the frames delivered")           \
	X(rx_slots,		"guest_rx_slots",	"responses published, extras included")    \
	X(rx_gso_frames,	"guest_rx_gso_frames",	"frames delivered to be cut by the guest") \
	X(rx_segments,		"guest_rx_segments",	"segments we cut frames into for the guest") \
	X(rx_hashed,		"guest_rx_hashed",	"frames delivered with a hash")            \
	X(rx_checksummed,	"guest_rx_checksummed",	"frames whose checksum we completed for the guest") \
	X(rx_polls,		"guest_rx_polls",	"polls that delivered frames")             \
	X(rx_notifies,		"guest_rx_notifies",	"events sent for deliveries")              \
	X(rx_no_credit,		"guest_rx_no_credit",	"times the queue waited, frames in it, as the rate was used up") \
	X(rx_no_slots,		"guest_rx_no_slots",	"times the queue waited for the guest to post buffers") \
	X(rx_stalls,		"guest_rx_stalls",	"times the guest posted no buffers for the stall time, frames waiting") \
	X(rx_port_no_memory,	"guest_rx_port_no_memory", "times the port was left unread as the queue's memory was full") \
	X(rx_port_errors,	"guest_rx_port_errors",	"reads from the port that failed")         \
	X(copy_batches,		"copy_batches",		"grant copy calls")                        \
	X(copy_operations,	"copy_operations",	"operations in them")                      \
	X(copy_mapped,		"copy_mapped",		"copies from and to pages that the guest had us map") \
	X(wakeups,		"wakeups",		"times the thread woke up")                \
	X(events,		"events",		"events received from the guest")          \
	X(events_spurious,	"events_spurious",	"events that brought no work")

/*	member			key			meaning */
#define QUEUE_GAUGES(X)                                                                            \
	X(tx_req_prod,		"guest_tx_req_prod",	"the guest's producer index, as last seen") \
	X(tx_req_cons,		"guest_tx_req_cons",	"requests we have consumed")               \
	X(tx_rsp_prod,		"guest_tx_rsp_prod",	"responses we have published")             \
	X(rx_req_prod,		"guest_rx_req_prod",	"the guest's producer index, as last seen") \
	X(rx_req_cons,		"guest_rx_req_cons",	"requests we have consumed")               \
	X(rx_rsp_prod,		"guest_rx_rsp_prod",	"responses we have published")             \
	X(rx_queued_frames,	"guest_rx_queued_frames", "frames waiting for the guest")          \
	X(rx_queued_bytes,	"guest_rx_queued_bytes", "memory they occupy")                     \
	X(rx_stalled,		"guest_rx_stalled",	"1 while it posts none")                   \
	X(rx_slots_needed,	"guest_rx_slots_needed", "buffers that the frame at the head needed, at the last look at a stall") \
	X(rx_limit_frames,	"guest_rx_limit_frames", "depth in force, frames")                 \
	X(rx_limit_bytes,	"guest_rx_limit_bytes",	"depth in force, bytes")                   \
	X(rx_limit_age_ms,	"guest_rx_limit_age_ms", "age limit in force, ms")                 \
	X(tx_rate_bytes,	"guest_tx_rate_bytes",	"rate in force for all queues of the vif, bytes a second; 0: none") \
	X(tx_rate_packets,	"guest_tx_rate_packets", "the same, packets a second")             \
	X(rx_rate_bytes,	"guest_rx_rate_bytes",	"the same towards the guest, bytes")       \
	X(rx_rate_packets,	"guest_rx_rate_packets", "the same towards the guest, packets")    \
	X(granted_pages,	"granted_pages",	"buffer pages the hypervisor knows by grant") \
	X(mapped_pages,		"mapped_pages",		"pages of the guest's that it has us map")  \
	X(plain_pages,		"plain_pages",		"buffer pages of plain memory")            \
	X(thread_id,		"thread_id",		"Linux thread that serves this queue")     \
	X(broken,		"broken",		"1 after the guest broke a ring")

#define STATE_MEMBER(member, key, text) uint64_t member;
struct queue_state {
	QUEUE_COUNTERS(STATE_MEMBER)
	uint64_t tx_verdicts[GUEST_TX_VERDICT_COUNT];
	uint64_t rx_verdicts[GUEST_RX_VERDICT_COUNT];
	QUEUE_GAUGES(STATE_MEMBER)
} __attribute__((aligned(64)));
#undef STATE_MEMBER

struct vif_state {
	uint64_t connected;			/* number of queues running; 0 when idle */
	uint64_t features;			/* VIF_F_* in force */
	struct hash_config hash;		/* what the guest chose over its control ring; written by the
						 * main thread, and read whole by the next instance */
	struct vif_credits credits;		/* as the last life of the vif left them; written by the main
						 * thread, and read by the next life */
	struct multicast multicast;		/* also written by the queues' threads, see there */
	struct queue_state queues[VIF_QUEUES_MAX];
};

struct guest_state {
	uint64_t magic;
	uint64_t size;				/* sizeof(struct guest_state) of the writer */
	struct vif_state vifs[VIFS_PER_GUEST_MAX];
};

/* Name, meaning and place of each word, for printing: ended by a NULL key. */
struct state_word { const char *key, *text; unsigned int offset; };
extern const struct state_word queue_counter_words[];
extern const struct state_word queue_gauge_words[];

static inline uint64_t state_get(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void state_set(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline void state_add(uint64_t *word, uint64_t value)	/* by the word's one writer */
{
	state_set(word, state_get(word) + value);
}

#endif
