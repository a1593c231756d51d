/*
 * A traced process may fail to connect to its streams. It reports that to the stream once and
 * retries later: retry.go of the Go package tracee.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "attach.h"
#include "dir.h"
#include "self_page.h"
#include "table.h"

#define RETRY_MIN UINT64_C(1000000000)
#define RETRY_MAX UINT64_C(60000000000)

/* A stream that was removed, or that a program of another kind has made, stays out of reach. */
bool pxt_transient(int err)
{
	return err != -ENOENT && err != -PXT_E_FORMAT && err != -PXT_E_FOREIGN && err != -PXT_E_ELSEWHERE;
}

uint64_t pxt_miss_next(void)
{
	struct pxt_self *h = PXT_SELF;
	uint64_t twice = 2 * h->pause;
	h->pause = twice < RETRY_MIN ? RETRY_MIN : twice > RETRY_MAX ? RETRY_MAX : twice;
	return pxt_clock(CLOCK_MONOTONIC) + h->pause;
}

static struct pxt_miss *find(uint64_t id)
{
	struct pxt_miss *free = NULL;
	for (int i = 0; i < PXT_PG_MaxStreams; i++) {
		struct pxt_miss *m = &PXT_SELF->misses[i];
		if (m->stream == id)
			return m;
		if (!m->stream && !free)
			free = m;
	}
	return free;
}

/* The miss to report now, with its first cause; NULL if there is none. */
static struct pxt_miss *note(uint64_t id, int err)
{
	struct pxt_miss *m = find(id);
	if (!m || m->reported)
		return NULL;
	if (!m->why) {
		m->why = (uint32_t)-err;
		if (err == -PXT_E_FOREIGN) {
			m->why = EPROTONOSUPPORT;
			PXT_SELF->foreign = true;
		} else if (m->why >= PXT_E_FORMAT) {
			m->why = ENOMEM;
		}
	}
	m->stream = id;
	return m;
}

static void reported(struct pxt_miss *m)
{
	m->why = 0;
	m->reported = true;
}

/* Counts a miss in the file fd, of which only the beginning is mapped. */
static void report(struct pxt_miss *m, int fd)
{
	struct stat st;
	void *mem = NULL;
	if (fd < 0)
		return;
	if (pxt_fstat(fd, &st) == 0 && st.st_size >= PXT_StartSize &&
	    pxt_map(&mem, PXT_StartSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd) == 0) {
		if (pxt_count_missed(mem, PXT_StartSize, m->stream, m->why))
			reported(m);
		pxt_unmap(mem, PXT_StartSize);
	}
	pxt_close(fd);
}

void pxt_miss_stream(struct pxt_scratch *r, uint64_t id, int err)
{
	struct pxt_miss *m;
	char name[32];
	if (!pxt_transient(err) && err != -PXT_E_FOREIGN)
		return;
	m = note(id, err);
	if (!m)
		return;
	pxt_put_id(name, "s-", id);
	report(m, pxt_open_own(r, r->dir, name, O_RDWR));
}

void pxt_miss_mem(struct pxt_conn *c, int err)
{
	struct pxt_miss *m = note(c->m.id, err);
	if (m) {
		pxt_mem_missed(&c->m, m->why);
		reported(m);
	}
}

void pxt_miss_by_name(struct pxt_scratch *r, int err)
{
	const char *path = pxt_env(PXT_VAR_STREAM);
	uint64_t id = pxt_stream_of_path(path);
	struct pxt_miss *m;
	if (!id || pxt_secure())
		return;
	m = note(id, err);
	if (m)
		report(m, pxt_open_stream_path(r, path));
}

/* Forgets the failures of a stream that the process has connected to; reports a pending one before. */
void pxt_miss_connected(struct pxt_conn *c)
{
	struct pxt_miss *m = find(c->m.id);
	if (m && m->stream) {
		if (m->why)
			pxt_mem_missed(&c->m, m->why);
		memset(m, 0, sizeof *m);
	}
}

void pxt_miss_forget(void)
{
	struct pxt_self *h = PXT_SELF;
	h->pause = 0;
	memset(h->misses, 0, sizeof h->misses);
}
