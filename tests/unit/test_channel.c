/* test_channel.c - messages between unetbackd and an instance, well-formed and not
 *
 * The hostile side writes bytes straight into the socket. */
#include <config.h>	/* OVS's string.h, which unit tests see, asks it about strnlen */

#include "../../backend/channel.c"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>

static int ends[2];

static int open_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static int setup(void **state)
{
	static int before;

	*state = &before;
	before = open_fds();
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

/* Whatever was received or refused, no descriptor is left. */
static int teardown(void **state)
{
	close(ends[0]);
	close(ends[1]);
	return open_fds() == *(int *)*state ? 0 : -1;
}

static struct message received;
static int fds[CHANNEL_FDS_MAX], fd_count;

static int receive(void)
{
	memset(&received, 0xee, sizeof received);
	return channel_receive(ends[1], &received, fds, &fd_count);
}

static void close_received(void)
{
	for (int i = 0; i < fd_count; i++)
		close(fds[i]);
}

static void each_type_arrives_as_it_was_sent(void **state)
{
	(void)state;
	for (uint32_t type = 0; type < MESSAGE_TYPE_COUNT; type++) {
		struct message message = { .type = type, .handle = 3, .level = LOG_LEVEL_INFO };

		if (shape[type].payload == PAYLOAD_CONFIG)
			message.config = (struct vif_config){ .version = 1, .guest = 7, .mtu = 9000 };
		else if (shape[type].payload == PAYLOAD_TEXT)
			snprintf(message.text, sizeof message.text, "why");
		SAME("send", channel_send(ends[0], &message, NULL, 0), 0);
		SAME("receive", receive(), 1);
		SAME("type", received.type, type);
		SAME("handle", received.handle, 3);
		SAME("fds", fd_count, 0);
		if (shape[type].payload == PAYLOAD_CONFIG)
			assert_memory_equal(&received.config, &message.config, sizeof message.config);
		else if (shape[type].payload == PAYLOAD_TEXT)
			assert_string_equal(received.text, "why");
	}
}

static void text_of_every_length(void **state)
{
	struct message message = { .type = MESSAGE_LOG };

	(void)state;
	for (size_t length = 0; length < LOG_LINE_MAX; length++) {
		memset(message.text, 'x', sizeof message.text);
		message.text[length] = '\0';
		SAME("send", channel_send(ends[0], &message, NULL, 0), 0);
		SAME("receive", receive(), 1);
		SAME("length", strlen(received.text), length);
	}
}

static void descriptors_travel_and_close_on_exec(void **state)
{
	struct message message = { .type = MESSAGE_VIF_ADD };
	int sent[CHANNEL_FDS_MAX], pipe_ends[2];
	char byte = 0;

	(void)state;
	assert_int_equal(pipe(pipe_ends), 0);
	for (int i = 0; i < CHANNEL_FDS_MAX; i++)
		sent[i] = pipe_ends[1];
	for (int count = 0; count <= CHANNEL_FDS_MAX; count++) {
		SAME("send", channel_send(ends[0], &message, sent, count), 0);
		SAME("receive", receive(), 1);
		SAME("count", fd_count, count);
		for (int i = 0; i < count; i++) {
			SAME("cloexec", fcntl(fds[i], F_GETFD), FD_CLOEXEC);
			SAME("write", write(fds[i], "y", 1), 1);
			SAME("read", read(pipe_ends[0], &byte, 1), 1);
		}
		close_received();
	}
	SAME("one too many", channel_send(ends[0], &message, sent, CHANNEL_FDS_MAX + 1), -EINVAL);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void nothing_there_and_nobody_there(void **state)
{
	const struct message message = { .type = MESSAGE_READY };

	(void)state;
	SAME("none now", receive(), -EAGAIN);
	channel_send(ends[0], &message, NULL, 0);
	close(ends[0]);
	SAME("the last one", receive(), 1);
	SAME("end", receive(), 0);
	SAME("to nobody", channel_send(ends[1], &message, NULL, 0), -EPIPE);
	ends[0] = -1;
}

static void a_full_socket_says_so(void **state)
{
	const struct message message = { .type = MESSAGE_VIF_ADD };
	int sent = 0, error;

	(void)state;
	while ((error = channel_send(ends[0], &message, NULL, 0)) == 0)
		sent++;
	SAME("full", error, -EAGAIN);
	assert_true(sent > 10);
	while (receive() == 1)
		sent--;
	SAME("none lost", sent, 0);
}

/* --- hostile ---------------------------------------------------------------------------------- */

static void sizes_other_than_the_types_are_refused(void **state)
{
	struct message message;

	(void)state;
	for (uint32_t type = 0; type < MESSAGE_TYPE_COUNT; type++)
		for (size_t size = 1; size <= sizeof message; size++) {
			const size_t payloads[] = {
				[PAYLOAD_NONE] = 0, [PAYLOAD_CONFIG] = sizeof message.config,
				[PAYLOAD_HASH] = sizeof message.hash, [PAYLOAD_TEXT] = 6,
			};
			bool good = size == HEADER + payloads[shape[type].payload];

			memset(&message, 0, sizeof message);
			message.type = type;
			memcpy(message.text, "hello", 6);
			SAME("write", write(ends[0], &message, size), (ssize_t)size);
			if (receive() != (good ? 1 : -EPROTO))
				fail_msg("type %u with %zu bytes", type, size);
		}
}

static void text_without_an_end_is_refused(void **state)
{
	struct message message = { .type = MESSAGE_VIF_FAILED };

	(void)state;
	memset(message.text, 'x', sizeof message.text);
	for (size_t size = HEADER; size <= HEADER + sizeof message.text; size++) {
		SAME("write", write(ends[0], &message, size), (ssize_t)size);
		SAME("receive", receive(), -EPROTO);
	}
}

static void unknown_types_are_refused(void **state)
{
	static const uint32_t types[] = { MESSAGE_TYPE_COUNT, 1000, 0x7fffffff, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		const struct message message = { .type = types[i] };

		SAME("write", write(ends[0], &message, HEADER), (ssize_t)HEADER);
		SAME("receive", receive(), -EPROTO);
	}
}

static void oversized_datagrams_are_refused(void **state)
{
	char bytes[sizeof(struct message) + 1] = { MESSAGE_LOG };

	(void)state;
	SAME("write", write(ends[0], bytes, sizeof bytes), (ssize_t)sizeof bytes);
	SAME("receive", receive(), -EPROTO);
}

/* What channel_send would not do: @count descriptors with a message of @type. */
static void send_with_fds(uint32_t type, size_t size, int count)
{
	struct message message = { .type = type };
	struct iovec iov = { &message, size };
	union { struct cmsghdr header; char bytes[CMSG_SPACE(64 * sizeof(int))]; } space = { { 0, 0, 0 } };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &space,
				 .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int)) };

	space.header.cmsg_level = SOL_SOCKET;
	space.header.cmsg_type = SCM_RIGHTS;
	space.header.cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
	for (int i = 0; i < count; i++)
		memcpy(CMSG_DATA(&space.header) + (size_t)i * sizeof(int), &ends[0], sizeof(int));
	assert_true(sendmsg(ends[0], &header, 0) == (ssize_t)size);
}

