/* The calling thread. */
#ifndef PXT_SELF_H
#define PXT_SELF_H

#include <stdint.h>

struct pxt_thread {
	uint64_t epoch; /* who is valid while this is that of the process */
	uint64_t who;	/* process and thread */
};

extern __thread struct pxt_thread pxt_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif
