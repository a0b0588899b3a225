/* meter.h - cycles, nanoseconds and instructions of a piece of code
 *
 * Cycles are those of the time stamp counter, which runs at a constant rate, not those of the core;
 * it is read with fences, and what an empty reading costs is taken off.  Instructions are counted by
 * perf_event_open, user space only, where the machine has such a counter; else there are none. */
#ifndef TESTS_BENCH_METER_H
#define TESTS_BENCH_METER_H

#include <stdbool.h>
#include <stdint.h>

struct meter {
	double ghz;			/* of the time stamp counter */
	double overhead;		/* cycles of an empty reading */
	int instructions_fd;		/* -1: not to be had */
	double instructions_overhead;
};

void meter_open(struct meter *meter);
void meter_close(struct meter *meter);
uint64_t meter_cycles(void);
uint64_t meter_instructions(const struct meter *meter);

/* Of @n values, which it sorts: the median, half of the distance that the middle half spans, and the
 * mean of that half (a counter that moves in steps is between them in the mean). */
struct meter_result { double median, spread, mean; };
struct meter_result meter_judge(double values[], int n);

#endif
