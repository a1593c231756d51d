#define _GNU_SOURCE
#include "mappings.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "kernel.h"
#include "word.h"

#define MAX_ID 20	/* bytes of a build id; those of linkers have up to 20 */
#define MAX_LINES 16384 /* a process may have 65,530 mappings */
#define FIXED 48	/* bytes of the data of proc.map before the build id */

/* Flags of the data. */
#define REMOVED 1
#define OWN 4

/*
 * In memory of its own, which a child of fork has, too. All but what pxt_maps has is for slow paths,
 * under their lock.
 */
struct own {
	struct pxt_maps maps;
	uint64_t program;
	uint64_t loads; /* the count when the mappings were read */
	uint32_t used;	/* bytes of data */
	uint32_t have;	/* bytes in line */
	unsigned char data[32768];
	char line[8192];
	unsigned char notes[1024];
};

static struct own *own;
static uint64_t loads; /* the last count */

/* A line of /proc/self/maps. */
struct line {
	uint64_t start, end, offset;
	bool code;
	char *file; /* device and number, */
	size_t file_size;
	char *path;
	size_t path_size;
};

/* A number, in base 16, and the character behind it, which is skipped. False if there is none. */
static bool number(char **at, const char *end, uint64_t *n, char behind)
{
	char *p = *at;
	*n = 0;
	for (; p < end; p++) {
		unsigned c = (unsigned char)*p;
		if (c - '0' < 10)
			*n = *n << 4 | (c - '0');
		else if (c - 'a' < 6)
			*n = *n << 4 | (c - 'a' + 10);
		else
			break;
	}
	if (p == *at || p == end || *p != behind)
		return false;
	*at = p + 1;
	return true;
}

/* start-end permissions offset device number path */
static bool parse(char *p, char *end, struct line *l)
{
	if (!number(&p, end, &l->start, '-') || !number(&p, end, &l->end, ' ') || end - p < 5)
		return false;
	l->code = p[2] == 'x';
	p += 5;
	if (!number(&p, end, &l->offset, ' '))
		return false;
	l->file = p;
	for (int blanks = 0; p < end; p++)
		if (*p == ' ' && ++blanks == 2)
			break;
	l->file_size = (size_t)(p - l->file);
	while (p < end && *p == ' ')
		p++;
	l->path = p;
	l->path_size = (size_t)(end - p);
	return true;
}

/* The build id of a file that is mapped at base, from the notes in memory. Returns its size, 0 if there is none. */
static uint32_t build_id(struct own *o, int mem, uint64_t base, unsigned char *id)
{
	ElfW(Ehdr) head;
	ElfW(Phdr) part;
	uint64_t bias = base;
	if (pxt_pread(mem, &head, sizeof head, base) != sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_phentsize != sizeof part)
		return 0;
	for (unsigned i = 0; i < head.e_phnum && i < 64; i++) {
		long n;
		if (pxt_pread(mem, &part, sizeof part, base + head.e_phoff + i * sizeof part) != sizeof part)
			return 0;
		if (part.p_type == PT_LOAD && part.p_offset == 0)
			bias = base - part.p_vaddr;
		if (part.p_type != PT_NOTE || part.p_memsz > sizeof o->notes)
			continue;
		n = pxt_pread(mem, o->notes, part.p_memsz, bias + part.p_vaddr);
		for (long at = 0; n - at >= 12;) {
			uint32_t v[3];
			memcpy(v, o->notes + at, sizeof v); /* sizes of the owner and of the content, and the type */
			uint64_t content = (uint64_t)at + 12 + (((uint64_t)v[0] + 3) & ~UINT64_C(3));
			if (content + v[1] > (uint64_t)n)
				break;
			if (v[0] == 4 && v[2] == NT_GNU_BUILD_ID && v[1] <= MAX_ID &&
			    memcmp(o->notes + at + 12, "GNU", 4) == 0) {
				memcpy(id, o->notes + content, v[1]);
				return v[1];
			}
			at = (long)pxt_min(content + (((uint64_t)v[1] + 3) & ~UINT64_C(3)), (uint64_t)n);
		}
	}
	return 0;
}

static void put16(unsigned char *p, uint32_t v)
{
	p[0] = (unsigned char)v;
	p[1] = (unsigned char)(v >> 8);
}

static void put64(unsigned char *p, uint64_t v)
{
	memcpy(p, &v, sizeof v);
}

