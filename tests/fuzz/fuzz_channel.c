/* fuzz_channel.c - any datagram with any descriptors, as a compromised peer would send it
 *
 * What is taken for a message must be whole and of a known type; every descriptor that came is either
 * the caller's or closed; a message that was sent properly arrives as it was. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../backend/channel.h"
#include "fuzz.h"

#define FDS_SENT_MAX 40		/* more than anybody takes */
#define FD_LIMIT 64

static int ends[2], sample_fd;

static int open_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < FD_LIMIT; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	sample_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(sample_fd >= 0);
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	return 0;
}

static void send_raw(const uint8_t *data, size_t size, size_t fd_count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(FDS_SENT_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)data, size };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd_count > 0) {
		struct cmsghdr *cmsg = &control.header;

		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		for (size_t i = 0; i < fd_count; i++)
			memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &sample_fd, sizeof(int));
	}
	CHECK(sendmsg(ends[0], &header, MSG_DONTWAIT) == (ssize_t)size);
}

static bool has_text(uint32_t type)
{
	return type == MESSAGE_VIF_FAILED || type == MESSAGE_VIF_BROKEN || type == MESSAGE_LOG;
}

static size_t payload_size(uint32_t type)
{
	switch (type) {
	case MESSAGE_VIF_ADD:
	case MESSAGE_VIF_UPDATE:
		return sizeof(struct vif_config);
	case MESSAGE_VIF_HASH:
		return sizeof(struct hash_config);
	default:
		return 0;
	}
}

/* What was accepted is what was sent, and says all that its type promises. */
static void check_message(const struct message *message, const uint8_t *data, size_t size,
			  int fd_count)
{
	CHECK(message->type < MESSAGE_TYPE_COUNT);
	CHECK(size <= sizeof *message && memcmp(message, data, size) == 0);
	CHECK(fd_count == 0 || message->type == MESSAGE_VIF_ADD);
	if (has_text(message->type))
		CHECK(strlen(message->text) == size - offsetof(struct message, text) - 1);
	else
		CHECK(size == offsetof(struct message, config) + payload_size(message->type));
}

/* Sent again by our own hand it arrives once more. */
static void check_again(const struct message *message)
{
	struct message again;
	int fds[CHANNEL_FDS_MAX], fd_count;

	CHECK(channel_send(ends[0], message, &sample_fd, message->type == MESSAGE_VIF_ADD) == 0);
	CHECK(channel_receive(ends[1], &again, fds, &fd_count) == 1);
	CHECK(again.type == message->type && again.handle == message->handle);
	CHECK(fd_count == (message->type == MESSAGE_VIF_ADD));
	for (int i = 0; i < fd_count; i++)
		close(fds[i]);
}

static void check_config(const struct vif_config *config)
{
	char why[256] = "";

	if (vif_config_check(config, why, sizeof why) != 0) {
		CHECK(why[0] != '\0');
		return;
	}
	CHECK(config->queue_count >= 1 && config->queue_count <= VIF_QUEUES_MAX);
	CHECK(memchr(config->name, '\0', sizeof config->name) != NULL);
	CHECK(config->slot < VIFS_PER_GUEST_MAX && (config->features & ~VIF_F_ALL) == 0);
}

/* The first byte: how many descriptors; bit 7: cut or pad the rest to the size of its type, so that
 * the fuzzer need not guess it. */
static size_t shape_message(const uint8_t *data, size_t size, bool whole, uint8_t *out)
{
	uint32_t type;

	memset(out, 0, sizeof(struct message));
	if (size > sizeof(struct message) + 64)
		size = sizeof(struct message) + 64;
	memcpy(out, data, size);
	memcpy(&type, out, sizeof type);
	if (!whole || has_text(type))
		return size;
	return offsetof(struct message, config) + payload_size(type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t sent[sizeof(struct message) + 64];
	struct message message;
	int fds[CHANNEL_FDS_MAX], fd_count = -1, result;
	uint8_t control = size > 0 ? data[0] : 0;
	int before = open_fds();	/* the fuzzer has its own, now and then */

	if (size == 0)
		return 0;
	size = shape_message(data + 1, size - 1, control & 0x80, sent);
	send_raw(sent, size, (control & 0x7f) % (FDS_SENT_MAX + 1));
	memset(&message, 0xee, sizeof message);
	result = channel_receive(ends[1], &message, fds, &fd_count);
	CHECK(result == 1 || result == -EPROTO || (result == 0 && size == 0));
	CHECK(fd_count >= 0 && fd_count <= (int)CHANNEL_FDS_MAX && (result == 1 || fd_count == 0));
	if (result == 1) {
		check_message(&message, sent, size, fd_count);
		check_again(&message);
		if (message.type == MESSAGE_VIF_ADD)
			check_config(&message.config);
	}
	for (int i = 0; i < fd_count; i++) {
		CHECK(fcntl(fds[i], F_GETFD) == FD_CLOEXEC);
		close(fds[i]);
	}
	CHECK(open_fds() == before);
	return 0;
}
