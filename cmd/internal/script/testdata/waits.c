/* Threads and processes that each wait in one call that a stop may break off, and check how it ends: a call with
 * a limit of LIMIT ms fails or returns then and not much later, the others do when standard input ends. It prints
 * what went wrong, and at the end how many calls were right. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long limit;              /* ms */
static atomic_int right;        /* calls */
static int words[2];            /* of futexes */
static pthread_barrier_t all;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct timespec span(void) { return (struct timespec){limit / 1000, limit % 1000 * 1000000}; }

/* What a call returned, and the errno. */
struct outcome {
	long value;
	int error;
};

static struct outcome of(long value) { return (struct outcome){value, value == -1 ? errno : 0}; }

static struct outcome sleeps(int unused)
{
	struct timespec t = span();
	(void)unused;
	return of(nanosleep(&t, NULL));
}

static struct outcome sleeps_until(int unused)
{
	struct timespec t, d = span();
	(void)unused;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += d.tv_sec;
	return (struct outcome){clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL), 0};
}

static struct outcome waits_futex(int unused)
{
	struct timespec t = span();
	(void)unused;
	return of(syscall(SYS_futex, &words[0], FUTEX_WAIT, 0, &t, NULL, 0));
}

static struct outcome waits_futex_wake(int unused)
{
	(void)unused;
	return of(syscall(SYS_futex, &words[1], FUTEX_WAIT, 0, NULL, NULL, 0));
}

static struct outcome polls(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	return of(poll(&p, 1, limit));
}

static struct outcome polls_forever(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	return of(poll(&p, 1, -1));
}

static struct outcome polls_masked(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	struct timespec t = span();
	return of(ppoll(&p, 1, &t, NULL));
}

static struct outcome selects(int fd)
{
	struct timeval t = {limit / 1000, limit % 1000 * 1000};
	fd_set set;
	FD_ZERO(&set);
	FD_SET(fd, &set);
	return of(select(fd + 1, &set, NULL, NULL, &t));
}

static struct outcome epoll(int fd, int ms)
{
	struct epoll_event e = {.events = EPOLLIN};
	int q = epoll_create1(0);
	epoll_ctl(q, EPOLL_CTL_ADD, fd, &e);
	return of(epoll_wait(q, &e, 1, ms));
}

static struct outcome epolls(int fd) { return epoll(fd, limit); }
static struct outcome epolls_forever(int fd) { return epoll(fd, -1); }

static struct outcome receives(int fd)
{
	char b[4];
	return of(recv(fd, b, sizeof b, 0));
}

static struct outcome receives_all(int fd)
{
	char b[4];
	return of(recv(fd, b, sizeof b, MSG_WAITALL));
}

static struct outcome accepts(int fd)
{
	return of(accept(fd, NULL, NULL) >= 0);
}

static struct outcome reads(int fd)
{
	char b[4];
	return of(read(fd, b, sizeof b));
}

static struct outcome writes(int fd)
{
	static char b[200000];
	return of(write(fd, b, sizeof b));
}

static struct outcome awaits_signal(int unused)
{
	struct timespec t = span();
	sigset_t s;
	(void)unused;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	return of(sigtimedwait(&s, NULL, &t));
}

static struct outcome pauses(int unused)
{
	(void)unused;
	return of(pause());
}

static struct outcome suspends(int unused)
{
	sigset_t s;
	(void)unused;
	sigfillset(&s);
	sigdelset(&s, SIGUSR1);
	return of(sigsuspend(&s));
}

static struct outcome waits_child(int pid)
{
	int status = -1;
	return of(waitpid(pid, &status, 0) == pid ? status : -1);
}

static struct outcome locks(int fd) { return of(flock(fd, LOCK_EX)); }

/* Each case is in a function that keeps the frame pointer. */
struct wait {
	const char *name;
	struct outcome (*call)(int);
	int timed;
	long value;
	int error;
	int argument;
	pthread_t thread;
};

static void __attribute__((noinline)) outermost(struct wait *w)
{
	volatile char room[64 + words[0]]; /* of a size that is not known: the frame pointer is needed */
	long start = now(), took;
	struct outcome o;
	room[0] = 0;
	o = w->call(w->argument);
	took = now() - start + room[0];
	if (o.value != w->value || o.error != w->error)
		printf("%s: %ld, %s\n", w->name, o.value, strerror(o.error));
	else if (w->timed && (took < limit - 2 || took > limit + limit / 4))
		printf("%s: %ld ms\n", w->name, took);
	else
		right++;
}

static void *thread(void *w)
{
	pthread_barrier_wait(&all);
	outermost(w);
	return NULL;
}

static atomic_int handled;

static void handler(int unused)
{
	(void)unused;
	handled++;
}

