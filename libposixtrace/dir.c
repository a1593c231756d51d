#define _GNU_SOURCE
#include "dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statfs.h>

#include "kernel.h"

#define FD_PATH 40
#define RENAME_WAIT 5000000 /* ns: a holder renames a file, unless it is stopped */
#define NOREPLACE 1 /* RENAME_NOREPLACE, whose header musl does not have */

static void put_fd_path(char *to, int fd)
{
	pxt_put_dec(pxt_put(to, "/proc/self/fd/"), (uint64_t)fd);
}

int pxt_path_abs(char *to, const char *path)
{
	size_t n = 0;
	if (path[0] != '/') {
		long got = pxt_sys(SYS_getcwd, to, PATH_MAX);
		if (got < 0)
			return (int)got;
		if (to[0] != '/') /* the directory is not reachable from the root */
			return -ENOENT;
		n = strlen(to);
		if (n == 1)
			n = 0;
	}
	while (*path) {
		size_t len = strcspn(path, "/");
		if (len == 2 && path[0] == '.' && path[1] == '.') {
			while (n > 0 && to[--n] != '/')
				;
		} else if (len > 1 || (len == 1 && path[0] != '.')) {
			if (n + len + 2 > PATH_MAX)
				return -ENAMETOOLONG;
			to[n] = '/';
			memcpy(to + n + 1, path, len);
			n += len + 1;
		}
		path += len;
		while (*path == '/')
			path++;
	}
	if (n == 0)
		to[n++] = '/';
	to[n] = 0;
	return 0;
}

/* Whether a umask took rights of its owner from a directory of this user. */
static bool lacks_rights(const struct stat *st, uint32_t euid)
{
	return st->st_uid == euid && !(st->st_mode & 077) && (st->st_mode & 0777) != 0700;
}

/*
 * Opens a directory, never through a link in the last element, and returns its status, whose mode is
 * 0 if it is not known. mend restores the owner's rights that a umask took.
 */
static int open_dir(const char *path, bool mend, uint32_t euid, struct stat *st)
{
	char self[FD_PATH];
	int at, fd;
	/* As a rule this is enough. It opens nothing but a directory; what follows finds out why it failed. */
	fd = pxt_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd >= 0 && pxt_fstat(fd, st) == 0 && !(mend && lacks_rights(st, euid)))
		return fd;
	if (fd >= 0)
		pxt_close(fd);
	memset(st, 0, sizeof *st);
	at = pxt_open(path, O_PATH | O_NOFOLLOW, 0);
	if (at < 0)
		return at;
	fd = pxt_fstat(at, st);
	if (fd < 0)
		memset(st, 0, sizeof *st);
	else if (S_ISLNK(st->st_mode))
		fd = -ELOOP;
	else if (!S_ISDIR(st->st_mode))
		fd = -ENOTDIR;
	if (fd == 0) {
		if (mend && lacks_rights(st, euid)) {
			put_fd_path(self, at);
			if (pxt_retry(SYS_fchmodat, AT_FDCWD, self, 0700) == 0)
				pxt_fstat(at, st);
		}
		fd = pxt_openat(at, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	}
	pxt_close(at);
	return fd;
}

/* Why a directory must not be used, 0 if it may; err is that of opening it. */
static int unsafe_dir(const struct stat *st, uint32_t euid, int err)
{
	if (err == -ELOOP || err == -ENOTDIR)
		return err;
	if (S_ISDIR(st->st_mode) && (st->st_uid != euid || (st->st_mode & 077)))
		return -EACCES;
	return err < 0 ? err : 0;
}

/* parent reports that no directory can be made there, so that the next place is tried. */
static int open_place(struct pxt_scratch *r, const char *path, bool create, bool *parent)
{
	struct stat st;
	int fd, err;
	*parent = false;
	err = pxt_path_abs(r->dirpath, path);
	if (err < 0)
		return err;
	fd = open_dir(r->dirpath, true, r->euid, &st);
	if (fd == -ENOENT && create) {
		err = pxt_mkdir(r->dirpath, 0700);
		if (err == 0 || err == -EEXIST) {
			fd = open_dir(r->dirpath, true, r->euid, &st);
		} else {
			*parent = err == -ENOENT || err == -ENOTDIR || err == -EROFS || err == -EACCES || err == -EPERM;
			return err;
		}
	}
	if (fd < 0 && st.st_mode == 0) {
		*parent = true;
		return fd;
	}
	err = unsafe_dir(&st, r->euid, fd);
	if (err < 0) {
		if (fd >= 0)
			pxt_close(fd);
		return err;
	}
	r->dir = fd;
	return 0;
}

