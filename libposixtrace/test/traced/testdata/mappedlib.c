#include <trace.h>

__attribute__((noinline)) void in_library(void)
{
	trace_event_id_t id;
	if (posix_trace_eventid_open("mapped", &id) == 0)
		posix_trace_event(id, "in_library", 10);
	__asm__ volatile("");
}
