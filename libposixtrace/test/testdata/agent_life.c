/* Lives and deaths of controllers and agents: agent_life_test.go. */
#define _GNU_SOURCE
#include "agent.h"

#include <sched.h>
#include <stdatomic.h>

static trace_id_t logged(const char *path)
{
	trace_id_t t;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0);
	OK(posix_trace_create_withlog(0, NULL, fd, &t));
	OK(posix_trace_start(t));
	close(fd);
	return t;
}

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

static void *blocked(void *arg)
{
	trace_id_t t = *(trace_id_t *)arg;
	struct got g;
	long err;
	do {
		err = get(t, &g);
	} while (err == 0);
	CHECK(g.none && g.length == 0);
	return (void *)err;
}

/* The agent is killed. Nothing hangs, and the next create starts another one. */
static void agent_killed(const char *path)
{
	trace_id_t t = logged(path), second, log;
	struct got g;
	pthread_t thread[3];
	void *err;
	int fd;
	OK(posix_trace_create(0, NULL, &second));
	for (int i = 0; i < 3; i++)
		OK(pthread_create(&thread[i], NULL, blocked, &second));
	wait_until_blocked(3);
	kill_agent();
	for (int i = 0; i < 3; i++) {
		OK(pthread_join(thread[i], &err));
		IS(err, EIO);
	}
	IS(get(second, &g), EINVAL);
	IS(posix_trace_stop(t), EINVAL);
	IS(posix_trace_shutdown(t), EINVAL);
	fd = open(path, O_RDONLY);
	OK(posix_trace_open(fd, &log)); /* by another agent; the log is complete */
	OK(get(log, &g));
	IS(g.info.posix_event_id, POSIX_TRACE_START);
	OK(posix_trace_create(0, NULL, &t));
	OK(posix_trace_start(t));
	IS(posix_trace_stop(second), EINVAL);
	OK(posix_trace_shutdown(t));

	/* Killed while a log is being read. */
	OK(posix_trace_rewind(log));
	OK(get(log, &g));
	kill_agent();
	while (agent_pid() != 0)
		ms_sleep(1);
	IS(get(log, &g), EINVAL);
	IS(posix_trace_close(log), EINVAL);
	OK(posix_trace_open(fd, &log));
	OK(get(log, &g));
	OK(posix_trace_close(log));
	for (int i = 0; i < 20; i++) { /* often: nothing is used up */
		OK(posix_trace_create(0, NULL, &t));
		kill_agent();
	}
	OK(posix_trace_create(0, NULL, &t));
	OK(posix_trace_shutdown(t));
}

static atomic_bool idle;

static void *busy(void *arg)
{
	while (!atomic_load(&idle))
		;
	return arg;
}

/* Leaves all threads of a process but the first to the processor's idle time. */
static void slow_down(pid_t pid)
{
	static const struct sched_param none;
	char path[40];
	struct dirent *e;
	DIR *d;
	FILE *f;
	snprintf(path, sizeof path, "/proc/%d/autogroup", pid);
	f = fopen(path, "w");
	if (f) { /* its session has a share of its own */
		fprintf(f, "19");
		fclose(f);
	}
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	d = opendir(path);
	CHECK(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != pid)
			sched_setscheduler(atoi(e->d_name), SCHED_IDLE, &none);
	closedir(d);
}

/* The agent is killed, and some of its threads end late. Its logs are complete for the next one. */
static void agent_ends_slowly(const char *path)
{
	pthread_t thread[16];
	cpu_set_t may;
	OK(sched_getaffinity(0, sizeof may, &may));
	for (int round = 0; round < 5; round++) {
		trace_id_t t = logged(path), log;
		struct got g;
		int n = 0, fd = open(path, O_RDONLY);
		slow_down(agent_pid());
		atomic_store(&idle, false);
		while (n < 16 && n < 2 * CPU_COUNT(&may))
			OK(pthread_create(&thread[n++], NULL, busy, NULL));
		kill_agent();
		while (posix_trace_stop(t) == 0)
			;
		OK(posix_trace_open(fd, &log));
		atomic_store(&idle, true);
		while (n > 0)
			OK(pthread_join(thread[--n], NULL));
		OK(get(log, &g));
		IS(g.info.posix_event_id, POSIX_TRACE_START);
		OK(posix_trace_close(log));
		close(fd);
	}
}

/* A child has no streams; its own are its own. */
static void forked(const char *path)
{
	trace_id_t t = logged(path), own;
	struct got g;
	struct posix_trace_status_info st;
	pid_t agent = agent_pid(), child;
	int status;
	for (int execs = 0; execs < 2; execs++) {
		child = fork();
		if (child == 0) {
			IS(posix_trace_stop(t), EINVAL);
			IS(posix_trace_shutdown(t), EINVAL);
			IS(get(t, &g), EINVAL);
			OK(posix_trace_create(0, NULL, &own));
			CHECK(own != t && agent_pid() != agent);
			IS(posix_trace_stop(t), EINVAL);
			OK(posix_trace_start(own));
			OK(get(own, &g));
			IS(g.info.posix_pid, getpid());
			if (execs)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		IS(waitpid(child, &status, 0), child);
		IS(status, 0);
	}
	OK(posix_trace_get_status(t, &st));
	IS(st.posix_stream_status, POSIX_TRACE_RUNNING);
	OK(posix_trace_shutdown(t));
}

/* An agent without work ends, and another one comes without notice. */
static void unused(void)
{
	trace_id_t t;
	pid_t agent;
	OK(posix_trace_create(0, NULL, &t));
	OK(posix_trace_shutdown(t));
	agent = agent_pid();
	CHECK(agent > 0);
	while (kill(agent, 0) == 0)
		ms_sleep(20);
	IS(posix_trace_start(t), EINVAL);
	OK(posix_trace_create(0, NULL, &t));
	CHECK(agent_pid() != agent);
	OK(posix_trace_start(t));
	OK(posix_trace_shutdown(t));
}

int main(int argc, char **argv)
{
	const char *what = argv[1];
	CHECK(argc >= 3);
	alarm(300);
	if (strcmp(what, "wait") == 0) { /* for its end */
		logged(argv[2]);
		say("ready");
		pause();
	} else if (strcmp(what, "exec") == 0) {
		logged(argv[2]);
		execl("/bin/sh", "sh", "-c", "echo ready; read line", (char *)NULL);
	} else if (strcmp(what, "exit") == 0) {
		logged(argv[2]);
	} else if (strcmp(what, "agent_killed") == 0) {
		agent_killed(argv[2]);
	} else if (strcmp(what, "agent_ends_slowly") == 0) {
		agent_ends_slowly(argv[2]);
	} else if (strcmp(what, "forked") == 0) {
		forked(argv[2]);
	} else if (strcmp(what, "unused") == 0) {
		unused();
	} else {
		FAIL("no test %s", what);
	}
	return 0;
}
