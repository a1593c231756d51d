/*
 * The protocol of a chunk's control word: every change that C makes to one. No other file exchanges or
 * stores a control word. pkg/posixtrace/internal/stream/protocol.go has the same names and the whole
 * story: what each change is safe against, and what a recovery finds if its process is killed before
 * or after it. Both files change together.
 *
 *	name        from                               to                          by
 *	claim       free, full, partial or open(0)     claiming(a)                 any writer; LOOP: oldest
 *	begin       claiming(a) g n                    owned(a) or open(0), g' 0   the claimer
 *	release     claiming(a) g n                    free(0) g' 0                the claimer or a recoverer
 *	adopt       partial(0)                         owned(a)+B or open(0)       any writer
 *	take_over   owned(a)                           owned(b)+B                  a writer without a permit
 *	seize       owned(a)                           owned(a)+B                  the shard's writer
 *	seize_open  open(0)                            open(a)+B                   any writer
 *	publish     owned(a)+B or open(a)+B, n         owned(a) or open(0), n+1    the holder
 *	let_go      owned(a)+B or open(a)+B            owned(a) or open(0)         the holder
 *	unseize     owned(a)+B or open(a)+B            owned(a) or open(0)         a recoverer
 *	retire      owned or open, n > 0               full(0)                     see protocol.go
 *	park        owned or open, n > 0               partial(0)                  see protocol.go
 *	drop        owned or open, n = 0               free(0) g' 0                as retire and park
 *	hand_back   leaving(a)                         full(0)                     a recoverer
 *	renew       leaving(a) g                       full(0) g'                  a recoverer
 *
 * (a) and (b) are slots of writers, (0) is no writer; B is the busy bit, whose setter is the holder; g
 * is the generation, g' the next one; n counts events. A change keeps what the table does not name.
 * begin, release and publish store; all others compare the whole word and exchange it.
 *
 * What differs from Go:
 * - let_go compares: the writer's process may have parked a chunk that a record left busy (abandoned.c).
 * - The caller of seize compares the shard's tag at once, and says which record holds the chunk
 *   (seize.h). Go compares the tag later.
 * - The writer parks a busy chunk if it knows that the record that held it has ended.
 * - A C process does not flush, read or clear. So nothing here ships a chunk or probes a word; only a
 *   recovery hands back and renews; and drop gets only chunks without events.
 */
#ifndef PXT_PROTOCOL_H
#define PXT_PROTOCOL_H

#include "word.h"

/*
 * Here and in all files of the record path, c beside a chunk is its control word as the caller has loaded it, or
 * has made of one. A transition that compares returns false if the word has changed since.
 */

/* Takes a chunk to empty it. The caller has seen its state; a busy chunk stays. */
static inline bool pxt_ctl_claim(struct pxt_desc *d, uint64_t c, uint64_t slot)
{
	return !pxt_busy(c) && pxt_cas(&d->ctl, c, pxt_with(c, slot, PXT_claiming));
}

/* Publishes a claimed chunk that pxt_empty has emptied. Returns the word. */
static inline uint64_t pxt_ctl_begin(struct pxt_desc *d, uint64_t slot, uint32_t state)
{
	uint64_t c = pxt_ctl(pxt_gen(pxt_load(&d->ctl)) + 1, slot, state);
	pxt_store(&d->ctl, c);
	return c;
}

/* Gives a claimed chunk back that pxt_empty has emptied. */
static inline void pxt_ctl_release(struct pxt_desc *d)
{
	pxt_store(&d->ctl, pxt_ctl(pxt_gen(pxt_load(&d->ctl)) + 1, 0, PXT_free));
}

/* Continues a partial chunk in a state; busy if it is to be owned. Stores the word. */
static inline bool pxt_ctl_adopt(struct pxt_desc *d, uint64_t c, uint64_t slot, uint32_t state, uint64_t *adopted)
{
	*adopted = state == PXT_owned ? pxt_with(c, slot, state) | PXT_busyBit : pxt_with(c, 0, state);
	return !pxt_busy(c) && pxt_cas(&d->ctl, c, *adopted);
}

/* Takes the chunk of a writer that does not run. Stores the word, which is busy. */
static inline bool pxt_ctl_take_over(struct pxt_desc *d, uint64_t c, uint64_t slot, uint64_t *taken)
{
	*taken = pxt_with(c, slot, PXT_owned) | PXT_busyBit;
	return pxt_cas(&d->ctl, c, *taken);
}

/* Makes the owner's chunk busy. */
static inline bool pxt_ctl_seize(struct pxt_desc *d, uint64_t c)
{
	return pxt_cas(&d->ctl, c, c | PXT_busyBit);
}

/* Makes an open chunk busy. The slot tells a recovery which process holds it. */
static inline bool pxt_ctl_seize_open(struct pxt_desc *d, uint64_t c, uint64_t slot)
{
	return pxt_cas(&d->ctl, c, c | PXT_busyBit | slot << PXT_slotShift);
}

/*
 * Publishes an event that ends at offset off of a chunk that was in state c before it was seized. Stores
 * after everything that it publishes.
 */
static inline void pxt_ctl_publish(struct pxt_desc *d, uint64_t c, uint32_t off)
{
	pxt_store_release(&d->ctl, pxt_behind_event(c, off));
}

/* Ends the busy state without an event: from the word held to c, the one to have then. */
static inline void pxt_ctl_let_go(struct pxt_desc *d, uint64_t held, uint64_t c)
{
	pxt_cas(&d->ctl, held, c);
}

/* Ends the busy state that a dead process left in state c. Returns the word without it. */
static inline uint64_t pxt_ctl_unseize(struct pxt_desc *d, uint64_t c)
{
	uint64_t idle = pxt_with(c, pxt_state(c) == PXT_open ? 0 : pxt_slot(c), pxt_state(c));
	pxt_cas(&d->ctl, c, idle);
	return idle;
}

/* Ends the writing to a chunk with events. */
static inline bool pxt_ctl_retire(struct pxt_desc *d, uint64_t c)
{
	return pxt_cas(&d->ctl, c, pxt_with(c, 0, PXT_full));
}

/* Ends the writing to a chunk with events and room for more. */
static inline bool pxt_ctl_park(struct pxt_desc *d, uint64_t c)
{
	return pxt_cas(&d->ctl, c, pxt_with(c, 0, PXT_partial));
}

/* Frees a chunk. */
static inline bool pxt_ctl_drop(struct pxt_desc *d, uint64_t c)
{
	return pxt_cas(&d->ctl, c, pxt_ctl(pxt_gen(c) + 1, 0, PXT_free));
}

/* Keeps for readers a chunk that a dead process was moving to a log. */
static inline void pxt_ctl_hand_back(struct pxt_desc *d, uint64_t c)
{
	pxt_cas(&d->ctl, c, pxt_with(c, 0, PXT_full));
}

/* The same if the process had started to give the chunk its next generation. */
static inline void pxt_ctl_renew(struct pxt_desc *d, uint64_t c)
{
	pxt_cas(&d->ctl, c, pxt_renewed(pxt_with(c, 0, PXT_full)));
}

#endif
