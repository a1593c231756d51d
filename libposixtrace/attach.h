/* This process as a writer of streams: package conn of the Go source. */
#ifndef PXT_ATTACH_H
#define PXT_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "scratch.h"
#include "stream.h"

/* Errors besides error numbers, negative as those. */
enum {
	PXT_E_FORMAT = 5001, /* not a trace stream */
	PXT_E_FOREIGN,	     /* one of another kind of program */
	PXT_E_ELSEWHERE,     /* one of another pid namespace */
};

/* A mapped stream file. */
struct pxt_conn {
	struct pxt_mem m;
	void *base;
	size_t size;
	int fd;
};

int pxt_connect(struct pxt_scratch *r, uint64_t id, struct pxt_conn *c);
int pxt_connect_fd(struct pxt_scratch *r, int fd, uint64_t id, struct pxt_conn *c); /* closes fd if it fails */
void pxt_disconnect(struct pxt_conn *c);

int pxt_stream_family(struct pxt_scratch *r, uint64_t id, uint64_t *family);

/* A stream that this process writes to. */
struct pxt_attachment {
	struct pxt_attachment *next;  /* of this process: pxt_self.attached, or those that are to be freed */
	struct pxt_attachment *older; /* of this memory, whichever process has made it */
	uint64_t id;
	void *base;
	enum { PXT_FILE, PXT_PRIVATE, PXT_NOTHING } mapped; /* at base */
	size_t size;
	size_t whole; /* of this structure and the writer */
	unsigned age; /* in forks */
	_Atomic uint64_t recovered; /* when it was crowded */
	struct pxt_writer *w;
};

/* Releases what dead processes hold in the stream, unless another process has its lock. */
void pxt_attachment_recover(struct pxt_conn *c);

/* Makes the process a writer of the stream; takes over c if it succeeds. */
int pxt_attach(struct pxt_scratch *r, struct pxt_conn *c, struct pxt_attachment **a);

/* Gives back what the writer has in the stream. The process has no other thread. */
void pxt_attachment_close(struct pxt_attachment *a);

/* Puts private memory in place of a stream that is over: trace points under way store there. */
void pxt_attachment_release(struct pxt_attachment *a);

/* Frees an attachment to which nothing leads any more, as soon as no trace point uses it. */
void pxt_attachment_retire(struct pxt_attachment *a);
void pxt_attachments_reclaim(void); /* does so for all whose time has come */

/* In a child of fork: the thread that called fork may be in the middle of a trace point. */
void pxt_attachments_forked(void);

#endif
