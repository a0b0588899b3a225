/* queue_thread.c - the thread that serves a queue pair
 *
 * One turn: poll until no work is left, ask the rings for events, look once more, end the interrupt
 * of the ports that fired (unmask), sleep.  While it polls the ports stay masked, so a guest that
 * signals all the time costs no more than one that does it once; and the delay until we unmask is
 * what holds such a guest back (XSA-332).
 *
 * No clock is read on the way, except when frames stay queued, or to log. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"
#include "queue_thread.h"

#define PORT_STUCK_MS 10	/* how long a port that gives nothing is left alone */

static bool stopping(const struct queue_thread *thread)
{
	return __atomic_load_n(&thread->stopping, __ATOMIC_ACQUIRE);
}

/* What is wanted stands elsewhere (stopping, vif_common.h): the call only wakes. */
static void hear_call(struct queue_thread *thread)
{
	uint64_t calls;

	if (read(thread->call_fd, &calls, sizeof calls) != sizeof calls)
		log_error("%s: cannot read the main thread's calls: %s", thread->name, strerror(errno));
}

static void wait_for_stop(struct queue_thread *thread)
{
	struct pollfd fd = { .fd = thread->call_fd, .events = POLLIN };

	while (!stopping(thread))
		if (poll(&fd, 1, -1) > 0)
			hear_call(thread);
}

static void report_broken(struct queue_thread *thread)
{
	char why[160];

	state_set(&thread->pair.state->broken, 1);
	queue_pair_fault(&thread->pair, why, sizeof why);
	thread->broken(thread->context, why);
}

/* The device was deleted under us: its descriptor reports an error for ever and would keep us awake. */
static void lose_port(struct queue_thread *thread)
{
	waits_leave_out_port(&thread->waits, true);
	thread->port_lost = true;
	log_error("%s: the device behind the port is gone: nothing can reach the guest until it "
		  "connects again", thread->name);
}

/* The port woke us and yet had nothing: its memory is in use, or reading fails.  Its descriptor stays
 * readable and would keep us from sleeping, so it is left out of one sleep, a short one. */
static int leave_out_stuck_port(struct queue_thread *thread, int timeout)
{
	bool stuck = (thread->woken_by & WAITS_PORT) &&
		     state_get(&thread->pair.state->rx_frames) == thread->frames_at_wakeup;

	if (!thread->port_lost)
		waits_leave_out_port(&thread->waits, stuck);
	return stuck && (timeout < 0 || timeout > PORT_STUCK_MS) ? PORT_STUCK_MS : timeout;
}

/* A guest can stall and go on as often as it likes: what there is to say of it is limited. */
static void say_stall(struct queue_thread *thread)
{
	const struct queue_pair *pair = &thread->pair;
	const struct ring_rx *ring = &pair->rx.ring;

	if (pair->stall.stalled == thread->stalled)
		return;
	thread->stalled = pair->stall.stalled;
	if (thread->stalled)
		log_limited(&thread->limiter, mono_now(), LOG_LEVEL_WARNING, "%s: the guest has posted no "
			    "receive buffers for %u ms: %u are posted, the next of %u frames needs %u; it is woken",
			    thread->name, pair->stall.after_ms, ring->prod_seen - ring->cons,
			    rx_queue_count(&pair->rx.queue), guest_rx_slots_wanted(&pair->rx));
	else
		log_limited(&thread->limiter, mono_now(), LOG_LEVEL_INFO, "%s: the guest posts receive "
			    "buffers again", thread->name);
}

/* Sleeps, then notes what woke us: the guest's event, the port to be read. */
static void sleep_until_work(struct queue_thread *thread)
{
	struct queue_pair *pair = &thread->pair;
	struct queue_state *state = pair->state;
	int timeout = leave_out_stuck_port(thread, queue_pair_timeout(pair));

	say_stall(thread);
	thread->woken_by = waits_sleep(&thread->waits, timeout);
	thread->frames_at_wakeup = state_get(&state->rx_frames);
	state_add(&state->wakeups, 1);
	if (thread->woken_by & WAITS_EVENTS)
		state_add(&state->events, events_take(&pair->events));
	if (thread->woken_by & WAITS_PORT)
		pair->visit.readable = true;
	if (thread->woken_by & WAITS_PORT_GONE)
		lose_port(thread);
	if (thread->woken_by & WAITS_CALL)
		hear_call(thread);
}

