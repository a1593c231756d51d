package run

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/cmd/internal/record/hang"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// said is what a session writes.
type said struct {
	sync.Mutex
	bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.Buffer.Write(b)
}

func (s *said) text() string {
	s.Lock()
	defer s.Unlock()
	return s.Buffer.String()
}

// A look that takes long does not keep a signal, and what it finds is reported nowhere, also later. There is
// no report of a command that cannot be seen.
func TestLateLook(t *testing.T) {
	defer func(was func([]int, hang.Options) *hang.Report) { look = was }(look)
	report := &hang.Report{Threads: []hang.Thread{{PID: 1, TID: 1, Program: "x", Since: time.Hour}}}
	for _, tt := range []struct {
		report *hang.Report
		takes  time.Duration
		want   string
	}{{report, 0, ":\n"}, {report, 3 * lookWait, ": what it waits for could not be seen in 500ms\n"}, {nil, 0, ""}, {&hang.Report{}, 0, ""}} {
		done := make(chan struct{})
		look = func(roots []int, _ hang.Options) *hang.Report {
			defer close(done)
			if roots[0] != os.Getpid() {
				t.Error(roots)
			}
			time.Sleep(tt.takes)
			return tt.report
		}
		var out said
		s := &session{plan: &runPlan{}, env: &cli.Env{Prog: "ptrace-run", Stderr: &out}, child: child.NewRemote(os.Getpid(), nil, nil), from: time.Now()}
		started := time.Now()
		s.reportHang(posixtrace.HangSignal, syscall.SIGTERM)
		if took := time.Since(started); tt.takes > 0 && (took < lookWait || took > tt.takes) {
			t.Errorf("a look that takes %v delays a signal by %v", tt.takes, took)
		}
		<-done
		if since := report.Threads[0].Since; tt.report == report && tt.takes == 0 && since > time.Minute {
			t.Errorf("a thread waits for %v, longer than the command runs", since)
		}
		time.Sleep(lookWait / 10) // what is wrong may come later
		if got := out.text(); !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") || tt.takes > 0 && strings.Count(got, "\n") != 1 {
			t.Errorf("a look that takes %v: %q", tt.takes, got)
		}
	}
}