static void close_dir(struct pxt_scratch *r)
{
	if (r->dir >= 0)
		pxt_close(r->dir);
	r->dir = -1;
}

static char *put_own_name(char *to, uint32_t euid)
{
	return pxt_put_dec(pxt_put(to, "posixtrace-"), euid);
}

/* Opens the first of the places that can be the trace directory. */
static int open_first(struct pxt_scratch *r)
{
	const char *var;
	bool secure = r->secure = pxt_secure(), parent;
	int err;
	close_dir(r);
	/* A set-uid program must not write where its environment says. */
	var = secure ? "" : pxt_env(PXT_VAR_DIR);
	if (*var)
		return open_place(r, var, true, &parent);
	put_own_name(pxt_put(r->path, "/dev/shm/"), r->euid);
	err = open_place(r, r->path, true, &parent);
	if (err == 0 || !parent || secure)
		return err;
	var = pxt_env(PXT_VAR_RUNTIME);
	if (*var == '/' && strlen(var) + 16 < PATH_MAX) {
		pxt_put(pxt_put(r->path, var), "/posixtrace");
		err = open_place(r, r->path, true, &parent);
		if (err == 0 || !parent)
			return err;
	}
	var = pxt_env(PXT_VAR_TMP);
	if (!*var)
		var = "/tmp";
	if (strlen(var) + 32 >= PATH_MAX)
		return -ENAMETOOLONG;
	put_own_name(pxt_put(pxt_put(r->path, var), "/"), r->euid);
	return open_place(r, r->path, true, &parent);
}

int pxt_dir_open(struct pxt_scratch *r)
{
	int err = open_first(r);
	if (err == 0)
		pxt_env_keep_dir(r->dirpath);
	return err;
}

int pxt_dir_reopen(struct pxt_scratch *r, const char *path)
{
	bool parent;
	close_dir(r);
	return open_place(r, path, false, &parent);
}

/* A file that cannot be ours, or that another user may control. */
static int check_file(const struct stat *st, uint32_t euid)
{
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	if (st->st_uid != euid && euid != 0)
		return -EACCES;
	if (st->st_mode & 022)
		return -EACCES;
	if (st->st_nlink > 1)
		return -EINVAL;
	return 0;
}

/*
 * Opens the file of the O_PATH descriptor at if name is that file still: the name decides whether
 * the file has another one, since a link that was followed may have been removed since.
 */
static int open_checked(int dir, const char *name, int at, int flags, uint32_t euid)
{
	char self[FD_PATH];
	struct stat named, now;
	int err = pxt_statat(dir, name, &named, AT_SYMLINK_NOFOLLOW);
	if (err < 0)
		return err;
	err = pxt_fstat(at, &now);
	if (err < 0)
		return err;
	if (named.st_ino != now.st_ino || named.st_dev != now.st_dev)
		return -ESTALE;
	if (S_ISLNK(named.st_mode))
		return -ELOOP;
	if (S_ISDIR(named.st_mode) && (flags & O_ACCMODE) != O_RDONLY)
		return -EISDIR;
	if (named.st_nlink == 0)
		return -ENOENT;
	err = check_file(&named, euid);
	if (err < 0)
		return err;
	put_fd_path(self, at);
	err = pxt_open(self, flags | O_NONBLOCK, 0);
	return err == -ENOENT ? -ENOSYS : err; /* /proc is not mounted */
}

#define OPEN_TRIES 16

