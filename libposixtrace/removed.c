/*
 * The files of the trace directory may be removed while processes run: internal/registry's
 * removed.go. The Go runtime of a process keeps its page open, so that others find it; this library
 * keeps no descriptor, and looks at its own page when it registers a name.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "dir.h"
#include "kernel.h"
#include "page.h"

#define REMOVED " (deleted)" /* proc(5) appends it to the path of a removed file */

/* Opens the file of a descriptor of this process if it is regular and has no name any more. */
static int open_removed(struct pxt_scratch *r, const char *fd, struct stat *st)
{
	char path[48];
	int at, got = -ENOENT;
	pxt_put(pxt_put(path, "/proc/self/fd/"), fd);
	at = pxt_open(path, O_PATH, 0);
	if (at < 0)
		return at;
	/* As check_file, of a file without name. */
	if (pxt_fstat(at, st) == 0 && S_ISREG(st->st_mode) && st->st_nlink == 0 && !(st->st_mode & 022) &&
	    (st->st_uid == r->euid || r->euid == 0)) {
		pxt_put_dec(pxt_put(path, "/proc/self/fd/"), (uint64_t)at);
		got = pxt_open(path, O_RDWR | O_NONBLOCK, 0);
	}
	pxt_close(at);
	return got;
}

struct search {
	struct pxt_scratch *r;
	struct pxt_removed *found;
	char want[48];
	int64_t most; /* size of the file of names; -1: the search is for the page */
};

/* The name, without directory, of the removed file behind a descriptor; NULL if it is no such file. */
static const char *removed_name(struct pxt_scratch *r, const char *fd)
{
	char path[48];
	char *slash;
	struct stat st;
	uint64_t number;
	long n;
	/* Most descriptors are none such, and this is cheaper than the link. */
	if (!pxt_parse_dec(fd, INT_MAX, &number) || pxt_fstat((int)number, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_nlink != 0)
		return NULL;
	pxt_put(pxt_put(path, "/proc/self/fd/"), fd);
	n = pxt_readlink(path, r->path2, PATH_MAX - 1);
	if (n < (long)sizeof REMOVED)
		return NULL;
	r->path2[n] = 0;
	n -= (long)sizeof REMOVED - 1;
	if (strcmp(r->path2 + n, REMOVED) != 0)
		return NULL;
	r->path2[n] = 0;
	slash = strrchr(r->path2, '/');
	return slash ? slash + 1 : r->path2;
}

static bool look(void *ctx, const char *fd)
{
	struct search *s = ctx;
	const char *name = removed_name(s->r, fd);
	struct stat st;
	void *mem = NULL;
	int got;
	if (!name || strcmp(name, s->want) != 0)
		return true;
	got = open_removed(s->r, fd, &st);
	if (got < 0)
		return true;
	if (s->most >= 0) {
		/* There may be several, of different times; a later one begins like the earlier ones. */
		if (st.st_size >= s->most) {
			if (s->found->names >= 0)
				pxt_close(s->found->names);
			s->found->names = got;
			s->most = st.st_size;
			return true;
		}
	} else if (st.st_size == PXT_PG_pageSize &&
		   pxt_map(&mem, PXT_PG_pageSize, PROT_READ | PROT_WRITE, MAP_SHARED, got) == 0) {
		/* The process may keep descriptors of pages that it has moved from. */
		uint8_t *before = s->found->page;
		if (pxt_page_check(s->r, mem, s->r->self) != PXT_PG_pageSound ||
		    (before && pxt_page_moved(mem) && !pxt_page_moved(before))) {
			pxt_page_unmap(mem);
		} else {
			if (before)
				pxt_page_unmap(before);
			s->found->page = mem;
		}
	}
	pxt_close(got);
	return true;
}

static void search_fds(struct pxt_scratch *r, struct search *s)
{
	int dir = pxt_open("/proc/self/fd", O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return;
	pxt_each_name(dir, r->dents[0], look, s);
	pxt_close(dir);
}

void pxt_removed_find(struct pxt_scratch *r, uint8_t *old, struct pxt_removed *found)
{
	struct search s = {r, found, "", -1};
	found->page = old;
	found->borrowed = old != NULL;
	found->names = -1;
	/* A Go runtime has several threads: one watches the others. */
	if (!old && r->own.threads > 1) {
		pxt_put_page(s.want, r->self);
		search_fds(r, &s);
	}
	if (!found->page)
		return;
	pxt_put_id(s.want, "n-", pxt_page_family(found->page));
	s.most = 0;
	search_fds(r, &s);
}

void pxt_removed_redirect(struct pxt_removed *found)
{
	uint32_t n;
	if (!found->page)
		return;
	atomic_store(pxt_page32(found->page, PXT_PG_offMoved), 1);
	/* The word comes last: a trace point reads nothing else. */
	n = atomic_fetch_add(pxt_page32(found->page, PXT_PG_offGeneration), 1) + 1;
	atomic_store(pxt_page32(found->page, PXT_PG_offWord), n ? n : 1);
}

void pxt_removed_close(struct pxt_removed *found)
{
	if (found->page && !found->borrowed)
		pxt_page_unmap(found->page);
	if (found->names >= 0)
		pxt_close(found->names);
}
