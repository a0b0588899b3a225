/* vif_keys.h - the XenStore keys of a vif, read strictly
 *
 * A table has a row a key: who wrote it, its range, what stands for it when it is missing, where it
 * goes.  A guest with one queue writes its rings beside the other keys, one with more below queue-0/,
 * queue-1/ and so on (netif.h).  What stands below the frontend's directory was written by the guest and may be anything: each
 * key is a decimal number in its range, or the vif does not connect and the reason names key, value
 * and range.
 *
 * Pure but for @read. */
#ifndef BACKEND_VIF_KEYS_H
#define BACKEND_VIF_KEYS_H

#include <stddef.h>

#include "vif_config.h"

#define VIF_KEY_VALUE_MAX 64	/* longer values of these keys are refused unread */

enum vif_key_side { VIF_KEY_FRONTEND, VIF_KEY_BACKEND };

/* Reads one key: 0 with a NUL-ended value, -ENOENT, -EMSGSIZE if it is longer than @size allows,
 * -EILSEQ if a NUL lies in it, or another -errno. */
typedef int vif_key_read(void *context, enum vif_key_side side, const char *key,
			 char *value, size_t size);

/* Fills queues, features, mtu and mac of @config; @queues_max is what the guest was offered.  0, or
 * -errno with a sentence in @why. */
int vif_keys_read(vif_key_read *read, void *context, uint32_t queues_max, struct vif_config *config,
		  char *why, size_t why_size);

/* Fills the rates, multicast_control and xdp_headroom of @live, which may change at any time.  What makes no sense counts
 * as not there, as xen-netback has it (a typing error must not cut a guest off), and is told in @why, which
 * is "" else. */
void vif_keys_read_live(vif_key_read *read, void *context, struct vif_live *live, char *why, size_t why_size);

/* The toolstack's word on how many queues to offer for this vif (backend key unetback-queues), or
 * *@queues_max as it was.  0, or -errno with a sentence in @why. */
int vif_keys_read_queues_max(vif_key_read *read, void *context, uint32_t *queues_max,
			     char *why, size_t why_size);

/* What we tell the frontend before InitWait; ended by a NULL name.  A NULL value stands for the number
 * of queues. */
struct vif_offer { const char *name, *value; };
#define VIF_OFFERS_MAX 16
extern const struct vif_offer vif_offers[];

/* Foreign bytes made fit for a log line: printable ASCII, the rest as \xNN, cut to @size. */
void vif_keys_quote(const char *value, char *out, size_t size);

#endif
