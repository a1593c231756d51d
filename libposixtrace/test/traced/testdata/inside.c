/*
 * A thread that a handler keeps in the middle of a trace point. Linked with the library's own functions, it
 * sees when that is so. The lines of its input:
 *
 *   inside HOW   the thread records until a handler has interrupted a trace point, and waits there
 *   go           the handler goes on, as HOW says: return, jump out of the trace point, exit the thread, or
 *                fork: parent and child both go on with the trace point
 *   event        the main thread records an event
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <grace.h>
#include <trace.h>

static char how[16];
static sem_t inside, go;
static volatile sig_atomic_t wanted, in_child;
static __thread sigjmp_buf jump;

static void handler(int sig)
{
	int err = errno, status = 1;
	(void)sig;
	if (wanted && pxt_thread.section && atomic_load(&pxt_thread.section->frame)) {
		wanted = 0;
		sem_post(&inside);
		while (sem_wait(&go) != 0)
			;
		if (!strcmp(how, "exit"))
			syscall(SYS_exit, 0);
		if (!strcmp(how, "fork")) {
			pid_t pid = fork();
			in_child = pid == 0;
			if (pid > 0 && (waitpid(pid, &status, 0) != pid || status != 0))
				abort();
		}
		if (!strcmp(how, "jump"))
			siglongjmp(jump, 1);
	}
	errno = err;
}

static void *record(void *arg)
{
	if (sigsetjmp(jump, 1) == 0) {
		while (wanted)
			posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, "inside", 6);
	}
	if (in_child) {
		posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, "child", 5);
		_exit(0);
	}
	posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, "behind", 6);
	return arg;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	char line[64];
	pthread_t t;
	sem_init(&inside, 0, 0);
	sem_init(&go, 0, 0);
	sigaction(SIGUSR1, &sa, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "inside %15s", how) == 1) {
			wanted = 1;
			pthread_create(&t, NULL, record, NULL);
			while (sem_trywait(&inside) != 0) {
				usleep(100);
				pthread_kill(t, SIGUSR1);
			}
		} else if (!strcmp(line, "go\n")) {
			sem_post(&go);
			pthread_join(t, NULL);
		} else {
			posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, "main", 4);
		}
		puts("done");
	}
	return 0;
}
