/* fake_instance.c - an instance that does as it is told, or the opposite; see fake_instance.h */
#include "fake_instance.h"
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../../backend/channel.h"
#include "../../backend/vif_state.h"

static void say(enum message_type type, uint32_t handle, const char *text)
{
	struct message message = { .type = type, .handle = handle };

	snprintf(message.text, sizeof message.text, "%s", text);
	while (channel_send(CHANNEL_FD, &message, NULL, 0) == -EAGAIN) {
		struct pollfd fd = { .fd = CHANNEL_FD, .events = POLLOUT };

		poll(&fd, 1, -1);
	}
}

static void say_log(uint32_t level, const char *text)
{
	struct message message = { .type = MESSAGE_LOG, .level = level };

	snprintf(message.text, sizeof message.text, "%s", text);
	channel_send(CHANNEL_FD, &message, NULL, 0);
}

/* How many instances of this guest have come this far: kept in the memory they share. */
static uint64_t count_me(void)
{
	struct guest_state *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED,
					  CHANNEL_STATE_FD, 0);

	return shared == MAP_FAILED ? 99 : __atomic_add_fetch(&shared->magic, 1, __ATOMIC_SEQ_CST);
}

static void say_hash(uint32_t handle, bool bad)
{
	struct message message = { .type = MESSAGE_VIF_HASH, .handle = handle };

	message.hash = (struct hash_config){ .algorithm = 1, .types = 3, .mapping_size = bad ? 129 : 128 };
	channel_send(CHANNEL_FD, &message, NULL, 0);
}

static const char *check_add(const struct message *message, int fd_count)
{
	char why[128];

	if (fd_count != 2)
		return "not a port and an event channel";
	if (vif_config_check(&message->config, why, sizeof why) != 0)
		return "bad config";
	return message->config.handle == message->handle ? NULL : "two handles";
}

static void on_add(const char *behaviour, const struct message *message, int fd_count)
{
	const char *wrong = check_add(message, fd_count);

	if (wrong || strcmp(behaviour, "fail") == 0)
		say(MESSAGE_VIF_FAILED, message->handle, wrong ? wrong : "bad\x1b[31m\nluck");
	else if (strcmp(behaviour, "exit") == 0)
		_exit(3);
	else if (strcmp(behaviour, "crash") == 0 || (strcmp(behaviour, "crash-once") == 0 && count_me() == 1))
		raise(SIGKILL);
	else if (strcmp(behaviour, "shrink") == 0)
		say(MESSAGE_VIF_FAILED, message->handle,
		    ftruncate(CHANNEL_STATE_FD, 0) == 0 ? "cut" : "sealed");
	else if (strcmp(behaviour, "mute") != 0)
		say(MESSAGE_VIF_CONNECTED, message->handle, "");
	if (strncmp(behaviour, "hash", 4) == 0)
		say_hash(message->handle, strcmp(behaviour, "hash-bad") == 0);
	if (strcmp(behaviour, "break") == 0)
		say(MESSAGE_VIF_BROKEN, message->handle, "the ring");
}

static void on_update(const struct message *message)
{
	char text[64];

	snprintf(text, sizeof text, "handle %u, %u frames", message->handle,
		 message->config.live.limits.frames);
	say_log(LOG_LEVEL_INFO, text);
}

static void on_start(const char *behaviour)
{
	if (strcmp(behaviour, "early") == 0)
		_exit(1);
	if (strcmp(behaviour, "nonsense") == 0 && write(CHANNEL_FD, "nonsense", 8) != 8)
		_exit(98);
	if (strcmp(behaviour, "order") == 0)		/* only unetbackd says that */
		say(MESSAGE_VIF_REMOVE, 0, "");
	if (strcmp(behaviour, "chatty") == 0)
		for (int i = 0; i < 1000; i++)
			say_log(i % 2 ? 77 : LOG_LEVEL_INFO, "blah\x07");
	if (strcmp(behaviour, "liar") == 0) {
		for (uint32_t handle = 0; handle < 4; handle++)
			say(MESSAGE_VIF_REMOVED, handle, "");
		say(MESSAGE_VIF_CONNECTED, 0, "");
		say(MESSAGE_VIF_FAILED, 99, "no such vif");
	}
}

int fake_instance(int argc, char *argv[])
{
	const char *behaviour = getenv(FAKE_INSTANCE_BEHAVIOUR);
	struct pollfd fd = { .fd = CHANNEL_FD, .events = POLLIN };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc != 4 || (strcmp(argv[1], "--guest=7") != 0 && strcmp(argv[1], "--guest=8") != 0) ||
	    strcmp(argv[2], "--self=5") != 0 || strcmp(argv[3], "--user=somebody") != 0)
		return 97;
	on_start(behaviour);
	say(MESSAGE_READY, 0, "");
	for (;;) {
		int fds[CHANNEL_FDS_MAX], fd_count, got_fds, got;
		struct message message;

		poll(&fd, 1, -1);
		got = channel_receive(CHANNEL_FD, &message, fds, &fd_count);
		got_fds = fd_count;
		if (got <= 0 && strcmp(behaviour, "undead") == 0)
			for (;;)
				pause();
		if (got <= 0)
			return strcmp(behaviour, "bad-end") == 0 ? 9 : 0;
		while (fd_count > 0)
			close(fds[--fd_count]);
		if (message.type == MESSAGE_VIF_ADD)
			on_add(behaviour, &message, got_fds);
		else if (message.type == MESSAGE_VIF_UPDATE)
			on_update(&message);
		else if (strcmp(behaviour, "keep") != 0)
			say(MESSAGE_VIF_REMOVED, message.handle, "");
	}
}
