/* The types that exist in every stream: internal/event. */
#include <string.h>

#include "names.h"

static const struct {
	uint32_t id;
	const char *name;
} predefined[] = {
	{1, "posix_trace_error"},
	{2, "posix_trace_start"},
	{3, "posix_trace_stop"},
	{4, "posix_trace_filter"},
	{5, "posix_trace_overflow"},
	{6, "posix_trace_resume"},
	{7, "posix_trace_flush_start"},
	{8, "posix_trace_flush_stop"},
	{16, "proc.fork"},
	{17, "proc.exec"},
	{18, "proc.exit"},
	{19, "proc.signal"},
	{20, "output.stdout"},
	{21, "output.stderr"},
	{22, "proc.map"},
	{23, "proc.context"},
	{24, "proc.timeout"},
	{25, "hang.thread"},
	{26, "res.sample"},
	{27, "file.access"},
	{32, "posix_trace_unnamed_userevent"},
};

uint32_t pxt_predefined(const char *name, size_t len)
{
	for (unsigned i = 0; i < sizeof predefined / sizeof *predefined; i++) {
		if (strlen(predefined[i].name) == len && !memcmp(predefined[i].name, name, len))
			return predefined[i].id;
	}
	return 0;
}
