/* Writers that the test stops at each instruction of one event, or interrupts there by a signal. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

/* The words by which the tracing and the traced process communicate. */
enum { STEP_READY = 1, STEP_BEGUN, STEP_DONE };

#define PHASE oracles[1].before
#define GENERATED oracles[0].before

static void breakpoint(void)
{
#ifdef __x86_64__
	__asm__ volatile("int3");
#else
	__asm__ volatile("brk 0");
#endif
}

bool record_numbered(struct pxt_writer *w, uint32_t size)
{
	unsigned char data[2048];
	uint64_t n = GENERATED++;
	stamp(data, 0, n, size);
	return record(w, 0, 7, 5, data, size);
}

/* Whether the chunk that the writer owns takes another of the largest events. */
static bool roomy(struct pxt_writer *w)
{
	uint64_t tag = pxt_load(&w->shards[0].tag);
	if (tag == PXT_noChunk)
		return false;
	uint64_t c = pxt_load(&w->desc[tag & PXT_idxMask].ctl);
	return pxt_off(c) + PXT_CK_Overhead + 1024 <= w->chunk_size;
}

/* Whether an event with so much data finds no room any more. */
static bool spent(struct pxt_mem *m, uint32_t size)
{
	for (uint32_t i = 0; i < m->chunks; i++) {
		uint64_t c = pxt_load(&m->desc[i].ctl);
		bool fits = pxt_off(c) + size + 100 <= m->chunk_size, left = pxt_closed(pxt_state(c));
		if (pxt_state(c) == PXT_free || (!left && fits) || (pxt_state(c) == PXT_partial && fits))
			return false;
	}
	return true;
}

static uint64_t overwritten(struct pxt_mem *m)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < m->chunks; i++)
		n += pxt_load(&m->desc[i].lost) & PXT_lossMask;
	return n;
}

/* Whether an open chunk has room for an event with so much data. */
static bool open_room(struct pxt_mem *m, uint32_t size)
{
	for (uint32_t o = 0; o < m->open_chunks; o++) {
		uint64_t v = pxt_load(&m->h->openTable[o]);
		if (pxt_is_ref(m, v) && pxt_off(pxt_load(&m->desc[v - 1].ctl)) + PXT_CK_FullSize + size <= m->chunk_size)
			return true;
	}
	return false;
}

static void nothing(struct pxt_writer *w)
{
	(void)w;
}

static void one(struct pxt_writer *w)
{
	record_numbered(w, 16);
}

static void one_large(struct pxt_writer *w)
{
	record_numbered(w, 1024);
}

static void one_open(struct pxt_writer *w)
{
	w->opens_only = true;
	one(w);
}

static void to_new_open_chunk(struct pxt_writer *w)
{
	w->opens_only = true;
	do
		one_large(w);
	while (open_room(&w->m, 1024));
}

static void to_new_chunk(struct pxt_writer *w)
{
	do
		one_large(w);
	while (roomy(w));
}

static void to_overwrite(struct pxt_writer *w)
{
	while (overwritten(&w->m) == 0 || roomy(w))
		one_large(w);
}

static void to_full(struct pxt_writer *w)
{
	while (!spent(&w->m, 1024))
		one_large(w);
}

static void to_lost(struct pxt_writer *w)
{
	while (record_numbered(w, 1024))
		;
}

/* Other writers have all permits and do not run. */
static void to_take_over(struct pxt_writer *w)
{
	struct pxt_shard *s = w->shards;
	for (uint32_t p = 0; p < mem.permits; p++) {
		struct pxt_writer *other = new_writer(1);
		pxt_exchange(other, other->shards, 100); /* an event of its own would disturb the account */
	}
	while (pxt_load(&s->waited) != PXT_lookAgain || s->seen[0] == 0)
		one(w);
}

static void to_rejected(struct pxt_writer *w)
{
	for (int i = 0; i < 2; i++)
		w->front->filter[i][PXT_EV_FirstUser / 64] |= UINT64_C(1) << PXT_EV_FirstUser % 64;
}

static const struct steps all[] = {
	{"first", 16, nothing},
	{"next", 16, one},
	{"largest", 1024, one_large},
	{"open", 16, one_open},
	{"new open chunk", 1024, to_new_open_chunk},
	{"new chunk", 1024, to_new_chunk},
	{"overwrite", 1024, to_overwrite},
	{"full", 1024, to_full},
	{"lost", 1024, to_lost},
	{"take over", 16, to_take_over},
	{"rejected", 16, to_rejected},
};

const struct steps *find_steps(const char *name)
{
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	need(false, "no such steps");
	return NULL;
}

void step_program(const char *name)
{
	const struct steps *v = find_steps(name);
	struct pxt_writer *w = new_writer(2);
	unsigned char data[2048];
	v->prepare(w);
	stamp(data, 0, GENERATED, v->size);
	PHASE = STEP_READY;
	breakpoint();
	PHASE = STEP_BEGUN;
	record(w, 0, 7, 5, data, v->size);
	PHASE = STEP_DONE;
	breakpoint();
	_exit(0);
}

/* Signals. */

static struct pxt_writer *writer;
static sigjmp_buf top;

static void record_and_return(int sig)
{
	(void)sig;
	record_numbered(writer, 16);
}

static void record_and_jump(int sig)
{
	(void)sig;
	record_numbered(writer, 16);
	siglongjmp(top, 1);
}

static void jump(int sig)
{
	(void)sig;
	siglongjmp(top, 1);
}

/* Whether the writer has a chunk of its own that is not busy. */
static bool owns(struct pxt_writer *w)
{
	uint64_t tag = pxt_load(&w->shards[0].tag);
	return tag != PXT_noChunk && ((pxt_load(&w->desc[tag & PXT_idxMask].ctl) ^ tag) & PXT_tagMask) == 0;
}

/*
 * Records an event again and again, each from a breakpoint to the next. The test lets it run to some
 * instruction and sends a signal. oracles[2] counts the events that started and were left by the handler.
 */
void signal_program(const char *how)
{
	struct sigaction act = {.sa_handler = record_and_return};
	writer = new_writer(2);
	if (!strcmp(how, "jump"))
		act.sa_handler = jump;
	else if (!strcmp(how, "record and jump"))
		act.sa_handler = record_and_jump;
	sigaction(SIGUSR1, &act, NULL);
	for (volatile uint32_t round = 0;; round++) {
		static const uint32_t sizes[] = {16, 1000, 13};
		bool left = sigsetjmp(top, 1) != 0;
		if (left)
			oracles[2].before++;
		int n = 0;
		while (n < 300 && (n < 3 || !owns(writer))) {
			record_numbered(writer, sizes[n % 3]);
			n++;
		}
		if (!owns(writer)) {
			/* It was left at one of the few instructions after which the chunk stays busy. */
			oracles[3].before++;
			writer = new_writer(2);
			continue;
		}
		PHASE = STEP_READY;
		breakpoint();
		PHASE = STEP_BEGUN;
		record_numbered(writer, sizes[round % 3]);
		PHASE = STEP_DONE;
		breakpoint();
	}
}
