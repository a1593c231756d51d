/*
 * delay loop            uses a processor until it is killed
 * delay work MS         uses MS milliseconds of processor time
 * delay threads MS end  the same in each of three threads, while the first thread waits for them
 * delay threads MS exit the same, and ends while they still work
 * delay threads MS exec the same, and a thread that is not the first executes "delay work 1"
 *
 * All threads of all these share one processor.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, PATIENCE = 60 };

static double seconds;
static char *self;
static pthread_barrier_t together;

static void pin(void)
{
	cpu_set_t all, one;
	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof all, &all))
		exit(2);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &one);
			break;
		}
	if (sched_setaffinity(0, sizeof one, &one))
		exit(2);
}

static void work(double until)
{
	struct timespec t;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec + t.tv_nsec / 1e9 < until);
}

static void *worker(void *how)
{
	pthread_barrier_wait(&together);
	work(seconds);
	if (!strcmp(how, "exec")) {
		pthread_barrier_wait(&together);
		execl(self, self, "work", "1", (char *)NULL);
		_exit(3);
	}
	if (!strcmp(how, "exit")) {
		pthread_barrier_wait(&together);
		work(PATIENCE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t list[THREADS];
	alarm(PATIENCE);
	pin();
	if (argc < 3) {
		puts("ready");
		fflush(stdout);
		work(PATIENCE);
		return 0;
	}
	self = argv[0];
	seconds = atof(argv[2]) / 1000;
	if (argc == 3) {
		work(seconds);
		return 0;
	}
	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&list[i], NULL, worker, argv[3]))
			return 2;
	if (!strcmp(argv[3], "exit")) {
		struct timespec t, pause = {.tv_nsec = 1000000};
		do {
			nanosleep(&pause, NULL);
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		} while (t.tv_sec + t.tv_nsec / 1e9 < THREADS * (seconds + .01));
		return 0;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(list[i], NULL);
	return 0;
}
