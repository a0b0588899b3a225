/* instance.c - the data plane of one guest; see instance.h
 *
 * Vifs stand in a table by the slot that unetbackd gave them.  A vif is either absent or has all its
 * queues running (or broken and waiting to be removed): there is no half-made vif between messages.  Between
 * messages the main thread serves the vifs' control rings, a bounded piece each, so that none of them keeps
 * unetbackd waiting. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"
#include "control_ring.h"
#include "instance.h"
#include "queue_thread.h"

#define RESEND_MS 100			/* of what unetbackd could not be told at once */

struct vif {
	struct instance *instance;
	struct vif_config config;
	struct vif_common common;
	struct control_ring control;		/* closed if the guest has none, or broke it */
	bool hash_unsent;			/* unetbackd has not been told the newest */
	struct gref_map *maps;			/* a queue each; NULL if the guest has no control ring */
	uint32_t queue_count;			/* threads running */
	struct queue_thread *queues[VIF_QUEUES_MAX];
};

struct instance {
	const struct instance_setup *setup;
	struct vif *vifs[VIFS_PER_GUEST_MAX];	/* by slot; NULL: absent */
};

/* --- to unetbackd ----------------------------------------------------------------------------- */

static void send_text(int channel, enum message_type type, uint32_t handle, enum log_level level,
		      const char *text)
{
	struct message message = { .type = type, .handle = handle, .level = level };
	int error;

	snprintf(message.text, sizeof message.text, "%s", text);
	error = channel_send(channel, &message, NULL, 0);
	if (error && error != -EPIPE)	/* without a peer we end soon anyway */
		fprintf(stderr, "unetback-instance: message to unetbackd lost (%s): %s\n",
			strerror(-error), text);
}

static void send_plain(int channel, enum message_type type, uint32_t handle)
{
	send_text(channel, type, handle, LOG_LEVEL_INFO, "");
}

/* Called by a queue's thread; a datagram is sent whole or not at all. */
static void report_broken(void *context, const char *why)
{
	const struct vif *vif = context;
	char text[LOG_LINE_MAX];

	snprintf(text, sizeof text, "%s, closing", why);
	send_text(vif->instance->setup->channel, MESSAGE_VIF_BROKEN, vif->config.handle,
		  LOG_LEVEL_WARNING, text);
}

/* --- one vif ---------------------------------------------------------------------------------- */

static int open_maps(struct vif *vif, char *why, size_t size)
{
	vif->maps = calloc(vif->config.queue_count, sizeof *vif->maps);
	if (!vif->maps) {
		snprintf(why, size, "no memory for the pages that the guest may have mapped");
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < vif->config.queue_count; i++)
		gref_map_open(&vif->maps[i], vif->instance->setup->gnttab, vif->config.guest,
			      GREF_MAP_MAX / vif->config.queue_count);
	return 0;
}

static void close_maps(struct vif *vif)
{
	for (uint32_t i = 0; vif->maps && i < vif->config.queue_count; i++)
		gref_map_close(&vif->maps[i]);
	free(vif->maps);
	vif->maps = NULL;
}

static void vif_stop(struct vif *vif)
{
	struct vif_state *state = &vif->instance->setup->state->vifs[vif->config.slot];

	control_ring_close(&vif->control);
	for (uint32_t i = 0; i < vif->queue_count; i++) {
		queue_thread_stop(vif->queues[i]);
		queue_pair_close(&vif->queues[i]->pair);
		free(vif->queues[i]);
	}
	state->credits = vif->common.credits[vif->common.credits_in_use];
	vif->queue_count = 0;
	close_maps(vif);
	vif_common_destroy(&vif->common);
	state_set(&state->connected, 0);
}

