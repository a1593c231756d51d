/* A process that the tests of package stream start: a writer in C in place of one in Go. */
#include "peer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

struct pxt_mem mem;
struct oracle *oracles;

void need(bool ok, const char *what)
{
	if (!ok) {
		printf("%s\n", what);
		exit(1);
	}
}

void *map_file(const char *dir, const char *name, size_t *size)
{
	char path[512];
	struct stat st;
	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	need(fd >= 0 && fstat(fd, &st) == 0, path);
	*size = (size_t)st.st_size;
	void *p = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(p != MAP_FAILED, "mmap");
	close(fd);
	return p;
}

void open_shared(void)
{
	const char *dir = getenv("STREAM_TEST_DIR");
	size_t size, n;
	need(dir != NULL, "no directory");
	void *file = map_file(dir, "stream", &size);
	oracles = map_file(dir, "oracle", &n);
	need(n == ORACLES * sizeof *oracles, "oracle of wrong size");
	need(pxt_mem_attach(&mem, file, size, 1) == 0, "not a stream");
}

/* When this process was started, from /proc. */
static uint64_t start_time(void)
{
	char text[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	need(n > 0, "/proc/self/stat");
	text[n] = 0;
	char *p = strrchr(text, ')');
	for (int i = 0; i < 20; i++)
		p = strchr(p + 1, ' ');
	return strtoull(p, NULL, 10);
}

struct pxt_writer *new_writer(unsigned processors)
{
	uint32_t pid = (uint32_t)getpid();
	uint64_t slot = pxt_slot_take(&mem, start_time() << 22 | pid, NULL, NULL);
	need(slot != 0, "no slot");
	size_t size = pxt_writer_size(processors);
	struct pxt_writer *w = aligned_alloc(128, (size + 127) & ~(size_t)127);
	memset(w, 0, size);
	pxt_writer_init(w, &mem, slot, pid, processors);
	return w;
}

void stamp(unsigned char *b, uint32_t who, uint64_t n, uint32_t size)
{
	memcpy(b, &who, 4);
	memcpy(b + 4, &n, 8);
	for (uint32_t i = STAMP_SIZE; i < size; i++)
		b[i] = (unsigned char)(n + who + i);
}

uint32_t random_below(uint64_t *state, uint32_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 20) % n;
}

void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

bool record(struct pxt_writer *w, unsigned hint, uint32_t tid, uint64_t addr, const void *data, size_t n)
{
	return pxt_append(w, hint, PXT_EV_FirstUser, pxt_who(w->pid, tid), addr, &(uint64_t){0}, data, n);
}

int main(void)
{
	const char *mode = getenv("STREAM_TEST_KILL");
	need(mode != NULL, "no mode");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!strcmp(mode, "hostile")) {
		hostile_program();
		return 0;
	}
	open_shared();
	if (!strncmp(mode, "step ", 5))
		step_program(mode + 5);
	else if (!strncmp(mode, "signal ", 7))
		signal_program(mode + 7);
	else if (!strncmp(mode, "storm ", 6))
		storm_program(mode + 6);
	else if (!strncmp(mode, "timer ", 6))
		timer_program(mode + 6);
	else if (!strncmp(mode, "fault ", 6))
		fault_program(mode + 6);
	else if (!strncmp(mode, "bench ", 6))
		bench_program(mode + 6);
	else if (!strcmp(mode, "script"))
		script_program();
	else
		kill_program(mode);
	return 0;
}
