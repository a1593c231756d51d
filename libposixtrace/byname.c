#define _GNU_SOURCE
#include <string.h>

#include "attach.h"
#include "dir.h"
#include "page.h"
#include "table.h"

/* Whether the file of that path would be in the directory of r. */
static bool in_our_dir(struct pxt_scratch *r, const char *path)
{
	size_t n = strlen(r->dirpath);
	const char *slash;
	if (pxt_path_abs(r->path, path) < 0)
		return false;
	slash = strrchr(r->path, '/');
	return (size_t)(slash - r->path) == n && !memcmp(r->path, r->dirpath, n);
}

/* Whether the stream is one that this process inherits; otherwise it is none of its business. */
static bool inheritable(struct pxt_scratch *r, struct pxt_conn *c, const char *path)
{
	return c->m.inherit && in_our_dir(r, path) && !pxt_mem_dead(&c->m) &&
	       c->m.h->fixed.createdTick <= r->self.start;
}

static int join(struct pxt_scratch *r, struct pxt_conn *c, uint8_t *page, unsigned entries)
{
	uint64_t family = atomic_load(&c->m.h->family);
	int err;
	if (entries == 0)
		pxt_page_set_family(page, family);
	err = pxt_page_attach_self(page, c->m.id, PXT_PG_Self | PXT_PG_Inherit);
	if (err == 0 && pxt_mem_dead(&c->m)) {
		/* The shutdown may have passed this page already. */
		int lock = pxt_dir_trylock(r);
		if (lock >= 0) {
			pxt_page_detach(page, c->m.id);
			pxt_dir_unlock(lock);
		}
	}
	return err;
}

/* It works also if the parents of the process have ended. */
int pxt_inherit_by_name(struct pxt_scratch *r, uint8_t *page)
{
	const char *path = pxt_env(PXT_VAR_STREAM);
	uint64_t id = pxt_stream_of_path(path);
	struct pxt_entry *list = r->entries[3];
	struct pxt_conn c;
	unsigned n;
	int fd, err;
	if (*path != '/' || !id)
		return 0;
	n = pxt_page_entries(page, list);
	for (unsigned i = 0; i < n; i++) {
		if (list[i].stream == id)
			return 0;
	}
	fd = pxt_open_stream_path(r, path);
	if (fd < 0)
		return fd;
	err = pxt_connect_fd(r, fd, id, &c);
	if (err < 0)
		return err;
	if (inheritable(r, &c, path))
		err = join(r, &c, page, n);
	pxt_disconnect(&c);
	return err;
}
