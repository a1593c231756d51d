/*
 * Memory that trace points use is unmapped in three steps, as in epoch-based reclamation:
 *
 * 1. The table of streams no longer leads to it.
 * 2. After a pause, the sections are read. The trace points under way are remembered.
 * 3. When each of these has been seen to be over, no trace point has the memory.
 *
 * A trace point stores into its section before it loads from the table, and has no barrier between: the
 * processor may do it later, by the time for which a store stays in its buffer. That is microseconds; the
 * pause is 10 ms. A trace point whose store came later than step 2 has loaded the table behind step 1.
 *
 * A trace point may never say that it is over: a handler has left it by siglongjmp, or has ended the
 * thread. So the section has an address in the trace point's stack frame, and at that address is a sign. A
 * frame without it has ended (abandoned.c has more of this).
 *
 * A trace point in a handler that has interrupted another one of the thread finds the section in use,
 * and takes a section for itself. It need not end before the other: a program may switch stacks in a
 * handler.
 */
#define _GNU_SOURCE
#include "grace.h"

#include <errno.h>
#include <sys/mman.h>

#include "kernel.h"
#include "self_page.h"
#include "table.h"

#define SECTIONS 63

struct block {
	struct pxt_section sections[SECTIONS];
	_Atomic(struct block *) next; /* once there it stays, for children too */
} __attribute__((aligned(4096)));

static struct block first;
static _Atomic bool untracked; /* there was no memory for a section: from now on that of streams stays */

__thread struct pxt_thread pxt_thread PXT_TLS;

static volatile uint32_t always;
struct pxt_section pxt_no_section = {.frame = &always};

static struct pxt_section *take_free(uint32_t tid)
{
	for (struct block *b = &first; b; b = atomic_load(&b->next)) {
		for (int i = 0; i < SECTIONS; i++) {
			uint32_t none = 0;
			if (atomic_load(&b->sections[i].tid) == 0 &&
			    atomic_compare_exchange_strong(&b->sections[i].tid, &none, tid))
				return &b->sections[i];
		}
	}
	return NULL;
}

/* By the pid of this process, also in a vfork child. */
static bool is_dead(uint32_t tid)
{
	return PXT_SELF->pid != 0 && pxt_sys(SYS_tgkill, PXT_SELF->pid, tid, 0) == -ESRCH;
}

static bool has_ended(volatile uint32_t *frame)
{
	return pxt_differs(frame, pxt_frame_sign(frame));
}

#define MOVING UINT32_MAX /* no thread id: a section is being freed */

/* Whether a thread has left the section, which is its. */
static bool is_left(struct pxt_section *s, uint32_t tid)
{
	volatile uint32_t *frame = atomic_load(&s->frame);
	return (atomic_load(&s->brief) && frame && has_ended(frame)) || is_dead(tid);
}

/* Frees the sections of threads that have ended, and of handlers that did not return. Returns their number. */
static int free_left(void)
{
	int n = 0;
	for (struct block *b = &first; b; b = atomic_load(&b->next)) {
		for (int i = 0; i < SECTIONS; i++) {
			struct pxt_section *s = &b->sections[i];
			uint32_t owner = atomic_load(&s->tid);
			uint32_t moving = MOVING;
			if (owner == 0 || owner == MOVING || !is_left(s, owner) ||
			    !atomic_compare_exchange_strong(&s->tid, &owner, MOVING))
				continue;
			if (!is_left(s, owner)) {
				/* The thread has used it again since the first look. */
				atomic_compare_exchange_strong(&s->tid, &moving, owner);
				continue;
			}
			atomic_store(&s->brief, 0);
			atomic_store(&s->frame, NULL);
			atomic_store(&s->tid, 0);
			n++;
		}
	}
	return n;
}

static bool add_block(void)
{
	struct block *b = &first, *last = NULL;
	void *mem = NULL;
	while (atomic_load(&b->next))
		b = atomic_load(&b->next);
	if (pxt_map(&mem, sizeof *b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1) < 0)
		return false;
	if (!atomic_compare_exchange_strong(&b->next, &last, mem))
		pxt_unmap(mem, sizeof *b);
	return true;
}

struct pxt_section *pxt_section_new(uint32_t tid)
{
	struct pxt_section *s = take_free(tid);
	while (!s) {
		/* So many that the next ones are found at once. */
		int n = free_left();
		if (n < SECTIONS / 2 && !add_block() && n == 0)
			break;
		s = take_free(tid);
	}
	if (s)
		return s;
	atomic_store(&untracked, true);
	return &pxt_no_section;
}

struct pxt_section *pxt_section_nested(struct pxt_section *s, volatile uint32_t *frame)
{
	if (s != &pxt_no_section) {
		volatile uint32_t *before = atomic_load(&s->frame);
		s->looks++;
		bool look = !(s->looks & (s->looks - 1)); /* each costs a system call */
		if (!before || before == frame || (look && has_ended(before))) {
			s->looks = 0;
			pxt_section_exit(s); /* that trace point was left */
			pxt_section_enter(s, frame);
			return s;
		}
	}
	/* The thread of a vfork child is none of this process, whose memory it uses. */
	s = pxt_section_new(pxt_own_memory() ? pxt_gettid() : PXT_SELF->pid);
	if (s != &pxt_no_section) {
		atomic_store(&s->brief, 1);
		pxt_section_enter(s, frame);
	}
	return s;
}

void pxt_section_end(struct pxt_section *s)
{
	if (s == &pxt_no_section)
		return;
	pxt_section_exit(s);
	if (atomic_exchange(&s->brief, 0))
		atomic_store(&s->tid, 0);
}

/* The child has the thread that has called fork, which may have trace points under way, and no other. */
void pxt_sections_forked(void)
{
	struct pxt_section *own = pxt_thread.section;
	uint32_t before = own ? atomic_load(&own->tid) : 0;
	for (struct block *b = &first; b; b = atomic_load(&b->next)) {
		for (int i = 0; i < SECTIONS; i++) {
			struct pxt_section *s = &b->sections[i];
			uint32_t tid = atomic_load(&s->tid);
			if (tid != 0)
				atomic_store(&s->tid, tid == before ? pxt_gettid() : 0);
		}
	}
}

#define SAMPLES 1000 /* a thread that records all the time is between two trace points now and then */

/* Whether the trace point that a section had is over. */
static bool is_over(struct pxt_section *s)
{
	for (int i = 0; i < SAMPLES; i++)
		if (atomic_load(&s->frame) != s->seen)
			return true;
	return atomic_load(&s->tid) == 0 || has_ended(s->seen) || is_dead(atomic_load(&s->tid));
}

bool pxt_grace_over(void)
{
	bool over = !atomic_load(&untracked);
	for (struct block *b = &first; b; b = atomic_load(&b->next)) {
		for (int i = 0; i < SECTIONS; i++) {
			struct pxt_section *s = &b->sections[i];
			if (s->seen && is_over(s))
				s->seen = NULL;
			over = over && !s->seen;
		}
	}
	return over;
}

bool pxt_grace_start(void)
{
	for (struct block *b = &first; b; b = atomic_load(&b->next))
		for (int i = 0; i < SECTIONS; i++)
			b->sections[i].seen = atomic_load(&b->sections[i].frame);
	return pxt_grace_over();
}
