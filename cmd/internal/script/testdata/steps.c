/* steps makes the same system calls in every run. It prints "ready" and waits. For each byte of its
 * input it works and prints "done", in lines. When its input ends it ends with status 7, or 1 if a
 * call has had an outcome that no untraced run has.
 *
 * usage: steps read | threads | futex | epoll | poll | nanosleep | exec
 *
 * The argument is the call that it, or a thread that works for it, waits in. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, ROUNDS = 20 };

static const char *mode;
static int wrong;
static int order[WORKERS][2], answer[WORKERS][2]; /* pipes */
static int file, event, set;
static uint32_t word;
static pid_t waiting;

static void check(int ok)
{
	if (!ok)
		__atomic_store_n(&wrong, 1, __ATOMIC_SEQ_CST);
}

/* work makes calls that open nothing: the threads would get each other's descriptors. */
static void work(int n)
{
	char text[16];
	struct stat st;
	char name[32];

	snprintf(name, sizeof(name), "nosuch%d", n);
	for (int i = 0; i < ROUNDS; i++) {
		check(pread(file, text, 4, n) == 4);
		check(fstat(file, &st) == 0);
		check(access("/dev/null", R_OK) == 0);
		check(unlink(name) == -1 && errno == ENOENT);
		check(fcntl(file, F_GETFD) == FD_CLOEXEC);
	}
}

/* alone makes more, for the only thread. */
static void alone(void)
{
	char text[8];
	int p[2];

	for (int i = 0; i < ROUNDS; i++) {
		int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
		check(fd >= 0 && pipe2(p, O_CLOEXEC) == 0);
		check(write(p[1], "text", 4) == 4 && read(p[0], text, sizeof(text)) == 4);
		check(lseek(fd, 2, SEEK_SET) == 2 && dup2(fd, p[0]) == p[0]);
		check(close(fd) == 0 && close(p[0]) == 0 && close(p[1]) == 0);
		check(raise(SIGUSR1) == 0);
	}
}

static void handle(int unused)
{
	(void)unused;
}

/* stand waits for the next order of the main thread. */
static void stand(int n)
{
	struct epoll_event got;
	struct pollfd asked = {.fd = event, .events = POLLIN};
	struct timespec longer = {.tv_sec = 1000}, left = {0};
	uint64_t count;
	uint32_t old = word;
	char c;

	if (!strcmp(mode, "threads")) {
		check(read(order[n][0], &c, 1) == 1);
	} else if (!strcmp(mode, "futex")) {
		check(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0) == 0);
	} else if (!strcmp(mode, "nanosleep")) {
		check(clock_nanosleep(CLOCK_MONOTONIC, 0, &longer, &left) == EINTR);
		check(left.tv_sec > 0 && left.tv_sec < 1000);
	} else {
		if (!strcmp(mode, "epoll"))
			while (epoll_wait(set, &got, 1, -1) != 1)
				check(0);
		else
			check(poll(&asked, 1, -1) == 1);
		check(read(event, &count, sizeof(count)) == sizeof(count) && count == 1);
	}
}

/* wake ends the wait of a worker. */
static void wake(int n)
{
	uint64_t one = 1;

	if (!strcmp(mode, "threads")) {
		check(write(order[n][1], "w", 1) == 1);
	} else if (!strcmp(mode, "futex")) {
		__atomic_add_fetch(&word, 1, __ATOMIC_SEQ_CST);
		check(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 1);
	} else if (!strcmp(mode, "nanosleep")) {
		check(syscall(SYS_tgkill, getpid(), waiting, SIGUSR1) == 0);
	} else {
		check(write(event, &one, sizeof(one)) == sizeof(one));
	}
}

static void *worker(void *number)
{
	int n = (int)(intptr_t)number;
	char name[16];

	snprintf(name, sizeof(name), "worker%d", n);
	prctl(PR_SET_NAME, name);
	waiting = (pid_t)syscall(SYS_gettid);
	check(write(answer[n][1], "r", 1) == 1);
	for (;;) {
		stand(n);
		work(n);
		check(write(answer[n][1], "d", 1) == 1);
	}
	return NULL;
}

static void start(int n)
{
	pthread_t thread;
	char c;

	if (pipe2(order[n], O_CLOEXEC) || pipe2(answer[n], O_CLOEXEC) || pthread_create(&thread, NULL, worker, (void *)(intptr_t)n))
		exit(1);
	check(read(answer[n][0], &c, 1) == 1);
}

int main(int argc, char **argv)
{
	int workers = 0;
	char c;
	struct sigaction action = {.sa_handler = handle};

	if (argc < 2)
		return 2;
	mode = argv[1];
	sigaction(SIGUSR1, &action, NULL);
	file = memfd_create("steps", MFD_CLOEXEC);
	event = eventfd(0, EFD_CLOEXEC);
	set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event interest = {.events = EPOLLIN};
	check(file >= 0 && write(file, "0123456789", 10) == 10);
	check(epoll_ctl(set, EPOLL_CTL_ADD, event, &interest) == 0);
	if (strcmp(mode, "read") && strcmp(mode, "exec"))
		workers = strcmp(mode, "threads") ? 1 : WORKERS;
	for (int n = 0; n < workers; n++)
		start(n);
	if (argc == 2)
		check(write(1, "ready\n", 6) == 6);
	else
		check(write(1, "done\n", 5) == 5); /* executed */
	while (read(0, &c, 1) == 1) {
		if (!strcmp(mode, "exec")) {
			execl("/proc/self/exe", "steps", "read", "executed", (char *)NULL);
			return 1;
		}
		for (int n = 0; n < workers; n++)
			wake(n);
		for (int n = 0; n < workers; n++)
			check(read(answer[n][0], &c, 1) == 1 && c == 'd');
		if (workers == 0) {
			work(0);
			alone();
		}
		check(write(1, "done\n", 5) == 5);
	}
	_exit(wrong ? 1 : 7);
}
