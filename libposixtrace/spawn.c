/*
 * Starts the agent, and passes it descriptors. Both happen in processes that share this one's memory,
 * as after vfork(2), but not its descriptors: no thread of the application can meet a descriptor of
 * ours, or take its number, and a full table of descriptors does no harm. The application does not
 * see these processes end: they send no signal, and wait(2) does not report them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "kernel.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { MEMORY = 3, STACK = 64 << 10, WALL = 0x40000000, MFD_FLAGS = 1 | 2, ADD_SEALS = 1033, SEAL_SIZE = 1 | 2 | 4 };

/* How long the agent may take to start, in nanoseconds. */
#define PATIENCE UINT64_C(30000000000)

/*
 * The variable that names the agent before this one. The kernel marks the channel of an agent that is killed
 * before it closes the agent's files: its streams pass for held until then, and the next agent waits.
 */
#define FORMER "POSIXTRACE_FORMER="

/* The work of the processes below, in memory that they share. */
struct job {
	struct pxt_channel *ch;
	const char *agent;
	char *env[5];
	char former[sizeof FORMER + 10];
	uint32_t pid, key; /* of the controller */
	char *stack2;
	volatile int agent_pid;
	volatile int err;
	volatile bool ran;
	int memory; /* a descriptor of the channel, -1: the process below makes it */

	/* A descriptor to pass: the channel may not be mapped there. */
	int fd;
	uint32_t to;
	char socket[sizeof((struct pxt_channel *)0)->socket];
	struct {
		uint8_t nonce[16];
		uint64_t number;
	} message;
};

/*
 * Calls f(job) in a process of its own and waits for its end. An error number, from memory or, where
 * the processes do not share it, the exit status.
 */
static int run_in_child(int (*f)(void *), struct job *job)
{
	void *stack = NULL;
	uint64_t mask;
	int saved = errno, pid, err, status = 0;
	err = pxt_map(&stack, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1);
	if (err < 0)
		return ENOMEM;
	job->stack2 = (char *)stack + 2 * STACK;
	pxt_signals_block(&mask);
	/* Without an exit signal: the application's handler and wait() see nothing. */
	pid = clone(f, (char *)stack + STACK, CLONE_VM | CLONE_VFORK, job);
	if (pid < 0 && errno == EINVAL) /* qemu's user mode knows no other exit signal */
		pid = clone(f, (char *)stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, job);
	err = pid < 0 ? errno : 0;
	if (pid > 0)
		pxt_retry(SYS_wait4, pid, &status, WALL, NULL);
	pxt_signals_restore(&mask);
	pxt_unmap(stack, 2 * STACK);
	errno = saved;
	if (err)
		return err == EAGAIN ? ENOMEM : err;
	return job->ran ? job->err : WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static int failed(struct job *job, int err)
{
	job->err = err < 0 ? -err : err;
	if (job->memory >= 0 && job->ch) {
		job->ch->error = (uint32_t)job->err;
		atomic_store(&job->ch->ready, PXT_W_Refused);
	}
	return job->err;
}

/*
 * The soft limits are the application's: the hard ones count here. That of file sizes stays, since logs
 * obey it.
 */
static void raise_limits(void)
{
	static const int resources[] = {RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_NPROC};
	struct rlimit l;
	for (size_t i = 0; i < sizeof resources / sizeof resources[0]; i++)
		if (pxt_sys(SYS_prlimit64, 0, resources[i], NULL, &l) == 0 && l.rlim_cur < l.rlim_max) {
			l.rlim_cur = l.rlim_max;
			pxt_sys(SYS_prlimit64, 0, resources[i], &l, NULL);
		}
}

static void close_from(unsigned first, unsigned last)
{
	unsigned i;
	if (first > last || pxt_sys(SYS_close_range, first, last, 0) != -ENOSYS)
		return;
	for (i = first; i <= last && i < 65536; i++)
		pxt_sys(SYS_close, i);
}

/* Occupies descriptors 0 to 2 with /dev/null or, in a tree without it, a socket that goes nowhere. */
static bool occupy(void)
{
	for (int i = 0; i < 3; i++) {
		/* Not pxt_open, which notes its descriptors in the memory of the controller. */
		int fd = (int)pxt_sys(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
		if (fd < 0)
			fd = (int)pxt_sys(SYS_socket, AF_UNIX, SOCK_DGRAM, 0);
		if (fd != i)
			return false;
		pxt_sys(SYS_fcntl, fd, F_SETFD, 0);
	}
	return true;
}

/* The process that becomes the agent. */
static int become_agent(void *arg)
{
	struct job *job = arg;
	static const uint64_t none[4]; /* the kernel's struct sigaction: the default */
	char *argv[] = {(char *)"posixtrace-agent", (char *)"--channel", NULL};
	int i;
	for (i = 1; i <= 64; i++)
		pxt_sys(SYS_rt_sigaction, i, none, NULL, 8);
	pxt_signals_restore(none);
	return failed(job, (int)pxt_sys(SYS_execve, job->agent, argv, job->env));
}

/* Gives the channel its size. It is memory: the application's limit of file sizes is not meant for it. */
static int size_channel(int fd)
{
	struct rlimit was, l;
	int err, known = pxt_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &was) == 0;
	if (known) {
		l = was;
		l.rlim_cur = l.rlim_max;
		pxt_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, &l, NULL);
	}
	err = pxt_truncate(fd, sizeof(struct pxt_channel));
	if (known)
		pxt_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, &was, NULL);
	return err == -EFBIG ? -ENOMEM : err;
}

