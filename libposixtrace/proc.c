#define _GNU_SOURCE
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "clock.h"
#include "kernel.h"

#define INITIAL_PIDS 4026531836 /* the initial pid namespace, which sees all processes */
#define FORK_NO_EXEC 0x40	/* PF_FORKNOEXEC */

bool pxt_parse_dec(const char *text, uint64_t max, uint64_t *n)
{
	uint64_t v = 0;
	if (!*text)
		return false;
	for (; *text; text++) {
		uint64_t digit = (uint64_t)(unsigned char)*text - '0';
		if (digit > 9 || v > (max - digit) / 10)
			return false;
		v = 10 * v + digit;
	}
	*n = v;
	return true;
}

/* The next field of a line of /proc/PID/stat; text is moved past it. Negative numbers become 0. */
static bool field(const char **text, uint64_t *n)
{
	const char *s = *text;
	bool minus;
	while (*s == ' ')
		s++;
	minus = *s == '-';
	if (minus)
		s++;
	if (*s < '0' || *s > '9')
		return false;
	for (*n = 0; *s >= '0' && *s <= '9'; s++)
		*n = 10 * *n + (uint64_t)(*s - '0');
	if (minus)
		*n = 0;
	*text = s;
	return *s == ' ' || *s == '\n' || *s == 0;
}

/*
 * The second field is the command's name in parentheses, and may itself contain blanks and
 * parentheses.
 */
bool pxt_parse_stat(const char *text, struct pxt_stat *s)
{
	uint64_t f[24] = {0};
	const char *open = strchr(text, '('), *last = strrchr(text, ')');
	if (!open || !last || last < open || !field(&text, &f[1]) || f[1] > PXT_PID_MASK)
		return false;
	text = last + 1;
	while (*text == ' ')
		text++;
	char state = *text;
	if (!state || text[1] != ' ')
		return false;
	text++;
	for (int i = 4; i <= 22; i++) {
		if (!field(&text, &f[i]))
			return false;
	}
	s->proc.pid = (uint32_t)f[1];
	s->memory = field(&text, &f[23]) ? f[23] : 0;
	s->ppid = (uint32_t)f[4];
	s->group = (uint32_t)f[5];
	s->session = (uint32_t)f[6];
	s->forked = f[9] & FORK_NO_EXEC;
	s->threads = (uint32_t)f[20];
	s->proc.start = f[22] - pxt_boot_ticks(); /* wraps round as it should for an offset below zero */
	/* A thread group whose leader has ended shows a zombie while its other threads go on. */
	s->dead = state == 'X' || state == 'x' || (state == 'Z' && s->threads <= 1);
	return true;
}

static int stat_file(const char *path, struct pxt_stat *s)
{
	char text[768]; /* the fields that matter take at most some 400 bytes */
	long n = pxt_read_small(path, text, sizeof text);
	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	return pxt_parse_stat(text, s) ? 0 : -EINVAL;
}

/*
 * qemu's user mode emulation makes up /proc/self/stat, with another start time than other processes
 * see, and without memory. The file of the first thread is the kernel's own, but takes longer to find.
 */
static int stat_self(uint32_t pid, struct pxt_stat *s)
{
	char path[48];
	int err = stat_file("/proc/self/stat", s);
	if (err < 0 || s->proc.pid != pid || s->memory == 0) {
		pxt_put(pxt_put_dec(pxt_put(path, "/proc/self/task/"), pid), "/stat");
		err = stat_file(path, s);
	}
	return err == -ESRCH ? -ENOSYS : err;
}

static bool exists(uint32_t pid)
{
	return pxt_sys(SYS_kill, pid, 0) != -ESRCH;
}

bool pxt_own_proc(void)
{
	char link[16], want[16];
	long n = pxt_readlink("/proc/self", link, sizeof link - 1);
	link[n > 0 ? n : 0] = 0;
	pxt_put_dec(want, pxt_getpid());
	return !strcmp(link, want);
}

int pxt_stat(uint32_t pid, struct pxt_stat *s)
{
	if (pid == 0 || pid > PXT_PID_MASK)
		return -ESRCH;
	if (pid == pxt_getpid())
		return stat_self(pid, s);
	if (!pxt_own_proc())
		return exists(pid) ? -EPERM : -ESRCH;
	return pxt_stat_shown(pid, s);
}

int pxt_stat_shown(uint32_t pid, struct pxt_stat *s)
{
	char path[32];
	int err;
	if (pid == 0 || pid > PXT_PID_MASK)
		return -ESRCH;
	pxt_put(pxt_put_dec(pxt_put(path, "/proc/"), pid), "/stat");
	err = stat_file(path, s);
	if (err != -ESRCH || !exists(pid))
		return err;
	err = stat_file(path, s); /* the process is hidden, or has just started */
	return err == -ESRCH ? -EPERM : err;
}

struct pxt_proc pxt_self(struct pxt_stat *s)
{
	struct pxt_proc p = {pxt_getpid(), 0};
	if (stat_self(p.pid, s) == 0 && s->proc.pid == p.pid)
		p.start = s->proc.start;
	else
		s->proc.pid = 0;
	return p;
}

