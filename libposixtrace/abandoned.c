/*
 * Records that never end. A signal handler may leave an interrupted record by siglongjmp, and with
 * it a chunk that stays busy. Other processes see no difference from a record whose thread does not
 * run, and wait or pass by; this process can see it:
 *
 * A record stores the low half of the control word of the busy chunk in its stack frame, and the
 * frame's address in the shard: as the intent before it sets the busy bit; as the frame, with the
 * control word in held, when it has set it. The frame of a record that has not ended keeps that value,
 * also under handlers that interrupt it and record, too. A frame without it has ended. Frames of
 * records that were left are overwritten sooner or later, most by the next call of the same function.
 *
 * Between the exchange that sets the bit and the store of held is one instruction, at which another
 * thread may stand that has set the bit, while the intent is that of a record that was faster to
 * store it and slower to exchange. So without held, a chunk counts as abandoned only when it was seen
 * unchanged often.
 *
 * Whatever holds more than a busy bit, the slow path, runs with signals blocked.
 */
#include <errno.h>
#include <time.h>

#include "word.h"

/*
 * Whether a frame, maybe of another thread, has not the value any more. The memory of a stack may be
 * unmapped; the kernel reads it for us.
 */
static bool ended(volatile uint32_t *frame, uint32_t value)
{
	static const struct timespec none;
	const int wait_private = 128; /* FUTEX_WAIT_PRIVATE */
	long r = pxt_sys(SYS_futex, frame, wait_private, value, &none);
	return r == -EAGAIN || r == -EFAULT;
}

/*
 * Whether no record will end the busy state of the shard's chunk, seen as c. The caller holds the
 * shard's lock.
 */
bool pxt_abandoned(struct pxt_shard *s, uint64_t c)
{
	uint64_t held = pxt_load(&s->held);
	if (s->stuck != c) {
		s->stuck = c;
		s->looks = 0;
	}
	s->looks++;
	if (s->looks & (s->looks - 1))
		return false; /* each costs a system call */
	if (held == c)
		return ended(atomic_load(&s->frame), (uint32_t)c);
	volatile uint32_t *frame = atomic_load(&s->intent);
	if (s->looks < PXT_lookAgain || frame == NULL)
		return false;
	return ended(frame, (uint32_t)c);
}
