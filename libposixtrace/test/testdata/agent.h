/* What the programs of agent_*_test.go share. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <trace.h>
#include <unistd.h>

#include "parked.h"

#define FAIL(...) \
	do { \
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
		fprintf(stderr, __VA_ARGS__); \
		fprintf(stderr, "\n"); \
		_exit(1); \
	} while (0)
#define CHECK(x) \
	do { \
		if (!(x)) \
			FAIL("not so: %s", #x); \
	} while (0)
#define IS(x, want) \
	do { \
		long got_ = (long)(x), want_ = (long)(want); \
		if (got_ != want_) \
			FAIL("%s is %ld (%s), not %ld", #x, got_, strerror((int)got_), want_); \
	} while (0)
#define OK(x) IS(x, 0)

struct got {
	struct posix_trace_event_info info;
	char data[2048];
	size_t length;
	int none;
};

__attribute__((unused)) static int get(trace_id_t t, struct got *g)
{
	return posix_trace_getnext_event(t, &g->info, g->data, sizeof g->data, &g->length, &g->none);
}

__attribute__((unused)) static int try_get(trace_id_t t, struct got *g)
{
	return posix_trace_trygetnext_event(t, &g->info, g->data, sizeof g->data, &g->length, &g->none);
}

/* The next event's type, or 0. */
__attribute__((unused)) static trace_event_id_t next_type(trace_id_t t, struct got *g)
{
	OK(try_get(t, g));
	return g->none ? 0 : g->info.posix_event_id;
}

__attribute__((unused)) static struct timespec in_ms(long ms)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

__attribute__((unused)) static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((unused)) static void ms_sleep(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	while (nanosleep(&t, &t) != 0)
		;
}

/* The inode of the channel in a line of /proc/PID/maps, or 0. */
static unsigned long channel(const char *line)
{
	unsigned long inode = 0;
	if (strstr(line, "/memfd:posixtrace-agent"))
		sscanf(line, "%*s %*s %*s %*s %lu", &inode);
	return inode;
}

/* The inode of the channel that a process maps, or 0. */
static unsigned long channel_of(const char *pid)
{
	char path[300], line[512];
	unsigned long inode = 0;
	FILE *f;
	snprintf(path, sizeof path, "/proc/%s/maps", pid);
	f = fopen(path, "r");
	while (f && !inode && fgets(line, sizeof line, f))
		inode = channel(line);
	if (f)
		fclose(f);
	return inode;
}

/* A pid of the agent: a process of that name that has this one's channel. It has no parent of ours. */
__attribute__((unused)) static pid_t agent_pid(void)
{
	unsigned long ours = channel_of("self");
	pid_t found = 0;
	DIR *d;
	struct dirent *e;
	if (!ours)
		return 0;
	d = opendir("/proc");
	CHECK(d);
	while (!found && (e = readdir(d))) {
		char path[300], name[32] = "";
		FILE *f;
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof path, "/proc/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof name, f) && strcmp(name, "posixtrace-agen\n") == 0 && /* comm has 15 bytes */
		    channel_of(e->d_name) == ours)
			found = atoi(e->d_name);
		if (f)
			fclose(f);
	}
	closedir(d);
	return found;
}

__attribute__((unused)) static void kill_agent(void)
{
	pid_t agent = agent_pid();
	CHECK(agent > 0);
	CHECK(kill(agent, SIGKILL) == 0);
}

/* Waits until so many threads wait for an event. */
__attribute__((unused)) static void wait_until_blocked(int threads)
{
	while (parked_threads() < threads)
		ms_sleep(1);
}
