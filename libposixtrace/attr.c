/* posix_trace_attr_*(): the stream attributes object. */
#include "attr.h"

#include <errno.h>
#include <string.h>

#include "layout.h"

/* No pattern of bytes that memory often has. */
#define MAGIC UINT64_C(0x7c1e5ab2936d40f8)

/* As in pkg/posixtrace. posix_trace_create_withlog() has another default stream size. */
enum { DEFAULT_STREAM_SIZE = 64 << 10, DEFAULT_MAX_DATA = 1024, DEFAULT_LOG_SIZE = 1 << 20 };

const struct pxt_attr *pxt_attr_of(const trace_attr_t *object)
{
	const struct pxt_attr *a = (const struct pxt_attr *)object;

	return a && a->magic == MAGIC ? a : NULL;
}

static struct pxt_attr *writable(trace_attr_t *object)
{
	return pxt_attr_of(object) ? (struct pxt_attr *)object : NULL;
}

struct pxt_attr *pxt_attr_new(trace_attr_t *object)
{
	struct pxt_attr *a = (struct pxt_attr *)object;

	memset(object, 0, sizeof *object);
	a->inherited = POSIX_TRACE_CLOSE_FOR_CHILD;
	a->stream_policy = PXT_POLICY_DEFAULT;
	a->log_policy = POSIX_TRACE_LOOP;
	a->stream_size = DEFAULT_STREAM_SIZE;
	a->max_data = DEFAULT_MAX_DATA;
	a->log_size = DEFAULT_LOG_SIZE;
	a->clock_resolution.tv_nsec = 1;
	memcpy(a->generation, PXT_GENERATION, sizeof PXT_GENERATION);
	a->magic = MAGIC;
	return a;
}

int posix_trace_attr_init(trace_attr_t *attr)
{
	if (!attr)
		return EINVAL;
	pxt_attr_new(attr);
	return 0;
}

int posix_trace_attr_destroy(trace_attr_t *attr)
{
	struct pxt_attr *a = writable(attr);

	if (!a)
		return EINVAL;
	/* The compiler may drop a store to an object that its caller gives up. */
	*(volatile uint64_t *)&a->magic = 0;
	return 0;
}

/* Whether the n bytes at s are the beginning of a character of UTF-8 that has more bytes. */
static bool cut_off(const unsigned char *s, size_t n)
{
	unsigned char c = s[0];
	size_t whole = c < 0xc2 || c > 0xf4 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	if (n >= whole)
		return false;
	if (n == 1)
		return true;
	/* Second bytes that would encode a number in too many bytes, a surrogate, or one out of range. */
	return !(c == 0xe0 && s[1] < 0xa0) && !(c == 0xed && s[1] > 0x9f) && !(c == 0xf0 && s[1] < 0x90) &&
	       !(c == 0xf4 && s[1] > 0x8f);
}

void pxt_attr_name(struct pxt_attr *a, const char *name, size_t n)
{
	if (n > TRACE_NAME_MAX) {
		const unsigned char *s = (const unsigned char *)name;
		size_t last = n = TRACE_NAME_MAX - 1;

		do
			last--;
		while (last > n - 4 && (s[last] & 0xc0) == 0x80);
		if (cut_off(s + last, n - last))
			n = last;
	}
	memcpy(a->name, name, n);
	memset(a->name + n, 0, sizeof a->name - n);
}

int posix_trace_attr_setname(trace_attr_t *attr, const char *name)
{
	struct pxt_attr *a = writable(attr);
	char copy[TRACE_NAME_MAX + 1];
	size_t n;

	if (!a || !name)
		return EINVAL;
	n = strnlen(name, TRACE_NAME_MAX + 1);
	memcpy(copy, name, n); /* it may be the object's own name */
	pxt_attr_name(a, copy, n);
	return 0;
}

int posix_trace_attr_getname(const trace_attr_t *attr, char *name)
{
	const struct pxt_attr *a = pxt_attr_of(attr);

	if (!a || !name)
		return EINVAL;
	memcpy(name, a->name, strnlen(a->name, TRACE_NAME_MAX) + 1);
	return 0;
}

int posix_trace_attr_getgenversion(const trace_attr_t *attr, char *version)
{
	const struct pxt_attr *a = pxt_attr_of(attr);

	if (!a || !version)
		return EINVAL;
	memcpy(version, a->generation, strnlen(a->generation, PXT_GENERATION_SIZE - 1) + 1);
	return 0;
}

int posix_trace_attr_getcreatetime(const trace_attr_t *attr, struct timespec *time)
{
	const struct pxt_attr *a = pxt_attr_of(attr);

	if (!a || !time)
		return EINVAL;
	*time = a->created;
	return 0;
}

int posix_trace_attr_getclockres(const trace_attr_t *attr, struct timespec *resolution)
{
	const struct pxt_attr *a = pxt_attr_of(attr);

	if (!a || !resolution)
		return EINVAL;
	*resolution = a->clock_resolution;
	return 0;
}