static int queue_start(struct vif *vif, struct queue_pair_setup *setup, char *why, size_t size)
{
	struct queue_thread *thread = aligned_alloc(64, (sizeof *thread + 63) / 64 * 64);
	char name[16];
	int error;

	if (!thread) {
		close(setup->evtchn_fd);
		if (setup->port_fd >= 0)
			close(setup->port_fd);
		snprintf(why, size, "no memory for queue %u", setup->index);
		return -ENOMEM;
	}
	memset(thread, 0, sizeof *thread);
	thread->broken = report_broken;
	thread->context = vif;
	/* Guests begin at different CPUs, so that their first queues do not share one. */
	thread->cpu = vif->config.pin ? vif->config.guest + (int)vif->config.handle + (int)setup->index : -1;
	error = queue_pair_open(&thread->pair, setup, why, size);
	if (error) {
		free(thread);
		return error;
	}
	snprintf(name, sizeof name, "%.11s-q%u", vif->config.name, setup->index % 10);
	error = queue_thread_start(thread, name);
	if (error) {
		snprintf(why, size, "cannot start the thread of queue %u: %s", setup->index,
			 strerror(-error));
		queue_pair_close(&thread->pair);
		free(thread);
		return error;
	}
	vif->queues[vif->queue_count++] = thread;
	return 0;
}

static const struct port_class *find_port_class(const struct instance *instance, const char *kind)
{
	const struct port_class *const *class = instance->setup->port_classes;

	while (*class && strcmp((*class)->kind, kind) != 0)
		class++;
	return *class;
}

/* A socket that is full is tried again next turn. */
static void send_hash(struct vif *vif)
{
	const struct message message = { .type = MESSAGE_VIF_HASH, .handle = vif->config.handle,
					 .hash = vif->control.hash };

	vif->hash_unsent = channel_send(vif->instance->setup->channel, &message, NULL, 0) == -EAGAIN;
}

/* The next instance and the queues are told what the guest wants.  unetbackd is (send_hash) when the ring has been
 * served: it needs the last word only. */
static void publish_hash(void *context, const struct hash_config *hash)
{
	struct vif *vif = context;

	vif->instance->setup->state->vifs[vif->config.slot].hash = *hash;
	vif_common_set_hash(&vif->common, hash);
}

/* Before the queues start: they begin with the hash that a restart found. */
static int open_control(struct vif *vif, int evtchn_fd, char *why, size_t size)
{
	const struct instance_setup *setup = vif->instance->setup;
	const struct hash_config hash = setup->state->vifs[vif->config.slot].hash;
	int error = open_maps(vif, why, size);
	const struct control_setup control = { &vif->config, setup->gnttab, evtchn_fd, &hash, vif->maps,
					       publish_hash, vif };

	if (error) {
		close(evtchn_fd);
		return error;
	}
	error = control_ring_open(&vif->control, &control, why, size);
	if (!error)
		publish_hash(vif, &vif->control.hash);
	return error;
}

/* Takes over all @fds; closes those that no queue got to. */
static int vif_start(struct vif *vif, const struct port_class *class, const int fds[],
		     char *why, size_t size)
{
	const struct vif_config *config = &vif->config;
	const struct instance_setup *setup = vif->instance->setup;
	struct vif_state *state = &setup->state->vifs[config->slot];
	uint32_t ports = class->has_device ? config->queue_count : 0;
	int error = 0;

	if (config->fresh) {
		multicast_clear(&state->multicast);
		memset(&state->hash, 0, sizeof state->hash);
	}
	if (config->control_ring_ref)
		error = open_control(vif, fds[ports + config->queue_count], why, size);
	for (uint32_t i = 0; i < config->queue_count; i++) {
		struct queue_pair_setup queue = {
			.config = config, .index = i, .port_class = class,
			.port_fd = ports ? fds[i] : -1,
			.evtchn_fd = fds[ports + i],
			.gnttab = setup->gnttab, .pages = setup->pages, .common = &vif->common,
			.multicast = &state->multicast, .map = vif->maps ? &vif->maps[i] : NULL,
			.state = &state->queues[i],
		};

		if (!error) {
			error = queue_start(vif, &queue, why, size);
		} else {
			close(queue.evtchn_fd);
			if (ports)
				close(queue.port_fd);
		}
	}
	state_set(&state->features, config->features);
	state_set(&state->connected, vif->queue_count);
	if (!error && hash_is_on(&vif->control.hash))
		send_hash(vif);
	return error;
}

