/*
 * Raw system calls. They return a result or a negative error number, never touch errno and are no
 * cancellation points: a trace point may be interrupted by a handler, or interrupt anything itself.
 */
#ifndef PXT_KERNEL_H
#define PXT_KERNEL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>

#if !defined(__linux__) || !(defined(__x86_64__) && defined(__LP64__) || defined(__aarch64__))
#error "libposixtrace runs on Linux for x86-64 and arm64"
#endif

#define PXT_LIKELY(x) __builtin_expect(!!(x), 1)
#define PXT_UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline long pxt_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r;
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
#else
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory", "cc");
	return x0;
#endif
}

/* pxt_sys(nr, up to 6 arguments), each an integer or a pointer. */
#define pxt_sys(...) PXT_SYS_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define PXT_SYS_(nr, a, b, c, d, e, f, ...) \
	pxt_syscall((long)(nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* The same, again as long as a signal interrupts it. */
#define pxt_retry(...) \
	__extension__({ \
		long pxt_r; \
		do { \
			pxt_r = pxt_sys(__VA_ARGS__); \
		} while (pxt_r == -4); /* EINTR */ \
		pxt_r; \
	})

/* Files. O_CLOEXEC is always added. */
int pxt_open(const char *path, int flags, unsigned mode);
int pxt_openat(int dir, const char *name, int flags, unsigned mode);
void pxt_close(int fd);
void pxt_close_all(void); /* in a child of fork: what other threads had open at the fork */
long pxt_read(int fd, void *buf, size_t n);
long pxt_write(int fd, const void *buf, size_t n);
long pxt_pread(int fd, void *buf, size_t n, uint64_t off);
long pxt_pwrite(int fd, const void *buf, size_t n, uint64_t off);
long pxt_readlink(const char *path, char *buf, size_t n);
int pxt_fstat(int fd, struct stat *st);
int pxt_statat(int dir, const char *name, struct stat *st, int flags);
int pxt_truncate(int fd, uint64_t size);
int pxt_fchmod(int fd, unsigned mode);
int pxt_unlinkat(int dir, const char *name, int flags);
int pxt_renameat2(int dir, const char *from, const char *to, unsigned flags);
int pxt_linkat(int dir, const char *from, const char *to);
int pxt_mkdir(const char *path, unsigned mode);
long pxt_getdents(int fd, void *buf, size_t n);
/* The beginning of a file that the kernel generates, whole in the first read. Adds a zero byte. */
long pxt_read_small(const char *path, char *buf, size_t n);

/* Memory */
int pxt_map(void **mem, size_t size, int prot, int flags, int fd);
int pxt_unmap(void *mem, size_t size);
int pxt_madvise(void *mem, size_t size, int advice);

/* Locks */
int pxt_flock(int fd, int how);
int pxt_flock_within(int fd, uint64_t ns);	    /* exclusive; -EAGAIN after ns nanoseconds */
int pxt_hold(int fd, short type, uint64_t number); /* F_OFD_SETLK of one byte: F_RDLCK, F_WRLCK, F_UNLCK */
int pxt_held(int fd, uint64_t number);		    /* 1 another description holds it, 0 none does, or an error */

/* Processes, threads, signals */
static inline uint32_t pxt_getpid(void) { return (uint32_t)pxt_sys(SYS_getpid); }
static inline uint32_t pxt_gettid(void) { return (uint32_t)pxt_sys(SYS_gettid); }
static inline uint32_t pxt_geteuid(void) { return (uint32_t)pxt_sys(SYS_geteuid); }
void pxt_sleep(uint64_t ns);
int pxt_futex_wait(const void *word, uint32_t value, uint64_t ns, bool shared); /* ns 0: no limit */
void pxt_futex_wake(const void *word, int threads, bool shared);
/* Whether a word, of a stack that may be unmapped, has another value. */
bool pxt_differs(const volatile uint32_t *word, uint32_t value);

/*
 * Blocks all signals but those that an instruction raises: the kernel would kill a process that
 * blocks SIGSYS at a system call that its sandbox traps.
 */
void pxt_signals_block(uint64_t *old);
void pxt_signals_restore(const uint64_t *old);

uint64_t pxt_random(void); /* never 0 */
uint32_t pxt_chance(uint32_t n); /* a number below n, for a choice that need not be unpredictable */

/* Clocks in nanoseconds. They go through the kernel's vDSO: no system call as a rule. */
uint64_t pxt_clock(clockid_t id);
uint64_t pxt_monotonic(void); /* CLOCK_MONOTONIC without the offset of a time namespace */

/* Text without stdio: each returns the end of what it has written, where a zero byte stands. */
char *pxt_put(char *to, const char *text);
char *pxt_put_dec(char *to, uint64_t n);
char *pxt_put_hex16(char *to, uint64_t n);

#endif
