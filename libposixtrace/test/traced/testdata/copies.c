/* Loads and unloads a plug-in that has trace points, and passes its own in between. */
#include <dlfcn.h>
#include <stdio.h>

#include <trace.h>

#define EACH 100

int main(int argc, char **argv)
{
	trace_event_id_t id;
	int n = 0;
	if (argc < 2 || posix_trace_eventid_open("program", &id))
		return 2;
	for (int round = 0; round < 5; round++) {
		void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		if (!lib) {
			puts(dlerror());
			return 1;
		}
		int (*run)(int) = (int (*)(int))dlsym(lib, "plugin_run");
		if (run(EACH))
			return 3;
		for (int i = 0; i < EACH; i++)
			posix_trace_event(id, &i, sizeof i);
		n += 2 * EACH;
		dlclose(lib);
	}
	printf("%d\n", n);
	return 0;
}
