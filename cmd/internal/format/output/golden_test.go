package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A step that is inserted anywhere changes no line but its own, whichever processes run at
// the time.
func TestGoldenInsertionChangesNoOtherLine(t *testing.T) {
	// A script, a server in the background with two threads, and steps of processes of their own.
	type ev struct {
		pid, tid int
		span     uint64
		data     string
	}
	var script []ev
	for i := range 20 {
		script = append(script, ev{100, 100, 0, "script"}, ev{100, 1000 + i, 0, "step"}, ev{200, 200, 0, "server"}, ev{200, 201 + i%2, uint64(i), "request"},
			ev{100, 1000 + i, 0, "step"}, ev{300 + i, 300 + i, 0, "child"}, ev{300 + i, 300 + i, 0, "child"}, ev{200, 201, uint64(i), "request"})
	}
	script = append(script, ev{200, 200, 0, "end"}, ev{200, 201, 0, "end"}, ev{200, 202, 0, "end"}, ev{100, 100, 0, "end"})
	src := testSource()
	write := func(evs []ev) []string {
		g := &Golden{}
		var b []byte
		for _, e := range evs {
			b = g.Append(b, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 33, PID: e.pid, TID: e.tid, Span: e.span}, Data: []byte(e.data)})
		}
		b = g.End(b)
		if g.pids.last != 3 || g.tids.last > 5 || len(g.pids.of)+len(g.tids.of)+len(g.spans.of) > 0 {
			t.Fatalf("%d processes and %d threads at a time, %d entries remain", g.pids.last, g.tids.last, len(g.pids.of)+len(g.tids.of)+len(g.spans.of))
		}
		return strings.SplitAfter(string(b), "\n")
	}
	want := write(script)
	for at := 8; at < len(script); at += 8 { // where no other step runs
		more := append(append(append([]ev{}, script[:at]...), ev{100, 9999, 99, "new"}, ev{100, 9999, 99, "new"}), script[at:]...)
		got := write(more)
		if strings.Join(append(append([]string{}, got[:at]...), got[at+2:]...), "") != strings.Join(want, "") {
			t.Fatalf("two events inserted at %d change other lines:\n%s", at, strings.Join(got, ""))
		}
	}
}

// Golden keeps back no more than its limits allow, and the limits change no line.
func TestGoldenMemoryIsBounded(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	src := testSource()
	for _, size := range []int{0, 3000} {
		g := &Golden{}
		var b []byte
		data := bytes.Repeat([]byte{'x'}, size)
		lines := 0
		for i := range 3 * maxHeld {
			b = g.Append(b, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 33, PID: 1, TID: i}, Data: data})
			if g.held.count > maxHeld+1 || g.held.size > maxHeldData+size {
				t.Fatalf("%d events of %d bytes are kept back, beyond the limits", g.held.count, g.held.size)
			}
			lines += bytes.Count(b, []byte{'\n'})
			if len(b) > 0 && !bytes.HasPrefix(b, []byte("P1 T1 ")) && i > maxHeld+1 {
				t.Fatalf("%.100s", b)
			}
			b = b[:0]
		}
		if lines += bytes.Count(g.End(nil), []byte{'\n'}); lines != 3*maxHeld {
			t.Errorf("%d lines, want %d", lines, 3*maxHeld)
		}
	}
}

