package tracer

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// ResultText returns what the result of a call means: "flags O_RDWR", "Timeout"; "" for results
// that need no explanation.
func ResultText(call string, d *posixtrace.SyscallData) string {
	switch call {
	case "poll", "ppoll", "select", "pselect6":
		if d.Result == 0 {
			return "Timeout"
		}
	case "fcntl":
		if len(d.Args) < 2 {
			break
		}
		switch string(d.Args[1].Value) {
		case "F_GETFL":
			return string(statusFlags.append([]byte("flags "), usualFlags(uint64(d.Result))))
		case "F_GETFD":
			if d.Result == 1 { // FD_CLOEXEC
				return "flags FD_CLOEXEC"
			}
		}
	}
	return ""
}
