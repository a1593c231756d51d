/* Exits with 0 if every function of attributes answers EINVAL to each argument that is no object. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <trace.h>

static int faults;

#define WANT_EINVAL(call) \
	do { \
		int err_; \
		errno = ENOTTY; \
		err_ = (call); \
		if (err_ != EINVAL || errno != ENOTTY) { \
			printf("%s = %d, errno %d\n", #call, err_, errno); \
			faults++; \
		} \
	} while (0)

#define ALL(a) \
	do { \
		WANT_EINVAL(posix_trace_attr_getname(a, text)); \
		WANT_EINVAL(posix_trace_attr_setname(a, "x")); \
		WANT_EINVAL(posix_trace_attr_getgenversion(a, text)); \
		WANT_EINVAL(posix_trace_attr_getcreatetime(a, &time)); \
		WANT_EINVAL(posix_trace_attr_getclockres(a, &time)); \
		WANT_EINVAL(posix_trace_attr_getinherited(a, &number)); \
		WANT_EINVAL(posix_trace_attr_setinherited(a, POSIX_TRACE_INHERITED)); \
		WANT_EINVAL(posix_trace_attr_getstreamfullpolicy(a, &number)); \
		WANT_EINVAL(posix_trace_attr_setstreamfullpolicy(a, POSIX_TRACE_LOOP)); \
		WANT_EINVAL(posix_trace_attr_getlogfullpolicy(a, &number)); \
		WANT_EINVAL(posix_trace_attr_setlogfullpolicy(a, POSIX_TRACE_LOOP)); \
		WANT_EINVAL(posix_trace_attr_getstreamsize(a, &size)); \
		WANT_EINVAL(posix_trace_attr_setstreamsize(a, 1)); \
		WANT_EINVAL(posix_trace_attr_getmaxdatasize(a, &size)); \
		WANT_EINVAL(posix_trace_attr_setmaxdatasize(a, 1)); \
		WANT_EINVAL(posix_trace_attr_getlogsize(a, &size)); \
		WANT_EINVAL(posix_trace_attr_setlogsize(a, 1)); \
		WANT_EINVAL(posix_trace_attr_getmaxusereventsize(a, 1, &size)); \
		WANT_EINVAL(posix_trace_attr_getmaxsystemeventsize(a, &size)); \
		WANT_EINVAL(posix_trace_attr_destroy(a)); \
	} while (0)

int main(void)
{
	char text[TRACE_NAME_MAX + 1];
	struct timespec time;
	trace_event_set_t set;
	trace_attr_t attr;
	size_t size;
	int number;

	WANT_EINVAL(posix_trace_attr_init(NULL));
	ALL(NULL);
	memset(&attr, 0, sizeof attr);
	ALL(&attr);
	memset(&attr, 0xff, sizeof attr);
	ALL(&attr);
	posix_trace_attr_init(&attr);
	posix_trace_attr_destroy(&attr);
	ALL(&attr);

	posix_trace_attr_init(&attr);
	WANT_EINVAL(posix_trace_attr_getname(&attr, NULL));
	WANT_EINVAL(posix_trace_attr_setname(&attr, NULL));
	WANT_EINVAL(posix_trace_attr_getgenversion(&attr, NULL));
	WANT_EINVAL(posix_trace_attr_getcreatetime(&attr, NULL));
	WANT_EINVAL(posix_trace_attr_getclockres(&attr, NULL));
	WANT_EINVAL(posix_trace_attr_getinherited(&attr, NULL));
	WANT_EINVAL(posix_trace_attr_getstreamfullpolicy(&attr, NULL));
	WANT_EINVAL(posix_trace_attr_getlogfullpolicy(&attr, NULL));
	WANT_EINVAL(posix_trace_attr_getstreamsize(&attr, NULL));
	WANT_EINVAL(posix_trace_attr_getmaxdatasize(&attr, NULL));
	WANT_EINVAL(posix_trace_attr_getlogsize(&attr, NULL));
	WANT_EINVAL(posix_trace_attr_getmaxusereventsize(&attr, 1, NULL));
	WANT_EINVAL(posix_trace_attr_getmaxsystemeventsize(&attr, NULL));

	WANT_EINVAL(posix_trace_eventset_empty(NULL));
	WANT_EINVAL(posix_trace_eventset_fill(NULL, POSIX_TRACE_ALL_EVENTS));
	WANT_EINVAL(posix_trace_eventset_add(33, NULL));
	WANT_EINVAL(posix_trace_eventset_del(33, NULL));
	WANT_EINVAL(posix_trace_eventset_ismember(33, NULL, &number));
	posix_trace_eventset_empty(&set);
	WANT_EINVAL(posix_trace_eventset_ismember(33, &set, NULL));

	return faults != 0;
}
