/* posix_trace_attr_*(): the stream attributes object. */
#include "attr.h"

#include <errno.h>
#include <string.h>

/* No pattern of bytes that memory often has. */
#define MAGIC UINT64_C(0x7c1e5ab2936d40f8)

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
	static const struct pxt_attributes defaults = PXT_ATTR_DEFAULTS;
	struct pxt_attr *a = (struct pxt_attr *)object;

	memset(object, 0, sizeof *object);
	a->of = defaults;
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

/* What is kept of a text that is longer than most bytes. */
static size_t cut(const unsigned char *s, size_t most)
{
	size_t n = most - 1, last = n;

	do
		last--;
	while (last > n - 4 && (s[last] & 0xc0) == 0x80);
	return cut_off(s + last, n - last) ? last : n;
}

/* Sets a text for which there is so much room. It may be the object's own. */
static void set_text(uint64_t *length, uint8_t *bytes, size_t room, const char *text)
{
	size_t n = strnlen(text, room);

	memmove(bytes, text, n);
	if (n == room)
		n = cut(bytes, room - 1);
	memset(bytes + n, 0, room - n);
	*length = n;
}

/* The functions of the attributes that layout.h lists, by type. */

#define CHOICE(suffix, member, number, choices) \
	int posix_trace_attr_get##suffix(const trace_attr_t *restrict attr, int *restrict choice) \
	{ \
		const struct pxt_attr *a = pxt_attr_of(attr); \
		if (!a || !choice) \
			return EINVAL; \
		*choice = (int)a->of.member; \
		return 0; \
	} \
	int posix_trace_attr_set##suffix(trace_attr_t *attr, int choice) \
	{ \
		struct pxt_attr *a = writable(attr); \
		if (!a || choice < 0 || choice > 31 || !((choices) >> choice & 1)) \
			return EINVAL; \
		a->of.member = (uint64_t)choice; \
		a->set |= UINT64_C(1) << (number); \
		return 0; \
	}

#define SIZE(suffix, member, number, most) \
	int posix_trace_attr_get##suffix(const trace_attr_t *restrict attr, size_t *restrict size) \
	{ \
		const struct pxt_attr *a = pxt_attr_of(attr); \
		if (!a || !size) \
			return EINVAL; \
		*size = (size_t)a->of.member; \
		return 0; \
	} \
	int posix_trace_attr_set##suffix(trace_attr_t *attr, size_t size) \
	{ \
		struct pxt_attr *a = writable(attr); \
		if (!a || size > (most)) \
			return EINVAL; \
		a->of.member = size; \
		a->set |= UINT64_C(1) << (number); \
		return 0; \
	}

#define TIME(suffix, member) \
	int posix_trace_attr_get##suffix(const trace_attr_t *attr, struct timespec *time) \
	{ \
		const struct pxt_attr *a = pxt_attr_of(attr); \
		if (!a || !time) \
			return EINVAL; \
		time->tv_sec = (time_t)a->of.member.sec; \
		time->tv_nsec = (long)a->of.member.nsec; \
		return 0; \
	}

#define DURATION(suffix, member) \
	int posix_trace_attr_get##suffix(const trace_attr_t *attr, struct timespec *duration) \
	{ \
		const struct pxt_attr *a = pxt_attr_of(attr); \
		if (!a || !duration) \
			return EINVAL; \
		duration->tv_sec = (time_t)(a->of.member / 1000000000); \
		duration->tv_nsec = (long)(a->of.member % 1000000000); \
		return 0; \
	}

#define TEXT(suffix, member) \
	int posix_trace_attr_get##suffix(const trace_attr_t *attr, char *text) \
	{ \
		const struct pxt_attr *a = pxt_attr_of(attr); \
		const char *s; \
		size_t n; \
		if (!a || !text) \
			return EINVAL; \
		s = (const char *)a->of.member.bytes; \
		n = strnlen(s, sizeof a->of.member.bytes - 1); \
		memcpy(text, s, n); \
		text[n] = 0; \
		return 0; \
	}

#define SET_TEXT(suffix, member, number) \
	int posix_trace_attr_set##suffix(trace_attr_t *attr, const char *text) \
	{ \
		struct pxt_attr *a = writable(attr); \
		if (!a || !text) \
			return EINVAL; \
		set_text(&a->of.member.length, a->of.member.bytes, sizeof a->of.member.bytes, text); \
		a->set |= UINT64_C(1) << (number); \
		return 0; \
	}

PXT_ATTR_CHOICES(CHOICE)
PXT_ATTR_SIZES(SIZE)
PXT_ATTR_TIMES(TIME)
PXT_ATTR_DURATIONS(DURATION)
PXT_ATTR_TEXTS(TEXT)
PXT_ATTR_SET_TEXTS(SET_TEXT)

_Static_assert(sizeof((struct pxt_attributes *)0)->name.bytes == TRACE_NAME_MAX + 1, "a name fits");

/* The most bytes of an event's data that a stream with these attributes keeps. */
static uint64_t kept(const struct pxt_attr *a)
{
	return a->of.maxDataSize < PXT_CK_MaxData ? a->of.maxDataSize : PXT_CK_MaxData;
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
