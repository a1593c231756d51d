/*
 * Threads that record all the time, each as the arguments say:
 *
 *   plain    nothing else
 *   nested   a handler interrupts it and records, too
 *   jump     a handler interrupts it and leaves by siglongjmp
 *   deep     the same, but each trace point is at another depth of the stack
 *   fork     it forks children that record, now and then in a handler that has interrupted a trace point
 *   brief    it starts threads that record one event and end
 *   idle     it records one event only
 *   exit     it starts threads that a handler ends in the middle of a trace point
 *
 * They end with the standard input.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <trace.h>

static trace_event_id_t id;
static volatile int over;

static __thread volatile int jumping, recording, forking, ending;
static __thread sigjmp_buf jump;

static void event(const char *text)
{
	posix_trace_event(id, text, strlen(text));
}

static __attribute__((noinline)) void event_at(int depth)
{
	volatile int below = depth;
	if (below > 0)
		event_at(below - 1);
	else
		event("deep");
	below++; /* no tail call */
}

static void child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		event("child");
		_exit(0);
	}
	int status = 0;
	while (pid > 0 && waitpid(pid, &status, 0) != pid)
		;
	if (status) {
		dprintf(2, "a child ends with status %#x\n", status);
		abort();
	}
}

static void handler(int sig)
{
	(void)sig;
	if (recording)
		event("handler");
	if (forking && forking++ % 16 == 0)
		child();
	if (ending)
		syscall(SYS_exit, 0); /* pthread_exit is not async-signal-safe */
	if (jumping)
		siglongjmp(jump, 1);
}

/* A signal to this thread every us microseconds. */
static timer_t alarm_every(int us)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	struct itimerspec t = {{0, us * 1000}, {0, us * 1000}};
	timer_t timer;
#ifdef sigev_notify_thread_id
	ev.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
#else
	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
#endif
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) != 0 || timer_settime(timer, 0, &t, NULL) != 0)
		abort();
	return timer;
}

static void *brief(void *arg)
{
	event("brief");
	return arg;
}

/* Threads that end without the C library, which would keep the stacks that it has made. */
#define ENDS 20
static char stacks[ENDS][64 << 10] __attribute__((aligned(4096)));

static void *ends(void *arg)
{
	ending = 1;
	alarm_every(200);
	for (;;)
		event("ends");
	return arg;
}

static void *run(void *arg)
{
	const char *how = arg;
	volatile int n = 0;
	jumping = !strcmp(how, "jump") || !strcmp(how, "deep");
	recording = !strcmp(how, "nested");
	forking = !strcmp(how, "fork");
	if (jumping || recording || forking) {
		if (sigsetjmp(jump, 1) == 0)
			alarm_every(forking ? 2000 : 300);
	}
	sigsetjmp(jump, 1);
	while (!over) {
		pthread_t t;
		n++;
		if (!strcmp(how, "brief") && pthread_create(&t, NULL, brief, NULL) == 0)
			pthread_join(t, NULL);
		if (!strcmp(how, "exit") && n % 4096 == 0 && n / 4096 <= ENDS) {
			pthread_attr_t a;
			pthread_attr_init(&a);
			pthread_attr_setstack(&a, stacks[n / 4096 - 1], sizeof stacks[0]);
			pthread_create(&t, &a, ends, NULL);
		}
		if (!strcmp(how, "deep"))
			event_at(n % 16);
		else
			event(how);
		while (!strcmp(how, "idle") && !over)
			usleep(10000);
		for (volatile int i = 0; i < 300; i++)
			;
	}
	jumping = recording = forking = 0;
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	pthread_t t;
	char c;
	if (posix_trace_eventid_open("recorders", &id))
		return 2;
	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 1; i < argc; i++)
		if (pthread_create(&t, NULL, run, argv[i]))
			return 2;
	printf("ready\n");
	fflush(stdout);
	if (read(0, &c, 1) < 0)
		return 2;
	over = 1;
	_exit(0);
}
