/*
 * A process that uses the trace directory through the C library, one step at a time: what
 * ../../step_test.go is in Go. It reads steps from a socket and answers each in one line.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dir.h"
#include "kernel.h"
#include "names.h"
#include "page.h"
#include "patterns.h"
#include "self_page.h"
#include "table.h"

#define CLOEXEC SOCK_CLOEXEC

extern char **environ;

static int held = -1; /* the lock of the directory */

static int number(int err)
{
	return err < 0 ? -err : err;
}

/* Sweeps all, until a sweep finds no more. */
static void tidy(struct pxt_scratch *r)
{
	for (int i = 0; i < 2; i++) {
		pxt_survey(r);
		pxt_tidy_some(r, true);
	}
}

/* The Go package creates the file of names when it opens the page, or changes the family. */
static int make_names(struct pxt_scratch *r, bool again)
{
	static ino_t made_for;
	struct stat st;
	char name[48];
	int fd;
	pxt_put_page(name, PXT_SELF->self);
	if (!again && (pxt_statat(r->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_ino == made_for))
		return 0;
	made_for = again ? made_for : st.st_ino;
	pxt_put_id(name, "n-", pxt_page_family(PXT_SELF->page));
	fd = pxt_open_own(r, r->dir, name, O_RDWR | O_CREAT);
	if (fd < 0)
		return fd;
	pxt_close(fd);
	return 0;
}

static void step_entries(uint8_t *page, FILE *out)
{
	static struct pxt_entry list[PXT_PG_MaxStreams];
	unsigned n = pxt_page_entries(page, list);
	fprintf(out, "entries");
	for (unsigned i = 0; i < n; i++)
		fprintf(out, " %" PRIx64 ":%u", list[i].stream, list[i].flags);
	fprintf(out, "\n");
}

static int step_detach(struct pxt_scratch *r, uint64_t stream)
{
	int lock = held >= 0 ? held : pxt_dir_trylock(r);
	if (lock < 0)
		return lock;
	pxt_page_detach(PXT_SELF->page, stream);
	if (held < 0)
		pxt_dir_unlock(lock);
	return 0;
}

static int step_lock(struct pxt_scratch *r)
{
	if (held >= 0)
		return -EAGAIN;
	held = pxt_dir_trylock(r);
	return held < 0 ? held : 0;
}

static int step_open(struct pxt_scratch *r, const char *name, const char *how)
{
	int fd, flags = strcmp(how, "read") ? O_RDWR : O_RDONLY;
	if (!strcmp(how, "create"))
		flags |= O_CREAT;
	fd = pxt_open_own(r, r->dir, name, flags);
	if (fd >= 0)
		pxt_close(fd);
	return fd < 0 ? fd : 0;
}

static int step_spawn(char *prog, const char *how)
{
	char *argv[] = {prog, NULL};
	posix_spawnattr_t attr;
	pid_t pid;
	int err;
	posix_spawnattr_init(&attr);
	if (!strcmp(how, "session"))
		posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
	else if (!strcmp(how, "group"))
		posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	err = posix_spawn(&pid, prog, NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	return err;
}

static uint64_t hex(const char *s)
{
	return strtoull(s, NULL, 16);
}

/* What the process knows of the names of a family, after it has read the file. */
static void step_known(struct pxt_scratch *r, uint64_t family, FILE *out)
{
	struct pxt_names *t = &PXT_SELF->names;
	pxt_names_have(r, family, PXT_EV_FirstDynamic - 1);
	fprintf(out, "known %u %u %u\n", t->next[0], t->next[1], t->end);
}

static void step_verdict(struct pxt_scratch *r, char *const *arg, FILE *out)
{
	struct pxt_proc p = {(uint32_t)strtoul(arg[0], NULL, 10), strtoull(arg[1], NULL, 10)};
	uint8_t *page;
	int verdict, err = pxt_page_map(r, p, &page, &verdict);
	if (err == 0 && page)
		pxt_page_unmap(page);
	fprintf(out, "verdict %d %d\n", number(err), verdict);
}

/* The steps of a process that has its page. */
static int step(struct pxt_scratch *r, char *const *arg, FILE *out)
{
	uint8_t *page = PXT_SELF->page;
	uint32_t id;
	int err;
	err = make_names(r, false);
	if (err < 0)
		return err;
	if (!strcmp(arg[0], "page") || !strcmp(arg[0], "tidy"))
		return tidy(r), 0;
	if (!strcmp(arg[0], "attach"))
		return pxt_page_attach_self(page, hex(arg[1]), (uint32_t)atoi(arg[2]));
	if (!strcmp(arg[0], "detach"))
		return step_detach(r, hex(arg[1]));
	if (!strcmp(arg[0], "family"))
		return pxt_page_set_family(page, hex(arg[1])) ? make_names(r, true) : EBUSY;
	if (!strcmp(arg[0], "name")) {
		err = pxt_names_id(r, pxt_page_family(page), arg[1], strlen(arg[1]),
				   pxt_page32(page, PXT_PG_offUserNames), (uint32_t)atoi(arg[2]), &id);
		if (err == 0)
			fprintf(out, "id %u\n", id);
		return err == 0 ? -1000 : err;
	}
	if (!strcmp(arg[0], "have")) {
		fprintf(out, "have %d\n", pxt_names_have(r, pxt_page_family(page), (uint32_t)atoi(arg[1])));
		return -1000;
	}
	if (!strcmp(arg[0], "entries")) {
		step_entries(page, out);
		return -1000;
	}
	return ENOSYS;
}

/* Returns an error number, or -1000 if it has answered. */
static int obey(char *const *arg, FILE *out)
{
	struct pxt_scratch *r;
	int err;
	if (!strcmp(arg[0], "spawn"))
		return step_spawn(arg[1], arg[2]);
	if (!strcmp(arg[0], "exec")) {
		execv(arg[1], (char *const[]){arg[1], NULL});
		return errno;
	}
	if (!strcmp(arg[0], "match")) {
		fprintf(out, "match %d\n", pxt_match(arg[1] + 1, strlen(arg[1]) - 1, arg[2] + 1, strlen(arg[2]) - 1));
		return -1000;
	}
	r = pxt_enter(&PXT_SELF->lock, false);
	if (!r)
		return EDEADLK;
	if (!strcmp(arg[0], "unlock")) {
		if (held >= 0)
			pxt_dir_unlock(held);
		held = -1;
		err = 0;
	} else if ((err = pxt_proc_open(r, !strcmp(arg[0], "page"))) < 0) {
		;
	} else if (!strcmp(arg[0], "lock")) {
		err = step_lock(r);
	} else if (!strcmp(arg[0], "open")) {
		err = step_open(r, arg[1], arg[2]);
	} else if (!strcmp(arg[0], "stream")) {
		err = pxt_open_stream_path(r, arg[1]);
		if (err >= 0) {
			pxt_close(err);
			err = 0;
		}
	} else if (!strcmp(arg[0], "known")) {
		step_known(r, hex(arg[1]), out);
		err = -1000;
	} else if (!strcmp(arg[0], "verdict")) {
		step_verdict(r, arg + 1, out);
		err = -1000;
	} else {
		err = step(r, arg, out);
	}
	pxt_leave(r);
	return err;
}

int main(void)
{
	static char line[8192];
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	FILE *in, *out;
	int fd = socket(AF_UNIX, SOCK_STREAM | CLOEXEC, 0);
	strncpy(to.sun_path, getenv("REGISTRY_SOCKET"), sizeof to.sun_path - 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
		return 1;
	signal(SIGCHLD, SIG_IGN); /* the kernel reaps what this process spawns */
	in = fdopen(fd, "r");
	out = fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 0), "w");
	if (!in || !out)
		return 1;
	fprintf(out, "%d\n", (int)getpid());
	fflush(out);
	while (fgets(line, sizeof line, in)) {
		char *arg[4] = {"", "", "", ""}, *rest = line;
		int err;
		line[strcspn(line, "\n")] = 0;
		for (int i = 0; i < 4 && rest; i++)
			arg[i] = strsep(&rest, " ");
		err = obey(arg, out);
		if (err != -1000)
			fprintf(out, "errno %d\n", number(err));
		fflush(out);
	}
	_exit(0); /* as a process that a signal kills: the library removes nothing */
}
