/* Writes, from many places, a line with the addresses to which the functions around it return. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

NOINLINE int report(int n)
{
	static void *at[400];
	static char line[1 << 14];
	int count = backtrace(at, 400), length = 0;
	for (int i = 0; i < count; i++)
		length += sprintf(line + length, "%p ", at[i]);
	line[length - 1] = '\n';
	return (int)write(1, line, length) + n;
}

NOINLINE int deep(int n) { return n == 0 ? report(n) + 1 : deep(n - 1) + 1; }
static int compare(const void *a, const void *b) { return report(1) > 0 && a < b ? 1 : -1; }
static void *thread(void *p) { return (void *)(long)(deep(3) + 1); }
static void handler(int n) { deep(2); }

int main(void)
{
	int numbers[2] = {2, 1}, sum = 0;
	setvbuf(stdout, NULL, _IONBF, 0);
	sum += deep(5);
	qsort(numbers, 2, sizeof *numbers, compare);
	pthread_t id;
	if (pthread_create(&id, NULL, thread, NULL) == 0)
		pthread_join(id, NULL);
	stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	sigaltstack(&other, NULL);
	struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &a, NULL);
	raise(SIGUSR1);
	a.sa_flags = 0;
	sigaction(SIGUSR1, &a, NULL);
	raise(SIGUSR1);
#ifdef LIB
	void *lib = dlopen("./lib.so", RTLD_NOW);
	int (*through)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(lib, "through");
	sum += through(deep, 3);
	unlink("lib.so");
	sum += through(deep, 4);
#endif
	pid_t child = fork();
	if (child == 0)
		_exit(deep(4) == 1 << 20);
	waitpid(child, NULL, 0);
	sum += deep(100) + deep(300);
	return sum == 1 << 20;
}
