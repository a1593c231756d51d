#define _GNU_SOURCE
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "dir.h"
#include "kernel.h"
#include "page.h"
#include "self_page.h"

#define MIN_RECORD ((PXT_PG_recHeader + 7) & ~7u)
#define MAX_RECORD ((PXT_PG_recHeader + PXT_EV_NameMax + 7) & ~7u)
#define MAX_NAMES (PXT_EV_Max - PXT_EV_FirstUser)
#define BUCKETS 8192
#define FEW 32 /* names that are found without buckets, whose memory most programs never touch */

/* The memory for more names than struct pxt_self has room for. */
struct pxt_more_names {
	uint8_t records[MAX_NAMES * MAX_RECORD];
	_Alignas(4) uint32_t buckets[BUCKETS]; /* offsets of records, plus one; used if there are more than FEW */
};

_Static_assert(MAX_RECORD <= sizeof ((struct pxt_scratch *)0)->record, "a record fits");

/* A record, taken apart. */
struct record {
	uint32_t id;
	unsigned len, class;
	const char *name;
	uint32_t size;
};

static struct pxt_more_names *region; /* once mapped it stays, for children too */

static uint8_t *records(struct pxt_names *t)
{
	return t->more ? t->more->records : t->few;
}

static uint32_t count(const struct pxt_names *t)
{
	return t->end ? t->next[0] - PXT_EV_FirstUser + t->next[1] - PXT_EV_FirstDynamic : 0;
}

/* Makes room for n bytes of records. */
static int grow(struct pxt_names *t, size_t n)
{
	void *mem = NULL;
	int err;
	if (t->more || (t->end + n <= sizeof t->few && count(t) + n / MIN_RECORD <= FEW))
		return 0;
	if (!region) {
		err = pxt_map(&mem, sizeof *region, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
		if (err < 0)
			return err;
		region = mem;
	}
	memcpy(region->records, t->few, t->end);
	t->more = region;
	return 0;
}

/*
 * What this process knew when it last called fork, or in a child what its parent knew. The kernel
 * wipes what struct pxt_self says, but the child may use the ids that its parent has opened, also when the
 * parent ends before the child's first event, as in a daemon.
 */
static struct pxt_names at_fork;

static void forget(struct pxt_names *t, uint64_t family)
{
	t->family = family;
	t->end = 0;
	t->next[0] = PXT_EV_FirstUser;
	t->next[1] = PXT_EV_FirstDynamic;
}

static uint32_t limit(unsigned class)
{
	return class ? PXT_EV_Max : PXT_EV_FirstDynamic;
}

/* CRC-32C, computed bit by bit: records are short and rare. */
static uint32_t checksum(const uint8_t *b, size_t n)
{
	uint32_t c = ~UINT32_C(0);
	while (n--) {
		c ^= *b++;
		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ (UINT32_C(0x82f63b78) & (0 - (c & 1)));
	}
	return ~c;
}

static uint32_t get32(const uint8_t *b)
{
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void put32(uint8_t *b, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(v >> 8 * i);
}

static struct record take_apart(const uint8_t *b)
{
	struct record k;
	k.id = get32(b + 4);
	k.len = b[8] | (unsigned)b[9] << 8;
	k.class = b[10];
	k.name = (const char *)b + PXT_PG_recHeader;
	k.size = (PXT_PG_recHeader + k.len + 7) & ~7u;
	return k;
}

/* Decodes the record at the start of n bytes; false if there is no sound one. */
static bool parse(const uint8_t *b, size_t n, struct record *k)
{
	if (n < PXT_PG_recHeader)
		return false;
	*k = take_apart(b);
	if (k->len > PXT_EV_NameMax || k->class > 1 || b[11] != 0 || n < k->size ||
	    get32(b) != checksum(b + 4, k->size - 4))
		return false;
	for (uint32_t i = PXT_PG_recHeader + k->len; i < k->size; i++) {
		if (b[i] != 0)
			return false;
	}
	return true;
}

static uint32_t bucket(const char *name, size_t len, unsigned class)
{
	uint32_t h = 2166136261u + class;
	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)name[i]) * 16777619u;
	return (h ^ h >> 15) % BUCKETS;
}

static bool is(const struct record *k, const char *name, size_t len, unsigned class)
{
	return k->class == class && k->len == len && !memcmp(k->name, name, len);
}