/* Polls until nothing is left.  Negative if the guest broke a ring. */
static int drain(struct queue_thread *thread)
{
	struct queue_pair *pair = &thread->pair;
	int work, total = 0;

	while ((work = queue_pair_poll(pair)) > 0 && !stopping(thread))
		total += work;
	state_set(&pair->state->copy_batches, pair->copy.batches);
	state_set(&pair->state->copy_operations, pair->copy.operations);
	state_set(&pair->state->copy_mapped, pair->copy.mapped);
	return work < 0 ? work : total;
}

static void serve(struct queue_thread *thread)
{
	struct queue_pair *pair = &thread->pair;

	while (!stopping(thread)) {
		int work = drain(thread);

		if (work < 0) {
			report_broken(thread);
			wait_for_stop(thread);
			return;
		}
		if (work == 0 && thread->woken_by == WAITS_EVENTS)
			state_add(&pair->state->events_spurious, 1);
		thread->woken_by &= ~WAITS_EVENTS;
		if (queue_pair_arm(pair))
			continue;
		events_unmask(&pair->events);
		sleep_until_work(thread);
	}
}

/* Batch scheduling: a wake-up does not push whoever runs off the CPU.  Where a CPU is idle we start at
 * once all the same; where none is, the sender goes on for its slice and we find its frames together
 * instead of one by one, which costs a wake-up each (docs/performance.md). */
static void schedule_in_batches(void)
{
	const struct sched_param param = { 0 };

	if (sched_setscheduler(0, SCHED_BATCH, &param) != 0)
		log_warning("no batch scheduling: %s", strerror(errno));
}

/* Frames that one thread hands to the kernel stay in order behind it only as long as one CPU takes them: where
 * they wait in a CPU's backlog (a tunnel over the loopback device, RPS), those handed over on another CPU a moment
 * later overtake them.  A thread that is pinned cannot move in between. */
static void pin(const struct queue_thread *thread)
{
	cpu_set_t allowed, one;
	int nth;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
		return;
	nth = thread->cpu % CPU_COUNT(&allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && nth-- == 0)
			CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof one, &one) != 0)
		log_warning("%s: cannot be pinned to a CPU: %s", thread->name, strerror(errno));
}

static void *run(void *argument)
{
	struct queue_thread *thread = argument;

	schedule_in_batches();
	if (thread->cpu >= 0)
		pin(thread);
	state_set(&thread->pair.state->thread_id, (uint64_t)syscall(SYS_gettid));
	serve(thread);
	return NULL;
}

int queue_thread_start(struct queue_thread *thread, const char *name)
{
	sigset_t all, before;
	int error;

	thread->stopping = thread->port_lost = false;
	thread->woken_by = 0;
	snprintf(thread->name, sizeof thread->name, "%s", name);
	thread->call_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (thread->call_fd < 0)
		return -errno;
	error = waits_open(&thread->waits, thread->call_fd, events_fd(&thread->pair.events),
			   thread->pair.port->class->wait_fd(thread->pair.port));
	if (error) {
		close(thread->call_fd);
		return error;
	}
	sigfillset(&all);	/* signals are the main thread's */
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = pthread_create(&thread->thread, NULL, run, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		waits_close(&thread->waits);
		close(thread->call_fd);
		return -error;
	}
	pthread_setname_np(thread->thread, thread->name);
	thread->started = true;
	return 0;
}

void queue_thread_call(struct queue_thread *thread)
{
	const uint64_t one = 1;

	if (write(thread->call_fd, &one, sizeof one) != sizeof one)
		log_error("%s: cannot wake the thread: %s", thread->name, strerror(errno));
}

void queue_thread_stop(struct queue_thread *thread)
{
	if (!thread->started)
		return;
	__atomic_store_n(&thread->stopping, true, __ATOMIC_RELEASE);
	queue_thread_call(thread);
	pthread_join(thread->thread, NULL);
	waits_close(&thread->waits);
	close(thread->call_fd);
	thread->started = false;
}
