/* Exits with 0 if each option and limit has the value of the header, however it is asked for. */
#include <limits.h>
#include <stdio.h>
#include <trace.h>
#include <unistd.h>

static int faults;

static void check(const char *name, long got, long want)
{
	if (got != want) {
		fprintf(stderr, "%s: %ld, want %ld\n", name, got, want);
		faults++;
	}
}

int main(void)
{
	check("TRACE", sysconf(_SC_TRACE), 200809L);
	check("TRACE_EVENT_FILTER", sysconf(_SC_TRACE_EVENT_FILTER), 200809L);
	check("TRACE_INHERIT", sysconf(_SC_TRACE_INHERIT), 200809L);
	check("TRACE_LOG", sysconf(_SC_TRACE_LOG), 200809L);
	check("TRACE_EVENT_NAME_MAX", sysconf(_SC_TRACE_EVENT_NAME_MAX), TRACE_EVENT_NAME_MAX);
	check("TRACE_NAME_MAX", sysconf(_SC_TRACE_NAME_MAX), TRACE_NAME_MAX);
	check("TRACE_SYS_MAX", sysconf(_SC_TRACE_SYS_MAX), TRACE_SYS_MAX);
	check("TRACE_USER_EVENT_MAX", sysconf(_SC_TRACE_USER_EVENT_MAX), TRACE_USER_EVENT_MAX);
	check("PAGESIZE", sysconf(_SC_PAGESIZE), (sysconf)(_SC_PAGESIZE));
	check("a name that does not exist", sysconf(-1), -1);
#if _POSIX_TRACE != 200809L || _POSIX_TRACE_EVENT_FILTER != 200809L || _POSIX_TRACE_INHERIT != 200809L || \
	_POSIX_TRACE_LOG != 200809L
#error "the options"
#endif
#if _POSIX_TRACE_EVENT_NAME_MAX != 30 || _POSIX_TRACE_NAME_MAX != 8 || _POSIX_TRACE_SYS_MAX != 8 || \
	_POSIX_TRACE_USER_EVENT_MAX != 32
#error "the least limits"
#endif
#if TRACE_EVENT_NAME_MAX < 30 || TRACE_NAME_MAX < 8 || TRACE_SYS_MAX < 8 || TRACE_USER_EVENT_MAX < 32
#error "the limits"
#endif
	return faults != 0;
}
