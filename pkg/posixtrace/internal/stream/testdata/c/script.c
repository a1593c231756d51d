/* A writer that obeys. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "peer.h"

struct command {
	uint32_t hint;
	uint32_t id;
	uint32_t tid;
	uint32_t size;
	uint64_t addr;
	uint64_t pid;
};

static bool read_all(void *to, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t k = read(0, (char *)to + done, n - done);
		if (k <= 0)
			return false;
		done += (size_t)k;
	}
	return true;
}

/* Records an event for each command, and answers with a byte. */
void script_program(void)
{
	static unsigned char data[1 << 16];
	struct pxt_writer *w = new_writer(2);
	struct command c;
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 7);
	ready();
	while (read_all(&c, sizeof c)) {
		bool ok = pxt_append(w, c.hint, c.id, pxt_who((uint32_t)c.pid, c.tid), c.addr, &(uint64_t){0}, data, c.size);
		char answer = ok ? '1' : '0';
		need(write(1, &answer, 1) == 1, "answer");
	}
	uint64_t slot = w->slot;
	if (pxt_writer_close(w))
		pxt_slot_free(&mem, slot);
}

/* Streams that are damaged: what a traced process does with one must be harmless. */

static bool is_dead(void *ctx, uint64_t slot, uint64_t proc)
{
	(void)ctx, (void)proc;
	return slot % 2 == 1;
}

static bool all_dead(void *ctx, uint64_t slot, uint64_t proc)
{
	(void)ctx, (void)slot, (void)proc;
	return true;
}

static void recover_some(struct pxt_writer *w)
{
	pxt_recover(&w->m, is_dead, NULL);
}

static void many(struct pxt_writer *w, unsigned events)
{
	static const unsigned char data[4096];
	for (unsigned n = 0; n < events; n++)
		record(w, n >> 2, n % 3, n % 50, data, n % 300);
}

static bool exercise(void *file, size_t size)
{
	struct pxt_mem m;
	pxt_count_missed(file, size, 1, 5);
	if (pxt_mem_attach(&m, file, size, 1) != 0)
		return false;
	pxt_mem_missed(&m, 5);
	pxt_writes(&m, 5);
	pxt_crowded(&m);
	uint64_t slot = pxt_slot_take(&m, 99, NULL, NULL);
	if (slot == 0)
		slot = 5;
	size_t room = pxt_writer_size(2);
	struct pxt_writer *w = aligned_alloc(128, room);
	memset(w, 0, room);
	pxt_writer_init(w, &m, slot, 1, 2);
	w->crowded = recover_some;
	pxt_wants(w, PXT_EV_FirstUser);
	many(w, 200);
	if (!pxt_mem_dead(&m))
		m.h->front.state = PXT_Running;
	many(w, 300);
	pxt_recover(&m, is_dead, NULL);
	many(w, 100);
	w->opens_only = true;
	many(w, 100);
	pxt_recover(&m, all_dead, NULL);
	many(w, 100);
	if (pxt_writer_close(w))
		pxt_slot_free(&m, slot);
	free(w);
	return true;
}

/* Exercises the stream in each file that it reads the path of. */
void hostile_program(void)
{
	char path[512];
	ready();
	while (fgets(path, sizeof path, stdin)) {
		struct stat st;
		path[strcspn(path, "\n")] = 0;
		int fd = open(path, O_RDWR | O_CLOEXEC);
		need(fd >= 0 && fstat(fd, &st) == 0, path);
		size_t size = (size_t)st.st_size, page = 4096, pages = (size + page - 1) & ~(page - 1);
		/* Between pages that it must not access. */
		char *area = mmap(NULL, pages + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void *file = mmap(area + page, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
		need(area != MAP_FAILED && file != MAP_FAILED, "mmap");
		close(fd);
		printf("%s\n", exercise(file, size) ? "done" : "refused");
		munmap(area, pages + 2 * page);
		fflush(stdout);
	}
}
