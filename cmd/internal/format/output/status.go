// The status of a stream as named fields.

package output

import (
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Fields appends the members of posix_trace_status_info.
func StatusFields(f Fields, st posixtrace.Status) Fields {
	f.Add("stream_status", st.StreamStatus.String())
	f.Add("stream_full_status", st.StreamFullStatus.String())
	f.Add("stream_overrun_status", st.StreamOverrunStatus.String())
	f.Add("stream_flush_status", st.StreamFlushStatus.String())
	f.Add("stream_flush_error", ErrorText(st.StreamFlushError))
	f.Add("log_overrun_status", st.LogOverrunStatus.String())
	f.Add("log_full_status", st.LogFullStatus.String())
	f.Add("lost", st.Lost)
	f.Add("log_lost", st.LogLost)
	return f
}

// protoNoSupport is EPROTONOSUPPORT of Linux, whose numbers a log has on every system.
const protoNoSupport = 93

// MissedText says why a process could not connect to a stream.
func MissedText(e syscall.Errno) string {
	if e == protoNoSupport {
		return "built with another version of posixtrace"
	}
	return ErrorText(e)
}

// ErrorText returns what an error number of Linux means.
func ErrorText(e syscall.Errno) string {
	text := ""
	switch {
	case e == 0:
		return "none"
	case catalog.ErrnoName(int(e)) != "":
		text = catalog.ErrnoText(int(e))
	default:
		text = "errno " + strconv.FormatUint(uint64(e), 10)
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