/* Makes the channel in the controller's memory, and the lock that ends with this program. */
static int make_channel(struct job *job)
{
	void *mem = NULL;
	int err, fd = (int)pxt_sys(SYS_memfd_create, "posixtrace-agent", MFD_FLAGS);
	if (fd < 0)
		return fd;
	job->memory = fd;
	err = size_channel(fd);
	if (err < 0)
		return err;
	pxt_sys(SYS_fcntl, fd, ADD_SEALS, SEAL_SIZE);
	err = pxt_hold(fd, F_WRLCK, 0);
	if (err >= 0)
		err = pxt_map(&mem, sizeof *job->ch, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	if (err < 0)
		return err;
	job->ch = mem;
	job->ch->version = PXT_W_Version;
	job->ch->pid = job->pid;
	job->ch->key = job->key;
	return 0;
}

static int share(void *arg)
{
	((struct job *)arg)->ran = true;
	return 0;
}

/* The parent of the agent. It ends at once: the agent is no child of the application. */
static int start_agent(void *arg)
{
	struct job *job = arg;
	int err, pid;
	raise_limits();
	if (job->memory >= 0) {
		/* Not to 3, where it may be, and beyond the reach of occupy(). */
		job->memory = (int)pxt_sys(SYS_fcntl, job->memory, F_DUPFD, 4);
		close_from(0, 3);
		close_from((unsigned)job->memory + 1, ~0U);
	} else {
		close_from(0, ~0U);
	}
	if (!occupy())
		return failed(job, EMFILE);
	if (job->memory >= 0) {
		err = (int)pxt_sys(SYS_dup3, job->memory, MEMORY, 0);
		close_from(MEMORY + 1, ~0U);
	} else {
		err = make_channel(job);
		if (err >= 0) {
			pxt_madvise(job->ch, sizeof *job->ch, MADV_DONTFORK);
			pxt_sys(SYS_fcntl, MEMORY, F_SETFD, 0);
		}
	}
	if (err < 0)
		return failed(job, err);
	pxt_sys(SYS_setsid);
	pxt_sys(SYS_chdir, "/");
	pid = clone(become_agent, job->stack2, CLONE_VM | CLONE_VFORK | SIGCHLD, job);
	if (pid < 0)
		return failed(job, ENOMEM);
	job->agent_pid = pid;
	return 0;
}

/* Whether a process has ended. It may be a child: a program that adopts orphans gets the agent, too. */
static bool ended(int pid)
{
	return pxt_sys(SYS_kill, pid, 0) == -ESRCH || pxt_sys(SYS_wait4, pid, NULL, WALL | WNOHANG, NULL) == pid;
}

/* Waits until the agent is ready. An error number. */
static int await_agent(struct pxt_channel *ch, int pid)
{
	uint64_t end = pxt_clock(CLOCK_MONOTONIC) + PATIENCE;
	uint32_t ready;
	while ((ready = atomic_load(&ch->ready)) == PXT_W_Starting) {
		pxt_futex_wait(&ch->ready, PXT_W_Starting, 50000000, true);
		if (atomic_load(&ch->ready) == PXT_W_Starting &&
		    ((pid && ended(pid)) || pxt_clock(CLOCK_MONOTONIC) > end))
			return EIO;
	}
	if (ready == PXT_W_Ready)
		return 0;
	return ch->error ? (int)ch->error : EIO;
}

/* The variables that the trace directory depends on, and FORMER. */
static void environment(struct job *job, uint32_t former)
{
	static const char *const names[] = {"PTRACE_DIR=", "XDG_RUNTIME_DIR=", "TMPDIR="};
	extern char **environ;
	int n = 0;
	for (int i = 0; i < 3; i++)
		for (char **e = environ; e && *e; e++)
			if (strncmp(*e, names[i], strlen(names[i])) == 0) {
				job->env[n++] = *e;
				break;
			}
	if (former) {
		pxt_put_dec(pxt_put(job->former, FORMER), former);
		job->env[n++] = job->former;
	}
	job->env[n] = NULL;
}

int pxt_agent_start(struct pxt_channel **ch, uint32_t former)
{
	struct job job;
	int err;
	memset(&job, 0, sizeof job);
	job.agent = secure_getenv("POSIXTRACE_AGENT");
	if (!job.agent || !*job.agent)
		job.agent = PXT_AGENT;
	job.pid = pxt_getpid();
	job.key = (uint32_t)pxt_random() | 1;
	job.memory = -1;
	environment(&job, former);
	err = run_in_child(share, &job);
	if (!err && !job.ran) {
		/* An emulator or a checker of memory makes it a process as after fork(2). */
		err = -make_channel(&job);
	}
	if (!err)
		err = run_in_child(start_agent, &job);
	if (!job.ran && job.ch)
		pxt_madvise(job.ch, sizeof *job.ch, MADV_DONTFORK);
	if (!job.ran && job.memory >= 0)
		pxt_close(job.memory);
	if (!err)
		err = await_agent(job.ch, job.agent_pid);
	if (err) {
		if (job.ch)
			pxt_unmap(job.ch, sizeof *job.ch); /* an agent that comes late finds its lock free */
		return err == EMFILE || err == ENFILE || err == EAGAIN ? ENOMEM : err;
	}
	*ch = job.ch;
	return 0;
}

static int send_descriptor(int to, struct job *job)
{
	struct iovec part = {&job->message, sizeof job->message};
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg;
	struct cmsghdr *c;
	memset(&msg, 0, sizeof msg);
	memset(&control, 0, sizeof control);
	msg.msg_iov = &part;
	msg.msg_iovlen = 1;
	msg.msg_control = &control;
	msg.msg_controllen = sizeof control;
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &job->fd, sizeof(int));
	return (int)pxt_sys(SYS_sendmsg, to, &msg, MSG_NOSIGNAL);
}

