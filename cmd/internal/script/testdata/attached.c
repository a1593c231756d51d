/* A program that a tracer can harm, and that notices: each thread repeats something whose outcome is
 * known. At the end of standard input it prints what each has done, and each wrong outcome. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ms = 1000000 };
enum { SLEEP, POLL, FUTEX, PINGPONG, EPOLL, SIGNALS, CHILDREN, JOBS, COUNT };
static const char *const names[] = {"sleep", "poll", "futex", "pingpong", "epoll", "signals", "children", "jobs"};
static atomic_long done[COUNT], wrong[COUNT];
static atomic_int stopping;
static int word[2], tube[2];

static void outcome(int what, int ok, const char *text, long a, long b) {
	done[what]++;
	if (!ok && wrong[what]++ < 3) printf("%s: wrong: %s %ld %ld\n", names[what], text, a, b);
}

static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000L * ms + t.tv_nsec;
}

static long futex(int *at, int op, int value, struct timespec *limit) { return syscall(SYS_futex, at, op, value, limit, NULL, 0); }

static void *sleeper(void *unused) {
	while (!stopping) {
		long start = now();
		int no = clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, 5 * ms}, NULL);
		outcome(SLEEP, no == 0 && now() - start >= 5 * ms, "errno, ns", no, now() - start);
	}
	return unused;
}

static void *poller(void *unused) {
	while (!stopping) {
		long start = now();
		int n = poll(NULL, 0, 7);
		outcome(POLL, n == 0 && now() - start >= 7 * ms, "result, ns", n, now() - start);
	}
	return unused;
}

static void *waiter(void *unused) {
	static int never;
	while (!stopping) {
		long start = now(), n = futex(&never, FUTEX_WAIT, 0, &(struct timespec){0, 6 * ms});
		int no = errno;
		outcome(FUTEX, n == -1 && no == ETIMEDOUT && now() - start >= 6 * ms, "errno, ns", no, now() - start);
	}
	return unused;
}

/* One of two threads that wake each other in turns. */
static void *turns(void *side) {
	int me = side != NULL;
	for (int turn = 1; !stopping; turn++) {
		if (!me) {
			__atomic_store_n(&word[1], turn, __ATOMIC_SEQ_CST);
			futex(&word[1], FUTEX_WAKE, 1, NULL);
		}
		for (int seen; (seen = __atomic_load_n(&word[me], __ATOMIC_SEQ_CST)) != turn && !stopping;) {
			long n = futex(&word[me], FUTEX_WAIT, seen, NULL);
			if (n != 0 && errno != EAGAIN) outcome(PINGPONG, 0, "errno", errno, 0);
		}
		if (me) {
			__atomic_store_n(&word[0], turn, __ATOMIC_SEQ_CST);
			futex(&word[0], FUTEX_WAKE, 1, NULL);
		}
		outcome(PINGPONG, 1, "", 0, 0);
		usleep(1000);
	}
	__atomic_store_n(&word[!me], -1, __ATOMIC_SEQ_CST);
	futex(&word[!me], FUTEX_WAKE, 1, NULL);
	return NULL;
}

/* It blocks SIGCHLD. An ignored signal wakes a thread of a traced process, and can break off
 * epoll_wait before the tracer stops the thread at its calls; see BUGS in ptrace-run(1). */
static void *receiver(void *unused) {
	int e = epoll_create1(0);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	epoll_ctl(e, EPOLL_CTL_ADD, tube[0], &(struct epoll_event){.events = EPOLLIN});
	while (!stopping) {
		struct epoll_event ev;
		char c;
		int n = epoll_wait(e, &ev, 1, -1);
		outcome(EPOLL, n == 1, "result, errno", n, errno);
		if (n == 1 && read(tube[0], &c, 1) != 1) outcome(EPOLL, 0, "read", errno, 0);
	}
	return unused;
}

static void *writer(void *unused) {
	while (!stopping) {
		usleep(4000);
		if (write(tube[1], "x", 1) != 1) outcome(EPOLL, 0, "write", errno, 0);
	}
	return unused;
}

static atomic_int arrived;

static void handler(int sig, siginfo_t *info, void *unused) {
	(void)sig, (void)unused;
	if (info->si_value.sival_int != arrived++) wrong[SIGNALS]++;
	done[SIGNALS]++;
}

static void *handling(void *unused) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (stopping < 2) usleep(1000);
	return unused;
}

static void *sender(void *to) {
	int sent = 0;
	for (; !stopping; usleep(500)) {
		if (pthread_sigqueue(*(pthread_t *)to, SIGRTMIN, (union sigval){.sival_int = sent}) == 0) sent++;
	}
	for (int i = 0; arrived < sent && i < 20000; i++) usleep(1000);
	if (arrived != sent) outcome(SIGNALS, 0, "sent, arrived", sent, arrived);
	return NULL;
}

static void *parent(void *unused) {
	for (int i = 0; !stopping; i++) {
		int status = -1, code = i % 200;
		pid_t child = fork();
		if (child == 0) _exit(code);
		pid_t got = waitpid(child, &status, 0);
		outcome(CHILDREN, got == child && WIFEXITED(status) && WEXITSTATUS(status) == code, "status, errno", status, errno);
		usleep(3000);
	}
	return unused;
}

static void *jobs(void *unused) {
	while (!stopping) {
		int status = 0;
		pid_t child = fork();
		if (child == 0)
			for (;;) pause();
		kill(child, SIGSTOP);
		pid_t got = waitpid(child, &status, WUNTRACED);
		outcome(JOBS, got == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "stopped", status, got);
		kill(child, SIGCONT);
		got = waitpid(child, &status, WCONTINUED);
		outcome(JOBS, got == child && WIFCONTINUED(status), "continued", status, got);
		kill(child, SIGKILL);
		got = waitpid(child, &status, 0);
		outcome(JOBS, got == child && WIFSIGNALED(status), "killed", status, got);
		usleep(3000);
	}
	return unused;
}

int main(void) {
	pthread_t t[12], signalled;
	sigset_t set;
	struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	char c;
	int n = 0;
	sigaction(SIGRTMIN, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pipe(tube) != 0) return 1;
	pthread_create(&signalled, NULL, handling, NULL);
	pthread_create(&t[n++], NULL, sleeper, NULL);
	pthread_create(&t[n++], NULL, poller, NULL);
	pthread_create(&t[n++], NULL, waiter, NULL);
	pthread_create(&t[n++], NULL, turns, NULL);
	pthread_create(&t[n++], NULL, turns, word);
	pthread_create(&t[n++], NULL, receiver, NULL);
	pthread_create(&t[n++], NULL, writer, NULL);
	pthread_create(&t[n++], NULL, sender, &signalled);
	pthread_create(&t[n++], NULL, parent, NULL);
	pthread_create(&t[n++], NULL, jobs, NULL);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1)
		;
	stopping = 1;
	for (int i = 0; i < n; i++) {
		if (write(tube[1], "x", 1) != 1) return 1;
		pthread_join(t[i], NULL);
	}
	stopping = 2;
	pthread_join(signalled, NULL);
	for (int i = 0; i < COUNT; i++) printf("%s %ld wrong %ld\n", names[i], (long)done[i], (long)wrong[i]);
	return 0;
}
