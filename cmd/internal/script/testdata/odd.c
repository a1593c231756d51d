/* odd is a process of an odd kind. It prints "ready", and ends with status 3 when its input ends.
 *
 * usage: odd threads N | churn | deaf | vfork | user */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *sleeper(void *unused)
{
	for (;;)
		usleep(20000);
	return unused;
}

static void *brief(void *unused)
{
	usleep(50);
	return unused;
}

/* churn starts and joins threads. */
static void *churn(void *unused)
{
	pthread_t threads[8];

	for (;;) {
		for (int i = 0; i < 8; i++)
			if (pthread_create(&threads[i], NULL, brief, NULL))
				exit(1);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
	}
	return unused;
}

/* parent always waits in vfork(2), uninterruptibly. */
static void *parent(void *unused)
{
	pid_t pid;

	for (;;) {
		pid = vfork();
		if (pid == 0) {
			usleep(300000);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return unused;
}

/* user changes the user again and again, from root to another one and back: the kernel then
 * protects the process. */
static void *user(void *unused)
{
	for (uid_t id = 65534;; id = 65534 - id) {
		if (setresuid(id, id, 0))
			exit(1);
		usleep(1000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	pthread_attr_t small;
	pthread_t thread;
	sigset_t all;
	char c;
	int n = 1;
	void *(*run)(void *) = sleeper;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	if (!strcmp(kind, "threads"))
		n = atoi(argv[2]);
	else if (!strcmp(kind, "churn"))
		run = churn;
	else if (!strcmp(kind, "vfork"))
		run = parent;
	else if (!strcmp(kind, "user"))
		run = user;
	else {
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		for (int i = 1; i < 65; i++)
			signal(i, SIG_IGN);
	}
	while (n-- > 0)
		if (pthread_create(&thread, &small, run, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1)
		;
	exit(3);
}
