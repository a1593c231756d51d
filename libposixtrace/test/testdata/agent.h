/* What the programs of agent_*_test.go share. */
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

/* A pid of the agent: a process of that name that has this one's channel. It has no parent of ours. */
__attribute__((unused)) static pid_t agent_pid(void)
{
	char line[512], ours[64] = "";
	pid_t found = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	CHECK(f);
	while (fgets(line, sizeof line, f))
		if (strstr(line, "/memfd:posixtrace-agent")) {
			char *inode = line;
			for (int i = 0; i < 4; i++)
				inode = strchr(inode, ' ') + 1;
			snprintf(ours, sizeof ours, "%lu", strtoul(inode, NULL, 10));
		}
	fclose(f);
	if (!*ours)
		return 0;
	/* comm has 15 bytes */
	f = popen("for p in /proc/[0-9]*; do case $(cat $p/comm 2>/dev/null) in posixtrace-agen*) echo ${p#/proc/};; esac; done", "r");
	CHECK(f);
	while (fgets(line, sizeof line, f)) {
		char path[64], map[512];
		FILE *m;
		snprintf(path, sizeof path, "/proc/%d/maps", atoi(line));
		m = fopen(path, "r");
		while (m && fgets(map, sizeof map, m))
			if (strstr(map, "/memfd:posixtrace-agent") && strstr(map, ours))
				found = atoi(line);
		if (m)
			fclose(m);
	}
	pclose(f);
	return found;
}
