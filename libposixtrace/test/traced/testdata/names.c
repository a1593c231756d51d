/*
 * Registers names that other processes register, too: as the helper register of names_test.go. With a
 * third argument it records an event of each, whose data is the name, and registers no name of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trace.h>

int main(int argc, char **argv)
{
	int names = argc > 2 ? atoi(argv[1]) : 0, seed = argc > 2 ? atoi(argv[2]) : 0;
	trace_event_id_t id, own;
	char name[64];
	for (int i = 0; i < names; i++) {
		int n = (i * 11 + seed) % names;
		snprintf(name, sizeof name, "shared %d", n);
		if (posix_trace_eventid_open(name, &id))
			return 1;
		if (argc > 3) {
			posix_trace_event(id, name, strlen(name));
			continue;
		}
		printf("%d %u <nil>\n", n, id);
		snprintf(name, sizeof name, "own %d %d", seed, i);
		if (posix_trace_eventid_open(name, &own) || own == id)
			return 2;
	}
	return 0;
}
