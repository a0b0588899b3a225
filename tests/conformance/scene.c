/* scene.c - a guest with its vifs; see scene.h */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../backend/verdict.h"

void scene_serve(void *context, struct pollfd *more, nfds_t count, int ms)
{
	struct scene *scene = context;
	struct pollfd fds[PROFILE_VIFS * STACK_FDS + 8];
	nfds_t used = count;

	if (count > 0)
		memcpy(fds, more, count * sizeof *fds);
	for (uint32_t i = 0; i < scene->vifs; i++) {
		if (stack_serve(&scene->stacks[i]))
			ms = 0;
		used += stack_fds(&scene->stacks[i], fds + used, &ms);
	}
	poll(fds, used, ms);
}

static void serve_life(void *context, int ms)
{
	scene_serve(context, NULL, 0, ms);
}

void scene_open(struct scene *scene, const struct profile *profile)
{
	*scene = (struct scene){ .profile = profile, .domid = 1,
				 .vifs = profile->vifs ? profile->vifs : 1 };
	for (uint32_t i = 0; i < scene->vifs; i++)
		stack_open(&scene->stacks[i], profile, i + 1);
	scene->bound = simtest_count(0, "bound");
}

void scene_close(struct scene *scene)
{
	for (uint32_t i = 0; i < scene->vifs; i++)
		stack_close(&scene->stacks[i]);
	scene->vifs = 0;
}

void scene_abandon(struct scene *scene)
{
	if (scene->vifs == 0)
		return;
	for (uint32_t i = 0; i < scene->vifs; i++)
		netfront_free(scene->stacks[i].fe);
	if (scene->guest)
		simback_destroy(scene->guest);
	scene_close(scene);
}

/* --- the toolstack ---------------------------------------------------------------------------- */

/* What libxl writes for the emulated device of an HVM guest. */
static void make_twin(uint32_t domid, uint32_t vif)
{
	char path[64];

	snprintf(path, sizeof path, "/local/domain/0/backend/vif/%u/%u/type", domid, vif);
	assert_true(xs_write(simback_xs(), XBT_NULL, path, "vif_ioemu", 9));
}

static void plug_vif(struct scene *scene, uint32_t vif)
{
	struct stack *stack = &scene->stacks[vif];
	struct netfront_config config = { .handle = vif,
					  .hooks = { .context = stack, .receive = stack_receive } };
	char domid[16], handle[16], mac[32], device[32];

	snprintf(domid, sizeof domid, "%u", scene->domid);
	snprintf(handle, sizeof handle, "%u", vif);
	snprintf(mac, sizeof mac, "mac=00:16:3e:78:00:%02x", stack->number);
	snprintf(device, sizeof device, "vif%u.%u", scene->domid, vif);
	assert_int_equal(simtest_run(SIMBACK_TOOLSTACK, "attach", domid, handle, mac, "timeout=20",
				     NULL), 0);
	if (vif > 0)
		make_twin(scene->domid, vif);
	stack_address_host(stack, device);
	life_configure(scene->profile, &config);
	stack->fe = netfront_open(scene->guest, &config);
	assert_non_null(stack->fe);
	scene->now[vif] = (struct life){ .profile = scene->profile, .fe = stack->fe,
					 .serve = serve_life, .context = scene,
					 .longest_ns = scene->now[vif].longest_ns,
					 .longest_own_ns = scene->now[vif].longest_own_ns,
					 .longest_for = scene->now[vif].longest_for };
}

void scene_plug(struct scene *scene)
{
	scene->guest = simback_guest(scene->domid);
	for (uint32_t i = 0; i < scene->vifs; i++)
		plug_vif(scene, i);
}

