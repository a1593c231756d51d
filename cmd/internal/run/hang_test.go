package run

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/culprit"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
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

// A look that is given up, or fails, leaves why in the log; one of an idle command is tried again.
func TestLateLookIsRecorded(t *testing.T) {
	defer func(was func([]int, hang.Options) *hang.Report) { look = was }(look)
	dir := filepath.Join(t.TempDir(), "streams")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PTRACE_DIR", dir)
	for _, tt := range []struct {
		takes time.Duration
		cause posixtrace.HangCause
		want  string
	}{
		{3 * lookWait, posixtrace.HangTimeout, "the look was given up after 0.5 s"},
		{3 * lookWait, posixtrace.HangIdle, ""},
		{0, posixtrace.HangSignal, "the look failed: no thread was seen"},
	} {
		done := make(chan struct{})
		look = func([]int, hang.Options) *hang.Report {
			defer close(done)
			time.Sleep(tt.takes)
			return nil
		}
		stream, err := posixtrace.Create(0, nil)
		if err == nil {
			err = stream.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var out said
		s := &session{plan: &runPlan{command: true, log: "x", argv: []string{"/bin/sh", "ci.sh"}}, env: &cli.Env{Prog: "ptrace-run", Stderr: &out},
			child: child.NewRemote(os.Getpid(), nil, nil), from: time.Now(), stream: stream}
		s.reportHang(tt.cause, syscall.SIGTERM)
		<-done
		time.Sleep(lookWait / 10) // what is wrong may come later
		r, err := stream.Reader()
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			if rec.ID != posixtrace.EventHangThread {
				continue
			}
			d, err := posixtrace.DecodeHang(rec.Data)
			if err != nil || rec.PID != os.Getpid() || d.Program != "sh" || d.Report != 1 || d.Cause != tt.cause || d.Signal != 15 || len(d.Args) != 2 {
				t.Errorf("%+v, %v", d, err)
			}
			notes = append(notes, d.Note)
		}
		r.Close()
		stream.Shutdown()
		if got := strings.Join(notes, "|"); got != tt.want {
			t.Errorf("%v, %v: %q, want %q", tt.takes, tt.cause, got, tt.want)
		}
	}
}

// A look does not delay the end of a command that has ended meanwhile, and reports nothing of it.
func TestLookAtEnd(t *testing.T) {
	defer func(was func([]int, hang.Options) *hang.Report) { look = was }(look)
	done := make(chan struct{})
	var out said
	s := &session{plan: &runPlan{}, env: &cli.Env{Prog: "ptrace-run", Stderr: &out}, child: child.NewRemote(os.Getpid(), nil, nil), from: time.Now()}
	s.hangs.ended = make(chan struct{})
	look = func([]int, hang.Options) *hang.Report {
		defer close(done)
		close(s.hangs.ended)
		time.Sleep(2 * lookWait)
		return &hang.Report{Threads: []hang.Thread{{PID: 1, TID: 1, Program: "x"}}}
	}
	started := time.Now()
	s.reportHang(posixtrace.HangSignal, syscall.SIGINT)
	if took := time.Since(started); took >= lookWait {
		t.Errorf("it took %v", took)
	}
	<-done
	time.Sleep(lookWait / 10) // what is wrong may come later
	if got := out.text(); got != "" {
		t.Errorf("%q", got)
	}
}

// The report and its log name the same thread, by the same call.
func TestOneCulprit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	named := regexp.MustCompile(`\(pid (\d+)\)(?: thread (\d+))?`)
	calls := []string{"", "wait4(-1, 0x7ffc, 0, NULL)", "read(0<pipe:[7]>, 0x7f, 65536)", "flock(3</l>, LOCK_EX)", "futex(0x7f, FUTEX_WAIT_PRIVATE, 2, NULL)"}
	for i := range 1000 {
		r := &hang.Report{}
		pids := 1 + rnd.IntN(4)
		for pid := 1; pid <= pids; pid++ {
			for n := range 1 + rnd.IntN(3) {
				x := hang.Thread{PID: 10 * pid, TID: 10*pid + n, State: 'S', Program: "p", Args: []string{"p" + strconv.Itoa(pid)}, Since: -1,
					Kind: hang.Kind(rnd.IntN(6)), Call: calls[rnd.IntN(len(calls))], Stuck: rnd.IntN(5) == 0}
				x.Cycle = x.Stuck && rnd.IntN(4) == 0
				if rnd.IntN(3) > 0 {
					x.ForPID = 10 * (1 + rnd.IntN(5))
					x.ForTID = x.ForPID + max(0, rnd.IntN(4)-1)
				}
				r.Threads = append(r.Threads, x)
			}
		}
		s := &session{plan: &runPlan{}}
		a := analysis.New(analysis.Limits{})
		src := a.NewSource(func(posixtrace.EventID) string { return "" })
		src.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventProcExec, PID: 10, TID: 10}, Data: (&posixtrace.ExecData{Argv: []string{"p1"}}).Append(nil)}})
		for j, d := range s.hangData(r, posixtrace.HangTimeout, 15, 1) {
			src.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventHangThread, PID: r.Threads[j].PID, TID: r.Threads[j].TID}, Data: d.Append(nil)}})
		}
		a.Finish()
		headline, c := r.Headline(), a.Hang(0).Culprit()
		want := [2]int{c.PID, c.TID}
		var got [2]int
		m := named.FindStringSubmatch(headline)
		got[0], _ = strconv.Atoi(m[1])
		if got[1] = got[0]; m[2] != "" {
			got[1], _ = strconv.Atoi(m[2])
		}
		call := culprit.Call(c.Call)
		if got != want || !strings.Contains(headline, call) || !strings.Contains(string(summary.Append(nil, a, 0, &summary.Options{})), call) {
			t.Fatalf("%d: the report: %s\nits log: %d/%d %+v\n%s", i, headline, c.PID, c.TID, c.HangData, r.AppendText(nil, 40))
		}
	}
}

// A look of which only the stacks take long is reported without them, and does not keep a signal longer.
func TestLateStacks(t *testing.T) {
	defer func(was func([]int, hang.Options) *hang.Report) { look = was }(look)
	done := make(chan struct{})
	look = func(_ []int, o hang.Options) *hang.Report {
		defer close(done)
		report := hang.Report{Threads: []hang.Thread{{PID: 1, TID: 1, Program: "x"}}}
		o.Early(&report)
		time.Sleep(2 * lookWait)
		return &report
	}
	var out said
	s := &session{plan: &runPlan{stack: true}, env: &cli.Env{Prog: "ptrace-run", Stderr: &out}, child: child.NewRemote(os.Getpid(), nil, nil), from: time.Now()}
	started := time.Now()
	s.reportHang(posixtrace.HangSignal, syscall.SIGTERM)
	if took := time.Since(started); took < lookWait || took > 2*lookWait {
		t.Errorf("a signal is delayed by %v", took)
	}
	<-done
	s.hangs.await()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && strings.Count(out.text(), "\n") < 3; time.Sleep(time.Millisecond) {
	}
	if got := out.text(); !strings.HasSuffix(got, "\nnot seen: stacks in 500ms\n") || strings.Count(got, "\n") != 3 {
		t.Errorf("%q", got)
	}
}
