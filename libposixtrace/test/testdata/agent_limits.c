/* Limits of the controller, some of which its agent has, too: agent_limits_test.go. */
#define _GNU_SOURCE
#include "agent.h"

static void limit(int resource, const char *soft, const char *hard)
{
	struct rlimit l;
	OK(getrlimit(resource, &l));
	l.rlim_cur = strtoul(soft, NULL, 10);
	if (strcmp(hard, "same") == 0)
		l.rlim_max = l.rlim_cur;
	OK(setrlimit(resource, &l));
}

/* Takes all descriptors that are left. */
static void fill(int fd)
{
	while (dup(fd) >= 0)
		;
	IS(errno, EMFILE);
}

static int tried(int err)
{
	IS(errno, 4711);
	return err;
}

/* A stream with log that does what it must, or the error of its creation, or of opening the log. */
static int works(int log)
{
	trace_id_t t, l;
	struct got g;
	int err;
	errno = 4711;
	err = tried(posix_trace_create_withlog(0, NULL, log, &t));
	if (err)
		return err;
	OK(posix_trace_start(t));
	OK(posix_trace_shutdown(t));
	err = tried(posix_trace_open(log, &l));
	if (err)
		return err;
	OK(get(l, &g));
	IS(g.info.posix_event_id, POSIX_TRACE_START);
	OK(posix_trace_close(l));
	return 0;
}

/* Prints how often it could create a stream, and why not more often. All work, and there is room for
   another one when one is gone. */
static void many(int log)
{
	enum { MAX = 2000 };
	static trace_id_t t[MAX];
	trace_attr_t a;
	struct got g;
	int n = 0, err;
	OK(posix_trace_attr_init(&a));
	OK(posix_trace_attr_setstreamsize(&a, 1));
	while (n < MAX && !(err = posix_trace_create(getppid(), &a, &t[n])))
		n++;
	printf("%d %d\n", n, err);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < n; i++) {
			OK(posix_trace_start(t[i]));
			OK(posix_trace_stop(t[i]));
			IS(next_type(t[i], &g), POSIX_TRACE_START);
			IS(next_type(t[i], &g), POSIX_TRACE_STOP);
		}
		OK(posix_trace_shutdown(t[round]));
		OK(posix_trace_create(getppid(), &a, &t[round]));
	}
	for (int i = 0; i < n; i++)
		OK(posix_trace_shutdown(t[i]));
	OK(works(log));
}

/* FILE RESOURCE SOFT HARD [many] */
int main(int argc, char **argv)
{
	int log;
	CHECK(argc >= 5);
	log = open(argv[1], O_RDWR | O_CREAT, 0600);
	CHECK(log >= 0);
	limit(atoi(argv[2]), argv[3], argv[4]);
	if (argc > 5)
		many(log);
	else {
		if (atoi(argv[2]) == RLIMIT_NOFILE)
			fill(log);
		printf("%d\n", works(log));
	}
	fflush(stdout);
	_exit(0);
}
