package run

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/newstream"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// FuzzRunValues gives the options of ptrace-run arbitrary values. Accepted values are within
// their bounds and take little time; the messages for the others have one line.
func FuzzRunValues(f *testing.F) {
	for _, s := range append(hostile.Texts(),
		"9223372036854775807", "2147483648K", "8589934592G", "106751d", "106752d", "1e9s",
		"@all,@user,@system,a*,?", "a,,b", "@", "@none", strings.Repeat("*a", 127), strings.Repeat("*", 255)+",x", "syscall.[a-", "syscall.*,syscall.\\", "proc,signal,syscall,none,command",
		"SIGTERM", "term", "64", "65", "SIGRTMIN+1", "out,err", "out,,err", "1:2", "99999999999999999999:") {
		f.Add(s)
	}
	long := strings.Repeat("ab", 127)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4096 {
			return
		}
		start := processorTime()
		refused := func(err error) {
			t.Helper()
			if text := string(escape.AppendPrintable(nil, cli.Reason(err))); text == "" || strings.ContainsAny(text, "\n\r\x1b") {
				t.Fatalf("%q is rejected with the message %q", s, text)
			}
		}
		if sig, err := parseSignal(s); err != nil {
			refused(err)
		} else if sig < 1 || sig > 64 {
			t.Fatalf("%q is accepted as signal %d", s, sig)
		}
		if set, err := selection.ParseEvents(s); err != nil {
			refused(err)
		} else {
			for _, name := range []string{"", s, long, "syscall.read"} {
				for id := posixtrace.EventID(1); id < 4096; id += 1023 {
					set.Has(id, name)
				}
			}
			if set.Classes == (posixtrace.EventSet{}) && len(set.Patterns) == 1 && !set.Has(100, s) {
				t.Fatalf("the set %q does not contain %q", s, s)
			}
		}
		args := &cli.Args{Given: []cli.Given{{Name: "events", Value: s}, {Name: "capture", Value: s}, {Name: "exclude", Value: s}, {Name: "stream-size", Value: s}, {Name: "max-data-size", Value: s}, {Name: "timeout", Value: s}}}
		for _, set := range []func(p *runPlan) error{
			func(p *runPlan) error { return p.setEvents(args) }, func(p *runPlan) error { return p.setCapture(args) },
			func(p *runPlan) error { return p.setLimit(args) },
			func(p *runPlan) (err error) { p.filter, err = newstream.Filter(args); return err },
			func(p *runPlan) (err error) { p.attr, err = newstream.Attributes(args, false); return err },
			func(p *runPlan) error { return streams.CheckName(s) },
			func(p *runPlan) error { _, err := procfs.Parse(s); return err },
		} {
			var p runPlan
			if err := set(&p); err != nil {
				refused(err)
			} else if len(p.trace.Calls) > 1024 || p.attr.StreamSize < 0 || p.attr.MaxDataSize != nil && *p.attr.MaxDataSize < 0 || p.limit.limit < 0 {
				t.Fatalf("%q gives %+v, %d system calls", s, p.attr, len(p.trace.Calls))
			}
		}
		parseEnding(s)
		if d := processorTime() - start; d > 2*time.Second {
			t.Fatalf("%q took %v of processor time", s, d)
		}
	})
}

// processorTime returns the processor time of this process. Elapsed time depends on the load
// of the machine.
func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(syscall.TimevalToNsec(r.Utime) + syscall.TimevalToNsec(r.Stime))
}