/* The bucket of a name, or the free one where it belongs. There are more buckets than names. */
static uint32_t *in_buckets(struct pxt_names *t, const char *name, size_t len, unsigned class)
{
	uint32_t i = bucket(name, len, class);
	for (;; i = (i + 1) % BUCKETS) {
		if (!t->more->buckets[i])
			return &t->more->buckets[i];
		struct record k = take_apart(records(t) + t->more->buckets[i] - 1);
		if (is(&k, name, len, class))
			return &t->more->buckets[i];
	}
}

/* The offset of the record of a name, plus one; 0 if there is none. */
static uint32_t find(struct pxt_names *t, const char *name, size_t len, unsigned class)
{
	if (count(t) > FEW)
		return *in_buckets(t, name, len, class);
	for (uint32_t at = 0; at < t->end;) {
		struct record k = take_apart(records(t) + at);
		if (is(&k, name, len, class))
			return at + 1;
		at += k.size;
	}
	return 0;
}

/* Enters the record at that offset into the buckets, with all before it if they are the first. */
static void enter(struct pxt_names *t, uint32_t at)
{
	uint32_t i = at;
	if (count(t) == FEW + 1) {
		memset(t->more->buckets, 0, sizeof t->more->buckets);
		i = 0;
	}
	while (i <= at) {
		struct record k = take_apart(records(t) + i);
		*in_buckets(t, k.name, k.len, k.class) = i + 1;
		i += k.size;
	}
}

static uint32_t lookup(struct pxt_names *t, const char *name, size_t len)
{
	uint32_t at = find(t, name, len, 0);
	return at ? take_apart(records(t) + at - 1).id : 0;
}

/* Everything redundant is checked, so the file cannot exceed the number space. */
static bool acceptable(struct pxt_names *t, const struct record *k, const uint32_t next[2])
{
	return k->id == next[k->class] && k->id < limit(k->class) && !pxt_predefined(k->name, k->len) &&
	       !find(t, k->name, k->len, k->class);
}

/* There is room for the record. */
static bool add(struct pxt_names *t, const uint8_t *b, const struct record *k)
{
	if (!acceptable(t, k, t->next) || t->end + k->size > (t->more ? sizeof t->more->records : sizeof t->few))
		return false;
	memmove(records(t) + t->end, b, k->size);
	t->end += k->size;
	t->next[k->class]++;
	if (count(t) > FEW)
		enter(t, t->end - k->size);
	return true;
}

/* Adds the records that stand in the file behind those that are known. */
static int refresh(struct pxt_scratch *r, struct pxt_names *t, int fd)
{
	for (;;) {
		struct record k;
		uint32_t before = t->end;
		size_t at = 0;
		int err;
		long n = pxt_pread(fd, r->records, sizeof r->records, t->end);
		if (n < 0)
			return (int)n;
		err = grow(t, (size_t)n);
		if (err < 0)
			return err;
		while (parse(r->records + at, (size_t)n - at, &k) && add(t, r->records + at, &k))
			at += k.size;
		if (t->end == before || n < (long)sizeof r->records)
			return 0;
	}
}

static int open_names(struct pxt_scratch *r, uint64_t family, int flags)
{
	char name[32];
	pxt_put_id(name, "n-", family);
	return pxt_open_own(r, r->dir, name, O_RDWR | flags);
}

/*
 * Opens and locks the file, without waiting: a signal may have stopped the holder of the lock, and trace
 * points wait for the caller. *fd is open even if another process has the lock (EAGAIN): the file can be
 * read without.
 */
static int lock_file(struct pxt_scratch *r, uint64_t family, int *fd)
{
	for (int i = 0; i < 100; i++) {
		struct stat st;
		int err;
		*fd = open_names(r, family, family == r->founded ? O_CREAT | O_EXCL : O_CREAT);
		if (*fd == -ENOENT && pxt_fstat(r->dir, &st) == 0 && st.st_nlink > 0)
			continue; /* swept while it was opened */
		if (*fd < 0)
			return *fd;
		err = pxt_flock(*fd, LOCK_EX | LOCK_NB);
		if (err < 0)
			return err;
		if (pxt_fstat(*fd, &st) < 0 || st.st_nlink > 0)
			return 0;
		pxt_close(*fd);
	}
	*fd = -1;
	return -EAGAIN;
}

void pxt_names_unlock(int lock)
{
	pxt_flock(lock, LOCK_UN);
	pxt_close(lock);
}

