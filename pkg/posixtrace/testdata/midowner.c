/* Owns a stream with log of a process: completion_test.go. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <trace.h>

int main(int argc, char **argv)
{
	trace_attr_t a;
	trace_id_t t;
	char line[100];
	int fd, policy, err;
	if (argc != 4)
		return 2;
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	policy = atoi(argv[3]);
	err = posix_trace_attr_init(&a);
	if (!err)
		err = posix_trace_attr_setstreamfullpolicy(&a, policy);
	if (!err)
		err = posix_trace_attr_setlogfullpolicy(&a, POSIX_TRACE_APPEND);
	if (!err)
		err = posix_trace_attr_setstreamsize(&a, policy == POSIX_TRACE_LOOP ? 16 << 10 : 64 << 10);
	if (!err)
		err = posix_trace_create_withlog((pid_t)atoi(argv[1]), &a, fd, &t);
	if (!err)
		err = posix_trace_start(t);
	puts(err ? strerror(err) : "ready");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 1;
	err = posix_trace_shutdown(t);
	puts(err ? strerror(err) : "done");
	return 0;
}
