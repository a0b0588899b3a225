/* supervisor.c - the instances: one process a guest; see supervisor.h
 *
 * A guest has entries, one a vif, each with what is wanted (connected or not) and what the running
 * process was told.  When the process dies the telling is forgotten and done again with the next one,
 * so restart needs no code of its own beyond that. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xenevtchn.h>

#include "channel.h"
#include "instance_process.h"
#include "log.h"
#include "supervisor.h"

#define BACKOFF_FIRST_MS  1000
#define BACKOFF_LIMIT_MS  30000
#define PEACE_MS          60000	/* an instance that lived this long restarts at once again */
#define MESSAGES_A_TURN   64	/* of one instance, so that none keeps the others waiting */
#define GUESTS_MAX        1024
#define END_WAIT_MS       5000

struct entry {
	bool used;
	bool told_add, told_remove;	/* the running process was sent VIF_ADD / VIF_REMOVE */
	bool wanted;			/* false: to be disconnected */
	struct vif_config config;
	int port_fds[VIF_QUEUES_MAX];
	int port_fd_count;
};

struct guest {
	struct guest *next;
	uint16_t domid;
	struct instance_process process;
	bool ending;			/* its channel was closed on purpose */
	struct guest_state *state;	/* mapped read-only */
	int state_fd;
	struct entry entries[VIFS_PER_GUEST_MAX];
	struct mono started, restart_at;
	uint32_t restarts, backoff_ms;
	struct log_limiter limiter;
	char last_end[128];
};

struct supervisor {
	struct supervisor_settings settings;
	struct guest *guests;
	int guest_count;
};

/* --- guests and entries ----------------------------------------------------------------------- */

static struct guest *find_guest(const struct supervisor *supervisor, uint16_t domid)
{
	struct guest *guest = supervisor->guests;

	while (guest && guest->domid != domid)
		guest = guest->next;
	return guest;
}

static struct entry *find_entry(struct guest *guest, uint32_t handle)
{
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++)
		if (guest->entries[i].used && guest->entries[i].config.handle == handle)
			return &guest->entries[i];
	return NULL;
}

static bool has_entries(const struct guest *guest)
{
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++)
		if (guest->entries[i].used)
			return true;
	return false;
}

static int make_state(struct guest *guest)
{
	guest->state_fd = memfd_create("unetback-state", MFD_CLOEXEC);
	if (guest->state_fd < 0 || ftruncate(guest->state_fd, sizeof *guest->state) != 0)
		return -errno;
	guest->state = mmap(NULL, sizeof *guest->state, PROT_READ, MAP_SHARED, guest->state_fd, 0);
	if (guest->state == MAP_FAILED) {
		guest->state = NULL;
		return -errno;
	}
	return 0;
}

static void free_guest(struct guest *guest)
{
	instance_process_forget(&guest->process);
	if (guest->state)
		munmap(guest->state, sizeof *guest->state);
	if (guest->state_fd >= 0)
		close(guest->state_fd);
	free(guest);
}

static struct guest *add_guest(struct supervisor *supervisor, uint16_t domid)
{
	struct guest *guest;

	if (supervisor->guest_count >= GUESTS_MAX) {
		log_error("guest %u is one more than the %d that one unetbackd serves", domid,
			  GUESTS_MAX);
		return NULL;
	}
	guest = calloc(1, sizeof *guest);
	if (!guest)
		return NULL;
	guest->domid = domid;
	guest->state_fd = -1;
	instance_process_init(&guest->process);
	if (make_state(guest) != 0) {
		log_error("guest %u: no memory for its state: %s", domid, strerror(errno));
		free_guest(guest);
		return NULL;
	}
	guest->next = supervisor->guests;
	supervisor->guests = guest;
	supervisor->guest_count++;
	return guest;
}

/* --- telling the process ---------------------------------------------------------------------- */

/* An open /dev/xen/evtchn for each queue; the instance cannot open any itself. */
static int open_event_channels(struct guest *guest, xenevtchn_handle *handles[], int fds[],
			       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		handles[i] = xenevtchn_open(NULL, 0);
		if (!handles[i]) {
			int error = errno > 0 ? -errno : -EIO;

			log_error("guest %u: /dev/xen/evtchn cannot be opened: %s; load the module "
				  "xen-evtchn", guest->domid, strerror(-error));
			while (i-- > 0)
				xenevtchn_close(handles[i]);
			return error;
		}
		fds[i] = xenevtchn_fd(handles[i]);
	}
	return 0;
}

static int send_add(struct guest *guest, struct entry *entry)
{
	struct message message = { .type = MESSAGE_VIF_ADD, .handle = entry->config.handle,
				   .config = entry->config };
	xenevtchn_handle *handles[VIF_QUEUES_MAX];
	uint32_t queues = entry->config.queue_count;
	int fds[CHANNEL_FDS_MAX];
	int error;

	memcpy(fds, entry->port_fds, (size_t)entry->port_fd_count * sizeof *fds);
	error = open_event_channels(guest, handles, fds + entry->port_fd_count, queues);
	if (error)
		return error;
	error = channel_send(guest->process.channel, &message, fds,
			     entry->port_fd_count + (int)queues);
	for (uint32_t i = 0; i < queues; i++)
		xenevtchn_close(handles[i]);
	return error;
}

