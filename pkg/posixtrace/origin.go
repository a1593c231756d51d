package posixtrace

import (
	"os"
	"runtime"
)

// Origin is where a stream was recorded. Extension.
type Origin struct {
	Host    string
	BootID  string
	PID     int      // the traced process; in a log, 0 if that process started after the log
	Owner   int      // the owner; in a log, when the log began
	Command []string // the command line of the owner
	LogID   uint64   // the random number of the log: two logs of cloned machines differ in it
}

// Origin returns the origin of the stream. Fields that the log does not have are zero. Extension.
func (r *Reader) Origin() Origin {
	defer runtime.KeepAlive(r)
	if r.log == nil {
		host, _ := os.Hostname()
		m := r.c.Mem
		return Origin{Host: host, BootID: m.BootID, PID: int(m.Target().PID), Owner: int(m.Owner().PID), Command: r.c.Command()}
	}
	s := r.log.Super()
	return Origin{Host: s.Host, BootID: s.BootID, PID: int(s.PID), Owner: int(s.Owner), Command: s.Command, LogID: s.ID}
}

// Newer returns the version of the format of a log if it is newer than this package, such as "1.1", else
// "". The log may then have more than the reader reports. Extension.
func (r *Reader) Newer() string {
	if r.log == nil {
		return ""
	}
	return r.log.Super().Newer()
}
