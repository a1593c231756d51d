/* Waiting for the agent, and waking it. See agent.h. */
#include "agent.h"

#include <errno.h>

#include "kernel.h"

bool pxt_agent_alive(struct pxt_channel *ch)
{
	uint32_t a = atomic_load(&ch->alive);
	return a != 0 && !(a & PXT_W_OwnerDied);
}

void pxt_agent_ring(struct pxt_channel *ch)
{
	atomic_fetch_add(&ch->bell, 1);
	if (atomic_load(&ch->asleep))
		pxt_futex_wake(&ch->bell, 1, true);
}

static inline void relax(void)
{
#ifdef __x86_64__
	__asm__ volatile("pause" ::: "memory");
#else
	__asm__ volatile("isb" ::: "memory");
#endif
}

/*
 * How long a call looks at its answer before it sleeps: waking a thread costs more than most answers
 * take. On a single processor nothing changes while this thread runs.
 */
enum { LOOKS = 400 };

bool pxt_agent_answers_soon(struct pxt_channel *ch, _Atomic uint32_t *word, uint32_t value)
{
	for (int i = 0; i < LOOKS && ch->processors > 1; i++) {
		if (atomic_load_explicit(word, memory_order_acquire) != value)
			return true;
		relax();
	}
	return atomic_load(word) != value;
}

/* struct futex_waitv of linux/futex.h. */
struct waiter {
	uint64_t value, word;
	uint32_t flags, reserved;
};
enum { SYS_FUTEX_WAITV = 449, FUTEX_U32 = 2, FUTEX_WAIT_BITSET_REALTIME = 9 | 256 };

static _Atomic bool no_waitv;

/* Without futex_waitv(2) a wait looks now and then whether the agent lives. */
static int wait_polling(_Atomic uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	struct timespec until;
	long r;
	uint64_t now = pxt_clock(CLOCK_REALTIME) + 250000000;
	until.tv_sec = (time_t)(now / 1000000000);
	until.tv_nsec = (long)(now % 1000000000);
	if (deadline && (deadline->tv_sec < until.tv_sec ||
			 (deadline->tv_sec == until.tv_sec && deadline->tv_nsec < until.tv_nsec)))
		until = *deadline;
	else
		deadline = NULL;
	r = pxt_sys(SYS_futex, word, FUTEX_WAIT_BITSET_REALTIME, value, &until, NULL, -1);
	if (r == -EINTR)
		return EINTR;
	return r == -ETIMEDOUT && deadline ? ETIMEDOUT : 0;
}

int pxt_agent_wait(struct pxt_channel *ch, _Atomic uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	struct waiter w[2] = {{value, (uintptr_t)word, FUTEX_U32, 0},
			      {atomic_load(&ch->alive), (uintptr_t)&ch->alive, FUTEX_U32, 0}};
	long r;
	if (!pxt_agent_alive(ch))
		return 0;
	if (!atomic_load(&no_waitv)) {
		/* Unlike futex(2) with a timeout, this call goes on after a handler with SA_RESTART. */
		r = pxt_sys(SYS_FUTEX_WAITV, w, 2, 0, deadline, CLOCK_REALTIME);
		if (r == 1)
			pxt_futex_wake(&ch->alive, 1 << 30, true); /* the kernel wakes one thread only */
		if (r >= 0 || r == -EAGAIN)
			return 0;
		if (r == -EINTR || r == -ETIMEDOUT)
			return (int)-r;
		atomic_store(&no_waitv, true);
	}
	return wait_polling(word, value, deadline);
}
