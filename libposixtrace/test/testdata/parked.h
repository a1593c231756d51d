/* Which threads of this process wait for an event, as the kernel shows them. */
#ifndef PARKED_H
#define PARKED_H
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <wire.h>

/*
 * Whether a thread sleeps until a call leaves a state: PXT_W_Parked, until the agent has an event for
 * it. A signal or a cancellation that comes earlier finds another state: the call has yet to start, or
 * its request has yet to reach the agent (PXT_W_Asked).
 */
__attribute__((no_sanitize_address)) /* it reads the stack of another thread, where that one has no variable */
static inline bool sleeps_in(const char *tid, uint32_t state)
{
	enum { FUTEX_WAITV = 449, FUTEX = 202, FUTEX_ON_ARM64 = 98 };
	char path[300];
	long call;
	unsigned long arg[3];
	FILE *f;
	int n;

	snprintf(path, sizeof path, "/proc/self/task/%s/syscall", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	n = fscanf(f, "%ld %lx %lx %lx", &call, &arg[0], &arg[1], &arg[2]);
	fclose(f);
	if (n != 4)
		return false; /* it runs */
	switch (call) {
	case FUTEX_WAITV: /* the value of its first struct futex_waitv, on the stack of the thread */
		return (*(uint64_t *)(uintptr_t)arg[0] & PXT_W_StateMask) == state;
	case FUTEX:
	case FUTEX_ON_ARM64:
		return (arg[2] & PXT_W_StateMask) == state;
	}
	return false;
}

static inline bool parked(const char *tid)
{
	return sleeps_in(tid, PXT_W_Parked);
}

static inline int threads_in(uint32_t state)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	if (!d)
		abort();
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && sleeps_in(e->d_name, state))
			n++;
	closedir(d);
	return n;
}

static inline int parked_threads(void)
{
	return threads_in(PXT_W_Parked);
}

#endif
