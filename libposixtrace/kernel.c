#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Of <linux/futex.h>, which musl does not have. */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };

/* The descriptors that are open for a moment, plus one. */
static _Atomic int opened[32];

int pxt_openat(int dir, const char *name, int flags, unsigned mode)
{
	int fd = (int)pxt_retry(SYS_openat, dir, name, flags | O_CLOEXEC, mode);
	for (unsigned i = 0; fd >= 0 && i < sizeof opened / sizeof *opened; i++) {
		int none = 0;
		if (atomic_compare_exchange_strong(&opened[i], &none, fd + 1))
			break;
	}
	return fd;
}

int pxt_open(const char *path, int flags, unsigned mode)
{
	return pxt_openat(AT_FDCWD, path, flags, mode);
}

void pxt_close(int fd)
{
	for (unsigned i = 0; i < sizeof opened / sizeof *opened; i++) {
		int mine = fd + 1;
		if (atomic_compare_exchange_strong(&opened[i], &mine, 0))
			break;
	}
	pxt_sys(SYS_close, fd);
}

void pxt_close_all(void)
{
	for (unsigned i = 0; i < sizeof opened / sizeof *opened; i++) {
		int fd = atomic_exchange(&opened[i], 0) - 1;
		if (fd >= 0)
			pxt_sys(SYS_close, fd);
	}
}

long pxt_read(int fd, void *buf, size_t n)
{
	return pxt_retry(SYS_read, fd, buf, n);
}

long pxt_write(int fd, const void *buf, size_t n)
{
	return pxt_retry(SYS_write, fd, buf, n);
}

long pxt_pread(int fd, void *buf, size_t n, uint64_t off)
{
	return pxt_retry(SYS_pread64, fd, buf, n, off);
}

long pxt_pwrite(int fd, const void *buf, size_t n, uint64_t off)
{
	return pxt_retry(SYS_pwrite64, fd, buf, n, off);
}

long pxt_readlink(const char *path, char *buf, size_t n)
{
	return pxt_retry(SYS_readlinkat, AT_FDCWD, path, buf, n);
}

int pxt_statat(int dir, const char *name, struct stat *st, int flags)
{
	return (int)pxt_retry(SYS_newfstatat, dir, name, st, flags);
}

int pxt_fstat(int fd, struct stat *st)
{
	return (int)pxt_retry(SYS_fstat, fd, st);
}

int pxt_truncate(int fd, uint64_t size)
{
	return (int)pxt_retry(SYS_ftruncate, fd, size);
}

int pxt_fchmod(int fd, unsigned mode)
{
	return (int)pxt_retry(SYS_fchmod, fd, mode);
}

int pxt_unlinkat(int dir, const char *name, int flags)
{
	return (int)pxt_retry(SYS_unlinkat, dir, name, flags);
}

int pxt_renameat2(int dir, const char *from, const char *to, unsigned flags)
{
	return (int)pxt_retry(SYS_renameat2, dir, from, dir, to, flags);
}

int pxt_linkat(int dir, const char *from, const char *to)
{
	return (int)pxt_retry(SYS_linkat, dir, from, dir, to, 0);
}

int pxt_mkdir(const char *path, unsigned mode)
{
	return (int)pxt_retry(SYS_mkdirat, AT_FDCWD, path, mode);
}

long pxt_getdents(int fd, void *buf, size_t n)
{
	return pxt_retry(SYS_getdents64, fd, buf, n);
}

long pxt_read_small(const char *path, char *buf, size_t n)
{
	long r;
	int fd = pxt_open(path, O_RDONLY, 0);
	if (fd < 0)
		return fd;
	r = pxt_read(fd, buf, n - 1);
	pxt_close(fd);
	buf[r > 0 ? r : 0] = 0;
	return r;
}

int pxt_map(void **mem, size_t size, int prot, int flags, int fd)
{
	long r = pxt_retry(SYS_mmap, *mem, size, prot, flags, fd, 0);
	if (r < 0 && r >= -4095)
		return (int)r;
	*mem = (void *)r;
	return 0;
}

int pxt_unmap(void *mem, size_t size)
{
	return (int)pxt_retry(SYS_munmap, mem, size);
}

int pxt_madvise(void *mem, size_t size, int advice)
{
	return (int)pxt_retry(SYS_madvise, mem, size, advice);
}

