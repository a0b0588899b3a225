/* supervisor_talk.c - what is said to an instance and by it; see supervisor.h
 *
 * An entry remembers what the running process was told and what it owes an answer to.  Whatever comes
 * from it is untrusted: it can only answer for vifs it was told of, in text that is made printable. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xenevtchn.h>

#include "channel.h"
#include "supervisor_internal.h"

#define MESSAGES_A_TURN 64	/* of one instance, so that none keeps the others waiting */

struct entry *supervisor_entry(struct guest *guest, uint32_t handle)
{
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++)
		if (guest->entries[i].used && guest->entries[i].config.handle == handle)
			return &guest->entries[i];
	return NULL;
}

/* --- telling the process ---------------------------------------------------------------------- */

/* An open /dev/xen/evtchn for each queue and the control ring; the instance cannot open any itself. */
static int open_event_channels(xenevtchn_handle *handles[], int fds[], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		handles[i] = xenevtchn_open(NULL, 0);
		if (!handles[i]) {
			int error = errno > 0 ? -errno : -EIO;

			while (i-- > 0)
				xenevtchn_close(handles[i]);
			return error == -EAGAIN ? -EIO : error;
		}
		fds[i] = xenevtchn_fd(handles[i]);
	}
	return 0;
}

/* 0, -EAGAIN if the socket is full, or -errno with the reason in @why. */
static int send_add(struct guest *guest, struct entry *entry, char *why, size_t size)
{
	struct message message = { .type = MESSAGE_VIF_ADD, .handle = entry->config.handle,
				   .config = entry->config };
	xenevtchn_handle *handles[VIF_QUEUES_MAX + 1];
	uint32_t channels = entry->config.queue_count + (entry->config.control_ring_ref != 0);
	int fds[CHANNEL_FDS_MAX];
	int error;

	memcpy(fds, entry->port_fds, (size_t)entry->port_fd_count * sizeof *fds);
	error = open_event_channels(handles, fds + entry->port_fd_count, channels);
	if (error) {
		snprintf(why, size, "/dev/xen/evtchn cannot be opened: %s", strerror(-error));
		return error;
	}
	error = channel_send(guest->process.channel, &message, fds,
			     entry->port_fd_count + (int)channels);
	for (uint32_t i = 0; i < channels; i++)
		xenevtchn_close(handles[i]);
	if (error == -EPIPE || error == -ECONNRESET)
		return -EAGAIN;		/* it is about to be buried; the next one is told */
	if (error)
		snprintf(why, size, "cannot be passed to its instance: %s", strerror(-error));
	return error;
}

/* What the vif counted stays to be looked at until the slot is needed (supervisor_info). */
static void vacate(struct entry *entry)
{
	uint32_t handle = entry->config.handle;

	*entry = (struct entry){ .was_used = true, .config = { .handle = handle } };
}

static void fail_entry(struct supervisor *supervisor, struct guest *guest, struct entry *entry,
		       const char *why)
{
	uint32_t handle = entry->config.handle;

	vacate(entry);
	supervisor->settings.failed(supervisor->settings.context, guest->domid, handle, why);
}

void supervisor_drop_entry(struct supervisor *supervisor, struct guest *guest, struct entry *entry)
{
	uint32_t handle = entry->config.handle;

	vacate(entry);
	supervisor->settings.disconnected(supervisor->settings.context, guest->domid, handle);
}

static void tell_add(struct supervisor *supervisor, struct guest *guest, struct entry *entry)
{
	char why[128];
	int error = send_add(guest, entry, why, sizeof why);

	entry->told_add = error == 0;
	if (error && error != -EAGAIN)
		fail_entry(supervisor, guest, entry, why);
}

static void tell_update(struct guest *guest, struct entry *entry)
{
	const struct message update = { .type = MESSAGE_VIF_UPDATE, .handle = entry->config.handle,
					.config = entry->config };

	entry->outdated = channel_send(guest->process.channel, &update, NULL, 0) != 0;
}

static void tell_remove(struct guest *guest, struct entry *entry)
{
	const struct message remove = { .type = MESSAGE_VIF_REMOVE, .handle = entry->config.handle };

	entry->told_remove = channel_send(guest->process.channel, &remove, NULL, 0) == 0;
}

bool supervisor_has_to_tell(const struct entry *entry)
{
	return entry->used && (entry->wanted ? !entry->told_add || entry->outdated : !entry->told_remove);
}

