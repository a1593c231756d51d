package posixtrace

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// A stream uses the kernel's clock where the processor's counter is not reliable. With either,
// processes in several time namespaces record and read times of one clock.
func TestClockSources(t *testing.T) {
	tracetest.NeedRoot(t)
	for _, counter := range []bool{true, false} {
		t.Run(fmt.Sprintf("counter=%v", counter), func(t *testing.T) {
			if counter {
				tracetest.Need(t, sys.TrustTicks(), "a processor whose counter the kernel trusts")
			}
			dir := t.TempDir()
			own := filepath.Join(dir, "streams")
			if err := os.Mkdir(own, 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], strconv.FormatBool(counter), filepath.Join(dir, "log"))
			cmd.Env = append(os.Environ(), tracetest.HelperVar+"=clocks", "PTRACE_DIR="+own, tracetest.Quick)
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ok\n" {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// behind is an offset for a time namespace whose clock is behind ours. The kernel refuses a clock
// before zero, and the system may have booted a minute ago.
func behind() string {
	b, err := os.ReadFile("/proc/uptime")
	tracetest.Check(err == nil, "uptime: %v", err)
	up, _, _ := strings.Cut(string(b), ".")
	n, err := strconv.Atoi(up)
	tracetest.Check(err == nil, "uptime: %v", err)
	return strconv.Itoa(-min(900, n/2))
}

func init() {
	tracetest.Helpers["clocks"] = func(args []string) {
		counter := args[0] == "true"
		sys.TrustTicks = func() bool { return counter }
		f, err := os.Create(args[1])
		tracetest.Check(err == nil, "Create: %v", err)
		began := time.Now()
		s, err := CreateWithLog(0, &Attr{Inheritance: InheritChildren, LogFullPolicy: PolicyAppend, StreamFullPolicy: PolicyUntilFull}, f)
		tracetest.Check(err == nil, "CreateWithLog: %v", err)
		tracetest.Check((s.c.Mem.Clock == stream.ClockTicks) == counter, "clock %d", s.c.Mem.Clock)
		s.Start()
		id, err := OpenEventID("tick")
		tracetest.Check(err == nil, "OpenEventID: %v", err)
		n := 0
		event := func() {
			Event(id, []byte(strconv.Itoa(n)))
			n++
		}
		for _, off := range []string{"86400", "0", behind(), "3000000"} {
			event()
			cmd := exec.Command("unshare", "--time", "--monotonic", off, "--boottime", off, "--fork", "--kill-child", "--", os.Args[0], s.c.Path, strconv.Itoa(n))
			cmd.Env = append(os.Environ(), tracetest.HelperVar+"=clocks-inside", tracetest.Quick)
			out, err := cmd.CombinedOutput()
			tracetest.Check(err == nil && string(out) == "ok\n", "%s: %v %s", off, err, out)
			n++
			event()
			tracetest.Check(s.Flush() == nil, "Flush")
		}
		tracetest.Check(s.Shutdown() == nil, "Shutdown")
		l, err := os.Open(args[1])
		tracetest.Check(err == nil, "Open: %v", err)
		r, err := NewReader(l)
		tracetest.Check(err == nil, "NewReader: %v", err)
		clocksCheck(r, began, n)
		fmt.Println("ok")
	}
	tracetest.Helpers["clocks-inside"] = func(args []string) {
		began := time.Now().Add(-time.Minute)
		id, err := OpenEventID("tick")
		tracetest.Check(err == nil, "OpenEventID: %v", err)
		Event(id, []byte(args[1]))
		s, err := Attach(args[0])
		tracetest.Check(err == nil, "Attach: %v", err)
		r, err := s.Reader()
		tracetest.Check(err == nil, "Reader: %v", err)
		n, _ := strconv.Atoi(args[1])
		clocksCheck(r, began, n+1)
		r.Close()
		s.Close()
		fmt.Println("ok")
	}
}

// clocksCheck checks that r yields n events in order, all recorded since began.
func clocksCheck(r *Reader, began time.Time, n int) {
	last := began.UnixNano() - 1e6
	got := 0
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		tracetest.Check(err == nil, "Next: %v", err)
		tracetest.Check(rec.UnixNano >= last && rec.UnixNano <= time.Now().UnixNano()+1e9, "event %s at %v, the one before at %v",
			rec.Data, time.Unix(0, rec.UnixNano), time.Unix(0, last))
		last = rec.UnixNano
		if rec.ID.User() {
			tracetest.Check(string(rec.Data) == strconv.Itoa(got), "event %s where %d should be", rec.Data, got)
			got++
		}
	}
	tracetest.Check(got == n, "%d events, want %d", got, n)
}