/* --- messages --------------------------------------------------------------------------------- */

/* All that can be wrong with VIF_ADD before anything is done. */
static int check_add(struct instance *instance, const struct vif_config *config, int fd_count,
		     const struct port_class **class, char *why, size_t size)
{
	const struct instance_setup *setup = instance->setup;
	uint32_t wanted;
	int error = vif_config_check(config, why, (unsigned int)size);

	if (error)
		return error;
	if (config->guest != setup->guest || config->self != setup->self) {
		snprintf(why, size, "domids %u and %u are not those of this instance, %u and %u",
			 config->guest, config->self, setup->guest, setup->self);
		return -EINVAL;
	}
	if (instance->vifs[config->slot]) {
		snprintf(why, size, "slot %u is taken", config->slot);
		return -EBUSY;
	}
	*class = find_port_class(instance, config->port_kind);
	if (!*class) {
		snprintf(why, size, "unknown port kind '%s'", config->port_kind);
		return -EINVAL;
	}
	wanted = config->queue_count * ((*class)->has_device ? 2 : 1) + (config->control_ring_ref != 0);
	if ((uint32_t)fd_count != wanted) {
		snprintf(why, size, "%d descriptors, %u are needed", fd_count, wanted);
		return -EINVAL;
	}
	return 0;
}

