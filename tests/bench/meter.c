/* meter.c - see meter.h */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "meter.h"

#define CALIBRATION_NS 200000000
#define EMPTY_READINGS 10001

uint64_t meter_cycles(void)
{
	uint64_t cycles;

	_mm_lfence();
	cycles = __rdtsc();
	_mm_lfence();
	return cycles;
}

uint64_t meter_instructions(const struct meter *meter)
{
	uint64_t count = 0;

	if (meter->instructions_fd < 0 ||
	    read(meter->instructions_fd, &count, sizeof count) != sizeof count)
		return 0;
	return count;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static double calibrate(void)
{
	int64_t start_ns = now_ns(), ns;
	uint64_t start = meter_cycles();

	do
		ns = now_ns() - start_ns;
	while (ns < CALIBRATION_NS);
	return (double)(meter_cycles() - start) / (double)ns;
}

static int compare(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

struct meter_result meter_judge(double values[], int n)
{
	int first = n / 4, last = n * 3 / 4;
	double sum = 0;

	qsort(values, (size_t)n, sizeof *values, compare);
	for (int i = first; i <= last; i++)
		sum += values[i];
	return (struct meter_result){
		.median = values[n / 2],
		.spread = (values[last] - values[first]) / 2,
		.mean = sum / (last - first + 1),
	};
}

static double empty_reading(const struct meter *meter, uint64_t (*read_it)(const struct meter *))
{
	static double costs[EMPTY_READINGS];

	for (int i = 0; i < EMPTY_READINGS; i++) {
		uint64_t start = read_it(meter);

		costs[i] = (double)(read_it(meter) - start);
	}
	return meter_judge(costs, EMPTY_READINGS).mean;
}

static uint64_t cycles_of(const struct meter *meter)
{
	(void)meter;
	return meter_cycles();
}

void meter_open(struct meter *meter)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof attributes,
		.config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1, .exclude_hv = 1,
	};

	meter->ghz = calibrate();
	meter->overhead = empty_reading(meter, cycles_of);
	meter->instructions_fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
	meter->instructions_overhead = empty_reading(meter, meter_instructions);
}

void meter_close(struct meter *meter)
{
	if (meter->instructions_fd >= 0)
		close(meter->instructions_fd);
}
