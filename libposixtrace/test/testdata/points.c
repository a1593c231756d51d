/* The function work() with trace points, or with NONE without them. */
#include <trace.h>

int work(int n);

int work(int n)
{
	trace_event_id_t id;
	int sum = 0;

#ifndef NONE
	if (posix_trace_eventid_open("work.step", &id) != 0)
		return -1;
#endif
	for (int i = 0; i < n; i++) {
		sum += i ^ sum << 1;
#ifndef NONE
		posix_trace_event(id, &i, sizeof i);
#endif
	}
	(void)id;
	return sum;
}
