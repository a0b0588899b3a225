/* life.c - negotiation as a profile has it; see life.h
 *
 * Waits are timed from the frontend's write to the moment it sees the backend's answer: that is how
 * long Windows, which waits at DISPATCH level, keeps a CPU of the guest spinning.  Beside it stands how
 * much of it is left if the time is taken off in which this thread, unetbackd, the instance, xenstored
 * and simxen could have run but had no CPU: on a machine that does other things too, that is most. */
#include "life.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t life_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

void life_configure(const struct profile *profile, struct netfront_config *config)
{
	config->driven = true;
	config->queues = profile->queues;
	config->rx_requests = profile->rx_requests;
	config->single_event = profile->single_event || !profile_writes(profile, "rings");
	config->control_ring = profile_writes(profile, "ctrl-ring-ref");
	config->no_sg = !profile_writes(profile, "feature-sg=1");
	config->no_gso4 = !profile_writes(profile, "feature-gso-tcpv4=1");
	config->no_gso6 = !profile_writes(profile, "feature-gso-tcpv6=1");
	config->no_csum4 = profile_writes(profile, "feature-no-csum-offload=1");
	config->no_csum6 = !profile_writes(profile, "feature-ipv6-csum-offload=1");
	config->no_rx_notify = !profile_writes(profile, "feature-rx-notify=1");
	config->first_index = UINT32_MAX - 100;		/* no driver's, but it must not matter */
}

/* --- keys ------------------------------------------------------------------------------------- */

static bool write_text(struct life *life, xs_transaction_t t, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", life->fe->path, name);
	return xs_write(life->fe->xs, t, path, value, (unsigned int)strlen(value));
}

static bool write_number(struct life *life, xs_transaction_t t, const char *name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof text, "%u", value);
	return write_text(life, t, name, text);
}

static bool write_ring(struct life *life, xs_transaction_t t, const char *folder,
		       const struct netfront_queue *queue)
{
	const struct { const char *name; uint32_t value; bool there; } keys[] = {
		{ "tx-ring-ref", queue->tx.ref, true },
		{ "rx-ring-ref", queue->rx.ref, true },
		{ "event-channel-tx", queue->tx.port, life->fe->split },
		{ "event-channel-rx", queue->rx.port, life->fe->split },
		{ "event-channel", queue->tx.port, !life->fe->split },
	};
	char name[64];

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		snprintf(name, sizeof name, "%s%s", folder, keys[i].name);
		if (keys[i].there && !write_number(life, t, name, keys[i].value))
			return false;
	}
	return true;
}

static bool write_rings(struct life *life, xs_transaction_t t)
{
	struct netfront *fe = life->fe;
	char folder[24];

	if (fe->queue_count == 1)
		return write_ring(life, t, "", &fe->queues[0]);
	for (uint32_t i = 0; i < fe->queue_count; i++) {
		snprintf(folder, sizeof folder, "queue-%u/", i);
		if (!write_ring(life, t, folder, &fe->queues[i]))
			return false;
	}
	return true;
}

/* @word of profile->keys, which is changed. */
static bool write_word(struct life *life, xs_transaction_t t, char *word)
{
	const struct netfront *fe = life->fe;
	char *equals = strchr(word, '=');

	if (equals) {
		*equals = '\0';
		return write_text(life, t, word, equals + 1);
	}
	if (strcmp(word, "rings") == 0)
		return write_rings(life, t);
	if (strcmp(word, "multi-queue-num-queues") == 0)
		return fe->queue_count == 1 || write_number(life, t, word, fe->queue_count);
	if (strcmp(word, "ctrl-ring-ref") == 0)
		return !fe->control || write_number(life, t, word, fe->control_ring.ref);
	if (strcmp(word, "event-channel-ctrl") == 0)
		return !fe->control || write_number(life, t, word, fe->control_ring.port);
	if (strcmp(word, "tx-ring-ref") == 0)
		return write_number(life, t, word, fe->queues[0].tx.ref);
	if (strcmp(word, "rx-ring-ref") == 0)
		return write_number(life, t, word, fe->queues[0].rx.ref);
	assert_string_equal(word, "event-channel");
	return write_number(life, t, word, fe->queues[0].tx.port);
}

static bool write_words(struct life *life, xs_transaction_t t)
{
	char keys[512], *rest = keys, *word;

	assert_true(strlen(life->profile->keys) < sizeof keys);
	strcpy(keys, life->profile->keys);
	while ((word = strtok_r(rest, " ", &rest)))
		if (!write_word(life, t, word))
			return false;
	return life->profile->write != WRITE_WITH_STATE ||
	       write_number(life, t, "state", XenbusStateConnected);
}

static void write_keys(struct life *life)
{
	struct xs_handle *xs = life->fe->xs;

	if (life->profile->write == WRITE_SINGLY) {
		assert_true(write_words(life, XBT_NULL));
		return;
	}
	for (;;) {
		xs_transaction_t t = xs_transaction_start(xs);

		assert_true(t != XBT_NULL);
		assert_true(write_words(life, t));
		if (xs_transaction_end(xs, t, false))
			return;
		assert_int_equal(errno, EAGAIN);
	}
}

