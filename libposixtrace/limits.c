/* The numbers of <trace.h> are those of the Go package. */
#include "layout.h"
#include "trace.h"

_Static_assert(POSIX_TRACE_ERROR == PXT_EV_Error && POSIX_TRACE_START == PXT_EV_Start &&
		       POSIX_TRACE_STOP == PXT_EV_Stop && POSIX_TRACE_FILTER == PXT_EV_Filter &&
		       POSIX_TRACE_OVERFLOW == PXT_EV_Overflow && POSIX_TRACE_RESUME == PXT_EV_Resume &&
		       POSIX_TRACE_FLUSH_START == PXT_EV_FlushStart && POSIX_TRACE_FLUSH_STOP == PXT_EV_FlushStop &&
		       POSIX_TRACE_UNNAMED_USER_EVENT == PXT_EV_Unnamed,
	       "event types");
_Static_assert(POSIX_TRACE_LOOP == PXT_Loop && POSIX_TRACE_UNTIL_FULL == PXT_UntilFull &&
		       POSIX_TRACE_FLUSH == PXT_Flush && POSIX_TRACE_APPEND == PXT_Append,
	       "policies");
_Static_assert(TRACE_EVENT_NAME_MAX == PXT_EV_NameMax, "limits");
