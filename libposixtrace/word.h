/* The words of a stream: how they are packed, loaded and stored. All orders are those of the Go source. */
#ifndef PXT_WORD_H
#define PXT_WORD_H

#include <stdatomic.h>

#include "stream.h"

/* Anything of this type in a chunk may be accessed as words. */
typedef uint64_t __attribute__((may_alias)) pxt_chunk_word;

/* Bounds of loops that start over when another process was faster: a hostile one may always be. */
#define PXT_TRIES 10000
/* How long a writer waits for others, in nanoseconds. */
#define PXT_PATIENCE 5000000

static inline uint64_t pxt_load(const _Atomic uint64_t *p)
{
	return atomic_load(p);
}

static inline void pxt_store(_Atomic uint64_t *p, uint64_t v)
{
	atomic_store(p, v);
}

static inline bool pxt_cas(_Atomic uint64_t *p, uint64_t old, uint64_t new)
{
	return atomic_compare_exchange_strong(p, &old, new);
}

/* Stores v after everything before it. */
static inline void pxt_store_release(_Atomic uint64_t *p, uint64_t v)
{
	atomic_store_explicit(p, v, memory_order_release);
}

static inline uint64_t pxt_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t pxt_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The control word of a chunk. */

static inline uint32_t pxt_off(uint64_t c)
{
	return (uint32_t)(c & PXT_offMask) * 8;
}

/* Of a read word, too. */
static inline uint32_t pxt_count(uint64_t c)
{
	return (uint32_t)(c & PXT_countMask) >> PXT_countShift;
}

static inline bool pxt_busy(uint64_t c)
{
	return (c & PXT_busyBit) != 0;
}

static inline uint32_t pxt_state(uint64_t c)
{
	return (uint32_t)((c & PXT_stateMask) >> PXT_stateShift);
}

static inline uint64_t pxt_slot(uint64_t c)
{
	return (c & PXT_slotMask) >> PXT_slotShift;
}

/* Of a read word, too. */
static inline uint64_t pxt_gen(uint64_t c)
{
	return c >> PXT_genShift;
}

static inline uint64_t pxt_ctl(uint64_t gen, uint64_t slot, uint32_t state)
{
	return (gen & PXT_genMask) << PXT_genShift | slot << PXT_slotShift | (uint64_t)state << PXT_stateShift;
}

/* c with another slot and state, not busy. */
static inline uint64_t pxt_with(uint64_t c, uint64_t slot, uint32_t state)
{
	c &= ~(PXT_slotMask | PXT_stateMask | (uint64_t)PXT_busyBit);
	return c | slot << PXT_slotShift | (uint64_t)state << PXT_stateShift;
}

/* The control word behind an event that ends at offset off. */
static inline uint64_t pxt_behind_event(uint64_t c, uint32_t off)
{
	return (c & ~(uint64_t)PXT_offMask) + (UINT64_C(1) << PXT_countShift) + off / 8;
}

/* The next generation with the same events. */
static inline uint64_t pxt_renewed(uint64_t c)
{
	return (c & (((uint64_t)1 << PXT_genShift) - 1)) | pxt_ctl(pxt_gen(c) + 1, 0, 0);
}

/* Whether a chunk in this state holds events and no writer appends to it. */
static inline bool pxt_closed(uint32_t state)
{
	return state == PXT_full || state == PXT_partial;
}

/* The read word of a chunk. */

static inline uint64_t pxt_read_word(uint64_t gen)
{
	return (gen & PXT_genMask) << PXT_genShift;
}

static inline uint64_t pxt_read_at(uint64_t r, uint32_t count, uint32_t off)
{
	return (r & ~(uint64_t)(PXT_offMask | PXT_countMask)) | (uint64_t)count << PXT_countShift | off / 8;
}

/* A record of a chunk. */

static inline uint32_t pxt_align(uint32_t n)
{
	return (n + 7) & ~UINT32_C(7);
}

