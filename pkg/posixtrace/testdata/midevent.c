/* The process of midevent_test.go. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <trace.h>

enum { DATA = 40, SIZE = 4096 };

static struct {
	_Atomic uint64_t tid, before, after, last, jumped;
} *page;
static trace_event_id_t id;
static sigjmp_buf out;

static void handler(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static void event(uint64_t i)
{
	unsigned char data[DATA] = {0};
	memcpy(data, &i, sizeof i);
	page->before = i;
	posix_trace_event(id, data, sizeof data);
	page->after = i;
}

static void *record(void *arg)
{
	uint64_t n = (uint64_t)(uintptr_t)arg;
	for (uint64_t i = 1; i <= n; i++)
		event(i);
	if (sigsetjmp(out, 1)) {
		page->jumped = 1;
		for (;;)
			pause();
	}
	page->tid = (uint64_t)syscall(SYS_gettid);
	while (!page->last)
		;
	for (uint64_t i = n + 1;; i++) {
		event(i);
		usleep(1000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char line[100];
	int fd = open(argv[argc - 1], O_RDWR);
	page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || page == MAP_FAILED || posix_trace_eventid_open("midevent", &id))
		return 1;
	close(fd);
	signal(SIGUSR1, handler);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		unsigned long n;
		pthread_t thread;
		if (sscanf(line, "record %lu", &n) == 1)
			pthread_create(&thread, NULL, record, (void *)(uintptr_t)n);
		else
			execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	}
	return 0;
}
