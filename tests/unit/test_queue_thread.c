/* test_queue_thread.c - the thread sleeps when there is nothing to do, wakes when there is, ends
 *
 * For TSan above all.  The test waits for what it expects by reading an eventfd that every notify
 * of the guest writes to; nothing waits for time to pass. */
#include <sys/eventfd.h>

#include "../../backend/queue_thread.c"
#include "pair.c"
#include "unit.h"

static struct queue_thread thread;
static uint8_t bytes[3000];
static int told_fd;		/* the callback was called */
static char told[200];

static void on_broken(void *context, const char *why)
{
	const uint64_t one = 1;

	snprintf(told, sizeof told, "%s", why);
	if (context != &thread || write(told_fd, &one, sizeof one) != sizeof one)
		abort();
}

static void wait_for(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	uint64_t count;

	SAME("in time", poll(&wait, 1, 60000), 1);
	SAME("read", read(fd, &count, sizeof count), sizeof count);
}

/* The last line that was logged, by the thread. */
static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER;
static char line[LOG_LINE_MAX];

static void keep_line(enum log_level level, const char *text)
{
	(void)level;
	pthread_mutex_lock(&line_lock);
	snprintf(line, sizeof line, "%s", text);
	pthread_mutex_unlock(&line_lock);
}

static void await_line(const char *text)
{
	bool same = false;

	for (struct mono start = mono_now(); !same; sched_yield()) {
		pthread_mutex_lock(&line_lock);
		same = strcmp(line, text) == 0;
		pthread_mutex_unlock(&line_lock);
		if (mono_ms_between(start, mono_now()) > 60000)
			fail_msg("not '%s' but '%s'", text, line);
	}
}

static int setup(void **state)
{
	char why[160] = "";

	pair_prepare(state);
	memset(bytes, 0x44, sizeof bytes);
	memset(&thread, 0, sizeof thread);
	told_fd = eventfd(0, EFD_CLOEXEC);
	fake.notify_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	thread.broken = on_broken;
	thread.context = &thread;
	thread.cpu = -1;
	if (queue_pair_open(&thread.pair, &pair_setup, why, sizeof why) != 0)
		fail_msg("%s", why);
	wait_for(fake.notify_fd);	/* opening tells both channels */
	wait_for(fake.notify_fd);
	assert_int_equal(queue_thread_start(&thread, "a queue of a long name"), 0);
	return 0;
}

static int teardown(void **state)
{
	queue_thread_stop(&thread);
	queue_thread_stop(&thread);	/* once too often */
	queue_pair_close(&thread.pair);
	close(fake.notify_fd);
	close(told_fd);
	return pair_finish(state);
}

/* The guest's wish to be told of an answer, written while the thread may look at it. */
static void ask_for_event(uint32_t *rsp_event, uint32_t at)
{
	__atomic_store_n(rsp_event, at, __ATOMIC_RELEASE);
}

static void send_one(void)
{
	ask_for_event(&world->tx_ring->rsp_event, world->tx_prod + 1);
	world_tx_slot(60, 0, 0);
	world_tx_publish();
	fake_evtchn_fire(pair_event_end, FAKE_LOCAL(WORLD_TX_PORT));
	wait_for(fake.notify_fd);
}

static void starts_and_stops_with_nothing_to_do(void **state)
{
	(void)state;
}

/* The guest sends as long as the backend answers it.  An event may come after its frame was found
 * by the last look before sleeping; each that was taken is unmasked before the next sleep. */
static void frames_of_the_guest_are_served_for_each_event(void **state)
{
	int16_t statuses[NETIF_RING_SIZE];

	(void)state;
	for (int i = 0; i < 250; i++)
		send_one();
	queue_thread_stop(&thread);
	assert_int_equal(world_tx_answers(statuses), 250);
	assert_int_equal(fake_port_of(thread.pair.port)->sent_count, 250);
	assert_in_range(pair_state.events, 1, 250);
	assert_in_range(pair_state.events_spurious, 0, pair_state.events);
	fake_evtchn_count_unmasked(pair_event_end);
	assert_in_range(fake.unmasked[FAKE_LOCAL(WORLD_TX_PORT)], pair_state.events - 1,
			pair_state.events);
	assert_int_equal(pair_state.copy_operations, 250);
	assert_int_not_equal(pair_state.thread_id, 0);
}

static void frames_of_the_port_reach_the_guest(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		ask_for_event(&world->rx_ring->rsp_event, world->rx_prod + 1);
		world_rx_post(1);
		fake_port_give(thread.pair.port, bytes, 1000, 0, NULL);
		wait_for(fake.notify_fd);
	}
	queue_thread_stop(&thread);
	assert_int_equal(world_rx_published(), 100);
	assert_int_equal(pair_state.rx_verdicts[GUEST_RX_DELIVERED], 100);
}

/* Frames wait until the guest posts and signals. */
static void posted_buffers_wake_the_thread(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		fake_port_give(thread.pair.port, bytes, 1000, 0, NULL);
	for (int i = 0; i < 20; i++) {
		ask_for_event(&world->rx_ring->rsp_event, world->rx_prod + 1);
		world_rx_post(1);
		fake_evtchn_fire(pair_event_end, FAKE_LOCAL(WORLD_RX_PORT));
		wait_for(fake.notify_fd);
	}
	queue_thread_stop(&thread);
	assert_int_equal(pair_state.rx_verdicts[GUEST_RX_DELIVERED], 20);
}

