/* The agent and the application do not disturb each other: agent_guest_test.go. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/prctl.h>

#include "agent.h"

static trace_id_t works(void)
{
	trace_id_t t;
	struct got g;
	OK(posix_trace_create(0, NULL, &t));
	OK(posix_trace_start(t));
	OK(get(t, &g));
	IS(g.info.posix_event_id, POSIX_TRACE_START);
	return t;
}

/* The open descriptors of this process, as text. */
static void descriptors(char *text)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	CHECK(d);
	*text = 0;
	while ((e = readdir(d)))
		if (atoi(e->d_name) != dirfd(d))
			strcat(strcat(text, e->d_name), " ");
	closedir(d);
}

static volatile sig_atomic_t children;

static void on_child(int sig)
{
	(void)sig;
	children++;
}

/* No child, no signal, no descriptor. */
static void invisible(const char *log)
{
	char before[4096], after[4096];
	trace_id_t t;
	int fd, status;
	signal(SIGCHLD, on_child);
	fd = open(log, O_RDWR | O_CREAT, 0600);
	descriptors(before);
	t = works();
	OK(posix_trace_shutdown(t));
	OK(posix_trace_create_withlog(0, NULL, fd, &t));
	OK(posix_trace_shutdown(t));
	OK(posix_trace_open(fd, &t));
	OK(posix_trace_close(t));
	descriptors(after);
	CHECK(strcmp(before, after) == 0);
	IS(children, 0);
	IS(waitpid(-1, &status, 0), -1);
	IS(errno, ECHILD);
	IS(waitpid(-1, &status, 0x40000000 /* __WALL */), -1);
}

static void line_of(pid_t pid, const char *file, const char *key, char *line)
{
	char path[64];
	FILE *f;
	snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
	f = fopen(path, "r");
	CHECK(f);
	do
		CHECK(fgets(line, 512, f));
	while (strncmp(line, key, strlen(key)) != 0);
	fclose(f);
}

/* The agent has nothing of ours. */
static void apart(void)
{
	char path[64], target[256], line[512];
	sigset_t all;
	pid_t agent;
	CHECK(chdir("/usr") == 0);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (int s = 1; s < 32; s++)
		signal(s, SIG_IGN);
	works();
	for (int s = 1; s < 32; s++)
		signal(s, SIG_DFL);
	agent = agent_pid();
	CHECK(agent > 0);
	CHECK(getpgid(agent) != getpgid(0));
	CHECK(getsid(agent) != getsid(0) && getsid(agent) != agent);
	for (int fd = 0; fd < 3; fd++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", agent, fd);
		target[readlink(path, target, sizeof target - 1)] = 0;
		CHECK(strcmp(target, "/dev/null") == 0);
	}
	snprintf(path, sizeof path, "/proc/%d/cwd", agent);
	IS(readlink(path, target, sizeof target), 1);
	line_of(agent, "status", "SigBlk:", line);
	CHECK(strtoull(line + 7, NULL, 16) == 0);
	line_of(agent, "status", "PPid:", line);
	CHECK(atoi(line + 5) != getpid());
}

/* Neither needs a descriptor of ours. */
static void no_descriptors(void)
{
	struct rlimit l = {3, 4096};
	trace_id_t t;
	struct got g;
	OK(setrlimit(RLIMIT_NOFILE, &l));
	t = works();
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	OK(posix_trace_stop(t));
	OK(get(t, &g));
	IS(g.info.posix_event_id, POSIX_TRACE_STOP);
	OK(posix_trace_shutdown(t));
	t = works();
	_exit(0);
}

static void closed(void)
{
	trace_id_t t;
	int fd;
	for (fd = 0; fd < 3; fd++)
		close(fd);
	t = works();
	fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	IS(fd, 0);
	OK(posix_trace_create_withlog(0, NULL, fd, &t));
	OK(posix_trace_start(t));
	OK(posix_trace_shutdown(t));
	OK(posix_trace_open(fd, &t));
	_exit(0);
}

static void no_environment(void)
{
	char *none = NULL;
	environ = &none;
	OK(posix_trace_shutdown(works()));
}

/* A signal to the process group, as of a terminal, and to the agent itself, as of a service manager. */
static void signals(void)
{
	trace_id_t t;
	struct got g;
	pid_t agent;
	CHECK(setpgid(0, 0) == 0);
	t = works();
	agent = agent_pid();
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	CHECK(kill(0, SIGTERM) == 0 && kill(0, SIGINT) == 0);
	for (int s = 1; s <= 64; s++)
		if (s != SIGKILL && s != SIGSTOP && s != SIGSEGV && s != SIGBUS && s != SIGFPE && s != SIGILL && s != SIGTRAP &&
		    s != SIGABRT && s != SIGSYS && s != SIGQUIT)
			CHECK(kill(agent, s) == 0);
	CHECK(kill(agent, SIGQUIT) == 0);
	ms_sleep(20);
	OK(posix_trace_stop(t));
	OK(get(t, &g));
	IS(g.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK(agent_pid() == agent);
}

/* A program that adopts orphans gets the agent, and nothing waits for it without end. */
static void subreaper(void)
{
	trace_id_t t;
	pid_t child;
	int status;
	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
	t = works();
	child = fork();
	if (child == 0)
		_exit(7);
	IS(waitpid(child, &status, 0), child);
	IS(waitpid(-1, &status, WNOHANG), 0);
	OK(posix_trace_shutdown(t));
}

/* A program that has given up rights since cannot use those of the agent. */
static void rights(void)
{
	trace_id_t t = works(), other;
	OK(setgid(65534));
	IS(posix_trace_create(0, NULL, &other), EPERM);
	OK(posix_trace_stop(t));
	OK(posix_trace_shutdown(t));
}

static void missing(const char *error)
{
	trace_id_t t = 77;
	int fd = open("/dev/null", O_RDWR);
	IS(posix_trace_create(0, NULL, &t), atoi(error));
	IS(posix_trace_create_withlog(0, NULL, fd, &t), atoi(error));
	IS(posix_trace_open(fd, &t), atoi(error));
	IS(t, 77);
	IS(posix_trace_start(t), EINVAL);
}

static trace_id_t early;
__attribute__((constructor)) static void before_main(void)
{
	if (getenv("EARLY"))
		early = works();
}

int main(int argc, char **argv)
{
	const char *what = argv[1];
	CHECK(argc >= 2);
	if (strcmp(what, "invisible") == 0)
		invisible(argv[2]);
	else if (strcmp(what, "apart") == 0)
		apart();
	else if (strcmp(what, "no_descriptors") == 0)
		no_descriptors();
	else if (strcmp(what, "closed") == 0)
		closed();
	else if (strcmp(what, "no_environment") == 0)
		no_environment();
	else if (strcmp(what, "signals") == 0)
		signals();
	else if (strcmp(what, "subreaper") == 0)
		subreaper();
	else if (strcmp(what, "rights") == 0)
		rights();
	else if (strcmp(what, "missing") == 0)
		missing(argv[2]);
	else if (strcmp(what, "early") == 0)
		OK(posix_trace_shutdown(early));
	else
		FAIL("no test %s", what);
	return 0;
}
