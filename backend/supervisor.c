/* supervisor.c - the instances: one process a guest; see supervisor.h
 *
 * A guest has entries, one a vif, each with what is wanted (connected or not) and what the running
 * process was told.  When the process dies the telling is forgotten and done again with the next one,
 * so restart needs no code of its own beyond that. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "supervisor_internal.h"

#define BACKOFF_FIRST_MS  1000
#define BACKOFF_LIMIT_MS  30000
#define PEACE_MS          60000	/* an instance that lived this long restarts at once again */
#define GUESTS_MAX        1024
#define END_WAIT_MS       5000

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* --- guests and entries ----------------------------------------------------------------------- */

static struct guest *find_guest(const struct supervisor *supervisor, uint16_t domid)
{
	struct guest *guest = supervisor->guests;

	while (guest && guest->domid != domid)
		guest = guest->next;
	return guest;
}

static bool has_entries(const struct guest *guest)
{
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++)
		if (guest->entries[i].used)
			return true;
	return false;
}

/* Worth a process. */
static bool is_wanted(const struct guest *guest)
{
	return guest->expected || has_entries(guest);
}

/* Sealed in its size: an instance that cut it short would kill us by SIGBUS. */
static int make_state(struct guest *guest)
{
	guest->state_fd = memfd_create("unetback-state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (guest->state_fd < 0 || ftruncate(guest->state_fd, sizeof *guest->state) != 0 ||
	    fcntl(guest->state_fd, F_ADD_SEALS, SEALS) != 0)
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

static struct guest *add_guest(struct supervisor *supervisor, uint16_t domid, char *why, size_t size)
{
	struct guest *guest;

	if (supervisor->guest_count >= GUESTS_MAX) {
		snprintf(why, size, "guest %u is one more than the %d that one unetbackd serves", domid,
			 GUESTS_MAX);
		return NULL;
	}
	guest = calloc(1, sizeof *guest);
	if (!guest) {
		snprintf(why, size, "no memory");
		return NULL;
	}
	guest->domid = domid;
	guest->state_fd = -1;
	instance_process_init(&guest->process);
	if (make_state(guest) != 0) {
		snprintf(why, size, "no memory for the counters of guest %u: %s", domid,
			 strerror(errno));
		free_guest(guest);
		return NULL;
	}
	guest->next = supervisor->guests;
	supervisor->guests = guest;
	supervisor->guest_count++;
	return guest;
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
	guest->fault = NULL;
	if (instance_process_start(&guest->process, &program, guest->state_fd) != 0)
		guest->restart_at = mono_add_ms(now, BACKOFF_LIMIT_MS);
	else
		log_info("guest %u: instance %d started", guest->domid, guest->process.pid);
}

static void plan_restart(struct guest *guest, struct mono now)
{
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

/* The process is gone and reaped.  What it held is given back by the kernel, so vifs that were to
 * be disconnected are; the others are told to the next process. */
static void after_death(struct supervisor *supervisor, struct guest *guest, struct mono now)
{
	bool in_order = guest->process.status == 0;
	char end[96];

	instance_process_describe(&guest->process, end, sizeof end);
	snprintf(guest->last_end, sizeof guest->last_end, "%s%s%s", guest->fault ? guest->fault : "",
		 guest->fault ? ": " : "", end);
	instance_process_forget(&guest->process);
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++) {
		struct entry *entry = &guest->entries[i];

		entry->told_add = entry->told_remove = entry->up = entry->outdated = false;
		entry->answer_by.ns = 0;
		if (entry->used && !entry->wanted)
			supervisor_drop_entry(supervisor, guest, entry);
	}
	guest->expected = false;
	if (has_entries(guest) && !guest->ending)
		plan_restart(guest, now);
	else if (!guest->ending || !in_order)
		log_warning("guest %u: its instance ended: %s", guest->domid, guest->last_end);
}

static void condemn(struct guest *guest, const char *fault, struct mono now)
{
	guest->fault = fault;
	instance_process_kill(&guest->process, now);
}

/* A process with an open channel: hears it, tells it, ends it when it is of no more use. */
static void converse(struct supervisor *supervisor, struct guest *guest, struct mono now)
{
	struct instance_process *process = &guest->process;
	int end = supervisor_hear(supervisor, guest, now);
	const char *unanswered;

	if (end == -EPROTO)
		condemn(guest, "sent a malformed message", now);
	else if (end)
		instance_process_end(process, now);
	if (process->channel < 0)
		return;
	supervisor_tell(supervisor, guest, now);
	unanswered = supervisor_unanswered(guest, now);
	if (unanswered)
		condemn(guest, unanswered, now);
	if (is_wanted(guest)) {
		guest->idle_until.ns = 0;
	} else if (guest->idle_until.ns == 0) {
		guest->idle_until = mono_add_ms(now, SUPERVISOR_IDLE_MS);
	} else if (now.ns >= guest->idle_until.ns) {
		guest->ending = true;
		instance_process_end(process, now);
	}
}

static void run_guest(struct supervisor *supervisor, struct guest *guest, struct mono now)
{
	struct instance_process *process = &guest->process;

	if (process->pid > 0 && process->channel >= 0)
		converse(supervisor, guest, now);
	if (process->pid > 0 && instance_process_reaped(process, now))
		after_death(supervisor, guest, now);
	if (process->pid == 0 && is_wanted(guest) && now.ns >= guest->restart_at.ns) {
		start(supervisor, guest, now);
		if (process->pid > 0)
			supervisor_tell(supervisor, guest, now);
	}
}

void supervisor_run(struct supervisor *supervisor, struct mono now)
{
	struct guest **link = &supervisor->guests;

	while (*link) {
		struct guest *guest = *link;

		run_guest(supervisor, guest, now);
		if (guest->gone && guest->process.pid == 0 && !has_entries(guest)) {
			*link = guest->next;
			supervisor->guest_count--;
			free_guest(guest);
		} else {
			link = &guest->next;
		}
	}
}

static void wait_for_process(const struct guest *guest, void (*wait_fd)(int fd, short events),
			     void (*wait_until)(struct mono when))
{
	const struct instance_process *process = &guest->process;
	short events = POLLIN;

	wait_fd(process->pidfd, POLLIN);
	if (process->channel < 0) {
		wait_until(process->kill_at);
		return;
	}
	if (guest->idle_until.ns != 0)
		wait_until(guest->idle_until);
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++) {
		if (supervisor_has_to_tell(&guest->entries[i]))
			events |= POLLOUT;
		if (guest->entries[i].answer_by.ns != 0)
			wait_until(guest->entries[i].answer_by);
	}
	wait_fd(process->channel, events);
}

