package command

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/testdata/hostile"
)

// FuzzValues gives every parser of an option's value anything. What one accepts is within
// its bounds, and what it refuses it refuses in one line.
func FuzzValues(f *testing.F) {
	for _, s := range append(hostile.Texts(),
		"9223372036854775807", "9223372036854775808", "2147483648K", "8589934592G", "-9223372036854775808", "18446744073709551616",
		"250ms", "1.5s", "106751d", "106752d", "2562047h47m16.854775807s", "1e9s", ".", "1h1h", "0x1p3s",
		"+2562047h", "-2562047h", "-106751d", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "23:59:60", "24:00:00", "1677-09-21T00:12:43Z",
		"@all,@user,@system,a*,?", "a,,b", "@", "@none", strings.Repeat("*a", 127), strings.Repeat("*", 255)+",x", "syscall.[a-", "syscall.*,syscall.\\", "proc,signal,syscall,none,command",
		"%t%D%p%i%n%d%x%a%c%q%%\\n\\t\\\\", "%", "\\", "%-5d", "SIGTERM", "term", "64", "65", "SIGRTMIN+1", "0.000001", "1000000000", "1e3", "..", "out,err", "out,,err",
		"4194304", "4194305", "1:2", "99999999999999999999:") {
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
			if text := output.Printable(reason(err)); text == "" || strings.ContainsAny(text, "\n\r\x1b") {
				t.Fatalf("%q is refused with %q", s, text)
			}
		}
		bounds := func(ok bool, err error) {
			t.Helper()
			if err != nil {
				refused(err)
			} else if !ok {
				t.Fatalf("%q is accepted", s)
			}
		}
		size, err := ParseSize(s)
		bounds(size >= 0, err)
		n, err := parseDigits(s)
		bounds(n >= 0, err)
		d, err := ParseDuration(s)
		bounds(d >= 0, err)
		sig, err := parseSignal(s)
		bounds(sig >= 1 && sig <= 64, err)
		speed, err := parseSpeed(s)
		bounds(speed >= 1e-6 && speed <= 1e9, err)
		if m, err := parseMoment(s); err != nil {
			refused(err)
		} else {
			for _, first := range []int64{0, 1795169520e9, 1<<63 - 1, -1 << 63} {
				at := m.resolve(first, first)
				if m.kind == fromFirst && at < first || m.kind == fromLast && at > first {
					t.Fatalf("%q from %d is %d", s, first, at)
				}
			}
		}
		if set, err := ParseEventSet(s); err != nil {
			refused(err)
		} else {
			for _, name := range []string{"", s, long, "syscall.read"} {
				for id := posixtrace.EventID(1); id < 4096; id += 1023 {
					set.Has(id, name)
				}
			}
			if set.Classes == (posixtrace.EventSet{}) && len(set.Patterns) == 1 && !set.Has(100, s) {
				t.Fatalf("%q does not have itself", s)
			}
		}
		if form, err := output.NewFormat(s, &output.Text{}); err != nil {
			refused(err)
		} else {
			form.Append(nil, output.NewSource(func(posixtrace.EventID) string { return s }), &posixtrace.Record{Data: []byte(s)})
		}
		args := &Args{Given: []Given{{"events", s}, {"capture", s}, {"exclude", s}, {"last", s}, {"pid", s}, {"stream-size", s}, {"max-data-size", s}, {"timeout", s}}}
		for _, set := range []func(p *runPlan) error{
			func(p *runPlan) error { return p.setEvents(args) }, func(p *runPlan) error { return p.setCapture(args) },
			func(p *runPlan) error { return p.setFilter(args) }, func(p *runPlan) error { return p.setLimit(args) },
			func(p *runPlan) error { return p.setAttr(args) },
			func(p *runPlan) (err error) { p.last, err = args.Count("last", 1); return err },
			func(p *runPlan) error { _, err := args.PID("pid", 1); return err },
			func(p *runPlan) error { return checkStreamName(s) },
			func(p *runPlan) error { _, err := parseProcess(s); return err },
		} {
			var p runPlan
			if err := set(&p); err != nil {
				refused(err)
			} else if len(p.trace.Calls) > 1024 || p.attr.StreamSize < 0 || p.attr.MaxDataSize < posixtrace.NoUserData || p.limit.limit < 0 || p.last < 0 {
				t.Fatalf("%q gives %+v, %d system calls", s, p.attr, len(p.trace.Calls))
			}
		}
		parseEnding(s)
		if d := processorTime() - start; d > 2*time.Second {
			t.Fatalf("%q took %v of processor time", s, d)
		}
	})
}

// processorTime is what this process has spent so far. By the clock anything may take long
// where the machine is busy.
func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(syscall.TimevalToNsec(r.Utime) + syscall.TimevalToNsec(r.Stime))
}