/* Sends what the running process has not been told; a full socket is tried again next turn. */
static void tell(struct guest *guest)
{
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++) {
		struct entry *entry = &guest->entries[i];
		struct message remove = { .type = MESSAGE_VIF_REMOVE,
					  .handle = entry->config.handle };

		if (entry->used && entry->wanted && !entry->told_add)
			entry->told_add = send_add(guest, entry) == 0;
		if (entry->used && !entry->wanted && entry->told_add && !entry->told_remove)
			entry->told_remove = channel_send(guest->process.channel, &remove, NULL, 0) == 0;
	}
}

/* --- what the process says -------------------------------------------------------------------- */

static void drop_entry(struct supervisor *supervisor, struct guest *guest, struct entry *entry)
{
	uint32_t handle = entry->config.handle;

	memset(entry, 0, sizeof *entry);
	supervisor->settings.disconnected(supervisor->settings.context, guest->domid, handle);
}

static void hear(struct supervisor *supervisor, struct guest *guest, const struct message *message,
		 struct mono now)
{
	const struct supervisor_settings *settings = &supervisor->settings;
	struct entry *entry = find_entry(guest, message->handle);

	if (message->type == MESSAGE_LOG) {
		log_limited(&guest->limiter, now, message->level <= LOG_LEVEL_DEBUG ?
			    (enum log_level)message->level : LOG_LEVEL_INFO,
			    "guest %u: %s", guest->domid, message->text);
		return;
	}
	if (!entry)
		return;
	if (message->type == MESSAGE_VIF_CONNECTED && entry->wanted) {
		settings->connected(settings->context, guest->domid, message->handle);
	} else if (message->type == MESSAGE_VIF_BROKEN && entry->wanted) {
		settings->broken(settings->context, guest->domid, message->handle, message->text);
	} else if (message->type == MESSAGE_VIF_FAILED) {
		memset(entry, 0, sizeof *entry);
		settings->failed(settings->context, guest->domid, message->handle, message->text);
	} else if (message->type == MESSAGE_VIF_REMOVED && !entry->wanted) {
		drop_entry(supervisor, guest, entry);
	}
}

/* False when the channel has ended or talks nonsense. */
static bool hear_all(struct supervisor *supervisor, struct guest *guest, struct mono now)
{
	for (int i = 0; i < MESSAGES_A_TURN; i++) {
		int fds[CHANNEL_FDS_MAX], fd_count;
		struct message message;
		int got = channel_receive(guest->process.channel, &message, fds, &fd_count);

		if (got == -EAGAIN)
			return true;
		if (got <= 0)
			return false;
		for (int fd = 0; fd < fd_count; fd++)	/* none is expected from there */
			close(fds[fd]);
		hear(supervisor, guest, &message, now);
	}
	return true;
}

/* --- life and death --------------------------------------------------------------------------- */

static void start(struct supervisor *supervisor, struct guest *guest, struct mono now)
{
	const struct instance_program program = {
		.path = supervisor->settings.instance_path,
		.user = supervisor->settings.user,
		.guest = guest->domid,
		.self = supervisor->settings.self,
	};

	guest->started = now;
	guest->ending = false;
	if (instance_process_start(&guest->process, &program, guest->state_fd) != 0)
		guest->restart_at = mono_add_ms(now, BACKOFF_LIMIT_MS);
	else
		log_info("guest %u: instance %d started", guest->domid, guest->process.pid);
}

/* The process is gone and reaped.  What it held is given back by the kernel, so vifs that were to
 * be disconnected are; the others are told to the next process. */
static void after_death(struct supervisor *supervisor, struct guest *guest, struct mono now)
{
	bool expected = guest->ending;

	instance_process_describe(&guest->process, guest->last_end, sizeof guest->last_end);
	instance_process_forget(&guest->process);
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++) {
		struct entry *entry = &guest->entries[i];

		entry->told_add = entry->told_remove = false;
		if (entry->used && !entry->wanted)
			drop_entry(supervisor, guest, entry);
	}
	if (expected)
		return;
	if (mono_ms_between(guest->started, now) > PEACE_MS)
		guest->backoff_ms = 0;
	guest->restarts++;
	guest->restart_at = mono_add_ms(now, guest->backoff_ms);
	log_error("guest %u: its instance ended: %s; starting another in %u ms", guest->domid,
		  guest->last_end, guest->backoff_ms);
	guest->backoff_ms = guest->backoff_ms == 0 ? BACKOFF_FIRST_MS : guest->backoff_ms * 2;
	if (guest->backoff_ms > BACKOFF_LIMIT_MS)
		guest->backoff_ms = BACKOFF_LIMIT_MS;
}

