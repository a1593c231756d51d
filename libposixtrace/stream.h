/*
 * A stream in shared memory, and the writers of this process. Like the Go package internal/stream,
 * whose files these functions share, this knows no files, directories or traced processes.
 *
 * Everything in the shared memory is untrusted. What is checked once is copied to struct pxt_mem and
 * never read again.
 */
#ifndef PXT_STREAM_H
#define PXT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel.h"
#include "layout.h"

/* A mapped stream. */
struct pxt_mem {
	struct pxt_header *h;
	struct pxt_desc *desc;
	unsigned char *data; /* of chunk 0 */
	_Atomic uint64_t *ages;
	_Atomic uint64_t *free_map;
	size_t size; /* of the file */
	uint64_t id;
	uint64_t pidns; /* pid namespace of all pids in the stream */
	uint32_t chunk_size;
	uint32_t chunks;
	uint32_t permits;
	uint32_t open_chunks;
	uint32_t max_data;
	uint32_t clock;
	uint8_t policy;
	bool inherit;
};

/* A part of the address space of this process. */
struct pxt_mapping {
	uint64_t start;
	_Atomic uint64_t end; /* as start once the mapping is gone */
	const unsigned char *data; /* of an event proc.map */
	uint32_t n;
};

/* What this process has mapped, in any order. Mappings are only added. */
struct pxt_maps {
	_Atomic uint32_t n;
	struct pxt_mapping list[PXT_MaxMaps];
};

/* A trace point, event type and thread that has a number in a chunk. */
struct pxt_site {
	uint64_t addr;
	uint64_t who;
	uint64_t what; /* type and epoch */
	uint32_t num;
	uint32_t unused;
};

/*
 * A chunk that a writer owns. A thread holds lock, with signals blocked, to exchange the chunk; base,
 * last, sites and cache belong to the thread that has set the chunk's busy bit.
 */
struct pxt_shard {
	/* The number of the chunk, and the control word to expect of it without offset and count. */
	_Atomic uint64_t tag;
	uint64_t base; /* of the deltas */
	uint64_t last; /* tick of the last event */
	unsigned char *data;
	_Atomic uint32_t epoch; /* counts the chunks; entries of the cache with another epoch are void */
	uint32_t sites; /* defined in this chunk */

	/* Which record has made the chunk busy (abandoned.c). */
	_Atomic uint64_t held;
	volatile uint32_t *_Atomic frame;

	_Atomic uint32_t lock;
	_Atomic uint32_t permit;	 /* in the header's table, plus one */
	uint64_t id;	 /* the upper half of a permit that the shard has; never changes */
	_Atomic uint64_t waited; /* events since it last looked for a permit; 0: it has one */
	_Atomic uint64_t entry;	 /* in the table of open chunks: where the last event found room */
	uint64_t stuck;		 /* a control word seen busy; protected by lock, like the rest */
	uint32_t looks;		 /* how often */

	/* Notes on mappings (maps.c); they belong to the thread that has set the chunk's busy bit. */
	uint64_t from;	/* an address whose mapping needs no note, */
	uint64_t span;	/* as the next ones, so many */
	uint64_t noted; /* the mappings of which this chunk has a note */

	uint64_t seen[PXT_maxPermits];
	struct pxt_site cache[PXT_siteCache];
} __attribute__((aligned(128)));

/*
 * A writer of a stream, in memory that the caller provides. Each processor has a shard, so that
 * threads that run at the same time do not contend. All functions but pxt_writer_close may run in
 * several threads, and in signal handlers that interrupt any of them.
 *
 * The memory may be copied by fork, but must not be wiped there: a record that a handler interrupts
 * may end in the child. It is harmless once the child has other memory in place of the stream.
 */
struct pxt_writer {
	struct pxt_front *front;
	struct pxt_desc *desc;
	struct pxt_shard *shards;
	size_t quick; /* more data than this, less one, is left to the slow path; 0: any */
	uint32_t mask;
	uint32_t chunk_size;
	bool ticks;	 /* the stream's clock is the processor's counter */
	bool opens_only; /* it uses open chunks only, as suits one that is soon closed */
	uint32_t pid;
	uint64_t slot;
	struct pxt_mem m;
	/*
	 * If set, called with signals blocked when more writers are stopped in the middle of an event
	 * than the stream has room for. Some may be dead: it may call pxt_recover.
	 */
	void (*crowded)(struct pxt_writer *);
	void *context; /* for the callback */

