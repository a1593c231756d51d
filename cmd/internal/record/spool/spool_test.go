package spool

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// consumerEnv makes this test binary a consumer of the stream that it names.
const consumerEnv = "POSIXTRACE_TEST_CONSUMER"

func TestMain(m *testing.M) {
	if path := os.Getenv(consumerEnv); path != "" {
		drainUntilKilled(path)
	}
	os.Exit(m.Run())
}

// drainUntilKilled drains the spool until the process is killed or the stream is removed.
func drainUntilKilled(path string) {
	s, err := posixtrace.Attach(path)
	if err != nil {
		os.Exit(1)
	}
	for {
		t, err := NewConsumer(s, false)
		if err != nil {
			os.Exit(0)
		}
		t.Drain(time.Second)
		t.Close()
	}
}

// newStream makes a running stream and its spool.
func newStream(t *testing.T, attr posixtrace.Attr) (s *posixtrace.Stream, path string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	s, err := posixtrace.Create(0, &attr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Shutdown()
		if left, _ := filepath.Glob(filepath.Join(dir, "[ls]-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	if path, err = Create(s, false); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s, path
}

// appendTo appends as a shell does: open, one write, close.
func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// drain drains the spool of a stream, and finishes it if last.
func drain(t *testing.T, s *posixtrace.Stream, last bool) {
	t.Helper()
	k, err := NewConsumer(s, false)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if last {
		err = k.Finish(5 * time.Second)
	} else {
		_, err = k.Drain(5 * time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// events returns the user events of a stream, as NAME PID DATA.
func events(t *testing.T, s *posixtrace.Stream) (list []string) {
	t.Helper()
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	last := int64(0)
	for {
		ev, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.UnixNano < last {
			t.Errorf("time %d follows %d", ev.UnixNano, last)
		}
		last = ev.UnixNano
		if !ev.ID.System() {
			list = append(list, fmt.Sprintf("%s %d %s", r.EventName(ev.ID), ev.PID, ev.Data))
		}
	}
}

func lost(t *testing.T, s *posixtrace.Stream) uint64 {
	t.Helper()
	st, err := s.PeekStatus()
	if err != nil {
		t.Fatal(err)
	}
	return st.Lost
}

// A line becomes one event, or counts as lost if it is not an event.
func TestDrainRecordsEachLineOnce(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for _, c := range []struct {
		name, in string
		want     []string
		lost     uint64
	}{
		{"plain", "a.b\t12\t\tdata\n", []string{"a.b 12 data"}, 0},
		{"no data", "a\t1\t1795169520.5\t\n", []string{"a 1 "}, 0},
		{"tabs in data", "a\t1\t\tx\ty\tz\n", []string{"a 1 x\ty\tz"}, 0},
		{"escapes", `a	1		\n\t\"\\\x41\xfg\q\` + "\n", []string{"a 1 \n\t\"\\A\\xfg\\q\\"}, 0},
		{"bytes", "a\t1\t\t\xff\x00\x1b[2J\n", []string{"a 1 \xff\x00\x1b[2J"}, 0},
		{"odd times", "a\t1\t99999999999999\t1\na\t1\t-1\t2\na\t1\tx\t3\na\t1\t0.0\t4\na\t1\t9000000000.999999999999\t5\na\t1\t,\t6\n",
			[]string{"a 1 1", "a 1 2", "a 1 3", "a 1 4", "a 1 5", "a 1 6"}, 0},
		{"no line", "a\n\n\t\t\t\na\t1\n", nil, 4},
		{"no pid", "a\t\t\t\na\t0\t\t\na\t-1\t\t\na\t4194305\t\t\na\t1x\t\t\na\t99999999999999999999\t\t\n", nil, 6},
		{"system event", "proc.exit\t1\t\t\nposix_trace_start\t1\t\t\n", nil, 2},
		{"no name", "\t1\t\tx\n", nil, 1},
		{"a mark", "\t1\t1795169520.5\t0\na\t1\t\tx\n", []string{"a 1 x"}, 0},
		{"coarse time", "a\t1\t+1.25\tx\na\t1\t+\ty\na\t1\t+x\tz\na\t1\t+99999999999\tz\n", []string{"a 1 x", "a 1 y", "a 1 z", "a 1 z"}, 0},
		{"reported loss", "\t1\t\t64\n", nil, 64},
		{"longest name", strings.Repeat("n", 255) + "\t1\t\t\n", []string{strings.Repeat("n", 255) + " 1 "}, 0},
		{"name too long", strings.Repeat("n", 256) + "\t1\t\t\n", nil, 1},
		{"line too long", "a\t1\t\t" + long + "\nb\t1\t\tz\n", []string{"b 1 z"}, 1},
		{"line beyond a batch", strings.Repeat(long, 40) + "\nb\t1\t\tz\n", []string{"b 1 z"}, 1},
		{"incomplete", "a\t1\t\tx\nb\t1\t\ty", []string{"a 1 x"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, path := newStream(t, posixtrace.Attr{})
			appendTo(t, path, c.in)
			drain(t, s, false)
			drain(t, s, false)
			if got := events(t, s); strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("events %q, want %q", got, c.want)
			}
			if n := lost(t, s); n != c.lost {
				t.Errorf("%d lost, want %d", n, c.lost)
			}
		})
	}
}

// An incomplete line waits, and is lost when the spool ends.
func TestDrainWaitsForNewline(t *testing.T) {
	s, path := newStream(t, posixtrace.Attr{})
	appendTo(t, path, "a\t1\t\tx")
	drain(t, s, false)
	appendTo(t, path, "y\nb\t1\t\t")
	drain(t, s, false)
	if got := events(t, s); len(got) != 1 || got[0] != "a 1 xy" {
		t.Errorf("events %q, want %q", got, "a 1 xy")
	}
	drain(t, s, true)
	if n := lost(t, s); n != 1 {
		t.Errorf("%d lost, want 1, the line without a newline", n)
	}
	if _, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666); err == nil {
		t.Error("a shell can open the spool after Finish")
	}
}

// A consumer drains a rotated file until no other process has it open.
func TestDrainReadsRotatedFiles(t *testing.T) {
	s, path := newStream(t, posixtrace.Attr{StreamSize: 4 << 20})
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := "a\t1\t\t" + strings.Repeat("x", 100) + "\n"
	f.WriteString(strings.Repeat(line, 6000))
	drain(t, s, false)
	if old, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "old.*")); len(old) != 1 {
		t.Fatalf("rotated files: %v, want one", old)
	}
	f.WriteString("late\t1\t\t\n")
	appendTo(t, path, "new\t1\t\t\n")
	drain(t, s, false)
	f.Close()
	drain(t, s, false)
	if old, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "old.*")); len(old) != 0 {
		t.Errorf("%v remains after every writer has closed it", old)
	}
	got := events(t, s)
	if n := len(got); n != 6002 || got[n-2] != "late 1 " || got[n-1] != "new 1 " {
		t.Errorf("%d events, the last %q; want 6002, the last late and new", n, got[max(n-2, 0):])
	}
}

// Lines beyond the bound are lost and counted: the oldest ones of a stream that overwrites,
// the newest ones of others.
func TestDrainCountsLinesBeyondBound(t *testing.T) {
	for _, policy := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		t.Run(policy.String(), func(t *testing.T) {
			s, path := newStream(t, posixtrace.Attr{StreamSize: 64 << 10, StreamFullPolicy: policy})
			var b bytes.Buffer
			const n = 20000
			for i := range n {
				fmt.Fprintf(&b, "a\t1\t\t%d\n", i)
			}
			appendTo(t, path, b.String())
			drain(t, s, false)
			got := events(t, s)
			if n := len(got); n == 0 || policy == posixtrace.PolicyLoop && got[n-1] != "a 1 19999" || policy != posixtrace.PolicyLoop && got[0] != "a 1 0" {
				t.Errorf("%d events, the first and last %q", n, append(got[:min(n, 1)], got[max(n-1, 0):]...))
			}
			if l := lost(t, s); len(got)+int(l) != n {
				t.Errorf("%d recorded and %d lost make %d, want %d", len(got), l, len(got)+int(l), n)
			}
		})
	}
}

// Consumers are killed again and again while many writers append lines. Each line becomes
// one event, in the order of its writer.
func TestKilledConsumersLoseNothing(t *testing.T) {
	s, path := newStream(t, posixtrace.Attr{StreamSize: 16 << 20})
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	const writers, lines = 8, 3000
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range lines {
				appendTo(t, path, fmt.Sprintf("w\t%d\t%d.%09d\t%d\n", w+1, time.Now().Unix(), time.Now().Nanosecond(), i))
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	kills := 0
	for busy := true; busy || kills < 20; kills++ {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), consumerEnv+"="+info.Path)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			busy = false
		case <-time.After(time.Duration(5+rand.N(20)) * time.Millisecond):
		}
		c.Process.Kill()
		c.Wait()
	}
	drain(t, s, true)
	next := map[string]int{}
	for _, e := range events(t, s) {
		var pid, i int
		if _, err := fmt.Sscanf(e, "w %d %d", &pid, &i); err != nil {
			t.Fatalf("event %q", e)
		}
		key := fmt.Sprint(pid)
		if i != next[key] {
			t.Fatalf("writer %s: line %d after %d killed consumers, want %d", key, i, kills, next[key])
		}
		next[key]++
	}
	for w := range writers {
		if n := next[fmt.Sprint(w+1)]; n != lines {
			t.Errorf("writer %d: %d events, want %d", w+1, n, lines)
		}
	}
	if n := lost(t, s); n != 0 {
		t.Errorf("%d lost, want 0", n)
	}
}

// A consumer resumes the batch in which another one was killed, among equal events and
// lines that the filter rejected.
func TestDrainResumesBatch(t *testing.T) {
	s, path := newStream(t, posixtrace.Attr{})
	var set posixtrace.EventSet
	id, err := s.EventID("no")
	if err != nil {
		t.Fatal(err)
	}
	set.Add(id)
	if err := s.SetFilter(set, posixtrace.FilterSet); err != nil {
		t.Fatal(err)
	}
	text := "no\t1\t\t\na\t1\t\tx\na\t1\t\tx\nno\t1\t\t\na\t1\t\tx\nb\t1\t\ty\n"
	appendTo(t, path, text)
	k, err := NewConsumer(s, false)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	k.d, err = open(k.path)
	if err != nil {
		t.Fatal(err)
	}
	// Do what a consumer has done that is killed after four of the six lines.
	k.withLock(0, func() error {
		k.split([]byte(text))
		k.st.tryEnd, k.st.since = int64(len(text)), time.Now().UnixNano()
		if err := k.save(); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			k.record(&k.lines[i], batchAddress(0, 0))
		}
		return nil
	})
	drain(t, s, false)
	if got := strings.Join(events(t, s), "|"); got != "a 1 x|a 1 x|a 1 x|b 1 y" {
		t.Errorf("events %s, want a 1 x three times, then b 1 y", got)
	}
}

// A hostile state file costs events and nothing else.
func TestDrainSurvivesHostileState(t *testing.T) {
	for _, text := range []string{
		"", "x", "ptrace-spool 2 0 9223372036854775807 false 0 0 0 0 0:",
		"ptrace-spool 2 0 0 true 5 99999999999 0 0 0:", "ptrace-spool 2 3 0 false 0 0 0 0 2: 1/7 1/9",
		"ptrace-spool 2 0 0 false 0 0 0 0 99: ", strings.Repeat("9", 3000),
	} {
		s, path := newStream(t, posixtrace.Attr{})
		state := filepath.Join(filepath.Dir(path), stateName)
		if err := os.WriteFile(state, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Symlink("/etc/passwd", filepath.Join(filepath.Dir(path), "old.1"))
		appendTo(t, path, "a\t1\t\t\n")
		k, err := NewConsumer(s, false)
		if err != nil {
			t.Fatal(err)
		}
		k.Drain(time.Second)
		k.Finish(time.Second)
		k.Close()
		if n := len(events(t, s)); n > 1 {
			t.Errorf("state %q: %d events, want at most 1", text, n)
		}
		s.Shutdown()
	}
}
