/* Processes, and what the kernel says of this one. */
#ifndef PXT_PROC_H
#define PXT_PROC_H

#include <stdbool.h>
#include <stdint.h>

/* A process until the next boot: the kernel reuses a pid, but not with its start time. */
struct pxt_proc {
	uint32_t pid;
	uint64_t start; /* ticks since boot */
};

#define PXT_PID_BITS 22 /* the kernel's PID_MAX_LIMIT is 1 << 22 */
#define PXT_PID_MASK ((1u << PXT_PID_BITS) - 1)

static inline uint64_t pxt_pack(struct pxt_proc p)
{
	return p.start << PXT_PID_BITS | (p.pid & PXT_PID_MASK);
}

static inline struct pxt_proc pxt_unpack(uint64_t w)
{
	struct pxt_proc p = {(uint32_t)(w & PXT_PID_MASK), w >> PXT_PID_BITS};
	return p;
}

static inline bool pxt_same(struct pxt_proc a, struct pxt_proc b)
{
	return a.pid == b.pid && a.start == b.start;
}

/* What is needed of /proc/PID/stat. */
struct pxt_stat {
	struct pxt_proc proc;
	uint32_t ppid;
	uint32_t group; /* 0 if it is outside of our pid namespace, as session */
	uint32_t session;
	uint32_t threads;
	uint64_t memory; /* the size of its address space; 0: unknown, or it has none any more */
	bool forked; /* it has not called exec since it was forked */
	bool dead;
};

/*
 * 0 or a negative error number: ESRCH there is no such process; EPERM there is one that /proc does
 * not show.
 */
int pxt_stat(uint32_t pid, struct pxt_stat *s);
/* The same of another process, where pxt_own_proc is true. */
int pxt_stat_shown(uint32_t pid, struct pxt_stat *s);
/* Whether /proc shows our pid namespace. In that of another one a pid is another process. */
bool pxt_own_proc(void);
bool pxt_parse_stat(const char *text, struct pxt_stat *s);

/* The calling process, and what /proc says of it. Without /proc its start is 0, as is the pid of s. */
struct pxt_proc pxt_self(struct pxt_stat *s);

/* Whether p still runs: true where that cannot be known. */
bool pxt_alive(struct pxt_proc p);

/* Whether /proc shows all processes of our pid namespace. */
bool pxt_shows_all(void);

/* Calls f for every process that /proc shows, zombies included. buf is aligned room for PXT_DENTS bytes. */
#define PXT_DENTS 8192
int pxt_each_process(void *buf, void (*f)(void *ctx, const struct pxt_stat *), void *ctx);

uint64_t pxt_pid_namespace(void); /* 0 if it is unknown */

/*
 * Whether a pid namespace has certainly no process any more. Only a process in the initial namespace
 * can know.
 */
bool pxt_namespace_gone(uint64_t ns, void *buf);

void pxt_boot_id(uint8_t id[16]); /* zeros if it is unknown */

/* Whether the program has rights that the process that executed it may lack. */
bool pxt_secure(void);

/*
 * A number of this program, never 0, that an exec changes. All runtimes of a program, in C and in Go,
 * get the same one.
 */
uint32_t pxt_program_id(void);

unsigned pxt_processors(void); /* that this process may use */

/* Calls f for the name of each entry of a directory, as long as f returns true. */
int pxt_each_name(int dir, void *buf, bool (*f)(void *ctx, const char *name), void *ctx);

/* A decimal number that is the whole of text, up to max. */
bool pxt_parse_dec(const char *text, uint64_t max, uint64_t *n);

#endif
