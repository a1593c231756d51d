/*
 * Records that never end. A signal handler may leave an interrupted record by siglongjmp, and with
 * it a chunk that stays busy. Other processes see no difference from a record whose thread does not
 * run, and wait or pass by; this process can see it:
 *
 * A record stores the low half of the control word of the busy chunk in its stack frame. When it has
 * set the busy bit it stores the frame's address and the control word in the shard, and then looks at
 * the shard's tag. The frame of a record that has not ended keeps its value, also under handlers that
 * interrupt it and record, too. A frame without it has ended. Frames of records that were left are
 * overwritten sooner or later, most by the next call of the same function.
 *
 * Between the exchange that sets the bit and the stores behind it are a few instructions. A record that
 * was left there is not in the shard, nor is one whose thread does not run just then. Such a chunk stays
 * busy, one of each shard at most, and the shard uses open chunks.
 *
 * Whatever holds more than a busy bit, the slow path, runs with signals blocked.
 *
 * The Go package has nothing of this: no goroutine leaves a record before its end, save by a fault in
 * data that another one has unmapped meanwhile, which the program survives. Then the chunk stays busy until
 * the process ends.
 */
#include "word.h"

/* Whether the shard's chunk is busy by a record that the shard knows. */
static bool known(struct pxt_shard *s, uint64_t c)
{
	return pxt_load(&s->held) == c;
}

/*
 * Whether no record will end the busy state of the shard's chunk, or append to it. The
 * caller holds the shard's lock.
 */
bool pxt_abandoned(struct pxt_shard *s, uint64_t c)
{
	if (s->stuck != c) {
		s->stuck = c;
		s->looks = 0;
	}
	s->looks++;
	if (s->looks & (s->looks - 1))
		return false; /* each costs a system call */
	return known(s, c) && pxt_differs(atomic_load(&s->frame), (uint32_t)c);
}
