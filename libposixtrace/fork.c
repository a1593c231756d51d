/* What happens before main and in a child of fork. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "attach.h"
#include "dir.h"
#include "mappings.h"
#include "names.h"
#include "page.h"
#include "self_page.h"
#include "table.h"

/*
 * A child begins anew, with a page of its own at its first event. The thread that called fork may be
 * in a handler that interrupted a trace point: that then ends harmlessly, in memory of the child.
 */
static void forked(void)
{
	pxt_close_all();
	if (PXT_SELF->pid) /* the kernel has not wiped it */
		memset(&pxt_self_page, 0, sizeof pxt_self_page);
	PXT_SELF->pid = pxt_getpid();
	pxt_page_forked();
	pxt_attachments_forked();
}

/* A child that has not called exec copies the names of its parent when it comes to its first event. */
static void has_child(void)
{
	PXT_SELF->has_child = true;
}

/*
 * Connects a program that $PTRACE_STREAM leads to a stream before main: main may enter a sandbox that
 * kills the program for the system calls of a connection.
 */
static void connect_early(void)
{
	const char *path = pxt_env(PXT_VAR_STREAM);
	struct pxt_self *h = PXT_SELF;
	struct pxt_scratch *r;
	struct stat st;
	if (*path != '/' || !pxt_stream_of_path(path) || pxt_secure())
		return;
	if (pxt_statat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == -ENOENT)
		return; /* the stream is gone; do not make a page for it */
	r = pxt_enter(&h->lock, true);
	if (!r)
		return;
	int err = h->page ? 0 : pxt_proc_open(r, false);
	if (err < 0)
		pxt_miss_by_name(r, err);
	else if (atomic_load(pxt_page32(h->page, PXT_PG_offWord)) != 0)
		pxt_table_renew(r);
	pxt_leave(r);
}

__attribute__((constructor)) static void load(void)
{
	int saved = errno;
	pxt_setup();
	pxt_env_capture();
	pxt_maps_count();
	pthread_atfork(pxt_names_before_fork, has_child, forked);
	connect_early();
	errno = saved;
}