int pxt_open_own(struct pxt_scratch *r, int dir, const char *name, int flags)
{
	struct stat st;
	int fd = -ENOENT;
	if (dir < 0)
		return r->dir_err;
	for (int i = 0; i < OPEN_TRIES; i++) {
		/* Opening alone triggers some devices, and wakes a process that waits in a FIFO. */
		int at = flags & O_EXCL ? -ENOENT : pxt_openat(dir, name, O_PATH | O_NOFOLLOW, 0);
		if (at == -ENOENT && (flags & O_CREAT)) {
			fd = pxt_openat(dir, name, flags | O_EXCL | O_NOFOLLOW | O_NONBLOCK, 0600);
			flags &= ~O_EXCL;
			if (fd == -EEXIST)
				continue;
			break;
		}
		if (at < 0)
			return at;
		fd = open_checked(dir, name, at, flags & ~O_CREAT, r->euid);
		pxt_close(at);
		if (fd == -ESTALE || (fd == -ENOENT && (flags & O_CREAT)))
			continue;
		break;
	}
	if (fd >= 0 && (flags & O_CREAT)) {
		int err = pxt_fstat(fd, &st);
		if (err == 0 && (st.st_mode & 0777) != 0600)
			err = pxt_fchmod(fd, 0600); /* a umask took the owner's rights */
		if (err < 0) {
			pxt_close(fd);
			return err;
		}
	}
	return fd;
}

/* Without /proc a file is opened by name, and checked before and after. */
static int open_unchecked(struct pxt_scratch *r, const char *dir, const char *path)
{
	struct stat before, after;
	int fd, err = pxt_statat(AT_FDCWD, dir, &before, AT_SYMLINK_NOFOLLOW);
	if (err == 0)
		err = S_ISDIR(before.st_mode) ? unsafe_dir(&before, r->euid, 0) : -ENOTDIR;
	if (err == 0)
		err = pxt_statat(AT_FDCWD, path, &before, AT_SYMLINK_NOFOLLOW);
	if (err == 0)
		err = check_file(&before, r->euid);
	if (err < 0)
		return err;
	fd = pxt_open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	err = pxt_fstat(fd, &after);
	if (err == 0)
		err = check_file(&after, r->euid);
	if (err == 0 && before.st_ino == after.st_ino && before.st_dev == after.st_dev)
		return fd;
	pxt_close(fd);
	return err < 0 ? err : -ESTALE;
}

int pxt_open_stream_path(struct pxt_scratch *r, const char *path)
{
	struct stat st;
	char *slash;
	int at, fd, err = pxt_path_abs(r->path2, path);
	if (err < 0)
		return err;
	slash = strrchr(r->path2, '/');
	memcpy(r->path, r->path2, (size_t)(slash - r->path2));
	r->path[slash - r->path2] = 0;
	if (slash == r->path2)
		pxt_put(r->path, "/");
	at = open_dir(r->path, false, r->euid, &st);
	if (at < 0)
		return st.st_mode == 0 ? at : unsafe_dir(&st, r->euid, at);
	fd = pxt_open_own(r, at, slash + 1, O_RDWR);
	pxt_close(at);
	if (fd >= 0) {
		err = unsafe_dir(&st, r->euid, 0);
		if (err < 0) {
			pxt_close(fd);
			return err;
		}
	}
	return fd == -ENOSYS ? open_unchecked(r, r->path, r->path2) : fd;
}

char *pxt_put_id(char *to, const char *prefix, uint64_t id)
{
	return pxt_put_hex16(pxt_put(to, prefix), id);
}

uint64_t pxt_parse_id(const char *name, const char *prefix)
{
	uint64_t id = 0;
	if (strncmp(name, prefix, 2) != 0 || strlen(name) != 18)
		return 0;
	for (const char *s = name + 2; *s; s++) {
		if (*s >= '0' && *s <= '9')
			id = id << 4 | (uint64_t)(*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			id = id << 4 | (uint64_t)(*s - 'a' + 10);
		else
			return 0;
	}
	return id;
}

uint64_t pxt_stream_of_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	return pxt_parse_id(slash ? slash + 1 : path, "s-");
}

char *pxt_put_page(char *to, struct pxt_proc p)
{
	to = pxt_put(pxt_put_dec(pxt_put(to, "p-"), p.pid), "-");
	return pxt_put_dec(to, p.start);
}

bool pxt_parse_page(const char *name, struct pxt_proc *p)
{
	char pid[16], again[48];
	const char *dash;
	uint64_t n;
	if (strncmp(name, "p-", 2) != 0)
		return false;
	dash = strchr(name + 2, '-');
	if (!dash || dash - name - 2 >= (long)sizeof pid)
		return false;
	memcpy(pid, name + 2, (size_t)(dash - name - 2));
	pid[dash - name - 2] = 0;
	if (!pxt_parse_dec(pid, PXT_PID_MASK, &n) || n == 0 || !pxt_parse_dec(dash + 1, UINT64_MAX, &p->start))
		return false;
	p->pid = (uint32_t)n;
	pxt_put_page(again, *p);
	return !strcmp(name, again);
}

