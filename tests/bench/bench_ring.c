/* bench_ring.c - what a frame costs on the ring path, and nothing else
 *
 * guest_tx with the null port and guest_rx with a port that makes frames (generator.h), on the rings
 * of a guest in the same process (bench_guest.h), over the simulator's libxengnttab.  Measured is
 * guest_tx_poll(), or guest_rx_receive() and guest_rx_deliver(), a burst at a time; what the guest
 * does in between is not.
 *
 * "no copy": xengnttab_grant_copy() only says that all went well.  "copy": the simulator's, a check
 * of grant entries and a memcpy in user space: no system call, no hypercall, both of which cost more
 * than all that is measured here (see docs/performance.md for real Xen).  Frames ask for no
 * offload, nobody asks for events, everything is in the cache. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/guest_rx.h"
#include "../../backend/guest_tx.h"
#include "../../backend/pages.h"
#include "../../ovs-glue/ports.h"
#include "bench_guest.h"
#include "generator.h"
#include "meter.h"

#define GUEST 7
#define REPETITIONS 21
#define FRAMES_A_REPETITION 16384u

struct bench {
	struct bench_guest guest;
	struct meter meter;
	struct pages *pages;
	xengnttab_handle *gnttab;
	void *tx_page, *rx_page;
	struct port *null, *generator;
	struct gcopy copy;
	struct events no_events;
	struct queue_state state;
	struct guest_tx tx;
	struct guest_rx rx;
};

/* --- the copy, or what stands for it ---------------------------------------------------------- */

static bool copy_for_real;
static uint64_t copies;

int xengnttab_grant_copy(xengnttab_handle *gnttab, uint32_t count,
			 xengnttab_grant_copy_segment_t *segments)
{
	static int (*real)(xengnttab_handle *, uint32_t, xengnttab_grant_copy_segment_t *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "xengnttab_grant_copy");
	copies += count;
	if (copy_for_real)
		return real(gnttab, count, segments);
	for (uint32_t i = 0; i < count; i++)
		segments[i].status = GNTST_okay;
	return 0;
}

/* --- setting up ------------------------------------------------------------------------------- */

static void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "bench: %s\n", what);
	exit(EXIT_FAILURE);
}

static void *map_ring(struct bench *bench, uint32_t ref)
{
	void *page = xengnttab_map_grant_ref(bench->gnttab, GUEST, ref, 3);

	need(page != NULL, "cannot map a ring");
	return page;
}

static void open_tx(struct bench *bench)
{
	struct guest_tx *tx = &bench->tx;

	bench->tx_page = map_ring(bench, bench->guest.tx_ring_ref);
	tx->copy = &bench->copy;
	tx->events = &bench->no_events;
	tx->port = bench->null;
	tx->state = &bench->state;
	need(ring_tx_attach(&tx->ring, bench->tx_page) == 0, "cannot attach to the tx ring");
	need(guest_tx_open(tx, TX_PAGES_MAX) == 0, "no transmit buffers");
	need(tx->pages[0].gref != GREF_NONE, "transmit buffers are not granted");
}

static void open_rx(struct bench *bench)
{
	struct guest_rx *rx = &bench->rx;

	bench->rx_page = map_ring(bench, bench->guest.rx_ring_ref);
	rx->copy = &bench->copy;
	rx->events = &bench->no_events;
	rx->port = bench->generator;
	rx->state = &bench->state;
	rx->features = VIF_F_ALL;
	rx->queue.limits = (struct queue_limits){ QUEUE_FRAMES_DEFAULT, QUEUE_BYTES_DEFAULT,
						  QUEUE_AGE_MS_DEFAULT };
	need(ring_rx_attach(&rx->ring, bench->rx_page) == 0, "cannot attach to the rx ring");
}

static void open_bench(struct bench *bench)
{
	struct port_config config = { .name = "bench", .fd = -1, .guest_tx_pages = TX_PAGES_MAX };

	meter_open(&bench->meter);
	bench_guest_start(&bench->guest, GUEST);
	bench->gnttab = xengnttab_open(NULL, 0);
	config.pages = bench->pages = pages_open(0);
	need(bench->gnttab && bench->pages, "no simulator");
	need(null_port_class.open(&config, &bench->null) == 0, "no null port");
	need(generator_port_class.open(&config, &bench->generator) == 0, "no generator");
	gcopy_init(&bench->copy, bench->gnttab, GUEST, 0);
	open_tx(bench);
	open_rx(bench);
}

static void close_bench(struct bench *bench)
{
	guest_tx_close(&bench->tx);
	xengnttab_unmap(bench->gnttab, bench->tx_page, 1);
	xengnttab_unmap(bench->gnttab, bench->rx_page, 1);
	bench->null->class->close(bench->null);
	bench->generator->class->close(bench->generator);
	pages_close(bench->pages);
	xengnttab_close(bench->gnttab);
	bench_guest_end(&bench->guest);
	meter_close(&bench->meter);
}