/* Writes records to the locked file, behind its first end bytes. */
static int write_at(int fd, const uint8_t *b, uint32_t n, uint32_t end)
{
	struct stat st;
	long done;
	int err = pxt_fstat(fd, &st);
	if (err < 0)
		return err;
	if (st.st_size > end) { /* a record whose writer died */
		err = pxt_truncate(fd, end);
		if (err < 0)
			return err;
	}
	done = pxt_pwrite(fd, b, n, end);
	if (done == (long)n)
		return 0;
	pxt_truncate(fd, end);
	return done < 0 ? (int)done : -ENOSPC;
}

/* The records of the file and of ours that are alike, in bytes; *next are the ids that follow. */
static int alike(struct pxt_scratch *r, struct pxt_names *t, int fd, uint32_t *end, uint32_t next[2])
{
	next[0] = PXT_EV_FirstUser;
	next[1] = PXT_EV_FirstDynamic;
	for (*end = 0; *end < t->end;) {
		size_t at = 0;
		long n = pxt_pread(fd, r->records, sizeof r->records, *end);
		if (n < 0)
			return (int)n;
		while (*end < t->end) {
			struct record k = take_apart(records(t) + *end);
			if ((size_t)n - at < k.size || memcmp(r->records + at, records(t) + *end, k.size) != 0)
				break;
			at += k.size;
			*end += k.size;
			next[k.class]++;
		}
		if (at == 0)
			return 0;
	}
	return 0;
}

/* Whether ours has the name of a record, before offset end. */
static bool known_before(struct pxt_names *t, const struct record *k, uint32_t end)
{
	uint32_t at = find(t, k->name, k->len, k->class);
	return at != 0 && at - 1 < end;
}

/*
 * Brings what is known and the locked file together. A file that was swept or cut short gets the
 * names back that this process has given out: otherwise their numbers would be given to other names.
 */
static int reconcile(struct pxt_scratch *r, struct pxt_names *t, int fd)
{
	uint32_t end, next[2];
	struct record k;
	long n;
	int err = alike(r, t, fd, &end, next);
	if (err < 0)
		return err;
	if (end == t->end)
		return refresh(r, t, fd);
	n = pxt_pread(fd, r->records, MAX_RECORD, end);
	if (n < 0)
		return (int)n;
	if (parse(r->records, (size_t)n, &k) && k.id == next[k.class] && k.id < limit(k.class) &&
	    !pxt_predefined(k.name, k.len) && !known_before(t, &k, end))
		return -ESTALE; /* not the names it held before */
	return write_at(fd, records(t) + end, t->end - end, end);
}

/* The names that this process knows of a family. */
static struct pxt_names *names_of(uint64_t family)
{
	struct pxt_names *t = &PXT_SELF->names;
	if (t->family != family)
		forget(t, family);
	return t;
}

/* Writes a record to the locked file, behind what is known, with a checksum that is wrong. */
static int write_draft(struct pxt_names *t, int fd, uint8_t *b, uint32_t size)
{
	put32(b, ~checksum(b + 4, size - 4));
	return write_at(fd, b, size, t->end);
}

/* Writes the right checksum: the record is there for all processes. */
static int write_final(struct pxt_names *t, int fd, uint8_t *b, uint32_t size)
{
	long done;
	put32(b, checksum(b + 4, size - 4));
	done = pxt_pwrite(fd, b, 4, t->end);
	if (done == 4)
		return 0;
	pxt_truncate(fd, t->end);
	return done < 0 ? (int)done : -ENOSPC;
}

/*
 * Adds a name to the locked file, unless it is there. The filters decide on it when the file has room for
 * it, since it gets no event type otherwise.
 */
static int add_name(struct pxt_scratch *r, struct pxt_names *t, int fd, const char *name, size_t len,
		    _Atomic uint32_t *used, uint32_t most, uint32_t *id)
{
	uint8_t *b = r->record;
	struct record k;
	uint32_t size = (PXT_PG_recHeader + (uint32_t)len + 7) & ~7u;
	int err = reconcile(r, t, fd);
	if (err < 0 || (*id = lookup(t, name, len)) != 0)
		return err;
	err = grow(t, size);
	if (err < 0)
		return err;
	if (t->next[0] >= limit(0) || atomic_load(used) >= most) {
		*id = PXT_EV_Unnamed;
		return 0;
	}
	memset(b, 0, size);
	put32(b + 4, t->next[0]);
	b[8] = (uint8_t)len;
	memcpy(b + PXT_PG_recHeader, name, len);
	*id = t->next[0];
	err = write_draft(t, fd, b, size);
	if (err < 0)
		return err;
	pxt_patterns_apply(r, t->family, *id, name, len);
	err = write_final(t, fd, b, size);
	if (err < 0)
		return err;
	atomic_fetch_add(used, 1);
	k = take_apart(b);
	add(t, b, &k);
	return 0;
}

