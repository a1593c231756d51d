/* A mapped stream: what is checked once, its filter. */
#include <errno.h>
#include <string.h>

#include "word.h"

static size_t align128(size_t n)
{
	return (n + 127) & ~(size_t)127;
}

static size_t free_offset(size_t chunks)
{
	return PXT_headerSize + align128(8 * chunks);
}

static size_t desc_offset(size_t chunks)
{
	return free_offset(chunks) + align128(8 * ((chunks + 63) / 64));
}

static size_t data_offset(size_t chunks)
{
	return align128(desc_offset(chunks) + PXT_descSize * chunks);
}

static size_t larger_data(uint32_t max_data)
{
	return max_data > PXT_MaxSystemData ? max_data : PXT_MaxSystemData;
}

/* The room behind the chunks, for a record that is reported later. */
static size_t pending_size(uint32_t max_data)
{
	return align128(PXT_CK_FullSize + pxt_align((uint32_t)larger_data(max_data)));
}

/* Loads a member once: the file may change after the checks. */
#define ONCE(member) (*(const volatile __typeof__(member) *)&(member))

static bool sound(const struct pxt_mem *m, uint64_t size, size_t mapped)
{
	if (size != mapped || m->chunk_size < 4096 || m->chunk_size > PXT_CK_MaxSize ||
	    (m->chunk_size & (m->chunk_size - 1)) || m->chunks < 2 || m->chunks > PXT_maxFile / 4096)
		return false;
	if (m->permits < 1 || m->permits > PXT_maxPermits || m->open_chunks < 1 || m->open_chunks > PXT_maxOpenChunks ||
	    m->max_data > PXT_CK_MaxData || m->clock > PXT_ClockTicks)
		return false;
	size_t largest = PXT_CK_Overhead + ((larger_data(m->max_data) + 7) & ~(size_t)7);
	return 2 * largest <= m->chunk_size &&
	       data_offset(m->chunks) + (size_t)m->chunks * m->chunk_size + pending_size(m->max_data) == size;
}

/* No function here reads these texts; a file that other programs refuse is refused all the same. */
static bool sound_texts(const struct pxt_fixed *f)
{
#define SHORT(suffix, member) &&ONCE(f->attributes.member.length) < sizeof f->attributes.member.bytes
	return ONCE(f->logPathLen) <= sizeof f->logPath && ONCE(f->cmdLen) <= sizeof f->cmd PXT_ATTR_TEXTS(SHORT);
#undef SHORT
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int pxt_mem_attach(struct pxt_mem *m, void *file, size_t size, uint64_t id)
{
	static const uint8_t magic[8] = {'P', 'T', 'S', 'T', 'R', 'E', 'A', 'M'};
	struct pxt_header *h = file;
	struct pxt_stable start;
	if (size < PXT_headerSize)
		return EINVAL;
	memcpy(&start, &h->stable, sizeof start);
	if (memcmp(start.magic, magic, sizeof magic) != 0)
		return EINVAL;
	if (start.version != PXT_version || start.headerSize != PXT_headerSize)
		return EPROTO;
	if (start.id != id || !sound_texts(&h->fixed))
		return EINVAL;
	memset(m, 0, sizeof *m);
	m->h = h;
	m->size = size;
	m->id = id;
	m->pidns = ONCE(h->fixed.pidns);
	m->chunk_size = ONCE(h->fixed.chunkSize);
	m->chunks = ONCE(h->fixed.chunks);
	m->permits = ONCE(h->fixed.permits);
	m->open_chunks = ONCE(h->fixed.openChunks);
	m->max_data = (uint32_t)least(ONCE(h->fixed.attributes.maxDataSize), UINT32_MAX);
	m->clock = ONCE(h->fixed.clock);
	m->policy = (uint8_t)least(ONCE(h->fixed.attributes.streamFullPolicy), UINT8_MAX);
	m->inherit = ONCE(h->fixed.attributes.inheritance) != 0;
	if (!sound(m, start.size, size))
		return EINVAL;
	unsigned char *b = file;
	m->ages = (_Atomic uint64_t *)(b + PXT_headerSize);
	m->free_map = (_Atomic uint64_t *)(b + free_offset(m->chunks));
	m->desc = (struct pxt_desc *)(b + desc_offset(m->chunks));
	m->data = b + data_offset(m->chunks);
	return 0;
}

bool pxt_mem_dead(const struct pxt_mem *m)
{
	return pxt_load(&m->h->front.state) & PXT_Dead;
}

bool pxt_rejects(struct pxt_mem *m, uint32_t id)
{
	return pxt_valid(id) && pxt_filtered(&m->h->front, pxt_load(&m->h->front.state), id);
}

void pxt_set_free(struct pxt_mem *m, uint32_t i)
{
	atomic_fetch_or(&m->free_map[i >> 6], UINT64_C(1) << (i & 63));
}

/*
 * Ends the moment between two filters. The controller that changes the filter records nothing
 * meanwhile, and no writer waits for it: each can fix the tick of the change.
 */
void pxt_fix_filter_change(struct pxt_mem *m)
{
	struct pxt_header *h = m->h;
	for (int try = 0; try < PXT_TRIES; try++) {
		uint64_t st = pxt_load(&h->front.state);
		if (!(st & PXT_filterChange))
			return;
		/* The number belongs to this change if the state is still the same behind it. */
		uint64_t t = pxt_load(&h->filterChangedAt);
		if (t & PXT_unfixed && pxt_load(&h->front.state) == st) {
			/*
			 * The processor may read its counter long before it performs the exchange that made
			 * the state.
			 */
			pxt_ordered_ticks();
			uint64_t now = pxt_now(m) & ~PXT_unfixed;
			pxt_raise_horizon(m, now); /* events judged by the new set are later */
			pxt_cas(&h->filterChangedAt, t, now);
		}
		pxt_cas(&h->front.state, st, (st & ~(uint64_t)PXT_filterChange) + PXT_stateGen);
	}
}

/* Processes that could not become writers. */

static void add_missed(struct pxt_header *h, uint32_t err)
{
	atomic_store(&h->missedErr, err);
	uint32_t n = atomic_load(&h->missed);
	if (n < UINT32_MAX)
		atomic_compare_exchange_strong(&h->missed, &n, n + 1);
}

void pxt_mem_missed(struct pxt_mem *m, uint32_t err)
{
	add_missed(m->h, err);
}

bool pxt_count_missed(void *start, size_t size, uint64_t id, uint32_t err)
{
	struct pxt_stable s;
	if (size < PXT_StartSize)
		return false;
	memcpy(&s, start, sizeof s);
	if (memcmp(s.magic, "PTSTREAM", 8) != 0 || s.id != id)
		return false;
	add_missed(start, err);
	return true;
}
