/* Prints the events of a log as a line each, with all members and the data: agent_read_test.go. */
#include "agent.h"

static void print(const struct got *g, const unsigned char *data)
{
	printf("%u %d %lu %lx %lld.%09ld %d %zu ", g->info.posix_event_id, (int)g->info.posix_pid,
	       (unsigned long)g->info.posix_thread_id, (unsigned long)g->info.posix_prog_address,
	       (long long)g->info.posix_timestamp.tv_sec, g->info.posix_timestamp.tv_nsec,
	       g->info.posix_truncation_status, g->length);
	for (size_t i = 0; i < g->length; i++)
		printf("%02x", data[i]);
	printf("\n");
}

/* agent_read LOG BUFFER-SIZE REWIND-AFTER: reads the log once more after so many events. */
int main(int argc, char **argv)
{
	static unsigned char data[64 << 10];
	struct got g;
	trace_id_t log;
	size_t size;
	long rewind_after;
	int fd;
	CHECK(argc == 4);
	fd = open(argv[1], O_RDONLY);
	CHECK(fd >= 0);
	size = (size_t)atol(argv[2]);
	rewind_after = atol(argv[3]);
	OK(posix_trace_open(fd, &log));
	close(fd);
	for (;;) {
		OK(posix_trace_getnext_event(log, &g.info, size ? data : NULL, size, &g.length, &g.none));
		if (g.none)
			break;
		if (rewind_after-- == 0) {
			OK(posix_trace_rewind(log));
			continue;
		}
		if (rewind_after < 0)
			print(&g, data);
	}
	OK(posix_trace_close(log));
	return 0;
}
