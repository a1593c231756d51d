#ifndef PXT_CLOCK_H
#define PXT_CLOCK_H

#include <stdint.h>

/*
 * Reads the offsets of this process's time namespace. The clocks do so themselves at the first use;
 * a process that attaches does it before, so that its trace points make no system call.
 */
void pxt_clock_init(void);

uint64_t pxt_now_ticks(void);  /* the present on the clock of start times in /proc, less the offset */
uint64_t pxt_boot_ticks(void); /* the offset that start times in /proc include */

#endif
