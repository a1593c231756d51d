package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// script writes a run: commands and spans at given milliseconds.
type script struct {
	recs  []posixtrace.Record
	names []string
}

func (s *script) add(ms int64, id posixtrace.EventID, pid int, data []byte) {
	s.recs = append(s.recs, posixtrace.Record{EventInfo: posixtrace.EventInfo{UnixNano: 1e18 + ms*1e6, ID: id, PID: pid, TID: pid}, Data: data})
}

func (s *script) fork(ms int64, pid, child int) {
	s.add(ms, posixtrace.EventProcFork, pid, (&posixtrace.ForkData{Child: child}).Append(nil))
}

func (s *script) exec(ms int64, pid int, argv ...string) {
	s.add(ms, posixtrace.EventProcExec, pid, (&posixtrace.ExecData{Path: "/bin/" + argv[0], Argv: argv}).Append(nil))
}

func (s *script) exit(ms int64, pid, status int) {
	s.add(ms, posixtrace.EventProcExit, pid, (&posixtrace.ExitData{Status: status}).Append(nil))
}

func (s *script) event(ms int64, pid int, name, data string) {
	id := -1
	for i, n := range s.names {
		if n == name {
			id = i
		}
	}
	if id < 0 {
		id = len(s.names)
		s.names = append(s.names, name)
	}
	s.add(ms, posixtrace.EventID(1000+id), pid, []byte(data))
}

func (s *script) run(o *Options) *Run {
	b := NewBuilder(o, func(id posixtrace.EventID) string {
		if i := int(id) - 1000; i >= 0 && i < len(s.names) {
			return s.names[i]
		}
		return ""
	})
	b.Add(s.recs)
	return b.Finish("x", 0)
}

// text is the differences in short.
func text(r *Result) string {
	var b strings.Builder
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "%s %s %s %d;", d.What, d.How, d.Name, d.Effect/1e6)
	}
	return b.String()
}

func defaults() *Options { return &Options{Percent: DefaultPercent, Least: DefaultLeast} }

// build is a parallel build of two files on two processors, with the times of both.
func build(a, b int64) *script {
	s := &script{}
	end := max(a, b) + 20
	s.exec(0, 1, "make")
	s.fork(5, 1, 2)
	s.fork(6, 1, 3)
	s.exec(7, 2, "cc", "a.c")
	s.exec(8, 3, "cc", "b.c")
	s.exit(5+a, 2, 0)
	s.exit(6+b, 3, 0)
	s.exit(end, 1, 0)
	return s
}