/* Adds a mapping, unless it is there. One in the same place is gone. */
static void add(struct own *o, const struct line *l, const unsigned char *id, uint32_t id_size, uint32_t err)
{
	static const char deleted[] = " (deleted)";
	struct pxt_mapping *list = o->maps.list;
	uint32_t n = atomic_load(&o->maps.n), size = FIXED + id_size;
	unsigned char *p = o->data + o->used;
	size_t path = l->path_size;
	bool removed = path >= sizeof deleted - 1 && memcmp(l->path + path - (sizeof deleted - 1), deleted, sizeof deleted - 1) == 0;
	if (removed)
		path -= sizeof deleted - 1;
	if (n == PXT_MaxMaps || size + path > sizeof o->data - o->used)
		return;
	put64(p, l->start);
	put64(p + 8, l->end);
	put64(p + 16, l->offset);
	put64(p + 24, 0);
	put16(p + 28, OWN | (removed ? REMOVED : 0));
	put16(p + 30, id_size);
	put64(p + 32, o->program);
	put64(p + 40, err);
	if (id_size > 0)
		memcpy(p + FIXED, id, id_size);
	for (size_t i = 0; i < path; i++) {
		bool newline = path - i >= 4 && memcmp(l->path + i, "\\012", 4) == 0;
		p[size++] = newline ? '\n' : (unsigned char)l->path[i];
		i += newline ? 3 : 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (list[i].n == size && memcmp(list[i].data, p, size) == 0 && pxt_load(&list[i].end) == l->end)
			return;
		if (list[i].start < l->end && l->start < pxt_load(&list[i].end))
			pxt_store(&list[i].end, list[i].start);
	}
	list[n].start = l->start;
	atomic_init(&list[n].end, l->end);
	list[n].data = p;
	list[n].n = size;
	o->used += size;
	atomic_store(&o->maps.n, n + 1);
}

/* Reads the next line of maps, without its end. False at the end of the file. */
static bool next_line(struct own *o, int maps, char **line, char **end)
{
	static const char none = '\n';
	for (;;) {
		char *nl = memchr(o->line, none, o->have);
		long n;
		if (nl) {
			*line = o->line;
			*end = nl;
			return true;
		}
		if (o->have == sizeof o->line)
			return false; /* no path is that long */
		n = pxt_read(maps, o->line + o->have, sizeof o->line - o->have);
		if (n <= 0)
			return false;
		o->have += (uint32_t)n;
	}
}

/* Removes a line, which has been used. */
static void drop_line(struct own *o, const char *end)
{
	uint32_t n = (uint32_t)(end + 1 - o->line);
	o->have -= n;
	memmove(o->line, end + 1, o->have);
}

static void read_maps(struct own *o, int maps, int mem)
{
	char of[64];
	size_t of_size = 0;
	uint64_t base = 0; /* where the start of the file of the last line is */
	char *at, *end;
	o->have = 0;
	for (int i = 0; i < MAX_LINES && next_line(o, maps, &at, &end); i++) {
		struct line l;
		unsigned char id[MAX_ID];
		if (parse(at, end, &l) && l.file_size <= sizeof of) {
			if (l.file_size != of_size || memcmp(of, l.file, of_size) != 0) {
				of_size = l.file_size;
				memcpy(of, l.file, of_size);
				base = 0;
			}
			if (l.offset == 0)
				base = l.start;
			if (l.code && l.path_size > 0 && l.path[0] == '/')
				add(o, &l, id, base && mem >= 0 ? build_id(o, mem, base, id) : 0, 0);
		}
		drop_line(o, end);
	}
}

/* See programNumber in ownmaps.go. */
static uint64_t program_number(void)
{
	static const unsigned long kinds[] = {AT_SYSINFO_EHDR, AT_ENTRY, AT_RANDOM};
	uint64_t n = 0;
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
		n = (n ^ getauxval(kinds[i])) * PXT_spread;
	return n;
}

static void read_own(struct own *o)
{
	int maps = pxt_open("/proc/self/maps", O_RDONLY, 0), mem;
	o->loads = loads;
	if (maps < 0) {
		struct line all = {.end = UINT64_MAX};
		if (atomic_load(&o->maps.n) == 0)
			add(o, &all, NULL, 0, (uint32_t)-maps);
		return;
	}
	mem = pxt_open("/proc/self/mem", O_RDONLY, 0);
	read_maps(o, maps, mem);
	if (mem >= 0)
		pxt_close(mem);
	pxt_close(maps);
}

const struct pxt_maps *pxt_own_maps(void)
{
	void *at = NULL;
	if (own)
		return &own->maps;
	if (pxt_map(&at, sizeof *own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1) < 0)
		return NULL;
	own = at;
	own->program = program_number();
	read_own(own);
	return &own->maps;
}

static int count(struct dl_phdr_info *info, size_t size, void *n)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
		*(uint64_t *)n = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

void pxt_maps_count(void)
{
	dl_iterate_phdr(count, &loads);
}

void pxt_maps_again(void)
{
	if (own && own->loads != loads)
		read_own(own);
}
