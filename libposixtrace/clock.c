/* CLOCK_MONOTONIC and the time since boot as all time namespaces see them. */
#define _GNU_SOURCE
#include "clock.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "kernel.h"

#define USER_HZ 100 /* the unit of times in /proc, on every architecture */
#define INITIAL_TIME "time:[4026531834]"

static _Atomic int64_t monotonic_offset, boot_offset;
static _Atomic uint32_t known;

/* The number at *text, of which *text is moved past; false if there is none. */
static bool number(const char **text, int64_t *value)
{
	const char *s = *text;
	bool minus = *s == '-';
	int64_t v = 0;
	if (minus)
		s++;
	if (*s < '0' || *s > '9')
		return false;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (v > INT64_MAX / 100)
			return false;
		v = 10 * v + (*s - '0');
	}
	*value = minus ? -v : v;
	*text = s;
	return true;
}

static void blanks(const char **text)
{
	while (**text == ' ' || **text == '\t')
		(*text)++;
}

/* The offset of a clock, which the kernel lists by one of two names. */
static int64_t offset_of(const char *list, const char *clock, const char *id)
{
	while (*list) {
		const char *word = list, *end;
		int64_t sec, nsec;
		blanks(&word);
		for (end = word; *end && *end != ' ' && *end != '\t' && *end != '\n';)
			end++;
		size_t n = (size_t)(end - word);
		if ((n == strlen(clock) && !memcmp(word, clock, n)) || (n == strlen(id) && !memcmp(word, id, n))) {
			blanks(&end);
			if (!number(&end, &sec) || sec > INT64_C(1) << 33 || sec < -(INT64_C(1) << 33))
				return 0;
			blanks(&end);
			if (!number(&end, &nsec) || nsec > INT32_MAX || nsec < INT32_MIN)
				return 0;
			return sec * 1000000000 + nsec;
		}
		while (*list && *list++ != '\n')
			;
	}
	return 0;
}

static long link_of(const char *path, char *to, size_t n)
{
	long r = pxt_readlink(path, to, n - 1);
	to[r > 0 ? r : 0] = 0;
	return r;
}

void pxt_clock_init(void)
{
	char ours[64], theirs[64], list[256];
	int64_t mono = 0, boot = 0;
	/*
	 * The file has the offsets for our future children. They are ours, too, unless this process has
	 * unshared the namespace for its children.
	 */
	if (link_of("/proc/self/ns/time", ours, sizeof ours) > 0 && strcmp(ours, INITIAL_TIME) != 0 &&
	    link_of("/proc/self/ns/time_for_children", theirs, sizeof theirs) > 0 && !strcmp(ours, theirs) &&
	    pxt_read_small("/proc/self/timens_offsets", list, sizeof list) > 0) {
		mono = offset_of(list, "monotonic", "1");
		boot = offset_of(list, "boottime", "7");
	}
	atomic_store_explicit(&monotonic_offset, mono, memory_order_relaxed);
	atomic_store_explicit(&boot_offset, boot, memory_order_relaxed);
	atomic_store_explicit(&known, 1, memory_order_release);
}

static void need(void)
{
	if (PXT_UNLIKELY(!atomic_load_explicit(&known, memory_order_acquire)))
		pxt_clock_init();
}

uint64_t pxt_monotonic(void)
{
	need();
	return pxt_clock(CLOCK_MONOTONIC) - (uint64_t)atomic_load_explicit(&monotonic_offset, memory_order_relaxed);
}

uint64_t pxt_boot_ticks(void)
{
	need();
	int64_t t = atomic_load_explicit(&boot_offset, memory_order_relaxed) / (1000000000 / USER_HZ);
	return (uint64_t)t;
}

uint64_t pxt_now_ticks(void)
{
	need();
	uint64_t ns = pxt_clock(CLOCK_BOOTTIME) - (uint64_t)atomic_load_explicit(&boot_offset, memory_order_relaxed);
	return ns / (1000000000 / USER_HZ);
}