static void a_broken_ring_is_told_once_and_the_thread_waits(void **state)
{
	(void)state;
	world_tx_slot(60, 4090, 0);
	world_tx_publish();
	fake_evtchn_fire(pair_event_end, FAKE_LOCAL(WORLD_TX_PORT));
	wait_for(told_fd);
	assert_string_equal(told,
			    "guest_tx: slot crosses its page: offset + size: 4150, limit 4096");
	assert_int_equal(state_get(&pair_state.broken), 1);
	fake_evtchn_fire(pair_event_end, FAKE_LOCAL(WORLD_TX_PORT));
	queue_thread_stop(&thread);
	assert_int_equal(pair_state.tx_verdicts[GUEST_TX_RING_BROKEN], 1);
}

/* The port's descriptor is readable and stays so, while its memory is in use: the thread must sleep
 * all the same, and serve the other direction. */
static void a_port_without_memory_does_not_keep_the_thread_awake(void **state)
{
	struct fake_port *port = fake_port_of(thread.pair.port);
	struct mono start = mono_now();
	int64_t ms;

	(void)state;
	pthread_mutex_lock(&port->lock);
	port->no_memory = true;
	pthread_mutex_unlock(&port->lock);
	fake_port_give(thread.pair.port, bytes, 1000, 0, NULL);
	for (int i = 0; i < 200; i++)
		send_one();
	queue_thread_stop(&thread);
	ms = mono_ms_between(start, mono_now()) + 1;
	/* A wake-up an event and one more for the port, and two a PORT_STUCK_MS while that took. */
	assert_in_range(pair_state.wakeups, 1, 2 * 200 + 2 + 2 * ms / PORT_STUCK_MS);
	assert_in_range(port->recv_calls, 1, pair_state.wakeups + 2);
}

/* Both ends at once, as fast as they can, and the counters read meanwhile. */
/* What changes for all queues reaches one that sleeps, as often as it is called, and no call ends it. */
static void a_sleeping_thread_hears_of_changes(void **state)
{
	struct vif_live live = pair_config.live;

	(void)state;
	for (uint32_t frames = 1; frames <= 100; frames++) {
		live.limits.frames = frames;
		vif_common_set_live(&pair_common, &live);
		queue_thread_call(&thread);
		queue_thread_call(&thread);
		while (state_get(&pair_state.rx_limit_frames) != frames)
			sched_yield();
	}
	send_one();
}

/* Nor does it wake one up that has nothing to do any more. */
static void a_broken_ring_hears_calls_and_waits(void **state)
{
	(void)state;
	__atomic_store_n(&world->tx_ring->req_prod, world->tx_prod + 300, __ATOMIC_RELEASE);
	fake_evtchn_fire(pair_event_end, FAKE_LOCAL(WORLD_TX_PORT));
	wait_for(told_fd);
	for (int i = 0; i < 3; i++)
		queue_thread_call(&thread);
}

/* The guest lost an event: it is woken, posts, and both are said. */
static void a_stalled_guest_is_woken_and_told_of(void **state)
{
	(void)state;
	queue_thread_stop(&thread);
	log_set_sink(keep_line);
	thread.pair.stall.after_ms = 1;
	fake_port_give(thread.pair.port, bytes, 1000, 0, NULL);
	assert_int_equal(queue_thread_start(&thread, "stalled"), 0);
	wait_for(fake.notify_fd);	/* no answer was published: this wakes it */
	await_line("stalled: the guest has posted no receive buffers for 1 ms: 0 are posted, the next of 1 "
		   "frames needs 1; it is woken");
	assert_int_equal(state_get(&pair_state.rx_stalls), 1);
	world_rx_post(1);
	fake_evtchn_fire(pair_event_end, FAKE_LOCAL(WORLD_RX_PORT));
	await_line("stalled: the guest posts receive buffers again");
	queue_thread_stop(&thread);
	log_set_sink(NULL);
	assert_int_equal(pair_state.rx_stalled, 0);
	assert_int_equal(pair_state.rx_verdicts[GUEST_RX_DELIVERED], 1);
}

static void a_pinned_thread_stays_where_it_is(void **state)
{
	cpu_set_t allowed, its;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
	for (int cpu = 0; cpu < 3; cpu++) {
		queue_thread_stop(&thread);
		thread.cpu = cpu;
		assert_int_equal(queue_thread_start(&thread, "pinned"), 0);
		send_one();			/* it runs */
		assert_int_equal(pthread_getaffinity_np(thread.thread, sizeof its, &its), 0);
		assert_int_equal(CPU_COUNT(&its), 1);
		CPU_AND(&its, &its, &allowed);
		assert_int_equal(CPU_COUNT(&its), 1);
	}
}

static void both_ways_at_once(void **state)
{
	uint64_t sum = 0;

	(void)state;
	ask_for_event(&world->rx_ring->rsp_event, WORLD_START);	/* for none */
	for (int i = 0; i < 200; i++) {
		fake_port_give(thread.pair.port, bytes, 1000, 0, NULL);
		world_rx_post(1);
		send_one();
		sum += state_get(&pair_state.rx_frames) + state_get(&pair_state.tx_frames);
	}
	assert_in_range(sum, 200, 2 * 200 * 200);
	queue_thread_stop(&thread);
	pair_check_verdicts();
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(starts_and_stops_with_nothing_to_do),
		TEST(frames_of_the_guest_are_served_for_each_event),
		TEST(frames_of_the_port_reach_the_guest),
		TEST(posted_buffers_wake_the_thread),
		TEST(a_broken_ring_is_told_once_and_the_thread_waits),
		TEST(a_port_without_memory_does_not_keep_the_thread_awake),
		TEST(a_sleeping_thread_hears_of_changes),
		TEST(a_broken_ring_hears_calls_and_waits),
		TEST(a_stalled_guest_is_woken_and_told_of),
		TEST(a_pinned_thread_stays_where_it_is),
		TEST(both_ways_at_once),
	};

	return cmocka_run_group_tests_name("queue_thread", tests, NULL, NULL);
}
