/* halfexec starts a process whose execution of a program does not end while halfexec lives: it traces
 * one of its threads and does not wait for it. It prints the id of that process. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>
#include <sys/syscall.h>

static int out[2], in[2];

static void *sleeper(void *unused)
{
	pid_t tid = syscall(SYS_gettid);

	write(out[1], &tid, sizeof tid);
	for (;;)
		pause();
	return unused;
}

int main(void)
{
	pthread_t thread;
	pid_t pid, tid;
	char c;

	if (pipe(out) || pipe(in))
		return 1;
	pid = fork();
	if (pid == 0) {
		close(in[1]);
		if (pthread_create(&thread, NULL, sleeper, NULL) || read(in[0], &c, 1) != 1)
			exit(1);
		execl("/bin/true", "true", (char *)NULL);
		exit(1);
	}
	if (pid < 0 || read(out[0], &tid, sizeof tid) != sizeof tid || ptrace(PTRACE_SEIZE, tid, 0, 0) || write(in[1], "", 1) != 1)
		return 1;
	printf("%d\n", pid);
	fflush(stdout);
	read(0, &c, 1);
	return 0;
}
