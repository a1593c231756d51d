/*
 * A program that has a trace point, passes it once and ends. It is built with POSIX Trace, with
 * LTTng-UST (-DLTTNG), and without any (-DPOSIXTRACE_DISABLE).
 *
 *   start          does nothing else
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

/* Pages that were written. Of a file that one process maps by chance, the kernel counts all as private. */
static int memory(void)
{
	char line[256];
	long kb, sum = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	if (!f)
		return 1;
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "Private_Dirty: %ld kB", &kb) == 1)
			sum += kb;
	fclose(f);
	return printf("%ld\n", sum * 1024) < 0;
}

int main(int argc, char **argv)
{
	point();
	return argc > 1 && !strcmp(argv[1], "memory") ? memory() : 0;
}
