/*
 * All attributes that layout.h lists, a line each, the stream's last one followed by an empty line:
 * "create LOG" sets all that can be set, makes a stream with log, and shuts it down at the end of the input;
 * "default LOG" sets none; "header FILE" looks into the memory of a stream, "log LOG" opens a log.
 */
#include <sys/mman.h>

#include "agent.h"
#include "layout.h"

static void set(trace_attr_t *attr)
{
#define CHOICE(suffix, member, number, choices) OK(posix_trace_attr_set##suffix(attr, (choices) & 4 ? 2 : 1));
#define SIZE(suffix, member, number, most) OK(posix_trace_attr_set##suffix(attr, 2 + (number) < (most) ? 2 + (number) : (most)));
#define TEXT(suffix, member, number) OK(posix_trace_attr_set##suffix(attr, "a " #suffix));
	PXT_ATTR_CHOICES(CHOICE)
	PXT_ATTR_SIZES(SIZE)
	PXT_ATTR_SET_TEXTS(TEXT)
#undef CHOICE
#undef SIZE
#undef TEXT
}

static void print(const trace_attr_t *attr)
{
	struct timespec time;
	char text[TRACE_NAME_MAX + 1];
	int choice;
	size_t size;

#define CHOICE(suffix, member, number, choices) \
	OK(posix_trace_attr_get##suffix(attr, &choice)); \
	printf(#member " %d\n", choice);
#define SIZE(suffix, member, number, most) \
	OK(posix_trace_attr_get##suffix(attr, &size)); \
	printf(#member " %zu\n", size);
#define TIME(suffix, member) \
	OK(posix_trace_attr_get##suffix(attr, &time)); \
	printf(#member " %ld.%ld\n", (long)time.tv_sec, time.tv_nsec);
#define TEXT(suffix, member) \
	OK(posix_trace_attr_get##suffix(attr, text)); \
	printf(#member " %s\n", text);
	PXT_ATTR_CHOICES(CHOICE)
	PXT_ATTR_SIZES(SIZE)
	PXT_ATTR_TIMES(TIME)
	PXT_ATTR_DURATIONS(TIME)
	PXT_ATTR_TEXTS(TEXT)
#undef CHOICE
#undef SIZE
#undef TIME
#undef TEXT
	puts("");
	fflush(stdout);
}

static void of_stream(trace_id_t t)
{
	trace_attr_t attr;

	OK(posix_trace_get_attr(t, &attr));
	print(&attr);
}

static void header(const char *file)
{
	int fd = open(file, O_RDONLY);
	const struct pxt_header *h = mmap(NULL, sizeof *h, PROT_READ, MAP_SHARED, fd, 0);

	CHECK(h != MAP_FAILED);
#define NUMBER(suffix, member, number, limit) \
	printf(#member " %lu\n", (unsigned long)h->fixed.attributes.member);
#define TIME(suffix, member) \
	printf(#member " %ld.%ld\n", (long)h->fixed.attributes.member.sec, (long)h->fixed.attributes.member.nsec);
#define DURATION(suffix, member) \
	printf(#member " %lu.%lu\n", (unsigned long)h->fixed.attributes.member / 1000000000, \
	       (unsigned long)h->fixed.attributes.member % 1000000000);
#define TEXT(suffix, member) \
	printf(#member " %.*s\n", (int)h->fixed.attributes.member.length, (const char *)h->fixed.attributes.member.bytes);
	PXT_ATTR_CHOICES(NUMBER)
	PXT_ATTR_SIZES(NUMBER)
	PXT_ATTR_TIMES(TIME)
	PXT_ATTR_DURATIONS(DURATION)
	PXT_ATTR_TEXTS(TEXT)
	puts("");
}

int main(int argc, char **argv)
{
	trace_attr_t attr;
	trace_id_t t;
	int fd;

	CHECK(argc == 3);
	if (!strcmp(argv[1], "header")) {
		header(argv[2]);
	} else if (!strcmp(argv[1], "log")) {
		fd = open(argv[2], O_RDONLY);
		OK(posix_trace_open(fd, &t));
		of_stream(t);
		OK(posix_trace_close(t));
	} else {
		fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
		OK(posix_trace_attr_init(&attr));
		if (!strcmp(argv[1], "create"))
			set(&attr);
		OK(posix_trace_create_withlog(0, &attr, fd, &t));
		of_stream(t);
		while (getchar() != EOF)
			;
		OK(posix_trace_shutdown(t));
	}
	return 0;
}
