/*
 * A traced process that does what the lines of its input say, and answers each with a line:
 *
 *   open NAME        the id of a name, or a negative error number
 *   event ID N       N events of a type; their data are numbers
 *   unnamed TEXT     one event without a name of its own
 *   count N          opens N names, "n 0" ..., and prints how many ids differ from the unnamed one
 *   fail N NAME      tries to open N names, "NAME.0" ..., while no file can grow; how many of them failed
 *   longest ID N     events of a type for N ms; how long the longest trace point took, in us, and their number
 *   beside NAME      a thread opens a name; the answer comes before that is done
 *   opened           waits for the thread; the id or a negative error number
 *   exec             runs this program again
 *   fork             goes on in a child; the parent waits for it
 *   daemon           goes on in a child in a session of its own; the parent ends at once
 *   pid
 *   nofile N         the limit of descriptors; 0: as many as may be
 *   fds              the number of open descriptors
 *   hold PATH        opens a file; its descriptor
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <trace.h>

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = -1; /* that of the directory itself */
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2;
}

static void count(int names)
{
	char name[32];
	trace_event_id_t id, last = 0;
	int named = 0, err = 0;
	for (int i = 0; i < names; i++) {
		snprintf(name, sizeof name, "n %d", i);
		err = posix_trace_eventid_open(name, &id);
		if (err)
			break;
		if (id != POSIX_TRACE_UNNAMED_USER_EVENT)
			named++;
		last = id;
	}
	printf("%d %d %u\n", err, named, last);
}

static void fail(int names, const char *prefix)
{
	char name[300];
	trace_event_id_t id;
	int failed = 0;
	struct rlimit all, none;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &all);
	none = all;
	none.rlim_cur = 1;
	setrlimit(RLIMIT_FSIZE, &none);
	for (int i = 0; i < names; i++) {
		snprintf(name, sizeof name, "%s.%d", prefix, i);
		failed += posix_trace_eventid_open(name, &id) != 0;
	}
	setrlimit(RLIMIT_FSIZE, &all);
	printf("%d\n", failed);
}

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void longest(trace_event_id_t id, long ms)
{
	long most = 0, end = now() + 1000 * ms;
	unsigned n = 0;
	for (long before = now(); before < end; n++) {
		posix_trace_event(id, &n, sizeof n);
		long took = now() - before;
		if (took > most)
			most = took;
		usleep(100);
		before = now();
	}
	printf("%ld %u\n", most, n);
}

static struct {
	pthread_t thread;
	char name[256];
	int result;
	volatile int started;
} other;

static void *open_beside(void *p)
{
	trace_event_id_t id;
	other.started = 1;
	int err = posix_trace_eventid_open(other.name, &id);
	other.result = err ? -err : (int)id;
	return p;
}

static void obey(char *line, char **argv)
{
	char text[256];
	trace_event_id_t id;
	unsigned n;
	int status;
	if (!strncmp(line, "open ", 5)) {
		int err = posix_trace_eventid_open(line + 5, &id);
		printf("%d\n", err ? -err : (int)id);
	} else if (sscanf(line, "event %u %u", &id, &n) == 2) {
		for (unsigned i = 0; i < n; i++)
			posix_trace_event(id, &i, sizeof i);
		puts("done");
	} else if (!strncmp(line, "unnamed ", 8)) {
		posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, line + 8, strlen(line + 8));
		puts("done");
	} else if (sscanf(line, "count %u", &n) == 1) {
		count((int)n);
	} else if (sscanf(line, "fail %u %255s", &n, text) == 2) {
		fail((int)n, text);
	} else if (sscanf(line, "longest %u %255s", &n, text) == 2) {
		longest(n, atol(text));
	} else if (sscanf(line, "beside %255s", other.name) == 1) {
		other.started = 0;
		pthread_create(&other.thread, NULL, open_beside, NULL);
		while (!other.started)
			usleep(100);
		puts("done");
	} else if (!strcmp(line, "opened")) {
		pthread_join(other.thread, NULL);
		printf("%d\n", other.result);
	} else if (!strcmp(line, "exec")) {
		execv("/proc/self/exe", argv);
		perror("exec");
	} else if (!strcmp(line, "fork")) {
		pid_t pid = fork();
		if (pid > 0) {
			waitpid(pid, &status, 0);
			exit(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
		}
		printf("%d\n", (int)getpid());
	} else if (!strcmp(line, "daemon")) {
		if (fork() > 0)
			exit(0);
		setsid();
		printf("%d\n", (int)getpid());
	} else if (sscanf(line, "nofile %u", &n) == 1) {
		struct rlimit l;
		getrlimit(RLIMIT_NOFILE, &l);
		l.rlim_cur = n ? n : l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
		puts("done");
	} else if (!strcmp(line, "pid")) {
		printf("%d\n", (int)getpid());
	} else if (!strncmp(line, "hold ", 5)) {
		printf("%d\n", open(line + 5, O_RDWR | O_CLOEXEC));
	} else if (!strcmp(line, "fds")) {
		printf("%d\n", descriptors());
	} else {
		printf("%s?\n", line);
	}
}

int main(int argc, char **argv)
{
	char line[512];
	(void)argc;
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		obey(line, argv);
	}
	return 0;
}