static int pass(void *arg)
{
	struct job *job = arg;
	struct sockaddr_un name;
	struct ucred peer;
	socklen_t size = sizeof peer;
	size_t n = strnlen(job->socket, sizeof job->socket);
	int s, err;
	raise_limits();
	if (job->fd > 0)
		close_from(0, (unsigned)job->fd - 1);
	close_from((unsigned)job->fd + 1, ~0U);
	memset(&name, 0, sizeof name);
	name.sun_family = AF_UNIX;
	memcpy(name.sun_path + 1, job->socket, n); /* the first byte is 0: an abstract name */
	s = (int)pxt_sys(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0)
		return failed(job, ENOMEM);
	err = (int)pxt_sys(SYS_connect, s, &name, offsetof(struct sockaddr_un, sun_path) + 1 + n);
	if (err == 0)
		err = (int)pxt_sys(SYS_getsockopt, s, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	if (err == 0 && (uint32_t)peer.pid != job->to)
		err = -EIO; /* another process has the name */
	if (err == 0)
		err = send_descriptor(s, job);
	if (err == -EPIPE || err == -ECONNRESET || err == -ECONNREFUSED)
		err = -EIO; /* the agent has ended, as for a call under way */
	return err < 0 ? failed(job, err) : 0;
}

int pxt_agent_pass(struct pxt_channel *ch, int fd, uint64_t number)
{
	struct job job;
	memset(&job, 0, sizeof job);
	job.memory = -1;
	job.fd = fd;
	job.to = ch->agentPID;
	memcpy(job.socket, ch->socket, sizeof job.socket);
	memcpy(job.message.nonce, ch->nonce, sizeof job.message.nonce);
	job.message.number = number;
	return run_in_child(pass, &job);
}
