// self FILE [traced]: writes to FILE, a line each, what a process can know of how it was started. With
// "traced" it first waits until it is traced. What no two processes share, such as ids, it leaves out.
#define _GNU_SOURCE
#include <errno.h>
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
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static FILE *out;

// shown writes the lines of a file of /proc/self but those that start with one of the names.
static void shown(const char *name, const char *const *without)
{
	char path[64], line[4096];
	snprintf(path, sizeof path, "/proc/self/%s", name);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f)) {
		int skip = 0;
		for (const char *const *w = without; *w; w++)
			skip |= strncmp(line, *w, strlen(*w)) == 0;
		if (!skip)
			fprintf(out, "%s %s%s", name, line, strchr(line, '\n') ? "" : "\n");
	}
	if (f)
		fclose(f);
}

static void link_of(const char *name)
{
	char path[64], to[4096];
	snprintf(path, sizeof path, "/proc/self/%s", name);
	ssize_t n = readlink(path, to, sizeof to - 1);
	fprintf(out, "%s %.*s\n", name, n < 0 ? 0 : (int)n, to);
}

static int traced(void)
{
	char line[256];
	int tracer = 0;
	FILE *f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "TracerPid: %d", &tracer);
	if (f)
		fclose(f);
	return tracer != 0;
}

// related names an id by what it is to this process.
static const char *related(pid_t id)
{
	if (id == getpid())
		return "own";
	return id == 0 || id == -1 ? "none" : "of another process";
}

// number_is names the number in the value of a variable.
static const char *number_is(const char *value)
{
	struct stat st = {0};
	int fd = syscall(SYS_pidfd_open, getpid(), 0);
	if (fd >= 0) {
		fstat(fd, &st);
		close(fd);
	}
	if (strtoul(value, 0, 10) == (unsigned long)getpid())
		return "own pid";
	return st.st_ino && strtoul(value, 0, 10) == st.st_ino ? "own pidfd" : "other";
}

static void variables(void)
{
	static const char *const ids[] = {"LISTEN_PID=", "WATCHDOG_PID=", "SYSTEMD_EXEC_PID=", "LISTEN_PIDFDID=", 0};
	for (char **e = environ; *e; e++) {
		const char *const *i = ids;
		while (*i && strncmp(*e, *i, strlen(*i)) != 0)
			i++;
		if (*i)
			fprintf(out, "environ %s%s\n", *i, number_is(*e + strlen(*i)));
		else
			fprintf(out, "environ %s\n", *e);
	}
}

static void descriptors(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		struct stat st;
		if (fd == fileno(out) || fstat(fd, &st) != 0)
			continue;
		fprintf(out, "descriptor %d flags %x status %x mode %o device %lx", fd, fcntl(fd, F_GETFD), fcntl(fd, F_GETFL), st.st_mode, (long)st.st_rdev);
		if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
			fprintf(out, " inode %lu", (long)st.st_ino);
		fprintf(out, "\n");
	}
}

static void signals(void)
{
	sigset_t set;
	sigprocmask(SIG_BLOCK, 0, &set);
	for (int sig = 1; sig < 65; sig++) {
		struct sigaction sa;
		if (sigaction(sig, 0, &sa) != 0)
			continue;
		fprintf(out, "signal %d %s%s\n", sig, sa.sa_handler == SIG_IGN ? "ignored" : sa.sa_handler == SIG_DFL ? "default" : "handled",
			sigismember(&set, sig) ? ", blocked" : "");
	}
	sigpending(&set);
	for (int sig = 1; sig < 65; sig++)
		if (sigismember(&set, sig))
			fprintf(out, "pending %d\n", sig);
}

#define ASK(what) do { \
	int v_ = -1; \
	int r_ = prctl(what, &v_, 0, 0, 0); \
	fprintf(out, "prctl " #what " %d %d\n", r_, v_); \
} while (0)
#define GET(what, arg) fprintf(out, "prctl " #what " %d\n", prctl(what, arg, 0, 0, 0))