/* --- states ----------------------------------------------------------------------------------- */

static int64_t delay_in(const char *path)
{
	long long ran, delayed = 0;
	FILE *file = fopen(path, "r");

	if (!file || fscanf(file, "%lld %lld", &ran, &delayed) != 2)
		delayed = 0;
	if (file)
		fclose(file);
	return delayed;
}

/* Of its first thread, or of all. */
static int64_t delay_of(int pid, bool threads)
{
	int64_t sum = 0;
	char path[64];
	glob_t found;

	snprintf(path, sizeof path, threads ? "/proc/%d/task/*/schedstat" : "/proc/%d/schedstat", pid);
	if (glob(path, GLOB_NOSORT, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			sum += delay_in(found.gl_pathv[i]);
	globfree(&found);
	return sum;
}

static int64_t delay_of_children(int pid, bool threads)
{
	char path[64];
	int64_t sum = 0;
	int child;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "r");
	while (file && fscanf(file, "%d", &child) == 1)
		sum += delay_of(child, threads);
	if (file)
		fclose(file);
	return sum;
}

int64_t life_delay(bool threads)
{
	return delay_of(getpid(), false) + delay_of_children(getpid(), false) +
	       delay_of_children(simback_pid(), threads);
}

static void keep_longest(struct life *life, int64_t took, int64_t delayed)
{
	static const char *const names[] = { "Unknown", "Initialising", "InitWait", "Initialised",
					     "Connected", "Closing", "Closed" };

	if (took - delayed > life->longest_own_ns)
		life->longest_own_ns = took - delayed;
	if (took <= life->longest_ns)
		return;
	life->longest_ns = took;
	life->longest_for = names[life->fe->backend_state % 7];
}

/* Until the backend's state is in @set; @asked: by us, a moment ago. */
static void await(struct life *life, unsigned int set, bool asked)
{
	int64_t began = life_now(), took = 0, delayed = life_delay(false);

	while (!(set & 1u << life->fe->backend_state)) {
		life->serve(life->context, 1);
		took = life_now() - began;
		if (took > LIFE_PATIENCE * 1000000LL)
			fail_msg("%s: the backend is in state %d, not in one of %#x", life->profile->name,
				 (int)life->fe->backend_state, set);
	}
	if (asked)
		keep_longest(life, took, life_delay(false) - delayed);
}

static void walk(struct life *life, const struct profile_step steps[PROFILE_STEPS])
{
	for (int i = 0; i < PROFILE_STEPS && (steps[i].write || steps[i].until); i++) {
		if (steps[i].write)
			assert_int_equal(netfront_set_state(life->fe, steps[i].write), 0);
		if (steps[i].until)
			await(life, steps[i].until, steps[i].write != 0);
	}
}

static void post(struct life *life, enum profile_post when)
{
	if (life->profile->post != when)
		return;
	life->fe->frozen_rx = false;
	netfront_rx_refill(life->fe);
}

/* The groups that the guest's stack is in: all hosts, all nodes, and that that is asked for its IPv6
 * address fd78:N::1 (RFC 4291 2.7.1). */
static void join_groups(struct life *life)
{
	const uint8_t groups[][6] = {
		{ 0x01, 0x00, 0x5e, 0, 0, 1 }, { 0x33, 0x33, 0, 0, 0, 1 },
		{ 0x33, 0x33, 0xff, 0, 0, 1 },
	};

	if (!profile_writes(life->profile, "request-multicast-control=1"))
		return;
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
		struct netif_extra_info extra = { .type = XEN_NETIF_EXTRA_TYPE_MCAST_ADD };

		memcpy(extra.u.mcast.addr, groups[i], sizeof groups[i]);
		assert_true(netfront_send_extra(life->fe, &extra));
	}
}

bool life_connect(struct life *life)
{
	struct netfront *fe = life->fe;

	walk(life, life->profile->open);
	fe->frozen_rx = true;
	assert_int_equal(netfront_prepare(fe), 0);
	post(life, POST_BEFORE_KEYS);
	write_keys(life);
	if (life->profile->write == WRITE_WITH_STATE)
		fe->state = XenbusStateConnected;
	else
		assert_int_equal(netfront_set_state(fe, XenbusStateConnected), 0);
	post(life, POST_AFTER_KEYS);
	await(life, IN(Connected) | IN(Closing) | IN(Closed), true);
	life->connected = fe->backend_state == XenbusStateConnected;
	post(life, POST_ONCE_CONNECTED);
	if (life->connected)
		join_groups(life);
	if (life->connected && life->profile->up)
		life->profile->up(fe);
	return life->connected;
}

static void end(struct life *life, const struct profile_step steps[PROFILE_STEPS])
{
	struct netfront *fe = life->fe;

	life->connected = false;
	for (uint32_t i = 0; life->profile->ports_first && i < fe->queue_count; i++)
		simguest_port_close(fe->guest, fe->queues[i].tx.port);
	walk(life, steps);
	netfront_rings_free(fe);
}

void life_close(struct life *life)
{
	end(life, life->profile->close);
}

void life_follow(struct life *life)
{
	end(life, life->profile->detached);
}