int pxt_names_id(struct pxt_scratch *r, uint64_t family, const char *name, size_t len, _Atomic uint32_t *used,
		 uint32_t most, uint32_t *id)
{
	struct pxt_names *t = names_of(family);
	int fd, err = 0;
	if ((*id = pxt_predefined(name, len)) != 0 || (*id = lookup(t, name, len)) != 0)
		return err;
	err = lock_file(r, family, &fd);
	if (err == 0) {
		err = add_name(r, t, fd, name, len, used, most, id);
		pxt_flock(fd, LOCK_UN);
	} else if (fd >= 0) { /* another process of the family may have added it */
		if (refresh(r, t, fd) == 0 && (*id = lookup(t, name, len)) != 0)
			err = 0;
	}
	if (fd >= 0)
		pxt_close(fd);
	return err;
}

bool pxt_names_have(struct pxt_scratch *r, uint64_t family, uint32_t id)
{
	struct pxt_names *t;
	pxt_names_after_fork(r, family);
	t = names_of(family);
	if (id >= t->next[0]) {
		int fd = open_names(r, family, 0);
		if (fd >= 0) {
			refresh(r, t, fd);
			pxt_close(fd);
		}
	}
	return id >= PXT_EV_FirstUser && id < t->next[0];
}

int pxt_names_restore(struct pxt_scratch *r, uint64_t family, int removed, int *lock)
{
	struct pxt_names *t = names_of(family);
	int fd, err;
	if (removed >= 0 && (err = refresh(r, t, removed)) < 0)
		return err;
	if (t->end == 0)
		return 0;
	err = lock_file(r, family, &fd);
	if (err == 0) {
		*lock = fd;
		return reconcile(r, t, fd);
	}
	if (fd >= 0) {
		uint32_t end, next[2];
		if (alike(r, t, fd, &end, next) == 0 && end == t->end)
			err = 0; /* they are there */
		pxt_close(fd);
	}
	return err;
}

/*
 * A process that inherits no stream, and so founds a family, has the names of its parent: until it
 * calls exec its map is a copy of the parent's.
 */
int pxt_names_inherit(struct pxt_scratch *r, uint64_t family, int *lock)
{
	uint64_t from = 0;
	int fd, err;
	for (unsigned i = 0; i < r->depth && !from; i++) {
		uint8_t *page;
		int verdict;
		if (i > 0 && pxt_page_map(r, pxt_chain(r, i)->proc, &page, &verdict) == 0 && page) {
			from = pxt_page_family(page);
			pxt_page_unmap(page);
		}
		if (!pxt_chain(r, i)->forked)
			break;
	}
	if (!from)
		return 0;
	forget(&PXT_SELF->names, family);
	fd = open_names(r, from, 0);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	err = refresh(r, &PXT_SELF->names, fd);
	pxt_close(fd);
	return err < 0 ? err : pxt_names_restore(r, family, -1, lock);
}

void pxt_names_before_fork(void)
{
	if (PXT_SELF->names.end)
		at_fork = PXT_SELF->names;
}

/*
 * fork may have interrupted a change, so only sound records count. If another process, which made the
 * page, has given the numbers to other names, they stay with those. While another process has the lock
 * of a file that lacks names, the child does not know them; its next lookup retries.
 */
void pxt_names_after_fork(struct pxt_scratch *r, uint64_t family)
{
	struct pxt_names *t = &PXT_SELF->names;
	uint32_t end = at_fork.end;
	struct record k;
	int err, lock = -1;
	if (!end || t->end || at_fork.family == family)
		return;
	*t = at_fork;
	forget(t, family);
	while (t->end < end && parse(records(t) + t->end, end - t->end, &k) && add(t, records(t) + t->end, &k))
		;
	err = pxt_names_restore(r, family, -1, &lock);
	if (err < 0)
		forget(t, family);
	if (err != -EAGAIN)
		at_fork.end = 0;
	if (lock >= 0)
		pxt_names_unlock(lock);
}