static void descriptors_nobody_asked_for_are_closed(void **state)
{
	(void)state;
	for (uint32_t type = 0; type < MESSAGE_TYPE_COUNT; type++) {
		size_t size = shape[type].payload == PAYLOAD_TEXT ? HEADER + 1 : HEADER;

		if (shape[type].fds)
			continue;
		send_with_fds(type, size, 1);
		SAME("receive", receive(), -EPROTO);
		SAME("fds", fd_count, 0);
	}
	send_with_fds(MESSAGE_VIF_ADD, HEADER + sizeof(struct vif_config), CHANNEL_FDS_MAX + 1);
	SAME("too many", receive(), -EPROTO);
	send_with_fds(MESSAGE_VIF_ADD, HEADER, 2);
	SAME("with a bad size", receive(), -EPROTO);
	send_with_fds(0, 0, 3);
	SAME("with nothing", receive(), 0);
	SAME("fds", fd_count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_type_arrives_as_it_was_sent),
		TEST(text_of_every_length),
		TEST(descriptors_travel_and_close_on_exec),
		TEST(nothing_there_and_nobody_there),
		TEST(a_full_socket_says_so),
		TEST(sizes_other_than_the_types_are_refused),
		TEST(text_without_an_end_is_refused),
		TEST(unknown_types_are_refused),
		TEST(oversized_datagrams_are_refused),
		TEST(descriptors_nobody_asked_for_are_closed),
	};

	return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