int pxt_flock(int fd, int how)
{
	return (int)pxt_retry(SYS_flock, fd, how);
}

int pxt_flock_within(int fd, uint64_t ns)
{
	uint64_t pause = 20000, end = pxt_clock(CLOCK_MONOTONIC) + ns;
	int err = pxt_flock(fd, LOCK_EX | LOCK_NB);
	while (err == -EAGAIN && pxt_clock(CLOCK_MONOTONIC) < end) {
		pxt_sleep(pause);
		pause = pause < 1000000 ? 2 * pause : 2000000;
		err = pxt_flock(fd, LOCK_EX | LOCK_NB);
	}
	return err;
}

static struct flock one(short type, uint64_t number)
{
	struct flock l;
	memset(&l, 0, sizeof l);
	l.l_type = type;
	l.l_whence = SEEK_SET;
	l.l_start = (off_t)number;
	l.l_len = 1;
	return l;
}

int pxt_hold(int fd, short type, uint64_t number)
{
	struct flock l = one(type, number);
	return (int)pxt_retry(SYS_fcntl, fd, F_OFD_SETLK, &l);
}

int pxt_held(int fd, uint64_t number)
{
	struct flock l = one(F_WRLCK, number);
	int err = (int)pxt_retry(SYS_fcntl, fd, F_OFD_GETLK, &l);
	return err < 0 ? err : l.l_type != F_UNLCK;
}

static struct timespec span(uint64_t ns)
{
	struct timespec t;
	t.tv_sec = (time_t)(ns / 1000000000);
	t.tv_nsec = (long)(ns % 1000000000);
	return t;
}

void pxt_sleep(uint64_t ns)
{
	struct timespec t = span(ns);
	pxt_sys(SYS_nanosleep, &t, NULL);
}

int pxt_futex_wait(const void *word, uint32_t value, uint64_t ns, bool shared)
{
	struct timespec t = span(ns);
	return (int)pxt_sys(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value, ns ? &t : NULL);
}

void pxt_futex_wake(const void *word, int threads, bool shared)
{
	pxt_sys(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, threads);
}

bool pxt_differs(const volatile uint32_t *word, uint32_t value)
{
	static const struct timespec none;
	long r = pxt_sys(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &none); /* the kernel reads the word */
	return r == -EAGAIN || r == -EFAULT;
}

#define BIT(signal) (UINT64_C(1) << ((signal) - 1))

void pxt_signals_block(uint64_t *old)
{
	uint64_t set = ~(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP) | BIT(SIGSYS));
	*old = 0;
	pxt_sys(SYS_rt_sigprocmask, SIG_BLOCK, &set, old, sizeof set);
}

void pxt_signals_restore(const uint64_t *old)
{
	pxt_sys(SYS_rt_sigprocmask, SIG_SETMASK, old, NULL, sizeof *old);
}

uint64_t pxt_random(void)
{
	uint64_t r = 0;
	do {
		if (pxt_retry(SYS_getrandom, &r, sizeof r, 0) != sizeof r) /* no such call */
			r = (pxt_clock(CLOCK_MONOTONIC) ^ (uint64_t)pxt_gettid() << 40) * UINT64_C(0x9e3779b97f4a7c15);
	} while (r == 0);
	return r;
}

uint32_t pxt_chance(uint32_t n)
{
	uint64_t seed = pxt_clock(CLOCK_MONOTONIC) + ((uint64_t)pxt_gettid() << 32);
	return (uint32_t)((seed * UINT64_C(0x9e3779b97f4a7c15) >> 32) * n >> 32);
}

uint64_t pxt_clock(clockid_t id)
{
	struct timespec t = {0, 0};
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

char *pxt_put(char *to, const char *text)
{
	while ((*to = *text++))
		to++;
	return to;
}

char *pxt_put_dec(char *to, uint64_t n)
{
	char digits[20];
	int i = 0;
	do
		digits[i++] = (char)('0' + n % 10);
	while (n /= 10);
	while (i > 0)
		*to++ = digits[--i];
	*to = 0;
	return to;
}

char *pxt_put_hex16(char *to, uint64_t n)
{
	for (int i = 60; i >= 0; i -= 4)
		*to++ = "0123456789abcdef"[n >> i & 15];
	*to = 0;
	return to;
}