static void close_all(const int fds[], int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

static int add_vif(struct instance *instance, const struct vif_config *config, const int fds[],
		   int fd_count, char *why, size_t size)
{
	const struct port_class *class = NULL;
	int error = check_add(instance, config, fd_count, &class, why, size);
	struct vif *vif;

	if (error) {
		close_all(fds, fd_count);
		return error;
	}
	vif = calloc(1, sizeof *vif);
	if (!vif) {
		close_all(fds, fd_count);
		snprintf(why, size, "no memory");
		return -ENOMEM;
	}
	vif->instance = instance;
	vif->config = *config;
	vif_common_init(&vif->common, &config->live);
	vif_common_inherit_credits(&vif->common, &instance->setup->state->vifs[config->slot].credits);
	error = vif_start(vif, class, fds, why, size);
	if (error) {
		vif_stop(vif);
		free(vif);
		return error;
	}
	instance->vifs[config->slot] = vif;
	return 0;
}

static void handle_add(struct instance *instance, const struct message *message, const int fds[],
		       int fd_count)
{
	int channel = instance->setup->channel;
	char why[LOG_LINE_MAX] = "";

	if (add_vif(instance, &message->config, fds, fd_count, why, sizeof why) != 0)
		send_text(channel, MESSAGE_VIF_FAILED, message->handle, LOG_LEVEL_ERROR, why);
	else
		send_plain(channel, MESSAGE_VIF_CONNECTED, message->handle);
}

/* A vif that is not there, or not the one that was added, is left alone: unetbackd may not know yet that
 * it failed.  What else is wrong with @config is a fault of unetbackd's. */
static int handle_update(struct instance *instance, const struct vif_config *config)
{
	char why[LOG_LINE_MAX];
	struct vif *vif;

	if (vif_config_check(config, why, sizeof why) != 0) {
		log_error("vif%u.%u: update refused: %s", instance->setup->guest, config->handle, why);
		return -EPROTO;
	}
	vif = instance->vifs[config->slot];
	if (!vif || vif->config.handle != config->handle)
		return 0;
	vif->config.live = config->live;
	vif_common_set_live(&vif->common, &config->live);
	for (uint32_t i = 0; i < vif->queue_count; i++)
		queue_thread_call(vif->queues[i]);
	return 0;
}

static void remove_vif(struct instance *instance, uint32_t slot)
{
	vif_stop(instance->vifs[slot]);
	free(instance->vifs[slot]);
	instance->vifs[slot] = NULL;
}

/* A vif that is not there is removed: unetbackd may not know yet that it failed. */
static void handle_remove(struct instance *instance, uint32_t handle)
{
	for (uint32_t slot = 0; slot < VIFS_PER_GUEST_MAX; slot++)
		if (instance->vifs[slot] && instance->vifs[slot]->config.handle == handle)
			remove_vif(instance, slot);
	send_plain(instance->setup->channel, MESSAGE_VIF_REMOVED, handle);
}

/* 0 to go on, 1 at the end of the channel, or -errno. */
static int handle_message(struct instance *instance)
{
	int fds[CHANNEL_FDS_MAX], fd_count = 0;
	struct message message;
	int got = channel_receive(instance->setup->channel, &message, fds, &fd_count);

	if (got == -EAGAIN || got == -EINTR)
		return 0;
	if (got <= 0)
		return got < 0 ? got : 1;
	switch (message.type) {
	case MESSAGE_VIF_ADD:
		handle_add(instance, &message, fds, fd_count);
		return 0;
	case MESSAGE_VIF_UPDATE:
		close_all(fds, fd_count);
		return handle_update(instance, &message.config);
	case MESSAGE_VIF_REMOVE:
		close_all(fds, fd_count);
		handle_remove(instance, message.handle);
		return 0;
	default:
		close_all(fds, fd_count);
		return -EPROTO;
	}
}

/* --- control rings ---------------------------------------------------------------------------- */

static void serve_control(struct vif *vif)
{
	int error = control_ring_serve(&vif->control);

	if (vif->control.hash_changed)
		send_hash(vif);
	for (uint32_t i = 0; i < vif->queue_count; i++)
		state_set(&vif->instance->setup->state->vifs[vif->config.slot].queues[i].mapped_pages,
			  vif->maps[i].count);
	if (!error)
		return;
	report_broken(vif, vif->control.fault);
	control_ring_close(&vif->control);
}

/* What the main thread waits for: the channel, then the control rings.  *@timeout is 0 if one of them has
 * more to do. */
static nfds_t collect_fds(const struct instance *instance, struct pollfd fds[1 + VIFS_PER_GUEST_MAX],
			  struct vif *vifs[1 + VIFS_PER_GUEST_MAX], int *timeout)
{
	nfds_t count = 0;

	*timeout = -1;
	vifs[count] = NULL;
	fds[count++] = (struct pollfd){ .fd = instance->setup->channel, .events = POLLIN };
	for (uint32_t slot = 0; slot < VIFS_PER_GUEST_MAX; slot++) {
		struct vif *vif = instance->vifs[slot];

		if (!vif || !control_ring_is_open(&vif->control))
			continue;
		if (vif->hash_unsent && *timeout != 0)
			*timeout = RESEND_MS;
		if (vif->control.more)
			*timeout = 0;
		vifs[count] = vif;
		fds[count++] = (struct pollfd){ .fd = control_ring_fd(&vif->control), .events = POLLIN };
	}
	return count;
}

/* One turn: control rings first, as a message may end their vifs.  As handle_message(). */
static int turn(struct instance *instance)
{
	struct pollfd fds[1 + VIFS_PER_GUEST_MAX];
	struct vif *vifs[1 + VIFS_PER_GUEST_MAX];
	int timeout;
	nfds_t count = collect_fds(instance, fds, vifs, &timeout);

	if (poll(fds, count, timeout) < 0)
		return errno == EINTR ? 0 : -errno;
	for (nfds_t i = 1; i < count; i++)
		if (fds[i].revents || vifs[i]->control.more)
			serve_control(vifs[i]);
		else if (vifs[i]->hash_unsent)
			send_hash(vifs[i]);
	return fds[0].revents ? handle_message(instance) : 0;
}

int instance_run(const struct instance_setup *setup)
{
	struct instance instance = { .setup = setup };
	int end = 0;

	setup->state->magic = GUEST_STATE_MAGIC;
	setup->state->size = sizeof *setup->state;
	send_plain(setup->channel, MESSAGE_READY, 0);
	while (end == 0)
		end = turn(&instance);
	for (uint32_t slot = 0; slot < VIFS_PER_GUEST_MAX; slot++)
		if (instance.vifs[slot])
			remove_vif(&instance, slot);
	return end > 0 ? 0 : end;
}