bool pxt_alive(struct pxt_proc p)
{
	struct pxt_stat s;
	int err = p.pid == 0 || !exists(p.pid) ? -ESRCH : pxt_stat(p.pid, &s);
	if (err < 0)
		return err != -ESRCH;
	/* A start of 0 is that of a process that could not find out its own. */
	return (s.proc.start == p.start || p.start == 0) && !s.dead;
}

/* The test is process 1, which always exists and as a rule belongs to another user. */
bool pxt_shows_all(void)
{
	struct pxt_stat s;
	return pxt_stat(1, &s) == 0;
}

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

int pxt_each_name(int dir, void *buf, bool (*f)(void *ctx, const char *name), void *ctx)
{
	for (;;) {
		long n = pxt_getdents(dir, buf, PXT_DENTS);
		if (n <= 0)
			return (int)n;
		for (long at = 0; at < n;) {
			const struct dirent64 *d = (const void *)((const char *)buf + at);
			at += d->reclen;
			if (!strcmp(d->name, ".") || !strcmp(d->name, ".."))
				continue;
			if (!f(ctx, d->name))
				return 0;
		}
	}
}

struct each {
	void (*f)(void *ctx, const struct pxt_stat *);
	void *ctx;
};

static bool each_pid(void *ctx, const char *name)
{
	struct each *e = ctx;
	struct pxt_stat s;
	uint64_t pid;
	if (pxt_parse_dec(name, PXT_PID_MASK, &pid) && pxt_stat((uint32_t)pid, &s) == 0)
		e->f(e->ctx, &s);
	return true;
}

int pxt_each_process(void *buf, void (*f)(void *ctx, const struct pxt_stat *), void *ctx)
{
	struct each e = {f, ctx};
	int err, dir = pxt_open("/proc", O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return dir;
	err = pxt_each_name(dir, buf, each_pid, &e);
	pxt_close(dir);
	return err;
}

uint64_t pxt_pid_namespace(void)
{
	struct stat st;
	return pxt_statat(AT_FDCWD, "/proc/self/ns/pid", &st, 0) == 0 ? st.st_ino : 0;
}

struct wanted {
	uint64_t ns;
	bool found;
};

static bool in_namespace(void *ctx, const char *name)
{
	struct wanted *w = ctx;
	struct stat st;
	char path[48];
	uint64_t pid;
	int err;
	/* Process 1 is in the initial namespace, ours, and may be protected even from root. */
	if (!pxt_parse_dec(name, PXT_PID_MASK, &pid) || pid == 1)
		return true;
	pxt_put(pxt_put_dec(pxt_put(path, "/proc/"), pid), "/ns/pid");
	err = pxt_statat(AT_FDCWD, path, &st, 0);
	if (err == 0) {
		w->found = st.st_ino == w->ns;
	} else if (err == -EACCES || err == -EPERM) {
		/* Other users' namespaces do not matter. A process of ours may be protected. */
		pxt_put_dec(pxt_put(path, "/proc/"), pid);
		w->found = pxt_statat(AT_FDCWD, path, &st, 0) == 0 && st.st_uid == pxt_geteuid();
	}
	return !w->found;
}

bool pxt_namespace_gone(uint64_t ns, void *buf)
{
	struct wanted w = {ns, false};
	int err, dir;
	if (ns == 0 || ns == INITIAL_PIDS || pxt_pid_namespace() != INITIAL_PIDS || !pxt_own_proc() ||
	    !pxt_shows_all())
		return false;
	dir = pxt_open("/proc", O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return false;
	err = pxt_each_name(dir, buf, in_namespace, &w);
	pxt_close(dir);
	return err == 0 && !w.found;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

void pxt_boot_id(uint8_t id[16])
{
	char text[64];
	int digits = 0;
	memset(id, 0, 16);
	if (pxt_read_small("/proc/sys/kernel/random/boot_id", text, sizeof text) <= 0)
		return;
	for (const char *s = text; *s && *s != '\n'; s++) {
		if (*s == '-')
			continue;
		if (digits == 32 || hex(*s) < 0) {
			digits = 0;
			break;
		}
		id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | hex(*s));
		digits++;
	}
	if (digits != 32)
		memset(id, 0, 16);
}

bool pxt_secure(void)
{
	return getauxval(AT_SECURE) != 0 || pxt_sys(SYS_getuid) != pxt_sys(SYS_geteuid) ||
	       pxt_sys(SYS_getgid) != pxt_sys(SYS_getegid);
}

/*
 * Where the kernel has put the program, its interpreter, its stack and the vDSO. The 16 random bytes
 * of AT_RANDOM do not serve: the Go runtime overwrites them.
 */
uint32_t pxt_program_id(void)
{
	static const unsigned long places[] = {AT_RANDOM, AT_SYSINFO_EHDR, AT_BASE, AT_PHDR, AT_ENTRY, AT_EXECFN};
	uint64_t h = 0;
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
		h = (h ^ getauxval(places[i])) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	return (uint32_t)h ? (uint32_t)h : 1;
}

unsigned pxt_processors(void)
{
	uint64_t set[128] = {0};
	unsigned n = 0;
	long bytes = pxt_sys(SYS_sched_getaffinity, 0, sizeof set, set);
	for (long i = 0; i < bytes / 8; i++)
		n += (unsigned)__builtin_popcountll(set[i]);
	return n ? n : 1;
}
