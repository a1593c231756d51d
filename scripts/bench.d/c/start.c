/*
 * A program that has a trace point, passes it once and ends. It is built with POSIX Trace, with
 * LTTng-UST (-DLTTNG), and without any (-DPOSIXTRACE_DISABLE).
 *
 *   start          does nothing else
 *   start none     does not pass it
 *   start memory   prints the bytes of memory that no other process shares
 */
#include <stdio.h>
#include <string.h>

#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tp.h"
#else
#include <trace.h>
#endif

static const char sixteen[] = "0123456789abcdef";

static void point(void)
{
#ifdef LTTNG
	lttng_ust_tracepoint(bench, event, sixteen);
#else
	trace_event_id_t id;

	if (posix_trace_eventid_open("bench.event", &id) == 0)
		posix_trace_event(id, sixteen, 16);
#endif
}

/*
 * Memory of its own and its part of shared memory. Pages of files are left out: those of a program
 * that was just built count as dirty until they are on disk.
 */
static int memory(void)
{
	char line[256];
	long kb, sum = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	if (!f)
		return 1;
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "Pss_Anon: %ld kB", &kb) == 1 || sscanf(line, "Pss_Shmem: %ld kB", &kb) == 1)
			sum += kb;
	fclose(f);
	return printf("%ld\n", sum * 1024) < 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "none"))
		return 0;
	point();
	return argc > 1 && !strcmp(argv[1], "memory") ? memory() : 0;
}
