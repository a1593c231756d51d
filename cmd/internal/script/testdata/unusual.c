// unusual COMMAND [ARG]...: executes COMMAND with as many unusual attributes as a process can hand on.
// Left out are the signals that the Go runtime unblocks, such as TERM, CHLD and URG, or handles although they
// were ignored, such as PIPE and QUIT: ptrace-run cannot know of them.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

extern char **environ;

static void set(const char *name, unsigned long value)
{
	char text[32];
	snprintf(text, sizeof text, "%lu", value);
	setenv(name, text, 1);
}

static void put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		write(fd, text, strlen(text));
		close(fd);
	}
}

int main(int argc, char **argv)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGTSTP, SIGTTIN, SIGTTOU};
	const int blocked[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGRTMIN + 7};
	struct itimerval hour = {{7200, 0}, {3600, 0}};
	struct rlimit limit;
	struct stat st = {0};
	sigset_t mask;
	cpu_set_t cpus;
	int fds[2];

	(void)argc;
	prctl(PR_SET_PDEATHSIG, SIGURG);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_TIMERSLACK, 77777);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	personality(ADDR_NO_RANDOMIZE);
	umask(026);
	sched_getaffinity(0, sizeof cpus, &cpus);
	for (int i = 0; CPU_COUNT(&cpus) > 1; i++)
		CPU_CLR(i, &cpus);
	sched_setaffinity(0, sizeof cpus, &cpus);
	sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
	setpriority(PRIO_PROCESS, 0, 3);
	syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 6);
	syscall(SYS_keyctl, 1 /* JOIN_SESSION_KEYRING */, "unusual");
	put("/proc/self/oom_score_adj", "200");
	put("/proc/self/coredump_filter", "1");
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 300;
	setrlimit(RLIMIT_NOFILE, &limit);
	getrlimit(RLIMIT_CORE, &limit);
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_CORE, &limit);
	setitimer(ITIMER_REAL, &hour, 0);
	setitimer(ITIMER_VIRTUAL, &hour, 0);
	setitimer(ITIMER_PROF, &hour, 0);
	for (unsigned i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&mask);
	for (unsigned i = 0; i < sizeof blocked / sizeof *blocked; i++)
		sigaddset(&mask, blocked[i]);
	sigprocmask(SIG_SETMASK, &mask, 0);
	// The sockets of a service manager are the descriptors 3 and 4; 9 and 70 are others.
	dup2(0, 3);
	pipe2(fds, O_NONBLOCK);
	dup2(fds[0], 9);
	dup2(fds[1], 70);
	close(fds[0]);
	close(fds[1]);
	open("/", O_PATH);
	set("LISTEN_PID", getpid());
	set("WATCHDOG_PID", getpid());
	set("SYSTEMD_EXEC_PID", getpid());
	set("LISTEN_FDS", 2);
	int fd = syscall(SYS_pidfd_open, getpid(), 0);
	if (fd >= 0) {
		fstat(fd, &st);
		close(fd);
	}
	set("LISTEN_PIDFDID", st.st_ino);
	// Variables that occur twice, without a name, and without a value.
	static char *extra[] = {"TWICE=1", "TWICE=2", "TWICE=1", "=nameless", "valueless", 0};
	int n = 0;
	while (environ[n])
		n++;
	char **all = calloc(n + 6, sizeof *all);
	memcpy(all, environ, n * sizeof *all);
	memcpy(all + n, extra, sizeof extra);
	environ = all;
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