/* True while the process owes an answer. */
static bool is_pending(const struct entry *entry)
{
	return entry->used && (!entry->wanted || !entry->up);
}

void supervisor_tell(struct supervisor *supervisor, struct guest *guest, struct mono now)
{
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++) {
		struct entry *entry = &guest->entries[i];

		if (supervisor_has_to_tell(entry) && entry->wanted && !entry->told_add)
			tell_add(supervisor, guest, entry);
		else if (supervisor_has_to_tell(entry) && entry->wanted)
			tell_update(guest, entry);
		else if (supervisor_has_to_tell(entry))
			tell_remove(guest, entry);
		if (is_pending(entry) && entry->answer_by.ns == 0)
			entry->answer_by = mono_add_ms(now, SUPERVISOR_ANSWER_MS);
	}
}

/* --- what the process says -------------------------------------------------------------------- */

/* Logs, error nodes and terminals get it: an instance that a guest has taken over writes plain text
 * like everybody else. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static void hear_log(struct guest *guest, const struct message *message, struct mono now)
{
	enum log_level level = message->level <= LOG_LEVEL_DEBUG ? (enum log_level)message->level
								  : LOG_LEVEL_INFO;

	log_limited(&guest->limiter, now, level, "guest %u: %s", guest->domid, message->text);
}

static void hear_of_vif(struct supervisor *supervisor, struct guest *guest, struct entry *entry,
			const struct message *message)
{
	const struct supervisor_settings *settings = &supervisor->settings;

	if (message->type == MESSAGE_VIF_CONNECTED && entry->wanted && entry->told_add && !entry->up) {
		entry->up = true;
		entry->config.fresh = 0;	/* for the next instance */
		entry->answer_by.ns = 0;
		settings->connected(settings->context, guest->domid, message->handle);
	} else if (message->type == MESSAGE_VIF_HASH && entry->wanted) {
		settings->hashed(settings->context, guest->domid, message->handle, &message->hash);
	} else if (message->type == MESSAGE_VIF_BROKEN && entry->wanted) {
		settings->broken(settings->context, guest->domid, message->handle, message->text);
	} else if (message->type == MESSAGE_VIF_FAILED && entry->told_add) {
		fail_entry(supervisor, guest, entry, message->text);
	} else if (message->type == MESSAGE_VIF_REMOVED && entry->told_remove) {
		supervisor_drop_entry(supervisor, guest, entry);
	}
}

/* False for what an instance never says. */
static bool hear(struct supervisor *supervisor, struct guest *guest, struct message *message,
		 struct mono now)
{
	struct entry *entry = supervisor_entry(guest, message->handle);

	switch (message->type) {
	case MESSAGE_LOG:
		make_printable(message->text);
		hear_log(guest, message, now);
		return true;
	case MESSAGE_VIF_FAILED:
	case MESSAGE_VIF_BROKEN:
		make_printable(message->text);
		/* fall through */
	case MESSAGE_VIF_CONNECTED:
	case MESSAGE_VIF_REMOVED:
	case MESSAGE_VIF_HASH:
		if (entry && message->type == MESSAGE_VIF_HASH &&
		    !hash_config_is_good(&message->hash, entry->config.queue_count))
			return false;
		if (entry)
			hear_of_vif(supervisor, guest, entry, message);
		return true;
	default:
		return message->type == MESSAGE_READY;
	}
}

static void close_all(const int fds[], int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

int supervisor_hear(struct supervisor *supervisor, struct guest *guest, struct mono now)
{
	for (int i = 0; i < MESSAGES_A_TURN; i++) {
		int fds[CHANNEL_FDS_MAX], fd_count;
		struct message message;
		int got = channel_receive(guest->process.channel, &message, fds, &fd_count);

		if (got == -EAGAIN)
			return 0;
		if (got <= 0)
			return got == -EPROTO ? got : 1;
		close_all(fds, fd_count);	/* none is expected from there */
		if (!hear(supervisor, guest, &message, now))
			return -EPROTO;
	}
	return 0;
}

const char *supervisor_unanswered(const struct guest *guest, struct mono now)
{
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++) {
		const struct entry *entry = &guest->entries[i];

		if (is_pending(entry) && entry->answer_by.ns != 0 && now.ns >= entry->answer_by.ns)
			return entry->wanted ? "no answer to VIF_ADD" : "no answer to VIF_REMOVE";
	}
	return NULL;
}
