package dump

import (
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A call touches a path that is one of its path arguments, or that a descriptor refers to; data
// that reads like the path is no path.
func TestTouches(t *testing.T) {
	text := func(s string) posixtrace.SyscallArg { return posixtrace.SyscallArg{Value: []byte(s), String: true} }
	value := func(s string) posixtrace.SyscallArg { return posixtrace.SyscallArg{Value: []byte(s)} }
	for _, tt := range []struct {
		path, call string
		args       []posixtrace.SyscallArg
		want       bool
	}{
		{"/etc/passwd", "openat", []posixtrace.SyscallArg{value("AT_FDCWD"), text("/etc/passwd")}, true},
		{"/etc/passwd", "openat", []posixtrace.SyscallArg{value("AT_FDCWD</etc>"), text("passwd")}, true},
		{"/etc/passwd", "openat", []posixtrace.SyscallArg{value("5</etc>"), text("../etc/passwd")}, true},
		{"/etc/passwd", "openat", []posixtrace.SyscallArg{value("5</etc>"), text("/passwd")}, false},
		{"/etc", "openat", []posixtrace.SyscallArg{value("5</etc>"), text("x")}, true},
		{"/etc/*", "openat", []posixtrace.SyscallArg{value("AT_FDCWD"), text("/etc/passwd")}, true},
		{"/b", "renameat", []posixtrace.SyscallArg{value("3</>"), text("a"), value("4</>"), text("b")}, true},
		{"/etc/passwd", "write", []posixtrace.SyscallArg{value("1</dev/null>"), text("/etc/passwd"), value("11")}, false},
		{"/etc/passwd", "nosuch", []posixtrace.SyscallArg{text("/etc/passwd")}, false},
		{"/tmp/x", "close", []posixtrace.SyscallArg{value("3</tmp/x (deleted)>")}, true},
		{"/run/s", "connect", []posixtrace.SyscallArg{value("3"), value("AF_UNIX:/run/s"), value("9")}, true},
		{"/a", "close", []posixtrace.SyscallArg{value("x</a>")}, false},
		{"/a", "close", []posixtrace.SyscallArg{value("</a>")}, false},
		{"/a", "close", []posixtrace.SyscallArg{value("3</a")}, false},
		{"*", "close", []posixtrace.SyscallArg{value("3<")}, false},
		{"*", "close", nil, false},
	} {
		s := callSelection{given: true, paths: []string{tt.path}}
		if got := s.touches(tt.call, &posixtrace.SyscallData{Args: tt.args}); got != tt.want {
			t.Errorf("%s touches %s: %v", tt.call, tt.path, got)
		}
	}
}
