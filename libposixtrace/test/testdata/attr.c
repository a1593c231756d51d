/*
 * A stream attributes object that obeys lines: "init", "destroy", "set ATTRIBUTE VALUE",
 * "name HEX", "get". It answers each with the error number, and get with all attributes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

static trace_attr_t attr;

static void get(void)
{
	char name[TRACE_NAME_MAX + 1], version[TRACE_NAME_MAX + 1];
	struct timespec created, resolution;
	int inherited, stream, log;
	size_t size, data, logsize, user0, user9, usermax, system;

	if (posix_trace_attr_getname(&attr, name) || posix_trace_attr_getgenversion(&attr, version) ||
	    posix_trace_attr_getcreatetime(&attr, &created) || posix_trace_attr_getclockres(&attr, &resolution) ||
	    posix_trace_attr_getinherited(&attr, &inherited) || posix_trace_attr_getstreamfullpolicy(&attr, &stream) ||
	    posix_trace_attr_getlogfullpolicy(&attr, &log) || posix_trace_attr_getstreamsize(&attr, &size) ||
	    posix_trace_attr_getmaxdatasize(&attr, &data) || posix_trace_attr_getlogsize(&attr, &logsize) ||
	    posix_trace_attr_getmaxusereventsize(&attr, 0, &user0) ||
	    posix_trace_attr_getmaxusereventsize(&attr, 9, &user9) ||
	    posix_trace_attr_getmaxusereventsize(&attr, (size_t)-1, &usermax) ||
	    posix_trace_attr_getmaxsystemeventsize(&attr, &system)) {
		puts("22");
		return;
	}
	printf("0 ");
	for (char *p = name; *p; p++)
		printf("%02x", (unsigned char)*p);
	printf("|%s|%ld.%ld|%ld.%ld|%d|%d|%d|%zu|%zu|%zu|%zu|%zu|%zu|%zu\n", version, (long)created.tv_sec, created.tv_nsec,
	       (long)resolution.tv_sec, resolution.tv_nsec, inherited, stream, log, size, data, logsize, user0, user9, usermax,
	       system);
}

static int set(const char *what, const char *value)
{
	size_t n = strtoul(value, NULL, 0);
	int i = (int)strtol(value, NULL, 0);

	if (!strcmp(what, "inherited"))
		return posix_trace_attr_setinherited(&attr, i);
	if (!strcmp(what, "streamfullpolicy"))
		return posix_trace_attr_setstreamfullpolicy(&attr, i);
	if (!strcmp(what, "logfullpolicy"))
		return posix_trace_attr_setlogfullpolicy(&attr, i);
	if (!strcmp(what, "streamsize"))
		return posix_trace_attr_setstreamsize(&attr, n);
	if (!strcmp(what, "maxdatasize"))
		return posix_trace_attr_setmaxdatasize(&attr, n);
	if (!strcmp(what, "logsize"))
		return posix_trace_attr_setlogsize(&attr, n);
	abort();
}

static int setname(const char *hex)
{
	size_t n = strlen(hex) / 2;
	char *name = malloc(n + 1);
	int err;

	if (!name)
		abort();
	for (size_t i = 0; i < n; i++) {
		unsigned byte;
		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			abort();
		name[i] = (char)byte;
	}
	name[n] = 0;
	err = posix_trace_attr_setname(&attr, name);
	free(name);
	return err;
}

int main(void)
{
	static char line[8192], what[64], value[8192];

	while (fgets(line, sizeof line, stdin)) {
		value[0] = 0;
		if (sscanf(line, "set %63s %8191s", what, value) == 2)
			printf("%d\n", set(what, value));
		else if (!strncmp(line, "name", 4))
			sscanf(line, "name %8191s", value), printf("%d\n", setname(value));
		else if (!strcmp(line, "init\n"))
			printf("%d\n", posix_trace_attr_init(&attr));
		else if (!strcmp(line, "destroy\n"))
			printf("%d\n", posix_trace_attr_destroy(&attr));
		else if (!strcmp(line, "get\n"))
			get();
		else
			abort();
		fflush(stdout);
	}
	return 0;
}
