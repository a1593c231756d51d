/* The controller's functions: they are the agent's work. See agent.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <trace.h>

#include "agent.h"
#include "attr.h"
#include "dir.h"
#include "kernel.h"

/* The trace point of a call: START, STOP and FILTER events have its address. */
#define SITE __builtin_return_address(0)

_Static_assert(sizeof(trace_event_set_t) <= PXT_W_DataSize, "a set fits");
_Static_assert(PXT_W_DirAt + PATH_MAX <= PXT_W_DataSize, "a directory fits");

/* The trace directory of this process, which may not be what the environment says by now. */
static void put_dir(struct pxt_call *c)
{
	char *path = (char *)c->data + PXT_W_DirAt;
	*path = 0;
	if (!pxt_secure()) {
		pxt_env_capture();
		/* The agent has another working directory. */
		if (*pxt_env(PXT_VAR_DIR) && pxt_path_abs(path, pxt_env(PXT_VAR_DIR)) < 0)
			*path = 0;
	}
	pxt_env_keep_dir(path);
	c->length = strlen(path);
}

/* Whether a descriptor is open, and not only for the other of reading and writing. */
static bool opened(int fd, int other)
{
	long flags = fd < 0 ? -EBADF : pxt_sys(SYS_fcntl, fd, F_GETFL);
	return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != other;
}

/* A call that makes a trace identifier: the pid and attributes for a stream, the descriptor of a log. */
struct first {
	uint32_t op;
	pid_t pid;
	const struct pxt_attr *attr;
	int fd; /* -1: no log */
};

static int run_first(struct pxt_use *u, const struct first *f, trace_id_t *trid)
{
	int err = f->fd < 0 ? 0 : pxt_send_descriptor(u, f->fd, &u->call->args[2]);
	if (err)
		return err;
	u->call->args[0] = (uint32_t)f->pid;
	u->call->args[1] = 0;
	if (f->attr) {
		u->call->args[1] = f->attr->set;
		memcpy(u->call->data, &f->attr->of, sizeof f->attr->of);
	}
	put_dir(u->call);
	err = pxt_call_run(u);
	if (err)
		return err;
	*trid = (trace_id_t)u->call->trid;
	if (f->op == PXT_W_OpOpen)
		pxt_log_open(u, *trid);
	return 0;
}

/* An agent that is killed meanwhile leaves nothing behind: another one does the work. */
static int first(const struct first *f, trace_id_t *trid, const void *site)
{
	bool again = true;
	int err = EIO;
	for (int tries = 0; again && tries < 3; tries++) {
		struct pxt_use u;
		err = pxt_call_first(&u, f->op, site);
		if (err)
			return err;
		err = run_first(&u, f, trid);
		again = err && !pxt_agent_alive(u.link->ch);
		pxt_call_end(&u);
	}
	return err;
}

static int create(pid_t pid, const trace_attr_t *attr, bool log, int fd, trace_id_t *trid, const void *site)
{
	struct first f = {PXT_W_OpCreate, pid, NULL, log ? fd : -1};
	if (!trid || (attr && !(f.attr = pxt_attr_of(attr))))
		return EINVAL;
	if (log && !opened(fd, O_RDONLY))
		return EBADF;
	return first(&f, trid, site);
}

int posix_trace_create(pid_t pid, const trace_attr_t *restrict attr, trace_id_t *restrict trid)
{
	return create(pid, attr, false, -1, trid, SITE);
}

int posix_trace_create_withlog(pid_t pid, const trace_attr_t *restrict attr, int fd, trace_id_t *restrict trid)
{
	return create(pid, attr, true, fd, trid, SITE);
}

int posix_trace_open(int fd, trace_id_t *trid)
{
	struct first f = {PXT_W_OpOpen, 0, NULL, fd};
	if (!trid)
		return EINVAL;
	if (!opened(fd, O_WRONLY))
		return EBADF;
	return first(&f, trid, SITE);
}

int posix_trace_start(trace_id_t trid)
{
	return pxt_call_simple(PXT_W_OpStart, trid, SITE);
}

int posix_trace_stop(trace_id_t trid)
{
	return pxt_call_simple(PXT_W_OpStop, trid, SITE);
}

int posix_trace_clear(trace_id_t trid)
{
	return pxt_call_simple(PXT_W_OpClear, trid, SITE);
}

int posix_trace_flush(trace_id_t trid)
{
	return pxt_call_simple(PXT_W_OpFlush, trid, SITE);
}

int posix_trace_shutdown(trace_id_t trid)
{
	int err = pxt_call_simple(PXT_W_OpShutdown, trid, SITE);
	pxt_name_forget(trid);
	return err;
}

int posix_trace_get_filter(trace_id_t trid, trace_event_set_t *set)
{
	struct pxt_use u;
	int err = pxt_call_begin(&u, PXT_W_OpGetFilter, trid, SITE);
	if (err)
		return err;
	err = set ? pxt_call_run(&u) : EINVAL;
	if (!err)
		memcpy(set, u.call->data, sizeof *set);
	pxt_call_end(&u);
	return err;
}

int posix_trace_set_filter(trace_id_t trid, const trace_event_set_t *set, int how)
{
	struct pxt_use u;
	int err = pxt_call_begin(&u, PXT_W_OpSetFilter, trid, SITE);
	if (err)
		return err;
	if (set && how >= POSIX_TRACE_SET_EVENTSET && how <= POSIX_TRACE_SUB_EVENTSET) {
		u.call->args[0] = (uint64_t)how;
		memcpy(u.call->data, set, sizeof *set);
		err = pxt_call_run(&u);
	} else {
		err = EINVAL;
	}
	pxt_call_end(&u);
	return err;
}

int posix_trace_trid_eventid_open(trace_id_t trid, const char *restrict name, trace_event_id_t *restrict event)
{
	struct pxt_use u;
	int err = pxt_call_begin(&u, PXT_W_OpOpenID, trid, SITE);
	if (err)
		return err;
	if (name && event) {
		/* One byte more than a name may have: the agent checks the identifier first. */
		u.call->length = strnlen(name, TRACE_EVENT_NAME_MAX + 1);
		memcpy(u.call->data, name, u.call->length);
		err = pxt_call_run(&u);
	} else {
		err = EINVAL;
	}
	if (!err)
		*event = (trace_event_id_t)u.call->args[0];
	pxt_call_end(&u);
	return err;
}
