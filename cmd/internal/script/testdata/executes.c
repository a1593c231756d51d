/* executes executes itself again and again, each time with more threads that end by that. Every
 * other time one of them executes, and gets the id of the process.
 *
 * usage: executes THREADS TIMES */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char **args;
static int left;

static void *sleeper(void *unused)
{
	for (;;)
		usleep(1000);
	return unused;
}

static void *execute(void *unused)
{
	char times[20];

	if (left == 0)
		exit(7);
	snprintf(times, sizeof times, "%d", left - 1);
	args[2] = times;
	execv("/proc/self/exe", args);
	perror("execv");
	exit(1);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int threads = argc > 1 ? atoi(argv[1]) : 0;

	args = argv;
	left = argc > 2 ? atoi(argv[2]) : 0;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, sleeper, NULL))
			exit(2);
	if (left % 2 && threads > 0) {
		if (pthread_create(&thread, NULL, execute, NULL))
			exit(2);
		for (;;)
			pause();
	}
	execute(NULL);
}