	const struct pxt_maps *maps; /* NULL: no notes on mappings */
	bool maps_once;		     /* a note for the whole stream will do */
	_Atomic uint64_t noted;	     /* the mappings of which the stream has a note */
	_Atomic uint64_t noted_at;   /* how often the stream was cleared before */
	_Atomic uint64_t open_noted[PXT_maxOpenChunks]; /* by entry of the table of open chunks */
};

/* Checks that size bytes at file hold stream id. 0, EINVAL (no sound stream) or EPROTO (another version). */
int pxt_mem_attach(struct pxt_mem *m, void *file, size_t size, uint64_t id);
bool pxt_mem_dead(const struct pxt_mem *m);

/* Counts a process that is traced and could not become a writer, for the reason err. */
void pxt_mem_missed(struct pxt_mem *m, uint32_t err);
/* The same for the first size bytes of a file of any version; false if it is not stream id. */
bool pxt_count_missed(void *start, size_t size, uint64_t id, uint32_t err);

/*
 * Takes a slot in the table of writers for process me; 0 if none is free. hold(ctx, slot, true) is
 * called before a slot is taken, and hold(ctx, slot, false) if another process was faster.
 */
uint64_t pxt_slot_take(struct pxt_mem *m, uint64_t me, void (*hold)(void *ctx, uint64_t slot, bool on), void *ctx);
void pxt_slot_free(struct pxt_mem *m, uint64_t slot);
bool pxt_writes(struct pxt_mem *m, uint64_t me); /* whether the process has a slot */
bool pxt_crowded(struct pxt_mem *m);		 /* whether most permits for owned chunks are taken */

/*
 * Releases everything that dead processes hold. dead is asked for each slot in use. The caller holds
 * the stream's lock.
 */
void pxt_recover(struct pxt_mem *m, bool (*dead)(void *ctx, uint64_t slot, uint64_t proc), void *ctx);

size_t pxt_writer_size(unsigned processors);
/* Makes a writer of zeroed memory, aligned to 128 bytes, for the process that has the slot. */
void pxt_writer_init(struct pxt_writer *w, const struct pxt_mem *m, uint64_t slot, uint32_t pid, unsigned processors);
/* Makes the writer, which has recorded nothing yet, put notes on mappings before events. */
void pxt_writer_note_maps(struct pxt_writer *w, const struct pxt_maps *maps);
/*
 * Gives up the writer's chunks and permits. No other function may be running. Returns false if a record that was
 * left in the middle keeps a chunk busy: the slot must stay then, so that a recovery finds the chunk.
 */
bool pxt_writer_close(struct pxt_writer *w);

/* Whether pxt_append would do anything with an event of type id. */
bool pxt_wants(const struct pxt_writer *w, uint32_t id);

/*
 * Appends an event if the stream runs and does not reject its type. hint is the number of the
 * processor, who is pxt_who, *ticks the processor's counter at the event, or 0: then it may be stored
 * there, for other streams. Reports whether the event was recorded; one for which there was no room is
 * counted as lost. append.h has it inlined.
 */
bool pxt_append(struct pxt_writer *w, unsigned hint, uint32_t id, uint64_t who, uint64_t addr, uint64_t *ticks,
		const void *data, size_t n);

static inline uint64_t pxt_who(uint32_t pid, uint32_t tid)
{
	return pid | (uint64_t)tid << 32;
}

/* The processor's counter. */
static inline uint64_t pxt_ticks(void)
{
#ifdef __x86_64__
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return low | (uint64_t)high << 32;
#else
	uint64_t t;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#endif
}

/* Where the C library has the kernel's rseq(2) area of each thread, from the thread pointer; 0: nowhere. */
extern ptrdiff_t pxt_rseq_at __attribute__((visibility("hidden")));
unsigned pxt_processor_slow(void) __attribute__((cold));

/* The processor that runs the caller: a hint, outdated at once. */
static inline unsigned pxt_processor(void)
{
	ptrdiff_t at = pxt_rseq_at;
	int32_t p = -1;
	if (PXT_LIKELY(at != 0)) {
#ifdef __x86_64__
		__asm__ volatile("movl %%fs:4(%1), %0" : "=r"(p) : "r"(at));
#else
		p = *(volatile int32_t *)((char *)__builtin_thread_pointer() + at + 4);
#endif
	}
	return PXT_LIKELY(p >= 0) ? (unsigned)p : pxt_processor_slow();
}

#endif
