/* Records events in a program, a library that is loaded later, and a child; then executes another program. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

static trace_event_id_t id;

__attribute__((noinline)) void in_program(void)
{
	posix_trace_event(id, "in_program", 10);
	__asm__ volatile("");
}

__attribute__((noinline)) void in_child(void)
{
	posix_trace_event(id, "in_child", 8);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	if (posix_trace_eventid_open("mapped", &id) != 0)
		return 1;
	for (int i = 0; i < atoi(argv[1]); i++)
		in_program();
	if (argc > 2) {
		void *library = dlopen(argv[2], RTLD_NOW);
		void (*in_library)(void);
		if (!library)
			return 2;
		*(void **)&in_library = dlsym(library, "in_library");
		for (int i = 0; i < atoi(argv[1]); i++)
			in_library();
	}
	pid_t child = fork();
	if (child == 0) {
		in_child();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	if (argc > 3) {
		char *next[] = {argv[3], argv[1], NULL};
		execv(argv[3], next);
	}
	return 0;
}