/* --- measuring -------------------------------------------------------------------------------- */

struct row { bool to_guest, copy; uint16_t size; uint32_t burst; };
struct cost { double cycles, instructions; };		/* a frame */

static uint64_t read_meter(const struct bench *bench, bool instructions)
{
	return instructions ? meter_instructions(&bench->meter) : meter_cycles();
}

/* A burst; only what lies between the two readings counts. */
static double one_burst(struct bench *bench, const struct row *row, bool instructions)
{
	uint64_t start, used;
	uint32_t done;

	if (row->to_guest) {
		bench_guest_post(&bench->guest, row->burst);
		start = read_meter(bench, instructions);
		guest_rx_receive(&bench->rx, RX_BURST);
		guest_rx_deliver(&bench->rx);
		used = read_meter(bench, instructions) - start;
		done = bench_guest_reap_rx(&bench->guest);
	} else {
		bench_guest_send(&bench->guest, row->burst, row->size);
		start = read_meter(bench, instructions);
		guest_tx_poll(&bench->tx);
		used = read_meter(bench, instructions) - start;
		done = bench_guest_reap_tx(&bench->guest);
	}
	need(done == row->burst, "a burst was not answered whole");
	return (double)used - (instructions ? bench->meter.instructions_overhead
					    : bench->meter.overhead);
}

/* The mean of the middle half of the bursts, for a frame: what interrupts and other processes take away in the middle of a
 * burst is no cost of ours. */
static double one_repetition(struct bench *bench, const struct row *row, bool instructions)
{
	static double bursts[FRAMES_A_REPETITION];
	int n = 0;

	for (uint32_t frames = 0; frames < FRAMES_A_REPETITION; frames += row->burst)
		bursts[n++] = one_burst(bench, row, instructions) / row->burst;
	return meter_judge(bursts, n).mean;
}

static struct meter_result measure(struct bench *bench, const struct row *row, bool instructions)
{
	double values[REPETITIONS];

	one_repetition(bench, row, instructions);	/* to warm up */
	for (int i = 0; i < REPETITIONS; i++)
		values[i] = one_repetition(bench, row, instructions);
	return meter_judge(values, REPETITIONS);
}

static void print_row(struct bench *bench, const struct row *row)
{
	struct meter_result cycles, instructions;

	copy_for_real = row->copy;
	generator_set(bench->generator, (int)row->burst, row->size);
	cycles = measure(bench, row, false);
	printf("%-8s %5u B %6u  %-7s %9.1f %5.1f %% %9.1f", row->to_guest ? "guest_rx" : "guest_tx",
	       row->size, row->burst, row->copy ? "copy" : "no copy", cycles.median,
	       100 * cycles.spread / cycles.median, cycles.median / bench->meter.ghz);
	if (bench->meter.instructions_fd >= 0) {
		instructions = measure(bench, row, true);
		printf(" %12.1f\n", instructions.median);
	} else {
		printf(" %12s\n", "-");
	}
	fflush(stdout);
}

static void print_table(struct bench *bench)
{
	static const uint16_t sizes[] = { 64, 1514 };
	static const uint32_t bursts[] = { 1, 8, 64 };

	printf("%-8s %7s %6s  %-7s %9s %7s %9s %12s\n", "path", "frame", "burst", "", "cycles",
	       "+-", "ns", "instructions");
	for (int to_guest = 0; to_guest < 2; to_guest++)
		for (int copy = 0; copy < 2; copy++)
			for (int s = 0; s < 2; s++)
				for (int b = 0; b < 3; b++)
					print_row(bench, &(struct row){ to_guest, copy, sizes[s],
									bursts[b] });
}

int main(void)
{
	static struct bench bench;
	uint64_t sent, delivered;

	open_bench(&bench);
	printf("One frame's cost.  Cycles are of the time stamp counter (%.2f GHz; a reading costs %.1f, "
	       "taken off\neach burst): the mean of the middle half of the bursts of %u frames; of %d "
	       "such repetitions the\nmedian, and half of what the middle half of them spans.\n",
	       bench.meter.ghz, bench.meter.overhead, FRAMES_A_REPETITION, REPETITIONS);
	if (bench.meter.instructions_fd < 0)
		puts("This machine has no counter of instructions.");
	print_table(&bench);
	sent = bench.state.tx_verdicts[GUEST_TX_SENT];
	delivered = bench.state.rx_verdicts[GUEST_RX_DELIVERED];
	need(bench.guest.errors == 0 && sent == bench.state.tx_frames &&
	     delivered == bench.state.rx_frames && copies == sent + delivered,
	     "frames were lost: these figures mean nothing");
	close_bench(&bench);
	return EXIT_SUCCESS;
}