// What took longer beside something that took longer still had no effect on the wall time.
func TestEffect(t *testing.T) {
	o := defaults()
	for _, tt := range []struct {
		a, b int64
		want string
	}{
		{100, 300, ""},
		{100, 600, "command slower cc b.c 300;"},
		{250, 300, "command slower cc a.c 0;"},
		{500, 300, "command slower cc a.c 200;"},
		{100, 100, "command faster cc b.c -200;"},
	} {
		if got := text(Compare(o, []*Run{build(100, 300).run(o)}, []*Run{build(tt.a, tt.b).run(o)})); got != tt.want {
			t.Errorf("%d %d: %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}

// Spans match by data, by similar data, or by their name alone where the data is another each time.
func TestSpanData(t *testing.T) {
	o := &Options{Golden: true}
	spans := func(data ...string) *Run {
		s := &script{}
		for i, d := range data {
			s.event(int64(10*i), 1, "work.begin", d)
			s.event(int64(10*i+5), 1, "work.end", "")
		}
		return s.run(o)
	}
	for _, tt := range []struct {
		old, new []string
		want     string
	}{
		{[]string{"a", "b"}, []string{"b", "a"}, "span moved work b 0;"},
		{[]string{"a", "b"}, []string{"a"}, "span gone work b -5;"},
		{[]string{"a"}, []string{"a", "a"}, "span more work a 0;"},
		{[]string{"id 1", "id 2", "id 3"}, []string{"id 4", "id 5", "id 6"}, ""},
		{[]string{"id 1", "id 2", "id 3"}, []string{"id 4", "id 5"}, "span fewer work 0;"},
		{[]string{"load x"}, []string{"load y"}, "span changed work load y 0;"},
		{[]string{"load x"}, []string{"store y"}, "span gone work load x -5;span added work store y 5;"},
		{[]string{"at 12:00:01", "b"}, []string{"at 13:00:01", "b"}, ""},
	} {
		if got := text(Compare(o, []*Run{spans(tt.old...)}, []*Run{spans(tt.new...)})); got != tt.want {
			t.Errorf("%q %q: %q, want %q", tt.old, tt.new, got, tt.want)
		}
	}
}

// Steps match by the words of their command: what has none in common is new, or gone.
func TestSteps(t *testing.T) {
	o := &Options{Golden: true}
	steps := func(data ...string) *Run {
		s := &script{}
		for i, d := range data {
			s.event(int64(10*i), 1, "step.begin", fmt.Sprintf("ci.sh:%d %s", i+1, d))
			s.event(int64(10*i+5), 1, "step.end", "0")
		}
		return s.run(o)
	}
	for _, tt := range []struct {
		old, new []string
		want     string
	}{
		{[]string{"make all", "echo end"}, []string{"make all", "ls /nonexistent"}, "step gone ci.sh:2 echo end -5;step added ci.sh:2 ls /nonexistent 5;"},
		{[]string{"make all", "echo end"}, []string{"make all", "true", "echo end"}, "step added ci.sh:2 true 5;"},
		{[]string{"sleep 1", "go test"}, []string{"sleep 2", "go vet"}, "step changed ci.sh:1 sleep 2 0;step changed ci.sh:2 go vet 0;"},
		{[]string{"sleep 1", "echo end"}, []string{"sleep 2", "ls"}, "step gone ci.sh:2 echo end -5;step added ci.sh:2 ls 5;step changed ci.sh:1 sleep 2 0;"},
		{[]string{"echo end", "sleep 1"}, []string{"sleep 2", "ls"}, "step gone ci.sh:1 echo end -5;step added ci.sh:2 ls 5;step changed ci.sh:1 sleep 2 0;"},
	} {
		if got := text(Compare(o, []*Run{steps(tt.old...)}, []*Run{steps(tt.new...)})); got != tt.want {
			t.Errorf("%q %q: %q, want %q", tt.old, tt.new, got, tt.want)
		}
	}
}

// A part that moves into another command is no difference of time.
func TestWrapped(t *testing.T) {
	o := defaults()
	plain := &script{}
	plain.exec(0, 1, "sh")
	plain.fork(1, 1, 2)
	plain.exec(2, 2, "test", "all")
	plain.exit(200, 2, 0)
	plain.exit(210, 1, 0)
	wrapped := &script{}
	wrapped.exec(0, 1, "sh")
	wrapped.fork(1, 1, 2)
	wrapped.exec(2, 2, "env", "-i")
	wrapped.fork(3, 2, 3)
	wrapped.exec(4, 3, "test", "all")
	wrapped.exit(200, 3, 0)
	wrapped.exit(205, 2, 0)
	wrapped.exit(210, 1, 0)
	if got := text(Compare(o, []*Run{plain.run(o)}, []*Run{wrapped.run(o)})); got != "command added env -i 7;" {
		t.Error(got)
	}
}

// The effects of what only one run has add up to the change of the wall time, whatever the tree.
func TestRandomTrees(t *testing.T) {
	for seed := range uint64(200) {
		o := &Options{Golden: seed%2 == 0, Percent: 10}
		runs := [2][]*Run{}
		var length int64 // the longest
		for side := range 2 {
			for range 1 + seed%3 {
				s := random(rand.New(rand.NewPCG(seed, uint64(side))))
				first, last := s.recs[0].UnixNano, s.recs[0].UnixNano
				for i := range s.recs {
					first, last = min(first, s.recs[i].UnixNano), max(last, s.recs[i].UnixNano)
				}
				length = max(length, last-first)
				runs[side] = append(runs[side], s.run(o))
			}
		}
		r := Compare(o, runs[0], runs[1])
		for _, d := range r.Differences {
			if d.Effect > 0 && r.Wall.By() < -1<<60 || d.Name == "" && d.What == Command {
				t.Fatalf("seed %d: %+v", seed, d)
			}
		}
		for i := range runs[0] {
			chain := int64(0)
			for _, m := range runs[0][i].profile.items {
				chain += m.chain
			}
			if chain > length {
				t.Fatalf("seed %d: a chain of %d in %d", seed, chain, length)
			}
		}
		if same := Compare(o, runs[0], runs[0]); same.Differ() {
			t.Fatalf("seed %d: a group differs from itself: %s", seed, text(same))
		}
	}
}

// random is a run of any events, with texts of any kind.
func random(rng *rand.Rand) *script {
	s := &script{}
	texts := hostile.Texts()
	some := func() string { return texts[rng.IntN(len(texts))] }
	at := int64(0)
	for range 20 + rng.IntN(300) {
		at += int64(rng.IntN(20)) - 2
		pid := 1 + rng.IntN(6)
		switch rng.IntN(6) {
		case 0:
			s.fork(at, pid, 1+rng.IntN(6))
		case 1:
			s.exec(at, pid, "x"+strings.ReplaceAll(some(), "\x00", ""), strings.ReplaceAll(some(), "\x00", ""))
		case 2:
			s.exit(at, pid, rng.IntN(3))
		case 3:
			s.event(at, pid, fmt.Sprintf("s%d.begin", rng.IntN(4)), some())
		case 4:
			s.event(at, pid, fmt.Sprintf("s%d.end", rng.IntN(4)), "1")
		case 5:
			s.event(at, pid, "plain", some())
		}
	}
	return s
}

// What is gone from beside the chain left its place to what decided the wall time.
func TestGoneBesideTheChain(t *testing.T) {
	o := defaults()
	old, now := &script{}, &script{}
	for _, s := range []*script{old, now} {
		s.exec(0, 1, "make")
		s.fork(1, 1, 2)
		s.exec(2, 2, "sh", "x.sh")
		s.fork(2, 1, 3)
	}
	old.exec(3, 3, "sh", "y.sh")
	old.exit(101, 2, 0)
	old.fork(102, 1, 4)
	old.exec(103, 4, "sh", "z.sh")
	old.exit(155, 3, 0)
	old.exit(203, 4, 0)
	old.exit(205, 1, 0)
	now.exec(3, 3, "sh", "z.sh")
	now.exit(101, 2, 0)
	now.exit(103, 3, 0)
	now.exit(105, 1, 0)
	r := Compare(o, []*Run{old.run(o)}, []*Run{now.run(o)})
	if got := text(r); got != "command gone sh y.sh -100;" || r.Cause == nil {
		t.Error(got)
	}
	r = Compare(o, []*Run{now.run(o)}, []*Run{old.run(o)})
	if got := text(r); got != "command added sh y.sh 100;" || r.Cause == nil {
		t.Error(got)
	}
}

// The largest effect comes first and is the cause, and what had none comes last, however much its own
// time changed.
func TestEffectsFirst(t *testing.T) {
	o := defaults()
	run := func(beside, chain, last int64) *Run {
		s := &script{}
		s.exec(0, 1, "make")
		s.fork(0, 1, 2)
		s.exec(0, 2, "cc", "d.c")
		s.fork(0, 1, 3)
		s.exec(0, 3, "cc", "e.c")
		s.exit(beside, 2, 0)
		s.exit(chain, 3, 0)
		s.fork(chain, 1, 4)
		s.exec(chain, 4, "ld")
		s.exit(chain+last, 4, 0)
		s.exit(chain+last, 1, 0)
		return s.run(o)
	}
	r := Compare(o, []*Run{run(280, 300, 200)}, []*Run{run(100, 200, 140)})
	if got := text(r); got != "command faster cc e.c -100;command faster ld -60;command faster cc d.c 0;" || r.Cause != r.Differences[0] {
		t.Error(got)
	}
}

// What newly fails is the cause, even if the run succeeds and something else takes longer.
func TestNewFailureFirst(t *testing.T) {
	o := defaults()
	run := func(status int, took int64, more bool) *Run {
		s := &script{}
		s.exec(0, 1, "sh", "all")
		s.fork(1, 1, 2)
		s.exec(1, 2, "check")
		s.exit(2, 2, status)
		s.fork(2, 1, 3)
		s.exec(2, 3, "work")
		s.exit(2+took, 3, 0)
		if more {
			s.fork(2+took, 1, 4)
			s.exec(2+took, 4, "test", "-e", "x")
			s.exit(3+took, 4, 1)
		}
		s.exit(4+took, 1, 0)
		return s.run(o)
	}
	r := Compare(o, []*Run{run(0, 100, false)}, []*Run{run(3, 400, true)})
	if got := text(r); got != "command fails check 0;command added test -e x 1;command slower work 300;" || r.Cause != r.Differences[0] {
		t.Error(got)
	}
	if d := r.Differences[0]; d.Status != 3 || !d.Ended {
		t.Errorf("status %d, ended %v", d.Status, d.Ended)
	}
	r = Compare(o, []*Run{run(0, 100, false)}, []*Run{run(0, 400, true)})
	if got := text(r); got != "command added test -e x 1;command slower work 300;" || r.Cause != r.Differences[0] {
		t.Error(got)
	}
}
