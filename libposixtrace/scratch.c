#define _GNU_SOURCE
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"

extern char **environ;

static char captured[PXT_VARS][PATH_MAX];
static size_t lengths[PXT_VARS]; /* so that the pages of variables that are not set stay untouched */
static _Atomic uint32_t is_captured, capturing;
static bool keeps_dir; /* of the holder of capturing: see pxt_env_keep_dir */

static void set_var(enum pxt_var v, const char *value)
{
	size_t n = strlen(value);
	if (n >= PATH_MAX) /* a path that is too long serves as none */
		n = 0;
	if (lengths[v] != n || memcmp(captured[v], value, n) != 0) {
		memcpy(captured[v], value, n);
		captured[v][n] = 0;
		lengths[v] = n;
	}
}

static void copy_var(enum pxt_var v, const char *name)
{
	size_t n = strlen(name);
	const char *value = "";
	for (char **e = environ; e && *e; e++) {
		if (!strncmp(*e, name, n) && (*e)[n] == '=') {
			value = *e + n + 1;
			break;
		}
	}
	set_var(v, value);
}

void pxt_env_capture(void)
{
	if (atomic_exchange_explicit(&capturing, 1, memory_order_acquire))
		return; /* another thread is at it */
	copy_var(PXT_VAR_STREAM, "PTRACE_STREAM");
	if (!keeps_dir) {
		copy_var(PXT_VAR_DIR, "PTRACE_DIR");
		copy_var(PXT_VAR_RUNTIME, "XDG_RUNTIME_DIR");
		copy_var(PXT_VAR_TMP, "TMPDIR");
	}
	atomic_store_explicit(&is_captured, 1, memory_order_release);
	atomic_store_explicit(&capturing, 0, memory_order_release);
}

void pxt_env_keep_dir(const char *path)
{
	if (atomic_exchange_explicit(&capturing, 1, memory_order_acquire))
		return; /* another thread is at it, or this one below a signal handler: the next call does it */
	if (!keeps_dir)
		set_var(PXT_VAR_DIR, path);
	keeps_dir = true;
	atomic_store_explicit(&is_captured, 1, memory_order_release);
	atomic_store_explicit(&capturing, 0, memory_order_release);
}

const char *pxt_env(enum pxt_var v)
{
	if (!atomic_load_explicit(&is_captured, memory_order_acquire))
		pxt_env_capture();
	return captured[v];
}

#define WAITERS UINT32_C(0x80000000)
#define WAIT_STEP 10000000 /* ns */
#define WAIT_STEPS 100

static _Atomic bool stuck; /* a thread has waited in vain for the present holder */

/*
 * The lock holds the id of its holder's thread. The holder has signals blocked and waits for no other
 * thread and no other process, so that it is soon done; but it may be stopped by a debugger, or a handler
 * of a fault has left it by siglongjmp. Trace points then go on without it.
 */
static bool take(_Atomic uint32_t *lock, bool try)
{
	uint32_t me = pxt_gettid(), v = 0;
	if (atomic_compare_exchange_strong(lock, &v, me))
		return true;
	if (try || (v & ~WAITERS) == me)
		return false;
	for (int i = 0; i < WAIT_STEPS && !atomic_load(&stuck); i++) {
		v = atomic_load(lock);
		if (v == 0) {
			/* Others may be waiting still. */
			if (atomic_compare_exchange_strong(lock, &v, me | WAITERS))
				return true;
			continue;
		}
		if (!(v & WAITERS) && !atomic_compare_exchange_strong(lock, &v, v | WAITERS))
			continue;
		pxt_futex_wait(lock, v | WAITERS, WAIT_STEP, false);
	}
	atomic_store(&stuck, true);
	return false;
}

static void drop(_Atomic uint32_t *lock)
{
	atomic_store_explicit(&stuck, false, memory_order_relaxed);
	if (atomic_exchange(lock, 0) & WAITERS)
		pxt_futex_wake(lock, 1, false);
}

/* Whether one of the standard descriptors is closed. */
static bool any_closed(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (pxt_sys(SYS_fcntl, fd, F_GETFD) < 0)
			return true;
	}
	return false;
}

bool pxt_lock_slow(_Atomic uint32_t *lock)
{
	return take(lock, true);
}

void pxt_unlock_slow(_Atomic uint32_t *lock)
{
	drop(lock);
}

struct pxt_scratch *pxt_enter(_Atomic uint32_t *lock, bool try)
{
	struct pxt_scratch *r;
	void *mem = NULL;
	uint64_t signals;
	int saved = errno;
	pxt_signals_block(&signals);
	if (!take(lock, try)) {
		pxt_signals_restore(&signals);
		return NULL;
	}
	if (pxt_map(&mem, sizeof *r, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1) < 0) {
		drop(lock);
		pxt_signals_restore(&signals);
		return NULL;
	}
	r = mem;
	r->lock = lock;
	r->signals = signals;
	r->saved_errno = saved;
	r->dir = -1;
	r->dir_err = -ENOENT;
	r->euid = pxt_geteuid();
	/*
	 * A program that has closed its standard descriptors must not write its output into our files
	 * meanwhile: have descriptors there to which nothing can be written.
	 */
	while (r->nguards < 3 && any_closed()) {
		int fd = pxt_open("/", O_PATH, 0);
		if (fd < 0)
			break;
		if (fd > 2) {
			pxt_close(fd);
			break;
		}
		r->guards[r->nguards++] = fd;
	}
	return r;
}

void pxt_leave(struct pxt_scratch *r)
{
	uint64_t signals = r->signals;
	_Atomic uint32_t *lock = r->lock;
	if (r->dir >= 0)
		pxt_close(r->dir);
	while (r->nguards > 0)
		pxt_close(r->guards[--r->nguards]);
	errno = r->saved_errno;
	pxt_unmap(r, sizeof *r);
	drop(lock);
	pxt_signals_restore(&signals);
}
