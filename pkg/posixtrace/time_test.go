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

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracetest"
)

// Where the processor's counter is not to be trusted the kernel's clock is taken; and with
// either, the times of what processes of several time namespaces record and read are
// those of one clock.
func TestClocks(t *testing.T) {
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
			cmd.Env = append(os.Environ(), helperVar+"=clocks", "PTRACE_DIR="+own, quick)
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ok\n" {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// behind is an offset for a time namespace whose clock is behind ours. The kernel wants
// none before zero, and the system may have been booted a minute ago.
func behind() string {
	b, err := os.ReadFile("/proc/uptime")
	logCheck(err == nil, "uptime: %v", err)
	up, _, _ := strings.Cut(string(b), ".")
	n, err := strconv.Atoi(up)
	logCheck(err == nil, "uptime: %v", err)
	return strconv.Itoa(-min(900, n/2))
}

func init() {
	helpers["clocks"] = func(args []string) {
		counter := args[0] == "true"
		sys.TrustTicks = func() bool { return counter }
		f, err := os.Create(args[1])
		logCheck(err == nil, "Create: %v", err)
		began := time.Now()
		s, err := CreateWithLog(0, &Attr{Inheritance: InheritChildren, LogFullPolicy: PolicyAppend, StreamFullPolicy: PolicyUntilFull}, f)
		logCheck(err == nil, "CreateWithLog: %v", err)
		logCheck((s.c.mem.Clock == stream.ClockTicks) == counter, "clock %d", s.c.mem.Clock)
		s.Start()
		id, err := OpenEventID("tick")
		logCheck(err == nil, "OpenEventID: %v", err)
		n := 0
		event := func() {
			Event(id, []byte(strconv.Itoa(n)))
			n++
		}
		for _, off := range []string{"86400", "0", behind(), "3000000"} {
			event()
			cmd := exec.Command("unshare", "--time", "--monotonic", off, "--boottime", off, "--fork", "--kill-child", "--", os.Args[0], s.c.path, strconv.Itoa(n))
			cmd.Env = append(os.Environ(), helperVar+"=clocks-inside", quick)
			out, err := cmd.CombinedOutput()
			logCheck(err == nil && string(out) == "ok\n", "%s: %v %s", off, err, out)
			n++
			event()
			logCheck(s.Flush() == nil, "Flush")
		}
		logCheck(s.Shutdown() == nil, "Shutdown")
		l, err := os.Open(args[1])
		logCheck(err == nil, "Open: %v", err)
		r, err := NewReader(l)
		logCheck(err == nil, "NewReader: %v", err)
		clocksCheck(r, began, n)
		fmt.Println("ok")
	}
	helpers["clocks-inside"] = func(args []string) {
		began := time.Now().Add(-time.Minute)
		id, err := OpenEventID("tick")
		logCheck(err == nil, "OpenEventID: %v", err)
		Event(id, []byte(args[1]))
		s, err := Attach(args[0])
		logCheck(err == nil, "Attach: %v", err)
		r, err := s.Reader()
		logCheck(err == nil, "Reader: %v", err)
		n, _ := strconv.Atoi(args[1])
		clocksCheck(r, began, n+1)
		r.Close()
		s.Close()
		fmt.Println("ok")
	}
}

// clocksCheck checks that r yields n events in their order, all of them recorded since began.
func clocksCheck(r *Reader, began time.Time, n int) {
	last := began.UnixNano() - 1e6
	got := 0
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		logCheck(err == nil, "Next: %v", err)
		logCheck(rec.UnixNano >= last && rec.UnixNano <= time.Now().UnixNano()+1e9, "event %s at %v, the one before at %v",
			rec.Data, time.Unix(0, rec.UnixNano), time.Unix(0, last))
		last = rec.UnixNano
		if rec.ID.User() {
			logCheck(string(rec.Data) == strconv.Itoa(got), "event %s where %d should be", rec.Data, got)
			got++
		}
	}
	logCheck(got == n, "%d events, want %d", got, n)
}
