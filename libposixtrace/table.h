/* The streams that trace this process: package tracee of the Go source. */
#ifndef PXT_TABLE_H
#define PXT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "scratch.h"

/* Makes the table agree with the process page; false if there is no page. Async-signal-safe. */
bool pxt_sync(void);

/* Whether a user id is registered that the process has not opened by its name. Async-signal-safe. */
bool pxt_knows(uint32_t id);
void pxt_learn(uint32_t id);

/* The page of this process, which is made if there is none. name: for the sake of a name. */
int pxt_proc_open(struct pxt_scratch *r, bool name);
const char *pxt_own_dir(void); /* the path of its directory */

/* The same for a caller in a slow path. */
void pxt_table_renew(struct pxt_scratch *r);

/*
 * Gives back what the process has in its streams. The caller is in a slow path, in the only thread, outside of
 * trace points. A later trace point connects anew.
 */
void pxt_table_close(void);

void pxt_page_forked(void);

/* miss.c */
struct pxt_conn;
bool pxt_transient(int err);
void pxt_miss_stream(struct pxt_scratch *r, uint64_t id, int err);		  /* its file is opened for that */
void pxt_miss_mem(struct pxt_conn *c, int err);
void pxt_miss_by_name(struct pxt_scratch *r, int err);			  /* the stream of $PTRACE_STREAM */
void pxt_miss_connected(struct pxt_conn *c);
void pxt_miss_forget(void);
uint64_t pxt_miss_next(void); /* the time of the next retry */

/* byname.c: attaches the process to the stream that $PTRACE_STREAM names, if children inherit that. */
int pxt_inherit_by_name(struct pxt_scratch *r, uint8_t *page);

#endif
