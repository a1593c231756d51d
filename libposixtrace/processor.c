/* The number of the processor that runs a thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

#include "stream.h"

/* Of glibc from 2.35 on. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

ptrdiff_t pxt_rseq_at;

/* Looks for the kernel's area. Runs before trace points do, which call this themselves if they must. */
static void find_rseq(void)
{
	if (&__rseq_size != NULL && &__rseq_offset != NULL && __rseq_size != 0)
		__atomic_store_n(&pxt_rseq_at, __rseq_offset, __ATOMIC_RELAXED);
}

unsigned pxt_processor_slow(void)
{
	if (pxt_rseq_at == 0)
		find_rseq();
#ifdef __x86_64__
	int no = errno, p = sched_getcpu(); /* reads a register */
	errno = no;
	return p < 0 ? 0 : (unsigned)p;
#else
	/* A system call costs more than threads that contend: spread them. */
	uintptr_t thread = (uintptr_t)__builtin_thread_pointer();
	return (unsigned)((thread >> 6) * PXT_spread >> 40);
#endif
}
