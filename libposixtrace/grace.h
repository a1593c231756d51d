/*
 * Grace periods: how this process knows that no trace point uses the memory of a stream any more. A trace
 * point announces itself in a section, before it looks for the streams, and says there when it is over.
 */
#ifndef PXT_GRACE_H
#define PXT_GRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel.h"
#include "self.h"

/* Of a thread, or of a handler that has interrupted a trace point of its thread: see grace.c. */
struct pxt_section {
	volatile uint32_t *_Atomic frame; /* in the stack frame of the trace point that is under way; NULL: none is */
	_Atomic uint32_t tid;		  /* of the thread; 0: the section is free */
	_Atomic uint32_t brief;		  /* a handler has it, for one trace point */
	volatile uint32_t *seen; /* of the grace period: frame at its start; NULL: that trace point is over */
	uint32_t looks;
} __attribute__((aligned(64)));

/* What the frame of a trace point has, as long as it is under way. */
static inline uint32_t pxt_frame_sign(const volatile uint32_t *frame)
{
	return (uint32_t)(uintptr_t)frame;
}

/* Of threads without a section. It is always in use. */
extern struct pxt_section pxt_no_section __attribute__((visibility("hidden")));

/* A section for the calling thread; pxt_no_section if there is no memory. */
struct pxt_section *pxt_section_new(uint32_t tid);

/* Takes a section for a trace point whose thread's section s is in use, for pxt_section_end to give back. */
struct pxt_section *pxt_section_nested(struct pxt_section *s, volatile uint32_t *frame);
void pxt_section_end(struct pxt_section *s);

void pxt_sections_forked(void); /* in a child of fork */

/* Begins a trace point of the thread; false if its section is in use. frame is in the stack frame. */
static inline bool pxt_section_enter(struct pxt_section *s, volatile uint32_t *frame)
{
	if (PXT_UNLIKELY(atomic_load_explicit(&s->frame, memory_order_relaxed)))
		return false;
	*frame = pxt_frame_sign(frame);
	atomic_store_explicit(&s->frame, frame, memory_order_release); /* behind the sign */
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static inline void pxt_section_exit(struct pxt_section *s)
{
	atomic_store_explicit(&s->frame, NULL, memory_order_release);
}

/*
 * For slow paths. Starts a grace period, and reports whether it is over: no trace point that is older
 * is under way. False also if that cannot be known.
 */
bool pxt_grace_start(void);
bool pxt_grace_over(void);

#endif