int posix_trace_attr_getinherited(const trace_attr_t *restrict attr, int *restrict policy)
{
	const struct pxt_attr *a = pxt_attr_of(attr);

	if (!a || !policy)
		return EINVAL;
	*policy = (int)a->inherited;
	return 0;
}

int posix_trace_attr_setinherited(trace_attr_t *attr, int policy)
{
	struct pxt_attr *a = writable(attr);

	if (!a || (policy != POSIX_TRACE_CLOSE_FOR_CHILD && policy != POSIX_TRACE_INHERITED))
		return EINVAL;
	a->inherited = (uint32_t)policy;
	return 0;
}

int posix_trace_attr_getstreamfullpolicy(const trace_attr_t *restrict attr, int *restrict policy)
{
	const struct pxt_attr *a = pxt_attr_of(attr);

	if (!a || !policy)
		return EINVAL;
	*policy = a->stream_policy == PXT_POLICY_DEFAULT ? POSIX_TRACE_LOOP : (int)a->stream_policy;
	return 0;
}

int posix_trace_attr_setstreamfullpolicy(trace_attr_t *attr, int policy)
{
	struct pxt_attr *a = writable(attr);

	if (!a || (policy != POSIX_TRACE_LOOP && policy != POSIX_TRACE_UNTIL_FULL && policy != POSIX_TRACE_FLUSH))
		return EINVAL;
	a->stream_policy = (uint32_t)policy;
	return 0;
}

int posix_trace_attr_getlogfullpolicy(const trace_attr_t *restrict attr, int *restrict policy)
{
	const struct pxt_attr *a = pxt_attr_of(attr);

	if (!a || !policy)
		return EINVAL;
	*policy = (int)a->log_policy;
	return 0;
}

int posix_trace_attr_setlogfullpolicy(trace_attr_t *attr, int policy)
{
	struct pxt_attr *a = writable(attr);

	if (!a || (policy != POSIX_TRACE_LOOP && policy != POSIX_TRACE_UNTIL_FULL && policy != POSIX_TRACE_APPEND))
		return EINVAL;
	a->log_policy = (uint32_t)policy;
	return 0;
}

static int size_of(const struct pxt_attr *a, const uint64_t *from, size_t *size)
{
	if (!a || !size)
		return EINVAL;
	*size = (size_t)*from;
	return 0;
}

static int set_size(struct pxt_attr *a, uint64_t *to, uint32_t flag, size_t size)
{
	if (!a)
		return EINVAL;
	*to = size;
	a->set |= flag;
	return 0;
}

int posix_trace_attr_getstreamsize(const trace_attr_t *restrict attr, size_t *restrict size)
{
	const struct pxt_attr *a = pxt_attr_of(attr);

	return size_of(a, a ? &a->stream_size : NULL, size);
}

int posix_trace_attr_setstreamsize(trace_attr_t *attr, size_t size)
{
	struct pxt_attr *a = writable(attr);

	return set_size(a, a ? &a->stream_size : NULL, PXT_STREAM_SIZE_SET, size);
}

int posix_trace_attr_getmaxdatasize(const trace_attr_t *restrict attr, size_t *restrict size)
{
	const struct pxt_attr *a = pxt_attr_of(attr);

	return size_of(a, a ? &a->max_data : NULL, size);
}

int posix_trace_attr_setmaxdatasize(trace_attr_t *attr, size_t size)
{
	struct pxt_attr *a = writable(attr);

	return set_size(a, a ? &a->max_data : NULL, PXT_MAX_DATA_SET, size);
}

int posix_trace_attr_getlogsize(const trace_attr_t *restrict attr, size_t *restrict size)
{
	const struct pxt_attr *a = pxt_attr_of(attr);

	return size_of(a, a ? &a->log_size : NULL, size);
}

int posix_trace_attr_setlogsize(trace_attr_t *attr, size_t size)
{
	struct pxt_attr *a = writable(attr);

	return set_size(a, a ? &a->log_size : NULL, PXT_LOG_SIZE_SET, size);
}

/* The most bytes of an event's data that a stream with these attributes keeps. */
static uint64_t kept(const struct pxt_attr *a)
{
	return a->max_data < PXT_CK_MaxData ? a->max_data : PXT_CK_MaxData;
}

/* The most that one event with n bytes of data takes in a stream. */
static uint64_t event_size(uint64_t n)
{
	return PXT_CK_Overhead + ((n + 7) & ~UINT64_C(7));
}

int posix_trace_attr_getmaxusereventsize(const trace_attr_t *restrict attr, size_t data_len,
					 size_t *restrict size)
{
	const struct pxt_attr *a = pxt_attr_of(attr);
	uint64_t n;

	if (!a || !size)
		return EINVAL;
	n = kept(a);
	*size = event_size(data_len < n ? data_len : n);
	return 0;
}

int posix_trace_attr_getmaxsystemeventsize(const trace_attr_t *restrict attr, size_t *restrict size)
{
	const struct pxt_attr *a = pxt_attr_of(attr);
	uint64_t n;

	if (!a || !size)
		return EINVAL;
	n = kept(a);
	*size = event_size(n > PXT_MaxSystemData ? n : PXT_MaxSystemData);
	return 0;
}