static inline uint64_t pxt_record(uint32_t delta, uint32_t n, uint32_t site)
{
	return delta | (uint64_t)(uint16_t)n << 32 | (uint64_t)(uint16_t)site << 48;
}

static inline void pxt_put64(unsigned char *p, uint64_t v)
{
	*(pxt_chunk_word *)p = v;
}

/* Loads a word that a writer may be overwriting. */
static inline uint64_t pxt_get64(const unsigned char *p)
{
	return __atomic_load_n((const pxt_chunk_word *)p, __ATOMIC_RELAXED);
}

static inline bool pxt_valid(uint32_t id)
{
	return id - 1 < PXT_EV_Max - 1;
}

/* Whether the filter in force under state st has type id, which is valid. */
static inline bool pxt_filtered(const struct pxt_front *f, uint64_t st, uint32_t id)
{
	return pxt_load(&f->filter[st / PXT_filterB & 1][id >> 6 & (PXT_EV_SetWords - 1)]) >> (id & 63) & 1;
}

/* An event to record. */
struct pxt_event {
	uint32_t id;
	uint32_t pid;
	uint32_t tid;
	bool cut; /* the data was longer */
	uint64_t addr;
	const void *data;
	uint32_t n;
};

/* mem.c */
bool pxt_rejects(struct pxt_mem *m, uint32_t id);
void pxt_fix_filter_change(struct pxt_mem *m);
static inline struct pxt_desc *pxt_desc_of(const struct pxt_mem *m, uint32_t i)
{
	return m->desc + i;
}
static inline unsigned char *pxt_chunk_of(const struct pxt_mem *m, uint32_t i)
{
	return m->data + (size_t)i * m->chunk_size;
}
void pxt_set_free(struct pxt_mem *m, uint32_t i);

/* horizon.c */
void pxt_raise_horizon(struct pxt_mem *m, uint64_t tick);
void pxt_lower_horizon(struct pxt_mem *m, uint64_t seen, uint64_t tick);
uint64_t pxt_ordered_ticks(void);

/* tickoffset.c */
uint64_t pxt_now(struct pxt_mem *m);
uint64_t pxt_after_horizon(struct pxt_mem *m);
bool pxt_is_future(struct pxt_mem *m, uint64_t tick);

/* loss.c */
struct pxt_account *pxt_account(struct pxt_mem *m, uint64_t st);
void pxt_add_lost(struct pxt_mem *m, uint64_t tick);
void pxt_lose(struct pxt_mem *m);
bool pxt_out_of_space(struct pxt_mem *m, uint32_t id, uint64_t st);

/* walk.c */
struct pxt_walker {
	const unsigned char *at;
	const unsigned char *end;
	uint64_t base;
	uint32_t sites;
};
bool pxt_walk(struct pxt_walker *w, uint64_t *tick);
struct pxt_walker pxt_walker(struct pxt_mem *m, uint32_t i, uint64_t c);
void pxt_span(struct pxt_mem *m, uint32_t i, uint64_t c, uint32_t skip, uint64_t known, uint64_t *first, uint64_t *last);
void pxt_find_end(struct pxt_mem *m, uint32_t i, uint64_t c, uint64_t *last, uint32_t *sites);

/* claim.c */
bool pxt_claim(struct pxt_mem *m, uint64_t slot, uint32_t state, uint32_t need, uint32_t *chunk, uint64_t *adopted);
void pxt_empty(struct pxt_mem *m, uint32_t i, uint64_t c);
uint64_t pxt_begin(struct pxt_mem *m, uint32_t i, uint64_t slot, uint32_t state, uint64_t base);
void pxt_release(struct pxt_mem *m, uint32_t i);