int main(int argc, char **argv)
{
	int never[2], late[2], input[2], full[2], pairs[3][2], file, file2, status;
	struct sockaddr_storage name = {0};
	socklen_t size = sizeof(sa_family_t);
	struct timeval t;
	sigset_t set;
	pid_t child, stopped;
	char c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	limit = argc > 1 ? atol(argv[1]) : 1000;
	t = (struct timeval){limit / 1000, limit % 1000 * 1000};
	signal(SIGUSR1, handler);
	signal(SIGPIPE, SIG_IGN);
	if (pipe(never) || pipe(late) || pipe(input) || pipe(full))
		return 2;
	for (int i = 0; i < 3; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]))
			return 2;
	setsockopt(pairs[0][0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	if (write(pairs[2][1], "xy", 2) != 2)
		return 2;
	int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	name.ss_family = AF_UNIX;
	if (bind(server, (struct sockaddr *)&name, size) || listen(server, 1)) /* a name of the kernel's choice */
		return 2;
	size = sizeof name;
	getsockname(server, (struct sockaddr *)&name, &size);
	file = open(argv[0], O_RDONLY);
	file2 = open(argv[0], O_RDONLY);
	if (flock(file, LOCK_EX))
		return 2;
	if ((child = fork()) == 0) {
		while (read(0, &c, 1) > 0)
			;
		_exit(3);
	}
	if ((stopped = fork()) == 0) {
		raise(SIGSTOP);
		_exit(4);
	}
	if (waitpid(stopped, &status, WUNTRACED) != stopped || !WIFSTOPPED(status))
		return 2;

	struct wait waits[] = {
	    {.name = "nanosleep", .call = sleeps, .timed = 1},
	    {.name = "clock_nanosleep", .call = sleeps_until, .timed = 1},
	    {.name = "futex", .call = waits_futex, .timed = 1, .value = -1, .error = ETIMEDOUT},
	    {.name = "futex without limit", .call = waits_futex_wake},
	    {.name = "poll", .call = polls, .timed = 1, .argument = never[0]},
	    {.name = "poll without limit", .call = polls_forever, .argument = late[0], .value = 1},
	    {.name = "ppoll", .call = polls_masked, .timed = 1, .argument = never[0]},
	    {.name = "select", .call = selects, .timed = 1, .argument = never[0]},
	    {.name = "epoll_wait", .call = epolls, .timed = 1, .argument = never[0]},
	    {.name = "epoll_wait without limit", .call = epolls_forever, .argument = late[0], .value = 1},
	    {.name = "recv", .call = receives, .timed = 1, .argument = pairs[0][0], .value = -1, .error = EAGAIN},
	    {.name = "recv without limit", .call = receives, .argument = pairs[1][0], .value = 2},
	    {.name = "recv of all", .call = receives_all, .argument = pairs[2][0], .value = 4},
	    {.name = "accept", .call = accepts, .argument = server, .value = 1},
	    {.name = "read", .call = reads, .argument = input[0], .value = 4},
	    {.name = "write", .call = writes, .argument = full[1], .value = 200000},
	    {.name = "sigtimedwait", .call = awaits_signal, .timed = 1, .value = -1, .error = EAGAIN},
	    {.name = "pause", .call = pauses, .value = -1, .error = EINTR},
	    {.name = "sigsuspend", .call = suspends, .value = -1, .error = EINTR},
	    {.name = "waitpid", .call = waits_child, .argument = child, .value = 3 << 8},
	    {.name = "flock", .call = locks, .argument = file2},
	};
	enum { COUNT = sizeof waits / sizeof *waits };
	pthread_barrier_init(&all, NULL, COUNT + 1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < COUNT; i++)
		pthread_create(&waits[i].thread, NULL, thread, &waits[i]);
	pthread_barrier_wait(&all);
	puts("ready");
	while (read(0, &c, 1) > 0)
		;
	for (int i = 0; i < COUNT; i++)
		if (waits[i].timed)
			pthread_join(waits[i].thread, NULL);

	/* A stopped process is so still, its parent has heard of it once, and goes on. */
	if (waitpid(stopped, &status, WUNTRACED | WNOHANG) != 0)
		printf("a stopped process: reported again: %x\n", status);
	kill(stopped, SIGCONT);
	if (waitpid(stopped, &status, 0) != stopped || !WIFEXITED(status) || WEXITSTATUS(status) != 4)
		printf("a stopped process: %x\n", status);
	words[1] = 1;
	syscall(SYS_futex, &words[1], FUTEX_WAKE, 1, NULL, NULL, 0);
	for (int i = 0; i < COUNT; i++)
		if (waits[i].call == pauses || waits[i].call == suspends)
			pthread_kill(waits[i].thread, SIGUSR1);
	if (write(pairs[1][1], "xy", 2) != 2 || write(pairs[2][1], "zz", 2) != 2 || connect(client, (struct sockaddr *)&name, size))
		return 2;
	flock(file, LOCK_UN);
	if (write(late[1], "x", 1) != 1 || write(input[1], "abcd", 4) != 4)
		return 2;
	for (long got = 0; got < 200000;) {
		static char b[65536];
		struct pollfd p = {full[0], POLLIN, 0};
		long n = poll(&p, 1, 5000) == 1 ? read(full[0], b, sizeof b) : 0;
		if (n <= 0)
			break; /* the write has returned early */
		got += n;
	}
	for (int i = 0; i < COUNT; i++)
		if (!waits[i].timed)
			pthread_join(waits[i].thread, NULL);
	if (handled != 2)
		printf("signals: %d\n", handled);
	printf("right: %d of %d\n", right, (int)COUNT);
	return 0;
}