/*
 * A file system without such a rename. Linking the new name and unlinking the old one would work on
 * some, but others keep a name for a file that is open, and a file with two names is refused. So
 * callers exclude each other by a lock on the directory.
 */
static int rename_checked(int dir, const char *from, const char *to)
{
	struct stat st;
	int err, at = pxt_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
	if (at < 0)
		return at;
	err = pxt_flock_within(at, RENAME_WAIT);
	if (err == 0) {
		err = pxt_statat(dir, to, &st, AT_SYMLINK_NOFOLLOW);
		if (err == 0)
			err = -EEXIST;
		else if (err == -ENOENT)
			err = (int)pxt_retry(SYS_renameat2, dir, from, dir, to, 0);
	} else if (err != -EAGAIN) { /* on NFS, a directory cannot be locked */
		err = pxt_linkat(dir, from, to);
		if (err == 0)
			err = pxt_unlinkat(dir, from, 0);
	}
	pxt_close(at);
	return err;
}

int pxt_rename_noreplace(int dir, const char *from, const char *to)
{
	int err = pxt_renameat2(dir, from, to, NOREPLACE);
	if (err != -EINVAL && err != -ENOSYS && err != -EPERM) /* a sandbox may refuse it */
		return err;
	return rename_checked(dir, from, to);
}

/* Allocates the file, so that a store to its mapping never meets a full file system. */
static int allocate(int fd, uint64_t n)
{
	static const char zero[512];
	struct statfs fs;
	int err;
	if (pxt_retry(SYS_fstatfs, fd, &fs) == 0 && fs.f_blocks > 0 && fs.f_bsize > 0 &&
	    fs.f_bavail < (n + (uint64_t)fs.f_bsize - 1) / (uint64_t)fs.f_bsize)
		return -ENOSPC;
	err = (int)pxt_retry(SYS_fallocate, fd, 0, 0, n);
	if (err != -EOPNOTSUPP && err != -ENOSYS && err != -EPERM)
		return err;
	for (uint64_t at = 0; at < n;) {
		uint64_t left = n - at;
		long done = pxt_pwrite(fd, zero, left < sizeof zero ? left : sizeof zero, at);
		if (done <= 0)
			return done < 0 ? (int)done : -EIO;
		at += (uint64_t)done;
	}
	return 0;
}

int pxt_create_temp(struct pxt_scratch *r, uint64_t n, char *name)
{
	char *s = pxt_put_dec(pxt_put(name, "t-"), r->self.pid);
	int fd, err;
	s = pxt_put_dec(pxt_put(s, "-"), r->self.start);
	s = pxt_put_dec(pxt_put(s, "-"), r->pidns);
	pxt_put_hex16(pxt_put(s, "-"), pxt_random());
	fd = pxt_openat(r->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	err = pxt_fchmod(fd, 0600); /* undo the umask */
	if (err == 0)
		err = allocate(fd, n);
	if (err < 0) {
		pxt_close(fd);
		pxt_unlinkat(r->dir, name, 0);
		return err;
	}
	return fd;
}

/* Never within another such call: the read position belongs to the descriptor, which is ours alone. */
int pxt_dir_each(struct pxt_scratch *r, bool (*f)(void *ctx, const char *name), void *ctx)
{
	long at = pxt_retry(SYS_lseek, r->dir, 0, SEEK_SET);
	return at < 0 ? (int)at : pxt_each_name(r->dir, r->dents[0], f, ctx);
}

int pxt_dir_trylock(struct pxt_scratch *r)
{
	struct stat st;
	for (int i = 0; i < OPEN_TRIES; i++) {
		int err, fd = pxt_open_own(r, r->dir, "lock", O_RDWR | O_CREAT);
		if (fd < 0)
			return fd;
		err = pxt_flock(fd, LOCK_EX | LOCK_NB);
		if (err < 0) {
			pxt_close(fd);
			return err;
		}
		if (pxt_fstat(fd, &st) < 0 || st.st_nlink > 0)
			return fd;
		pxt_dir_unlock(fd); /* removed meanwhile: others lock a new file */
	}
	return -EAGAIN;
}

void pxt_dir_unlock(int lock)
{
	/* Closing is not enough: a child that is being started may still have a copy. */
	pxt_flock(lock, LOCK_UN);
	pxt_close(lock);
}
