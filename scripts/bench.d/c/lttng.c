/*
 * The loops of scripts/bench.d/target with LTTng-UST, timed in the same way.
 *
 *   lttng loop THREADS COUNT          events as fast as they go
 *   lttng paced COUNT BURST PAUSE     BURST events, then PAUSE microseconds without any
 *   lttng lines COUNT BURST PAUSE     the same, with the lines that seq(1) prints
 *
 * It prints the nanoseconds that the loop took and the nanoseconds of processor
 * time of the whole process meanwhile.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tp.h"

static const char sixteen[] = "0123456789abcdef";
static pthread_barrier_t barrier;
static uint64_t count;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static void burst(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		lttng_ust_tracepoint(bench, event, sixteen);
}

static void lines(uint64_t first, uint64_t n)
{
	char text[24];

	for (uint64_t i = first; i < first + n; i++) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)i);
		lttng_ust_tracepoint(bench, line, text);
	}
}

static void *loop(void *unused)
{
	(void)unused;
	burst(10000);
	pthread_barrier_wait(&barrier);
	burst(count);
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t wall, cpu;

	if (argc == 4 && !strcmp(argv[1], "loop")) {
		int threads = atoi(argv[2]);

		count = strtoull(argv[3], NULL, 10);
		pthread_barrier_init(&barrier, NULL, threads + 1);
		for (int i = 0; i < threads; i++) {
			pthread_t t;

			if (pthread_create(&t, NULL, loop, NULL))
				return 1;
		}
		pthread_barrier_wait(&barrier);
		wall = now(CLOCK_MONOTONIC);
		cpu = now(CLOCK_PROCESS_CPUTIME_ID);
		pthread_barrier_wait(&barrier);
	} else if (argc == 5 && (!strcmp(argv[1], "paced") || !strcmp(argv[1], "lines"))) {
		uint64_t next = 1, left = strtoull(argv[2], NULL, 10), n = strtoull(argv[3], NULL, 10);
		struct timespec pause = {0, atol(argv[4]) * 1000};

		wall = now(CLOCK_MONOTONIC);
		cpu = now(CLOCK_PROCESS_CPUTIME_ID);
		while (left) {
			if (n > left)
				n = left;
			if (*argv[1] == 'p')
				burst(n);
			else
				lines(next, n);
			next += n;
			left -= n;
			nanosleep(&pause, NULL);
		}
	} else {
		fputs("usage: lttng loop THREADS COUNT | lttng paced|lines COUNT BURST PAUSE\n", stderr);
		return 2;
	}
	wall = now(CLOCK_MONOTONIC) - wall;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("%llu %llu\n", (unsigned long long)wall, (unsigned long long)cpu);
	return 0;
}
