package selection

import (
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestEventSet(t *testing.T) {
	types := []struct {
		id   posixtrace.EventID
		name string
	}{
		{posixtrace.EventStart, "posix_trace_start"},
		{posixtrace.EventProcExec, "proc.exec"},
		{posixtrace.EventUnnamed, "posix_trace_unnamed_userevent"},
		{33, "build.begin"},
		{34, "build.end"},
		{35, "a*b"},
		{36, "syscall.openat"},
		{37, "syscall.read"},
		{38, "openat"},
	}
	for _, tt := range []struct{ set, want string }{
		{"@all", "posix_trace_start proc.exec posix_trace_unnamed_userevent build.begin build.end a*b syscall.openat syscall.read openat"},
		{"@system", "posix_trace_start proc.exec"},
		{"@user", "posix_trace_unnamed_userevent build.begin build.end a*b syscall.openat syscall.read openat"},
		{"@user,@system", "posix_trace_start proc.exec posix_trace_unnamed_userevent build.begin build.end a*b syscall.openat syscall.read openat"},
		{"build.begin", "build.begin"},
		{"build.*", "build.begin build.end"},
		{"*.e*", "proc.exec build.end"},
		{"build.e?d,proc.exec", "proc.exec build.end"},
		{"build", ""},
		{"%file", "syscall.openat"},
		{"%desc", "syscall.openat syscall.read"},
		{"%net,%file,build.end", "build.end syscall.openat"},
		{"@system,build.end", "posix_trace_start proc.exec build.end"},
		{"*", "posix_trace_start proc.exec posix_trace_unnamed_userevent build.begin build.end a*b syscall.openat syscall.read openat"},
	} {
		set, err := ParseEvents(tt.set)
		if err != nil {
			t.Errorf("ParseEventSet(%q): %v", tt.set, err)
			continue
		}
		var got []string
		for _, et := range types {
			if set.Has(et.id, et.name) {
				got = append(got, et.name)
			}
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("set %q has %q, want %q", tt.set, g, tt.want)
		}
	}
	for _, s := range []string{"", ",", "a,", ",a", "@", "@users", "%", "%files", "%file,", strings.Repeat("x", 256)} {
		if _, err := ParseEvents(s); err == nil {
			t.Errorf("ParseEventSet(%.20q): no error", s)
		}
	}
}

func TestWords(t *testing.T) {
	types := []posixtrace.EventType{
		{ID: posixtrace.EventProcFork, Name: "proc.fork"},
		{ID: posixtrace.EventProcExec, Name: "proc.exec"},
		{ID: posixtrace.EventProcExit, Name: "proc.exit"},
		{ID: posixtrace.EventProcSignal, Name: "proc.signal"},
		{ID: posixtrace.EventProcMap, Name: "proc.map"},
		{ID: posixtrace.EventProcContext, Name: "proc.context"},
		{ID: posixtrace.EventFileAccess, Name: "file.access"},
		{ID: 3584, Name: "syscall.read"},
		{ID: 33, Name: "proc"},
		{ID: 34, Name: "proc.mine"},
		{ID: 35, Name: "syscall"},
		{ID: 36, Name: "none"},
	}
	for _, tt := range []struct{ set, want string }{
		{"proc", "proc.fork proc.exec proc.exit proc"},
		{"command", "proc.exec proc.exit"},
		{"signal", "proc.signal"},
		{"files", "file.access"},
		{"syscall", "syscall.read syscall"},
		{"none", "none"},
		{"proc,syscall,none", "proc.fork proc.exec proc.exit syscall.read proc syscall none"},
		{"pro?", "proc"},
	} {
		set, err := ParseEvents(tt.set)
		if err != nil {
			t.Fatal(err)
		}
		op := set.Op(posixtrace.FilterAdd)
		filter := EventSet{Classes: op.Set, Patterns: op.Patterns}
		var got, filtered []string
		for _, et := range types {
			if set.Has(et.ID, et.Name) {
				got = append(got, et.Name)
			}
			if filter.Has(et.ID, et.Name) {
				filtered = append(filtered, et.Name)
			}
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("set %q has %q, want %q", tt.set, g, tt.want)
		}
		if g := strings.Join(filtered, " "); g != tt.want {
			t.Errorf("the filter of %q has %q, want %q", tt.set, g, tt.want)
		}
	}
}
