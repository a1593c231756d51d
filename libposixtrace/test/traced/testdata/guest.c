/*
 * Trace points in unusual places. The argument says where; the number of events that the program has
 * recorded is its output, or a complaint. Without a stream that traces it, the numbers are the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trace.h>

static trace_event_id_t id;

static void die(const char *what)
{
	dprintf(1, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

static trace_event_id_t open_id(const char *name)
{
	trace_event_id_t got;
	int err = posix_trace_eventid_open(name, &got);
	if (err) {
		errno = err;
		die(name);
	}
	return got;
}

static void event(unsigned n)
{
	posix_trace_event(id, &n, sizeof n);
}

static void text(const char *s)
{
	posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, s, strlen(s));
}

static void wait_for(pid_t pid)
{
	int status;
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	if (status) {
		dprintf(1, "the child ends with status %#x\n", status);
		_exit(1);
	}
}

/* So that the events of a test fit into a stream. */
static void breathe(void)
{
	for (volatile int i = 0; i < 2000; i++)
		;
}

/* Threads, all of which connect at once. */
#define THREADS 8
static pthread_barrier_t barrier;

static void *thread(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < 1000; i++)
		posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, "t", 1);
	return arg;
}

static int threads(void)
{
	pthread_t t[THREADS];
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return THREADS * 1000;
}

/* A handler that interrupts everything, also the connection to the stream. */
static volatile sig_atomic_t fired;
static volatile int jumping;
static sigjmp_buf jump;

static void handler(int sig)
{
	(void)sig;
	fired++;
	errno = 77;
	posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, "h", 1);
	if (errno != 77)
		die("a trace point changes errno");
	if (jumping)
		siglongjmp(jump, 1);
}

static void timer(int us)
{
	struct sigaction sa = {.sa_handler = handler};
	struct itimerval t = {{0, us}, {0, us}};
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static int handlers(void)
{
	unsigned n = 0;
	timer(50);
	id = open_id("handled");
	while (fired < 3000) {
		event(n++);
		breathe();
	}
	timer(0);
	return (int)n + fired;
}

/* The handler leaves the trace point by siglongjmp: that event may be recorded or not. */
static int jumps(void)
{
	volatile unsigned n = 0;
	jumping = 1;
	id = open_id("jumped");
	if (sigsetjmp(jump, 1) == 0)
		timer(100);
	while (fired < 2000) {
		sigsetjmp(jump, 1);
		while (fired < 2000) {
			event(n);
			n++;
			breathe();
		}
	}
	jumping = 0;
	timer(0);
	for (int i = 0; i < 100; i++)
		text("after");
	return 100;
}

/* A handler on a small stack makes the first contact. */
static int altstack(void)
{
	static char stack[16384];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	memset(stack, 0x5a, sizeof stack);
	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	size_t left = 0;
	while (left < sizeof stack && stack[left] == 0x5a)
		left++;
	if (sizeof stack - left > 10000) {
		printf("a trace point takes %zu bytes of stack\n", sizeof stack - left);
		exit(1);
	}
	return 1;
}

static int forks(void)
{
	id = open_id("forked");
	event(0);
	for (unsigned i = 1; i <= 20; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			event(i);
			pid_t grand = fork();
			if (grand == 0) {
				event(100 + i);
				_exit(0);
			}
			wait_for(grand);
			event(200 + i);
			_exit(0);
		}
		wait_for(pid);
		event(300 + i);
	}
	return 1 + 20 * 4;
}

/* _Fork() is in glibc since 2.34; musl has no __GLIBC_PREREQ. */
#ifdef __GLIBC_PREREQ
#define HAVE_FORK_WITHOUT_HANDLERS __GLIBC_PREREQ(2, 34)
#else
#define HAVE_FORK_WITHOUT_HANDLERS 0
#endif

/* Children that the C library knows nothing of. */
static int clones(void)
{
	id = open_id("cloned");
	event(0);
	for (unsigned i = 1; i <= 5; i++) {
		pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid == 0) {
			event(i);
			_exit(0);
		}
		wait_for(pid);
#if HAVE_FORK_WITHOUT_HANDLERS
		pid = _Fork();
		if (pid == 0) {
			event(i);
			_exit(0);
		}
		wait_for(pid);
#else
		event(i);
#endif
		event(i);
	}
	return 1 + 5 * 3;
}

static int vforks(void)
{
	id = open_id("vforked");
	event(0);
	for (unsigned i = 1; i <= 5; i++) {
		pid_t pid = vfork();
		if (pid == 0) {
			event(i);
			_exit(0);
		}
		wait_for(pid);
		event(i);
	}
	return 1 + 5 * 2;
}

/* A handler that interrupts trace points forks; parent and child both go on with what they were in. */
static volatile int children, in_child;

