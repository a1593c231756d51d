/* Prints whether the library is there. Its trace points and names work in either case. */
#include <stdio.h>
#include <trace.h>

int main(void)
{
	trace_event_id_t id = 0;
	trace_attr_t attr;
	int err = posix_trace_eventid_open("weak.step", &id);

	for (int i = 0; i < 10; i++)
		posix_trace_event(id, &i, sizeof i);
	if (err || !id)
		return 3;
	if (!posixtrace_present()) {
		printf("absent %u\n", id);
		return 0;
	}
	if (posix_trace_attr_init(&attr) || posix_trace_attr_destroy(&attr))
		return 4;
	printf("present\n");
	return 0;
}
