/*
 * spawn COUNT COMMAND [ARG]...
 *
 * Runs the command COUNT times, one after the other, as cheaply as the system can start
 * one, with its output discarded. It prints the nanoseconds that this took.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t quiet;
	uint64_t start;

	if (argc < 3) {
		fputs("usage: spawn COUNT COMMAND [ARG]...\n", stderr);
		return 2;
	}
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
	start = now();
	for (long n = atol(argv[1]); n > 0; n--) {
		pid_t pid;
		int status;

		if (posix_spawnp(&pid, argv[2], &quiet, NULL, argv + 2, environ) ||
		    waitpid(pid, &status, 0) != pid || status) {
			fprintf(stderr, "spawn: %s failed\n", argv[2]);
			return 1;
		}
	}
	printf("%llu\n", (unsigned long long)(now() - start));
	return 0;
}
