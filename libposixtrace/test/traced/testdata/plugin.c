#include <trace.h>

int plugin_run(int n);

int plugin_run(int n)
{
	trace_event_id_t id;
	int err = posix_trace_eventid_open("plugin", &id);
	for (int i = 0; i < n && !err; i++)
		posix_trace_event(id, &i, sizeof i);
	return err;
}
