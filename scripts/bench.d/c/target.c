/*
 * The loops of scripts/bench.d/target in C, timed in the same way.
 *
 *   ctarget loop THREADS COUNT   events as fast as they go, in a stream of this process
 *   ctarget untraced COUNT       the same without a stream
 *   ctarget read LOG             posix_trace_getnext_event() for all events of a log
 *
 * It prints the nanoseconds that this took and the nanoseconds of processor time of
 * the whole process meanwhile. In the mode read it prints the number of events instead.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trace.h>

static const char sixteen[] = "0123456789abcdef";
static pthread_barrier_t barrier;
static trace_event_id_t id;
static uint64_t count;

static void check(int err, const char *what)
{
	if (err) {
		fprintf(stderr, "ctarget: %s: %s\n", what, strerror(err));
		exit(1);
	}
}

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* The measured loop. The trace point is inlined, which scripts/bench verifies. */
__attribute__((noinline)) static void burst(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		posix_trace_event(id, sixteen, 16);
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

/* A flight recorder of the size of the peer's buffers. */
static trace_id_t stream(void)
{
	trace_attr_t attr;
	trace_id_t t;

	check(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	check(posix_trace_attr_setstreamsize(&attr, 1 << 20), "posix_trace_attr_setstreamsize");
	check(posix_trace_attr_setmaxdatasize(&attr, 16), "posix_trace_attr_setmaxdatasize");
	check(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP), "posix_trace_attr_setstreamfullpolicy");
	check(posix_trace_create(0, &attr, &t), "posix_trace_create");
	check(posix_trace_start(t), "posix_trace_start");
	return t;
}

static void print(uint64_t wall, uint64_t cpu)
{
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = now(CLOCK_MONOTONIC) - wall;
	printf("%llu %llu\n", (unsigned long long)wall, (unsigned long long)cpu);
}

static void threads(int n)
{
	trace_id_t t = stream();
	uint64_t wall, cpu;

	pthread_barrier_init(&barrier, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++) {
		pthread_t thread;

		check(pthread_create(&thread, NULL, loop, NULL), "pthread_create");
	}
	pthread_barrier_wait(&barrier);
	wall = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	pthread_barrier_wait(&barrier);
	print(wall, cpu);
	check(posix_trace_shutdown(t), "posix_trace_shutdown");
}

static void untraced(void)
{
	uint64_t wall, cpu;

	burst(1000);
	wall = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	burst(count);
	print(wall, cpu);
}

/* As events of another program in the log they cannot be those of this one: no id is compared. */
static void analyze(const char *log)
{
	struct posix_trace_event_info event;
	uint64_t events = 0, bytes = 0;
	trace_id_t t;
	char data[64];
	size_t n;
	int none, file = open(log, O_RDONLY);

	if (file < 0) {
		perror(log);
		exit(1);
	}
	check(posix_trace_open(file, &t), "posix_trace_open");
	for (;; events++) {
		check(posix_trace_getnext_event(t, &event, data, sizeof data, &n, &none), "posix_trace_getnext_event");
		if (none)
			break;
		bytes += n;
	}
	check(posix_trace_close(t), "posix_trace_close");
	printf("%llu %llu\n", (unsigned long long)events, (unsigned long long)bytes);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "read")) {
		analyze(argv[2]);
		return 0;
	}
	check(posix_trace_eventid_open("bench.event", &id), "posix_trace_eventid_open");
	if (argc == 4 && !strcmp(argv[1], "loop")) {
		count = strtoull(argv[3], NULL, 10);
		threads(atoi(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "untraced")) {
		count = strtoull(argv[2], NULL, 10);
		untraced();
	} else {
		fputs("usage: ctarget loop THREADS COUNT | ctarget untraced COUNT | ctarget read LOG\n", stderr);
		return 2;
	}
	return 0;
}
