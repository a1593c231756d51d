/* posix_trace_eventset_*(): sets of event types. Bit 0 is no type and never set. */
#include "attr.h"

#include <errno.h>
#include <string.h>

#include "layout.h"

_Static_assert(PXT_EV_SetWords == sizeof(trace_event_set_t) / sizeof(uint64_t), "trace_event_set_t");

static bool valid(trace_event_id_t id)
{
	return id > 0 && id < PXT_EV_Max;
}

static void add(struct pxt_set *s, unsigned id)
{
	s->words[id >> 6] |= UINT64_C(1) << (id & 63);
}

int posix_trace_eventset_empty(trace_event_set_t *set)
{
	if (!set)
		return EINVAL;
	memset(set, 0, sizeof *set);
	return 0;
}

int posix_trace_eventset_fill(trace_event_set_t *set, int what)
{
	static const unsigned wopid[] = {
		POSIX_TRACE_ERROR,	 POSIX_TRACE_OVERFLOW,	 POSIX_TRACE_RESUME,
		POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP,
	};
	struct pxt_set s = { 0 };

	if (!set)
		return EINVAL;
	switch (what) {
	case POSIX_TRACE_WOPID_EVENTS:
		for (size_t i = 0; i < sizeof wopid / sizeof *wopid; i++)
			add(&s, wopid[i]);
		break;
	case POSIX_TRACE_SYSTEM_EVENTS: /* those that no program has registered yet, too */
		for (unsigned id = 1; id < PXT_EV_Unnamed; id++)
			add(&s, id);
		for (unsigned id = PXT_EV_FirstDynamic; id < PXT_EV_Max; id++)
			add(&s, id);
		break;
	case POSIX_TRACE_ALL_EVENTS:
		memset(&s, 0xff, sizeof s);
		s.words[0] &= ~UINT64_C(1);
		break;
	default:
		return EINVAL;
	}
	memcpy(set, &s, sizeof s);
	return 0;
}

int posix_trace_eventset_add(trace_event_id_t id, trace_event_set_t *set)
{
	if (!set || !valid(id))
		return EINVAL;
	add((struct pxt_set *)set, id);
	return 0;
}

int posix_trace_eventset_del(trace_event_id_t id, trace_event_set_t *set)
{
	if (!set || !valid(id))
		return EINVAL;
	((struct pxt_set *)set)->words[id >> 6] &= ~(UINT64_C(1) << (id & 63));
	return 0;
}

int posix_trace_eventset_ismember(trace_event_id_t id, const trace_event_set_t *restrict set,
				  int *restrict ismember)
{
	if (!set || !ismember || !valid(id))
		return EINVAL;
	*ismember = ((const struct pxt_set *)set)->words[id >> 6] >> (id & 63) & 1;
	return 0;
}
