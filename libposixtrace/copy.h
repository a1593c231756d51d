/* Copying the data of events into chunks. */
#ifndef PXT_COPY_H
#define PXT_COPY_H

#include "word.h"

/* copy.c */
void pxt_copy_any(unsigned char *to, const void *data, uint32_t n);
void pxt_touch_all(const void *data, size_t n);

/* Reads the ends of the data before a chunk is busy: a program may survive the fault. */
static inline void pxt_touch(const void *data, size_t n)
{
	const volatile unsigned char *p = data;
	(void)p[0];
	(void)p[n - 1];
}

/* Copies data to p, which has room up to the next multiple of eight; zeroes the pad. */
static inline void pxt_copy(unsigned char *to, const void *data, uint32_t n)
{
	const unsigned char *from = data;
	if (PXT_UNLIKELY(n > 64 || n & 7)) {
		pxt_copy_any(to, data, n);
		return;
	}
	for (uint32_t i = 0; i < n; i += 8) {
		uint64_t v;
		__builtin_memcpy(&v, from + i, 8);
		pxt_put64(to + i, v);
	}
}

#endif