void supervisor_wait(struct supervisor *supervisor, void (*wait_fd)(int fd, short events),
		     void (*wait_until)(struct mono when))
{
	for (const struct guest *guest = supervisor->guests; guest; guest = guest->next) {
		if (guest->process.pid > 0)
			wait_for_process(guest, wait_fd, wait_until);
		else if (is_wanted(guest))
			wait_until(guest->restart_at);
	}
}

/* --- for the vifs ----------------------------------------------------------------------------- */

/* The entry that the vif had before, or else one without counters of another vif, or else any. */
static struct entry *free_entry(struct guest *guest, uint32_t handle, uint32_t *slot)
{
	struct entry *best = NULL;

	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++) {
		struct entry *entry = &guest->entries[i];

		if (entry->used)
			continue;
		if (!best || (best->was_used && !entry->was_used))
			best = entry;
		if (entry->was_used && entry->config.handle == handle) {
			best = entry;
			break;
		}
	}
	*slot = best ? (uint32_t)(best - guest->entries) : 0;
	return best;
}

void supervisor_expect(struct supervisor *supervisor, uint16_t domid)
{
	struct guest *guest = find_guest(supervisor, domid);
	char why[128];

	if (!guest)
		guest = add_guest(supervisor, domid, why, sizeof why);
	if (!guest)		/* said when a vif connects */
		return;
	guest->gone = false;
	guest->expected = true;
}

int supervisor_connect(struct supervisor *supervisor, const struct vif_config *config,
		       const int *port_fds, char *why, size_t size)
{
	struct guest *guest = find_guest(supervisor, config->guest);
	struct entry *entry;
	uint32_t slot;

	if (!guest)
		guest = add_guest(supervisor, config->guest, why, size);
	if (!guest)
		return -ENOMEM;
	entry = free_entry(guest, config->handle, &slot);
	if (!entry) {
		snprintf(why, size, "one more than the %d vifs of a guest that are served",
			 VIFS_PER_GUEST_MAX);
		return -ENOSPC;
	}
	*entry = (struct entry){ .used = true, .wanted = true, .config = *config };
	entry->config.slot = slot;
	guest->gone = guest->expected = false;
	entry->port_fd_count = port_fds ? (int)config->queue_count : 0;
	if (port_fds)
		memcpy(entry->port_fds, port_fds, config->queue_count * sizeof *port_fds);
	return 0;
}

void supervisor_update(struct supervisor *supervisor, uint16_t domid, uint32_t handle,
		       const struct vif_live *live)
{
	struct guest *guest = find_guest(supervisor, domid);
	struct entry *entry = guest ? supervisor_entry(guest, handle) : NULL;

	if (!entry)
		return;
	entry->config.live = *live;
	entry->outdated = entry->told_add;
}

void supervisor_disconnect(struct supervisor *supervisor, uint16_t domid, uint32_t handle)
{
	struct guest *guest = find_guest(supervisor, domid);
	struct entry *entry = guest ? supervisor_entry(guest, handle) : NULL;

	if (!entry) {		/* it failed, or was never connected: nothing is held */
		supervisor->settings.disconnected(supervisor->settings.context, domid, handle);
		return;
	}
	entry->wanted = false;
	entry->answer_by.ns = 0;
	if (!entry->told_add)
		supervisor_drop_entry(supervisor, guest, entry);
}

void supervisor_guest_gone(struct supervisor *supervisor, uint16_t domid)
{
	struct guest *guest = find_guest(supervisor, domid);

	if (!guest)
		return;
	guest->gone = true;
	guest->expected = false;
	if (!has_entries(guest))
		guest->idle_until.ns = 1;	/* long ago */
}

bool supervisor_info(const struct supervisor *supervisor, uint16_t domid, uint32_t handle,
		     struct supervisor_guest_info *info)
{
	const struct guest *guest = find_guest(supervisor, domid);

	if (!guest)
		return false;
	info->pid = guest->process.pid;
	info->restarts = guest->restarts;
	info->last_end = guest->last_end;
	info->state = NULL;
	for (int i = 0; i < VIFS_PER_GUEST_MAX; i++) {
		const struct entry *entry = &guest->entries[i];

		if ((entry->used || entry->was_used) && entry->config.handle == handle)
			info->state = &guest->state->vifs[i];
	}
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
		if (instance_process_wait(&guest->process, END_WAIT_MS) && guest->process.status != 0) {
			instance_process_describe(&guest->process, guest->last_end,
						  sizeof guest->last_end);
			log_warning("guest %u: its instance ended: %s", guest->domid, guest->last_end);
		}
		free_guest(guest);
	}
	free(supervisor);
}
