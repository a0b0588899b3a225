/* channel.c - messages between unetbackd and an instance; see channel.h */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel.h"

#define HEADER offsetof(struct message, config)

enum payload { PAYLOAD_NONE, PAYLOAD_CONFIG, PAYLOAD_HASH, PAYLOAD_TEXT };

static const struct { enum payload payload; bool fds; } shape[MESSAGE_TYPE_COUNT] = {
	[MESSAGE_VIF_ADD]       = { PAYLOAD_CONFIG, true },
	[MESSAGE_VIF_UPDATE]    = { PAYLOAD_CONFIG, false },
	[MESSAGE_VIF_REMOVE]    = { PAYLOAD_NONE,   false },
	[MESSAGE_READY]         = { PAYLOAD_NONE,   false },
	[MESSAGE_VIF_CONNECTED] = { PAYLOAD_NONE,   false },
	[MESSAGE_VIF_FAILED]    = { PAYLOAD_TEXT,   false },
	[MESSAGE_VIF_BROKEN]    = { PAYLOAD_TEXT,   false },
	[MESSAGE_VIF_HASH]      = { PAYLOAD_HASH,   false },
	[MESSAGE_VIF_REMOVED]   = { PAYLOAD_NONE,   false },
	[MESSAGE_LOG]           = { PAYLOAD_TEXT,   false },
};

static size_t message_size(const struct message *message)
{
	switch (shape[message->type].payload) {
	case PAYLOAD_CONFIG:
		return HEADER + sizeof message->config;
	case PAYLOAD_HASH:
		return HEADER + sizeof message->hash;
	case PAYLOAD_TEXT:
		return HEADER + strnlen(message->text, sizeof message->text - 1) + 1;
	default:
		return HEADER;
	}
}

/* The kernel fills the control buffer to its end, so it must end where our array does. */
_Static_assert(CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int)) == CMSG_LEN(CHANNEL_FDS_MAX * sizeof(int)),
	       "no room for one more descriptor");

union control {
	struct cmsghdr header;		/* for its alignment */
	char bytes[CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int))];
};

int channel_send(int socket, const struct message *message, const int *fds, int fd_count)
{
	struct iovec iov = { (void *)message, message_size(message) };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control;

	if (fd_count > CHANNEL_FDS_MAX)
		return -EINVAL;
	if (fd_count > 0) {
		struct cmsghdr *cmsg = &control.header;

		memset(&control, 0, sizeof control);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN((size_t)fd_count * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, (size_t)fd_count * sizeof(int));
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE((size_t)fd_count * sizeof(int));
	}
	return sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void take_fds(struct msghdr *header, int fds[], int *fd_count)
{
	*fd_count = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(fds, CMSG_DATA(c), bytes);	/* the kernel cut it to our control buffer */
		*fd_count = (int)(bytes / sizeof(int));
	}
}

/* Exactly the size that the type asks for, and text that ends where the message does. */
static bool well_formed(struct message *message, size_t got, int flags, int fd_count)
{
	if ((flags & (MSG_TRUNC | MSG_CTRUNC)) || got < HEADER ||
	    message->type >= MESSAGE_TYPE_COUNT)
		return false;
	if (fd_count > 0 && !shape[message->type].fds)
		return false;
	if (shape[message->type].payload != PAYLOAD_TEXT)
		return got == message_size(message);
	return got > HEADER && message->text[got - HEADER - 1] == '\0' && got == message_size(message);
}

int channel_receive(int socket, struct message *message, int fds[CHANNEL_FDS_MAX], int *fd_count)
{
	struct iovec iov = { message, sizeof *message };
	union control control;
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1,
				 .msg_control = &control, .msg_controllen = sizeof control };
	ssize_t got = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd_count = 0;
	if (got < 0)
		return errno == ECONNRESET ? 0 : -errno;
	take_fds(&header, fds, fd_count);	/* an empty datagram may carry some, too */
	if (got > 0 && well_formed(message, (size_t)got, header.msg_flags, *fd_count))
		return 1;
	for (int i = 0; i < *fd_count; i++)
		close(fds[i]);
	*fd_count = 0;
	return got == 0 ? 0 : -EPROTO;
}
