/* The calling thread. */
#ifndef PXT_SELF_H
#define PXT_SELF_H

#include <stdint.h>
#include <stdlib.h> /* __GLIBC__ */

struct pxt_section;

struct pxt_thread {
	uint64_t epoch; /* who is valid while epoch equals the process's epoch */
	uint64_t who;	/* process and thread */
	struct pxt_section *section;
};

/*
 * glibc allocates the other models' memory at the first use, which a handler must not do. musl does
 * not, and does not load a library with this one late.
 */
#ifdef __GLIBC__
#define PXT_TLS __attribute__((tls_model("initial-exec"), visibility("hidden")))
#else
#define PXT_TLS __attribute__((tls_model("global-dynamic"), visibility("hidden")))
#endif

extern __thread struct pxt_thread pxt_thread PXT_TLS;

#endif
