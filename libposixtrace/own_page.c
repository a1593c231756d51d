/* The page of this process: finding it, and making it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "dir.h"
#include "kernel.h"
#include "names.h"
#include "page.h"

static void put_header(uint8_t *b, struct pxt_scratch *r, uint32_t session)
{
	uint64_t magic = PXT_PG_pageMagic;
	uint32_t size = PXT_PG_pageSize, entry = PXT_PG_entrySize;
	memcpy(b + PXT_PG_offMagic, &magic, 8);
	memcpy(b + PXT_PG_offSize, &size, 4);
	memcpy(b + 12, &entry, 4);
	memcpy(b + PXT_PG_offPID, &r->self.pid, 4);
	memcpy(b + PXT_PG_offSession, &session, 4);
	memcpy(b + PXT_PG_offStart, &r->self.start, 8);
	memcpy(b + PXT_PG_offBoot, r->boot, 16);
	memcpy(b + PXT_PG_offNamespace, &r->pidns, 8);
}

/*
 * Removes a page of an earlier boot that has our name. The lock on the file rules out that it is the
 * new page that another process has put in its place meanwhile.
 */
static int remove_old(struct pxt_scratch *r)
{
	char name[48];
	struct stat st;
	int fd, err;
	pxt_put_page(name, r->self);
	fd = pxt_open_own(r, r->dir, name, O_RDWR);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	err = pxt_flock(fd, LOCK_EX | LOCK_NB);
	if (err == 0 && pxt_pread(fd, r->page, PXT_PG_pageSize, 0) == PXT_PG_pageSize &&
	    pxt_page_check(r, r->page, r->self) == PXT_PG_pageOld) {
		err = pxt_fstat(fd, &st);
		if (err == 0 && st.st_nlink > 0) {
			err = pxt_unlinkat(r->dir, name, 0);
			err = err == -ENOENT ? 0 : err;
		}
	}
	pxt_close(fd);
	return err;
}

/* The entries of the old page, and those of the list that are not in it. */
static unsigned merge(struct pxt_scratch *r, uint8_t *old, struct pxt_entry *list, unsigned n)
{
	struct pxt_entry *first = r->entries[2];
	unsigned m = pxt_page_entries(old, first);
	for (unsigned i = 0; i < n && m < PXT_PG_MaxStreams; i++) {
		unsigned k = 0;
		while (k < m && first[k].stream != list[i].stream)
			k++;
		if (k == m)
			first[m++] = list[i];
	}
	memcpy(list, first, m * sizeof *first);
	return m;
}

/* Publishes the page: everything that the process inherits is in it from the first instant. */
static int publish(struct pxt_scratch *r, uint32_t session, const struct pxt_entry *list, unsigned n, uint64_t family,
		   uint8_t *old, uint8_t **page)
{
	char temp[PXT_TEMP_NAME], name[48];
	int err, fd = pxt_create_temp(r, PXT_PG_pageSize, temp);
	uint8_t *mem;
	if (fd < 0)
		return fd;
	err = pxt_page_map_fd(fd, &mem);
	if (err == 0) {
		pxt_hold(fd, F_RDLCK, 0);
		put_header(mem, r, session);
		atomic_store(pxt_page64(mem, PXT_PG_offFamily), family);
		for (unsigned i = 0; i < n; i++)
			pxt_page_put(mem, i, &list[i]);
		if (old) {
			static const unsigned kept[] = {PXT_PG_offUserNames, PXT_PG_offOpened, PXT_PG_offGroup};
			for (unsigned i = 0; i < 3; i++)
				atomic_store(pxt_page32(mem, kept[i]), atomic_load(pxt_page32(old, kept[i])));
			/* Its word must differ from all that the old page had and will get. */
			atomic_store(pxt_page32(mem, PXT_PG_offGeneration),
				     atomic_load(pxt_page32(old, PXT_PG_offGeneration)) + 2);
		}
		pxt_page_changed(mem);
		pxt_put_page(name, r->self);
		err = pxt_rename_noreplace(r->dir, temp, name);
		if (err < 0)
			pxt_page_unmap(mem);
	}
	if (err < 0)
		pxt_unlinkat(r->dir, temp, 0);
	else
		*page = mem;
	pxt_close(fd);
	return err;
}

static int create_page(struct pxt_scratch *r, uint8_t *mapped, uint8_t **page, bool *held)
{
	struct pxt_entry *list = r->entries[1];
	struct pxt_removed old;
	uint64_t family;
	unsigned n;
	int names = -1, err = r->own.proc.pid ? 0 : pxt_stat(r->self.pid, &r->own);
	if (err < 0)
		return err;
	if (r->own.proc.start != r->self.start)
		return -ESRCH;
	pxt_removed_find(r, mapped, &old);
	pxt_survey(r);
	pxt_ancestors(r);
	n = pxt_inherit(r, list, &family);
	if (old.page) {
		n = merge(r, old.page, list, n);
		family = pxt_page_family(old.page);
		err = pxt_names_restore(r, family, old.names, &names);
		if (old.names < 0) /* what only this process knows may also wait for its next new name */
			err = 0;
	} else if (n == 0) {
		err = pxt_names_inherit(r, family, &names);
		for (int i = 0; i < 3 && err == -EAGAIN; i++) {
			family = r->founded = pxt_random(); /* a sweep has the lock of the new file */
			err = pxt_names_inherit(r, family, &names);
		}
	}
	if (err == 0)
		err = publish(r, r->own.session, list, n, family, old.page, page);
	if (names >= 0)
		pxt_names_unlock(names);
	*held = old.page != NULL; /* by another runtime of this program: an exec closes it */
	if (err == 0) {
		pxt_removed_redirect(&old);
		r->survey.pages++; /* the survey was before */
		pxt_tidy(r);
	}
	pxt_removed_close(&old);
	return err;
}

/* A page that replaces another one of this program counts on. */
static void opened(struct pxt_scratch *r, uint8_t *page, uint8_t *old, bool held)
{
	if (old)
		return;
	pxt_page_opened(page, held);
	pxt_names_after_fork(r, pxt_page_family(page));
}

int pxt_page_own(struct pxt_scratch *r, uint8_t *old, uint8_t **page)
{
	for (int i = 0; i < 16; i++) {
		bool held = false;
		int verdict, err = pxt_page_map_held(r, r->self, page, &verdict, &held);
		if (err == 0 && verdict == PXT_PG_pageSound) {
			opened(r, *page, old, held);
			return 0;
		}
		if (err == 0 && verdict == PXT_PG_pageOld) {
			err = remove_old(r);
			if (err < 0)
				return err;
			continue;
		}
		if (err == 0)
			return -EINVAL;
		if (err != -ENOENT)
			return err;
		err = create_page(r, old, page, &held);
		if (err != -EEXIST) { /* else another process was faster: use its page */
			if (err == 0)
				opened(r, *page, old, held);
			return err;
		}
	}
	return -EAGAIN;
}
