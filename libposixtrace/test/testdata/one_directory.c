/* A process has one trace directory: onedirectory_test.go. The arguments are steps; the last line counts events. */
#include "agent.h"

int main(int argc, char **argv)
{
	static const char user[] = "one directory";
	trace_event_id_t id = 0;
	trace_id_t t = 0;
	struct got g;
	int n = 0;
	alarm(120);
	for (int i = 1; i < argc; i++) {
		const char *s = argv[i];
		if (strcmp(s, "open") == 0) {
			OK(posix_trace_eventid_open(user, &id));
		} else if (strcmp(s, "event") == 0) {
			posix_trace_event(id ? id : POSIX_TRACE_UNNAMED_USER_EVENT, "x", 1);
		} else if (strcmp(s, "create") == 0) {
			trace_attr_t a;
			OK(posix_trace_attr_init(&a));
			OK(posix_trace_attr_setinherited(&a, POSIX_TRACE_INHERITED));
			OK(posix_trace_create(0, &a, &t));
			OK(posix_trace_start(t));
		} else if (strcmp(s, "fork") == 0) {
			int status;
			pid_t p = fork();
			CHECK(p >= 0);
			if (p != 0) { /* the child takes the other steps, but the reading */
				CHECK(waitpid(p, &status, 0) == p && status == 0);
				break;
			}
			t = 0;
		} else if (strncmp(s, "PTRACE_DIR=", 11) == 0) {
			CHECK(setenv("PTRACE_DIR", s + 11, 1) == 0);
		} else if (strcmp(s, "unset") == 0) {
			CHECK(unsetenv("PTRACE_DIR") == 0);
		} else {
			CHECK(chdir(s) == 0);
		}
	}
	if (!t)
		return 0;
	for (trace_event_id_t type; (type = next_type(t, &g)) != 0;)
		n += type != POSIX_TRACE_START;
	OK(posix_trace_shutdown(t));
	printf("%d\n", n);
	return 0;
}
