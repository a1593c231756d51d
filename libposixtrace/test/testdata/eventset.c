/* Sets that obey lines: "empty", "fill WHAT", "add ID", "del ID". Each answers with error and members. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

int main(void)
{
	char line[64], what[16];
	trace_event_set_t set, copy;
	long n;

	memset(&set, 0x5a, sizeof set);
	while (fgets(line, sizeof line, stdin)) {
		int err, was = 7;

		n = 0;
		if (sscanf(line, "%15s %ld", what, &n) < 1)
			abort();
		if (!strcmp(what, "empty"))
			err = posix_trace_eventset_empty(&set);
		else if (!strcmp(what, "fill"))
			err = posix_trace_eventset_fill(&set, (int)n);
		else if (!strcmp(what, "add"))
			err = posix_trace_eventset_add((trace_event_id_t)n, &set);
		else if (!strcmp(what, "del"))
			err = posix_trace_eventset_del((trace_event_id_t)n, &set);
		else if (!strcmp(what, "has"))
			err = posix_trace_eventset_ismember((trace_event_id_t)n, &set, &was);
		else
			abort();
		copy = set; /* a copy of the bytes is a set */
		printf("%d %d", err, was);
		for (trace_event_id_t id = 0; id < 5000; id++) {
			int member = 0;
			if (!posix_trace_eventset_ismember(id, &copy, &member) && member)
				printf(" %u", id);
		}
		putchar('\n');
		fflush(stdout);
	}
	return 0;
}