static void controls(void)
{
	ASK(PR_GET_PDEATHSIG);
	ASK(PR_GET_CHILD_SUBREAPER);
	ASK(PR_GET_TSC);
	GET(PR_GET_DUMPABLE, 0);
	GET(PR_GET_KEEPCAPS, 0);
	GET(PR_GET_SECUREBITS, 0);
	GET(PR_GET_TIMERSLACK, 0);
	GET(PR_GET_NO_NEW_PRIVS, 0);
	GET(PR_GET_THP_DISABLE, 0);
	GET(PR_MCE_KILL_GET, 0);
	GET(PR_GET_SECCOMP, 0);
	GET(PR_GET_IO_FLUSHER, 0);
	GET(67 /* PR_GET_MEMORY_MERGE */, 0);
	GET(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS);
	GET(PR_GET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH);
	for (int c = 0; c < 41; c++)
		fprintf(out, "capability %d bounding %d ambient %d\n", c, prctl(PR_CAPBSET_READ, c), prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, c, 0, 0));
}

static void schedule(void)
{
	struct sched_param p = {0};
	cpu_set_t cpus;
	int policy = sched_getscheduler(0);
	sched_getparam(0, &p);
	sched_getaffinity(0, sizeof cpus, &cpus);
	fprintf(out, "schedule policy %x priority %d processors %d nice %d io %lx\n", policy, p.sched_priority, CPU_COUNT(&cpus),
		getpriority(PRIO_PROCESS, 0), syscall(SYS_ioprio_get, 1, 0));
	for (int i = 0; i < 3; i++) {
		struct itimerval t;
		getitimer(i, &t);
		fprintf(out, "timer %d interval %ld armed %d\n", i, (long)t.it_interval.tv_sec, t.it_value.tv_sec != 0);
	}
}

static void relations(void)
{
	struct rusage u;
	char description[256];
	int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	fprintf(out, "group %s\nsession %s\n", related(getpgrp()), related(getsid(0)));
	fprintf(out, "terminal %d foreground %d\n", tty >= 0, tty >= 0 && tcgetpgrp(tty) == getpgrp());
	if (tty >= 0)
		close(tty);
	fprintf(out, "children %d %d\n", waitpid(-1, 0, WNOHANG), errno);
	getrusage(RUSAGE_CHILDREN, &u);
	fprintf(out, "usage of children %ld %ld\n", u.ru_maxrss, u.ru_minflt);
	getrusage(RUSAGE_SELF, &u);
	fprintf(out, "usage small %d swaps %ld\n", u.ru_utime.tv_sec == 0 && u.ru_stime.tv_sec == 0 && u.ru_majflt < 100, u.ru_nswap);
	for (int ring = -1; ring >= -5; ring--) {
		long id = syscall(SYS_keyctl, 0 /* GET_KEYRING_ID */, ring, 0);
		long n = id < 0 ? -1 : syscall(SYS_keyctl, 6 /* DESCRIBE */, id, description, sizeof description);
		fprintf(out, "keyring %d %d %s\n", ring, id < 0, n < 0 ? "" : description);
	}
	fprintf(out, "personality %x\n", personality(-1));
	mode_t mask = umask(0);
	fprintf(out, "umask %o\n", mask);
}

int main(int argc, char **argv)
{
	// FDSize tells how many descriptors the process that forked had open.
	static const char *const lines[] = {"FDSize:", "Name:", "Pid:", "PPid:", "Tgid:", "Ngid:", "NStgid:", "NSpid:", "NSpgid:", "NSsid:", "TracerPid:", "State:", "SigQ:",
		"Vm", "Rss", "Hugetlb", "voluntary", "nonvoluntary", 0};
	static const char *const none[] = {0};
	static const char *const files[] = {"limits", "cgroup", "oom_score_adj", "coredump_filter", "loginuid", "sessionid", "autogroup", "timens_offsets",
		"uid_map", "gid_map", "attr/current", "personality", 0};
	static const char *const links[] = {"exe", "cwd", "root", "ns/cgroup", "ns/ipc", "ns/mnt", "ns/net", "ns/pid", "ns/pid_for_children", "ns/time",
		"ns/time_for_children", "ns/user", "ns/uts", 0};
	if (argc < 2)
		return 2;
	while (argc > 2 && !traced())
		usleep(2000);
	// The highest descriptor disturbs no other.
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 100);
	close(fd);
	if (!(out = fdopen(high, "we")))
		return 1;
	relations();
	descriptors();
	signals();
	controls();
	schedule();
	variables();
	fprintf(out, "argv %s %d\n", argv[0], argc > 2 ? 2 : argc);
	shown("status", lines);
	for (const char *const *f = files; *f; f++)
		shown(*f, none);
	for (const char *const *l = links; *l; l++)
		link_of(*l);
	return fclose(out) != 0;
}