/* park.c */
/* Notes that d->last and sites are those of the events in the word c (in Go: desc.ends). */
static inline void pxt_note_end(struct pxt_desc *d, uint64_t c, uint32_t sites)
{
	pxt_store(&d->sites, pxt_read_at(pxt_read_word(pxt_gen(c)), sites, pxt_off(c)));
}
/* Whether they are known to be. */
static inline bool pxt_end_noted(struct pxt_desc *d, uint64_t c)
{
	uint64_t s = pxt_load(&d->sites);
	return s == pxt_read_at(pxt_read_word(pxt_gen(c)), pxt_count(s), pxt_off(c));
}
void pxt_set_age(struct pxt_mem *m, uint32_t i);
void pxt_set_partial_hint(struct pxt_mem *m);
bool pxt_retire(struct pxt_mem *m, uint32_t i, uint64_t c);
bool pxt_close_aged(struct pxt_mem *m, uint32_t i, uint64_t c, uint32_t state);
bool pxt_park(struct pxt_mem *m, uint32_t i, uint64_t c);
bool pxt_park_aged(struct pxt_mem *m, uint32_t i, uint64_t c);

/* displaced.c */
static inline bool pxt_is_ref(const struct pxt_mem *m, uint64_t ref)
{
	return ref != 0 && ref <= m->chunks;
}
static inline uint64_t pxt_permit_slot(uint64_t permit)
{
	return permit >> 32 & (PXT_MaxSlots - 1);
}
uint64_t pxt_replaces(const struct pxt_mem *m, uint64_t v);
bool pxt_registered(struct pxt_mem *m, uint32_t i);
bool pxt_displace(struct pxt_mem *m, uint32_t i);
bool pxt_vacant(struct pxt_mem *m, uint32_t permit);
bool pxt_close_found(struct pxt_mem *m, uint32_t i, uint64_t c, bool permitted);
void pxt_left_displaced(struct pxt_mem *m, uint32_t i);
void pxt_close_all_displaced(struct pxt_mem *m);
bool pxt_unreachable(struct pxt_mem *m, uint32_t i, uint64_t c);

/* shard.c */
static inline struct pxt_shard *pxt_shard(const struct pxt_writer *w, unsigned hint)
{
	return w->shards + (hint & w->mask);
}
static inline uint32_t pxt_epoch(struct pxt_shard *s)
{
	return atomic_load_explicit(&s->epoch, memory_order_relaxed);
}
static inline struct pxt_site *pxt_site(struct pxt_shard *s, uint64_t addr, uint64_t who, uint64_t what)
{
	uint64_t h = (addr ^ (who << 20 | who >> 44) ^ what << 40) * PXT_spread;
	return &s->cache[h >> (64 - PXT_siteBits)];
}
void pxt_define(struct pxt_shard *s, struct pxt_site *k, unsigned char *p, uint64_t addr, uint64_t who, uint64_t what);
bool pxt_exchange(struct pxt_writer *w, struct pxt_shard *s, uint32_t need);
bool pxt_park_chunk(struct pxt_writer *w, struct pxt_shard *s);

/* maps.c */
void pxt_forget_maps(struct pxt_writer *w, struct pxt_shard *s);
uint32_t pxt_note_map(struct pxt_writer *w, struct pxt_shard *s, struct pxt_desc *d, unsigned char *p, uint32_t room,
		      uint64_t addr);
uint32_t pxt_note_in_open(struct pxt_writer *w, uint32_t entry, uint32_t i, uint64_t c, unsigned char *p, uint32_t room,
			  uint64_t addr);

/* Whether the mapping of an address may need a note in the shard's chunk. */
static inline bool pxt_needs_note(const struct pxt_shard *s, uint64_t addr)
{
	return addr - s->from >= s->span;
}

/* takeover.c */
void pxt_store_count(_Atomic uint64_t *p, uint64_t n);
bool pxt_still_crowded(struct pxt_shard *s);
bool pxt_take_over(struct pxt_writer *w, struct pxt_shard *s, uint32_t need, uint32_t *chunk, uint64_t *ctl);

/* abandoned.c */
bool pxt_abandoned(struct pxt_shard *s, uint64_t c);

/* openchunk.c */
bool pxt_append_open(struct pxt_writer *w, struct pxt_shard *s, const struct pxt_event *e, bool *done);

#endif
