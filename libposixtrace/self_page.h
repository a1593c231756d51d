/*
 * What this process knows of itself as a traced process. The kernel wipes the page in a child of
 * fork, however that came to be: the child begins anew, with a page of its own.
 */
#ifndef PXT_SELF_PAGE_H
#define PXT_SELF_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel.h"
#include "layout.h"
#include "proc.h"

struct pxt_writer;
struct pxt_attachment;
struct pxt_more_names;

#ifdef __aarch64__
#define PXT_SELF_PAGE_SIZE 65536 /* the largest page */
#else
#define PXT_SELF_PAGE_SIZE 4096
#endif

/* A stream to which the process has failed to connect. */
struct pxt_miss {
	uint64_t stream; /* 0: free */
	uint32_t why;	 /* an error number that is to be reported, 0 for none */
	bool reported;
};

/*
 * The names of its family that the process knows: the sound records at the beginning of the file, as
 * they stand there (names.c).
 */
struct pxt_names {
	uint64_t family;
	uint32_t next[2]; /* by class: the id of the next name */
	uint32_t end;	  /* bytes of records */
	struct pxt_more_names *more; /* where the records are; NULL: in few */
	uint8_t few[1024];
};

struct pxt_self {
	/*
	 * The word of the process page, which is 0 while no stream traces the process. NULL until the
	 * first trace point has found the page. index says the same to the inlined trace point of trace.h.
	 */
	_Atomic(_Atomic uint32_t *) word;
	_Atomic long index;
	_Atomic uint32_t agrees; /* the value of the word to which the table belongs; 0: none */
	_Atomic uint32_t n;	 /* elements of writers in use */
	_Atomic uint32_t known;	 /* user ids known to be registered, the unnamed one included */
	_Atomic uint64_t epoch;	 /* distinguishes this process from its parent; 0: not set */
	uint32_t pid;		 /* set with epoch, and in the first process when the library is loaded */
	_Atomic(struct pxt_writer *) writers[PXT_PG_MaxStreams];

	/* For slow paths, under lock. */
	_Atomic uint32_t lock;		   /* see scratch.c */
	_Atomic uint32_t seen;		   /* the word at the last failure */
	_Atomic uint64_t again;		   /* the time of the retry after it, 0 for none */
	_Atomic uint32_t none;		   /* there is no page */
	_Atomic uint32_t unknown;	   /* lookups of unregistered ids */
	_Atomic uint64_t unknown_at;
	uint8_t *page;			   /* the mapped page of the process */
	struct pxt_proc self;
	bool has_child; /* it has called fork */
	bool by_name; /* $PTRACE_STREAM has to be retried */
	bool foreign; /* a stream has another version, and counts this process only once */
	uint64_t pause;
	struct pxt_attachment *attached; /* all, also those that are not in the table now */
	struct pxt_names names;
	struct pxt_miss misses[PXT_PG_MaxStreams];
};

_Static_assert(sizeof(struct pxt_self) <= 4096, "fits into a page");

union pxt_self_page {
	struct pxt_self self;
	char bytes[PXT_SELF_PAGE_SIZE];
};

extern union pxt_self_page pxt_self_page __attribute__((visibility("hidden")));
#define PXT_SELF (&pxt_self_page.self)

/* Once in a process, before anything else; again does no harm. */
void pxt_setup(void);

/* Whether this process has the memory to itself, or is a vfork child in that of its parent. */
bool pxt_own_memory(void);

/* Sets the word that the trace point looks at, also the inlined one. */
void pxt_set_word(_Atomic uint32_t *word);

#endif
