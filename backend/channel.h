/* channel.h - the socket between unetbackd and one guest's instance
 *
 * A SOCK_SEQPACKET pair: one message is one datagram of struct message, cut after what its type
 * needs, with descriptors in SCM_RIGHTS where the table says so.  Either side treats the other's
 * messages as untrusted: wrong size, unknown type or surplus descriptors end the instance (in
 * unetbackd) or the process (in the instance).
 *
 *	to the instance
 *	VIF_ADD		config		descriptors: per queue a port fd (none if the kind has no device)
 *					and then per queue an open /dev/xen/evtchn, and one more for
 *					the control ring if there is one
 *	VIF_UPDATE	config		of a vif that was added: its live part is taken, not answered
 *	VIF_REMOVE	-		disconnect; answered by VIF_REMOVED when nothing is mapped any more
 *	from the instance
 *	READY		-		privileges are dropped, waiting for vifs
 *	VIF_CONNECTED	-		rings are mapped, ports bound, thread runs
 *	VIF_FAILED	text		VIF_ADD could not be done, and why; the vif does not exist
 *	VIF_BROKEN	text		the guest broke the protocol; vif is idle until VIF_REMOVE
 *	VIF_HASH	hash		the guest chose another hash over its control ring
 *	VIF_REMOVED	-		all mappings, ports and descriptors of the vif are gone
 *	LOG		level, text	a line for the log
 *
 * Closing the socket ends the instance. */
#ifndef BACKEND_CHANNEL_H
#define BACKEND_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "hash.h"
#include "log.h"
#include "vif_config.h"

enum message_type {
	MESSAGE_VIF_ADD, MESSAGE_VIF_UPDATE, MESSAGE_VIF_REMOVE,
	MESSAGE_READY, MESSAGE_VIF_CONNECTED, MESSAGE_VIF_FAILED, MESSAGE_VIF_BROKEN,
	MESSAGE_VIF_HASH, MESSAGE_VIF_REMOVED, MESSAGE_LOG,
	MESSAGE_TYPE_COUNT
};

struct message {
	uint32_t type;				/* enum message_type */
	uint32_t handle;			/* of the vif; 0 where there is none */
	uint32_t level;				/* LOG: enum log_level */
	uint32_t reserved;
	union {
		struct vif_config config;
		struct hash_config hash;
		char text[LOG_LINE_MAX];	/* always ended by a NUL */
	};
};

#define CHANNEL_FDS_MAX (2 * VIF_QUEUES_MAX + 2)	/* one more than needed: channel.c wants it even */

/* Descriptors an instance inherits from unetbackd, by number. */
#define CHANNEL_FD       3			/* the socket */
#define CHANNEL_STATE_FD 4			/* memfd of struct guest_state, vif_state.h */

/* 0, -EAGAIN if the socket is full, or -errno.  The caller keeps its descriptors. */
int channel_send(int socket, const struct message *message, const int *fds, int fd_count);

/* 1 with a checked message and @fd_count descriptors (close-on-exec, now the caller's), 0 at the end
 * of the peer, -EAGAIN when there is none now, -EPROTO for a malformed one, or -errno. */
int channel_receive(int socket, struct message *message, int fds[CHANNEL_FDS_MAX], int *fd_count);

#endif