static void forking(int sig)
{
	int status;
	(void)sig;
	if (in_child)
		return;
	fired++;
	pid_t pid = fork();
	if (pid == 0) {
		in_child = 1;
		return;
	}
	if (pid > 0) {
		while (waitpid(pid, &status, 0) < 0)
			;
		if (status) {
			dprintf(1, "child %d of a handler ends with status %#x\n", children, status);
			_exit(1);
		}
		children++;
	}
}

static int fork_in_handler(void)
{
	struct sigaction sa = {.sa_handler = forking};
	struct itimerval t = {{0, 0}, {0, 100}};
	unsigned n = 0;
	int armed = -1;
	id = open_id("interrupted");
	sigaction(SIGALRM, &sa, NULL);
	while (!in_child && children < 100) {
		if (armed != children && !in_child) {
			armed = children;
			t.it_value.tv_usec = 50 + rand() % 100;
			setitimer(ITIMER_REAL, &t, NULL);
		}
		event(n++);
	}
	if (in_child) {
		signal(SIGALRM, SIG_IGN);
		text("child");
		_exit(0);
	}
	signal(SIGALRM, SIG_IGN);
	return (int)n + children;
}

static pthread_key_t key;

static void destructor(void *p)
{
	(void)p;
	text("destructor");
}

static void *with_key(void *p)
{
	pthread_setspecific(key, p);
	return p;
}

static void at_exit(void)
{
	text("atexit");
}

/* Also a constructor and a destructor, below. */
static int places(void)
{
	pthread_t t;
	pthread_key_create(&key, destructor);
	pthread_create(&t, NULL, with_key, &key);
	pthread_join(t, NULL);
	atexit(at_exit);
	return 4;
}


static int all;

__attribute__((constructor)) static void before_main(void)
{
	const char *what = getenv("GUEST");
	if (what && !strcmp(what, "places")) {
		all = 1;
		text("constructor");
	}
}

__attribute__((destructor)) static void after_main(void)
{
	if (all)
		text("destructor of the program");
}

static int closed(void)
{
	int out = fcntl(1, F_DUPFD, 100);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	id = open_id("closed");
	event(1);
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) != -1)
			_exit(2);
	}
	for (int fd = 0; fd < 1024; fd++) {
		if (fd != out)
			close(fd);
	}
	event(2);
	id = open_id("closed again");
	event(3);
	dup2(out, 1);
	close(out);
	return 3;
}

/* No descriptors at all: the process is counted as missed when there are some again. */
static int limited(void)
{
	struct rlimit l, full;
	getrlimit(RLIMIT_NOFILE, &full);
	l = full;
	l.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &l);
	text("nothing");
	trace_event_id_t got;
	int err = posix_trace_eventid_open("limited", &got);
	if (err != EMFILE) {
		printf("without descriptors: %d\n", err);
		exit(1);
	}
	setrlimit(RLIMIT_NOFILE, &full);
	/* After the pause before a retry it is traced, until the test has seen that. */
	struct pollfd in = {.fd = 0, .events = POLLIN};
	do
		text("something");
	while (poll(&in, 1, 10) == 0);
	return 1;
}

static void *cancelled(void *p)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* pthread_cancel is called meanwhile */
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	errno = 88;
	open_id("no cancellation point");
	text("not cancelled");
	if (errno != 88)
		die("errno");
	*(int *)p = 1;
	pthread_testcancel();
	*(int *)p = 2;
	return NULL;
}

static int cancellation(void)
{
	int reached = 0;
	pthread_t t;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, cancelled, &reached);
	pthread_barrier_wait(&barrier);
	pthread_cancel(t);
	pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);
	if (reached != 1) {
		printf("reached %d\n", reached);
		exit(1);
	}
	return 1;
}

/* Many children at once, and threads that record while others fork. */
static void *forker(void *p)
{
	for (int i = 0; i < 15; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			text("child");
			_exit(0);
		}
		wait_for(pid);
		text("parent");
	}
	return p;
}

static int storm(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, forker, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 4 * 15 * 2;
}

/* After the second line of output a connected process makes no system call for its events. */
static int quiet(void)
{
	id = open_id("quiet");
	event(0);
	if (write(1, "connected\n", 10) != 10)
		die("write");
	for (unsigned i = 1; i < 20000; i++)
		event(i);
	if (write(1, "done\n", 5) != 5)
		die("write");
	return 20000;
}

static const struct {
	const char *name;
	int (*run)(void);
} runs[] = {
	{"threads", threads}, {"handlers", handlers}, {"jumps", jumps}, {"altstack", altstack},
	{"forks", forks}, {"clones", clones}, {"vforks", vforks}, {"fork_in_handler", fork_in_handler},
	{"places", places}, {"closed", closed}, {"limited", limited}, {"cancellation", cancellation},
	{"storm", storm}, {"quiet", quiet},
};

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc > 1 && i < sizeof runs / sizeof *runs; i++) {
		if (!strcmp(argv[1], runs[i].name)) {
			printf("%d\n", runs[i].run());
			return 0;
		}
	}
	return 2;
}