func TestMask(t *testing.T) {
	for _, tt := range []struct{ masks, in, want string }{
		{"", "/tmp/x", "/tmp/x"},
		{"@tmp", "cp /tmp/tmp.8Gk3xT/a.c /var/tmp/b", "cp @tmp/a.c @tmp"},
		{"@tmp", `"/tmp/TestX123/001/f":3`, `"@tmp/001/f":3`},
		{"@tmp", "/tmp and /template/x", "/tmp and /template/x"},
		{"@tmp", "/tmp/app.7btq/tmp.8Gk3xTzQ1a/x /tmp/build.log", "@tmp/@tmp/x @tmp"},
		{"@tmp", "/dev/shm/sem.Xk29aZ, /run/user/1000/app.7btq, /private/var/tmp/x", "@tmp, @tmp, @tmp"},
		{"@pid", "pid 4711, PID=12, sshd[99]: /proc/1/maps", "pid @pid, PID=@pid, sshd[@pid]: /proc/@pid/maps"},
		{"@pid", "8080 of 4711000 by 4711 x4711", "8080 of 4711000 by @pid x4711"},
		{"@date", "at 2026-11-20T10:12:00.123Z, 2026-11-20 and 2026/11/20 10:12:00 end", "at @date, @date and @date end"},
		{"@date", "2026-11-20 10:12:00,5 +0100 x", "@date x"},
		{"@date", "Fri Nov 20 10:12:00 UTC 2026; Nov  1 01:02:03 host", "@date; @date host"},
		{"@date", "Fri, 20 Nov 2026 10:12:00 GMT; 10:12:00.5 on", "@date; @date on"},
		{"@date", "1:2, v1.2.3-4", "1:2, v1.2.3-4"},
		{"[0-9]+ms|@tmp", "took 12ms in /tmp/x", "took @mask in @tmp"},
	} {
		g := &Golden{}
		for m := range strings.SplitSeq(tt.masks, "|") {
			if m == "" {
				continue
			}
			mask, err := NewMask(m)
			if err != nil {
				t.Fatal(err)
			}
			g.Masks = append(g.Masks, mask)
		}
		line := func(id posixtrace.EventID, data []byte) string {
			g := &Golden{Masks: g.Masks}
			return string(g.End(g.Append(nil, testSource(), &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: 4711, TID: 4711}, Data: data})))
		}
		want := string(escape.Append(nil, tt.want))
		if got := line(33, []byte(tt.in)); got != fmt.Sprintf("P1 T1 build.begin \"%s\"\n", want) {
			t.Errorf("%s: %q becomes %s, want %s", tt.masks, tt.in, got, want)
		}
		if got := line(posixtrace.EventOutputStdout, (&posixtrace.OutputData{Line: []byte(tt.in)}).Append(nil)); got != fmt.Sprintf("P1 T1 output.stdout \"%s\"\n", want) {
			t.Errorf("%s: the line %q becomes %s, want %s", tt.masks, tt.in, got, want)
		}
		exec := posixtrace.ExecData{Path: tt.in, Argv: []string{"x", tt.in}}
		if got := line(posixtrace.EventProcExec, exec.Append(nil)); got != fmt.Sprintf("P1 T1 proc.exec \"%s\" \"%s\"\n", want, want) {
			t.Errorf("%s: the arguments %q become %s, want %s", tt.masks, tt.in, got, want)
		}
	}
	for _, bad := range []string{"@", "@time", "(", "a{2000}"} {
		if _, err := NewMask(bad); err == nil {
			t.Errorf("NewMask(%q): no error", bad)
		}
	}
}

// Golden returns the data of each event whole, however much it keeps back.
func TestGoldenKeepsData(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	g, src := &Golden{}, testSource()
	var got, want []byte
	for i := range 100_000 {
		data := bytes.Repeat([]byte{byte('a' + i%26)}, i*7919%200)
		if i%100 == 0 {
			data = bytes.Repeat(data, i%1000)
		}
		got = g.Append(got, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 33, PID: 7, TID: 8}, Data: data})
		want = appendData(append(want, "P1 T1 build.begin"...), data, posixtrace.TruncationNone)
		want = append(want, '\n')
		clear(data)
	}
	if got = g.End(got); !bytes.Equal(got, want) {
		t.Error("the data of an event differs from what it was")
	}
	if n := len(g.held.blocks.spare); n > maxHeldData/len(dataBlock{})*8/7+1 {
		t.Errorf("%d blocks remain", n)
	}
}
