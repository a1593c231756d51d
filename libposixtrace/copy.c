/* Data of unusual sizes. */
#include <string.h>

#include "copy.h"

/* pxt_copy of any size. */
void pxt_copy_any(unsigned char *to, const void *data, uint32_t n)
{
	if (n & 7)
		pxt_put64(to + (n & ~UINT32_C(7)), 0);
	memcpy(to, data, n);
}

/* Reads from the pages between the first and the last byte. */
void pxt_touch_all(const void *data, size_t n)
{
	const volatile unsigned char *p = data;
	for (size_t i = PXT_pageSize; i < n; i += PXT_pageSize)
		(void)p[i];
}