static void run_guest(struct supervisor *supervisor, struct guest *guest, struct mono now)
{
	struct instance_process *process = &guest->process;

	if (process->pid > 0 && process->channel >= 0 && !hear_all(supervisor, guest, now))
		instance_process_end(process, now);
	if (process->pid > 0 && instance_process_reaped(process, now))
		after_death(supervisor, guest, now);
	if (process->pid == 0 && has_entries(guest) && now.ns >= guest->restart_at.ns)
		start(supervisor, guest, now);
	if (process->pid > 0 && process->channel >= 0) {
		tell(guest);
		if (!has_entries(guest)) {
			guest->ending = true;
			instance_process_end(process, now);
		}
	}
}

void supervisor_run(struct supervisor *supervisor, struct mono now)
{
	struct guest **link = &supervisor->guests;

	while (*link) {
		struct guest *guest = *link;

		run_guest(supervisor, guest, now);
		if (guest->process.pid == 0 && !has_entries(guest)) {
			*link = guest->next;
			supervisor->guest_count--;
			free_guest(guest);
		} else {
			link = &guest->next;
		}
	}
}

static bool has_more_to_tell(const struct guest *guest)
{
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++) {
		const struct entry *entry = &guest->entries[i];

		if (entry->used && (entry->wanted ? !entry->told_add
						  : entry->told_add && !entry->told_remove))
			return true;
	}
	return false;
}

void supervisor_wait(struct supervisor *supervisor, void (*wait_fd)(int fd, short events),
		     void (*wait_until)(struct mono when))
{
	for (struct guest *guest = supervisor->guests; guest; guest = guest->next) {
		const struct instance_process *process = &guest->process;

		if (process->pid == 0) {
			wait_until(guest->restart_at);
			continue;
		}
		wait_fd(process->pidfd, POLLIN);
		if (process->channel >= 0)
			wait_fd(process->channel, (short)(POLLIN | (has_more_to_tell(guest) ? POLLOUT : 0)));
		else
			wait_until(process->kill_at);
	}
}

/* --- for the vifs ----------------------------------------------------------------------------- */

static struct entry *free_entry(struct guest *guest, uint32_t *slot)
{
	for (*slot = 0; *slot < VIFS_PER_GUEST_MAX; ++*slot)
		if (!guest->entries[*slot].used)
			return &guest->entries[*slot];
	return NULL;
}

int supervisor_connect(struct supervisor *supervisor, const struct vif_config *config,
		       const int *port_fds)
{
	struct guest *guest = find_guest(supervisor, config->guest);
	struct entry *entry;
	uint32_t slot;

	if (!guest)
		guest = add_guest(supervisor, config->guest);
	if (!guest)
		return -ENOMEM;
	entry = free_entry(guest, &slot);
	if (!entry) {
		log_error("%s: one more than the %d vifs of a guest that are served", config->name,
			  VIFS_PER_GUEST_MAX);
		return -ENOSPC;
	}
	*entry = (struct entry){ .used = true, .wanted = true, .config = *config };
	entry->config.slot = slot;
	entry->port_fd_count = port_fds ? (int)config->queue_count : 0;
	if (port_fds)
		memcpy(entry->port_fds, port_fds, config->queue_count * sizeof *port_fds);
	return 0;
}

void supervisor_disconnect(struct supervisor *supervisor, uint16_t domid, uint32_t handle)
{
	struct guest *guest = find_guest(supervisor, domid);
	struct entry *entry = guest ? find_entry(guest, handle) : NULL;

	if (!entry) {		/* it failed, or was never connected: nothing is held */
		supervisor->settings.disconnected(supervisor->settings.context, domid, handle);
		return;
	}
	entry->wanted = false;
	if (!entry->told_add)
		drop_entry(supervisor, guest, entry);
}

bool supervisor_info(const struct supervisor *supervisor, uint16_t domid, uint32_t handle,
		     struct supervisor_guest_info *info)
{
	struct guest *guest = find_guest(supervisor, domid);
	struct entry *entry = guest ? find_entry(guest, handle) : NULL;

	if (!guest)
		return false;
	info->pid = guest->process.pid;
	info->restarts = guest->restarts;
	info->last_end = guest->last_end;
	info->state = entry ? &guest->state->vifs[entry->config.slot] : NULL;
	return true;
}

struct supervisor *supervisor_create(const struct supervisor_settings *settings)
{
	struct supervisor *supervisor = calloc(1, sizeof *supervisor);

	if (supervisor)
		supervisor->settings = *settings;
	return supervisor;
}

void supervisor_destroy(struct supervisor *supervisor)
{
	struct guest *guest, *next;

	if (!supervisor)
		return;
	for (guest = supervisor->guests; guest; guest = guest->next)
		instance_process_end(&guest->process, mono_now());
	for (guest = supervisor->guests; guest; guest = next) {
		next = guest->next;
		instance_process_wait(&guest->process, END_WAIT_MS);
		free_guest(guest);
	}
	free(supervisor);
}
