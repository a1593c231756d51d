/*
 * A child dies in the middle of an event in each chunk that writers look for: it has all permits and all open
 * chunks. Linked with the library's own functions, it makes them so. Then the parent, which was connected
 * before, records as many events as the argument says. It prints their number, and whether the child has been
 * recovered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <attach.h>
#include <self_page.h>
#include <trace.h>
#include <word.h>

static void event(void)
{
	static char data[512] = "event";
	posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, data, sizeof data);
}

/* Claims a chunk and is in the middle of an event in it; its number, plus one. */
static uint64_t busy_chunk(struct pxt_writer *w, uint32_t state)
{
	uint64_t adopted;
	uint32_t i;
	if (!pxt_claim(&w->m, w->slot, state, 0, &i, &adopted))
		_exit(3);
	if (!adopted)
		pxt_begin(&w->m, i, state == PXT_owned ? w->slot : 0, state, pxt_now(&w->m));
	uint64_t c = pxt_load(&w->desc[i].ctl);
	pxt_store(&w->desc[i].ctl, pxt_with(c, w->slot, state) | PXT_busyBit);
	return i + 1;
}

static void take_all(void)
{
	struct pxt_writer *w = PXT_SELF->attached->w;
	for (uint32_t p = 0; p < w->m.permits; p++)
		pxt_store(&w->m.h->permitTable[p], w->slot << 32 | busy_chunk(w, PXT_owned));
	for (uint32_t o = 0; o < w->m.open_chunks; o++)
		pxt_store(&w->m.h->openTable[o], busy_chunk(w, PXT_open));
}

int main(int argc, char **argv)
{
	int status, n = argc > 1 ? atoi(argv[1]) : 0;
	bool left = false;
	pid_t pid;
	event();
	pid = fork();
	if (pid == 0) {
		event();
		take_all();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 2;
	for (int i = 0; i < n; i++)
		event();
	for (int i = 0; i < PXT_MaxSlots; i++)
		left = left || pxt_unpack(pxt_load(&PXT_SELF->attached->w->m.h->slots[i])).pid == (uint32_t)pid;
	printf("%d, the child is %s\n", n + 2, left ? "still a writer" : "gone");
	return 0;
}