/* simtoolstack detach, in a process of its own as we have to follow. */
static void detach(struct scene *scene, uint32_t vif)
{
	pid_t child = fork();
	char domid[16], handle[16];
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		snprintf(domid, sizeof domid, "%u", scene->domid);
		snprintf(handle, sizeof handle, "%u", vif);
		_exit(simtest_run(SIMBACK_TOOLSTACK, "detach", domid, handle, "timeout=20", NULL));
	}
	stack_set_up(&scene->stacks[vif], false);
	life_follow(&scene->now[vif]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The frontend has gone: what it saw of the backend is judged. */
static void forget_frontend(struct scene *scene, uint32_t vif)
{
	struct stack *stack = &scene->stacks[vif];
	struct netfront *fe = stack->fe;

	if (stack->up)
		stack_set_up(stack, false);
	if (fe->violations > 0)
		fail_msg("%s: %s", scene->profile->name, fe->first_violation);
	assert_int_equal(fe->stats.tx_error, 0);
	assert_int_equal(fe->stats.tx_dropped, 0);
	assert_int_equal(fe->stats.rx_error, 0);
	scene->tx_frames += fe->stats.tx_frames;
	scene->rx_frames += fe->stats.rx_frames;
	netfront_free(fe);
	stack->fe = NULL;
}

void scene_unplug(struct scene *scene)
{
	for (uint32_t i = 0; i < scene->vifs; i++) {
		if (scene->now[i].connected && scene->profile->detached[0].until)
			detach(scene, i);
		forget_frontend(scene, i);
	}
	simback_destroy(scene->guest);
	scene->guest = NULL;
	simtest_await(0, "bound", scene->bound);
}

/* --- a vif ------------------------------------------------------------------------------------ */

bool scene_connect(struct scene *scene, uint32_t vif)
{
	if (!life_connect(&scene->now[vif]))
		return false;
	stack_set_up(&scene->stacks[vif], true);
	scene->lives++;
	return true;
}

/* Of all vifs that are connected. */
static unsigned int rings(const struct scene *scene)
{
	unsigned int count = 0;

	for (uint32_t i = 0; i < scene->vifs; i++)
		if (scene->now[i].connected)
			count += 2 * scene->stacks[i].fe->queue_count + scene->stacks[i].fe->control;
	return count;
}

/* Of all queues in what `unetback stats` answers. */
static long long sum_of(const char *stats, const char *key)
{
	char quoted[64];
	long long sum = 0;

	snprintf(quoted, sizeof quoted, "\"%s\":", key);
	for (const char *at = stats; (at = strstr(at, quoted)); ) {
		at += strlen(quoted);
		sum += strtoll(at, NULL, 10);
	}
	return sum;
}

static bool is_balanced(const char *stats)
{
	return sum_of(stats, "guest_tx_unaccounted") == 0 && sum_of(stats, "guest_rx_unaccounted") == 0;
}

void scene_assert_no_drops(struct scene *scene, uint32_t vif)
{
#define KEY(symbol, key, text) key,
	static const char *const keys[] = { GUEST_TX_VERDICTS(KEY) GUEST_RX_VERDICTS(KEY) };
	static const char *const fine[] = { "sent", "control", "delivered", "filtered" };
	int64_t end = life_now() + LIFE_PATIENCE * 1000000LL;
	char name[16];
	const char *stats;

	snprintf(name, sizeof name, "vif%u.%u", scene->domid, vif);
	while (stats = simback_ask("stats", name), !is_balanced(stats)) {
		assert_true(life_now() < end);
		scene_serve(scene, NULL, 0, 1);
	}
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		bool may_be = false;

		for (size_t j = 0; j < sizeof fine / sizeof *fine; j++)
			may_be |= strcmp(keys[i], fine[j]) == 0;
		if (!may_be && sum_of(stats, keys[i]) != 0)
			fail_msg("%s: frames are counted as %s:\n%s", name, keys[i], stats);
	}
	assert_true(sum_of(stats, "sent") > 0 && sum_of(stats, "delivered") > 0);
}

void scene_disconnect(struct scene *scene, uint32_t vif)
{
	stack_set_up(&scene->stacks[vif], false);
	life_close(&scene->now[vif]);
	assert_int_equal(simtest_count(scene->domid, "mapped"), rings(scene));
}
