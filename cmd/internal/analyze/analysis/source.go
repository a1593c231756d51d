package analysis

import (
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/samples"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Source is a log or stream of an Analysis.
type Source struct {
	a      *Analysis
	name   func(posixtrace.EventID) string
	index  uint32
	latest int64 // time of the latest event
	types  catalog.Table[*eventType]
	thread *thread // that began or ended a span without a key last
	of     threadKey
	output output   // of the command
	root   *process // that executed first, while it runs
	first  int64    // times of the first and the last event, if any
	last   int64
	any    bool

	printed    [2]tail // of standard output and standard error
	printedAt  [2]lineTimes
	failedSpan FailedSpan
	spanOutput failureOutput

	outputs     [maxOutputs]commandOutput // of the latest failures of commands
	failures    int                       // that had a place there
	outputUntil int64                     // no line after this time belongs to one
	failure     *failure                  // of the first command
	ended       bool                      // the first command
	timeout     *Timeout                  // of the first command
	hang        *Hang                     // the latest
	samples     samples.Samples

	rooted bool

	entered   enteredCalls
	exhausted exhausted

	used, delay int64 // of the commands that have ended, as Command.CPU and Command.Delay
}

// kind is what the events of a type mean.
type kind uint8

const (
	plain kind = iota
	begins
	ends
	forks
	executes
	exits
	prints
	callsKernel
	limits
	hangs
	sampled
)

// eventType is an event type of a source.
type eventType struct {
	kind  kind
	count *Count
	spans *spanType // of begins and ends
	call  *Call     // of callsKernel
}

// Add adds events that follow each other. It does not keep them or their data.
func (s *Source) Add(recs []posixtrace.Record) {
	a := s.a
	if len(recs) == 0 {
		return
	}
	if a.Events == 0 {
		a.First, a.Last = recs[0].UnixNano, recs[0].UnixNano
	}
	if !s.any {
		s.any, s.first, s.last = true, recs[0].UnixNano, recs[0].UnixNano
	}
	a.Events += uint64(len(recs))
	first, last, latest := a.First, a.Last, s.latest
	for i := range recs {
		rec := &recs[i]
		t, known := s.types.Get(rec.ID)
		if !known {
			t = s.learn(rec.ID)
		}
		t.count.Events++
		t.count.Bytes += uint64(len(rec.Data))
		first, last = min(first, rec.UnixNano), max(last, rec.UnixNano)
		if rec.UnixNano < latest {
			a.Backward++
		}
		latest = rec.UnixNano
		if t.kind != plain {
			s.handle(t, rec)
		}
	}
	a.First, a.Last, s.latest, s.last = first, last, latest, max(s.last, latest)
}

// AddCount adds the events of one type, of which only the count matters: see Plain.
func (s *Source) AddCount(n *posixtrace.TypeCount) {
	a := s.a
	if a.Events == 0 {
		a.First, a.Last = n.First, n.Last
	}
	a.Events += n.Events
	a.First, a.Last = min(a.First, n.First), max(a.Last, n.Last)
	if !s.any {
		s.any, s.first, s.last = true, n.First, n.Last
	}
	s.first, s.last = min(s.first, n.First), max(s.last, n.Last)
	c := s.learn(n.ID).count
	c.Events += n.Events
	c.Bytes += n.Bytes
}

// Plain reports whether only the count of the events of a type matters.
func Plain(id posixtrace.EventID, name string) bool { return kindOf(id, name) == plain }

func kindOf(id posixtrace.EventID, name string) kind {
	switch {
	case id == posixtrace.EventProcFork:
		return forks
	case id == posixtrace.EventProcExec:
		return executes
	case id == posixtrace.EventProcExit:
		return exits
	case id == posixtrace.EventProcTimeout:
		return limits
	case id == posixtrace.EventHangThread:
		return hangs
	case id == posixtrace.EventResSample:
		return sampled
	case id == posixtrace.EventOutputStdout, id == posixtrace.EventOutputStderr:
		return prints
	case id.User() && strings.HasSuffix(name, beginSuffix):
		return begins
	case id.User() && strings.HasSuffix(name, endSuffix):
		return ends
	case id.System() && strings.HasPrefix(name, callPrefix):
		return callsKernel
	}
	return plain
}

// learn returns the type of an id. It remembers a type that has a name, or cannot get one.
func (s *Source) learn(id posixtrace.EventID) *eventType {
	name := s.name(id)
	t := &eventType{kind: kindOf(id, name)}
	shown := name
	if name == "" {
		shown = "#" + strconv.Itoa(int(id))
	}
	t.count = s.a.counts.of(id, shown, t.kind)
	switch t.kind {
	case begins:
		t.spans = s.a.spans.ofName(strings.TrimSuffix(name, beginSuffix))
	case ends:
		t.spans = s.a.spans.ofName(strings.TrimSuffix(name, endSuffix))
	case callsKernel:
		t.call = s.a.calls.of(strings.TrimPrefix(name, callPrefix))
	}
	if name != "" || id <= posixtrace.EventUnnamed {
		s.types.Put(id, t)
	}
	return t
}

func (s *Source) handle(t *eventType, rec *posixtrace.Record) {
	switch t.kind {
	case begins:
		s.a.spans.begin(s, t.spans, rec)
	case ends:
		s.a.spans.end(s, t.spans, rec)
	case forks:
		s.a.processes.fork(s, rec)
	case executes:
		s.a.processes.exec(s, rec)
	case exits:
		s.a.processes.exit(s, rec)
	case prints:
		s.a.pauses.line(s, rec)
	case limits:
		s.a.processes.passed(s, rec)
	case hangs:
		s.hung(rec)
	case sampled:
		if pid := s.samples.Add(rec); pid != 0 {
			s.exhausted.sample(s, pid, rec.UnixNano)
		}
	case callsKernel:
		d := t.call.add(rec.Data)
		if interrupted(&d) {
			s.entered.add(t.call.Name, rec, int64(d.Duration))
		}
		if d.Errno != 0 {
			s.exhausted.call(s, t.call.Name, rec, d.Errno)
		}
		if b := s.a.observer; b != nil && b.calls {
			b.call(s, t.call, rec)
		}
	}
}

// Samples returns what the samples of a log say of its command, nil if it has none.
func (a *Analysis) Samples(source int) *samples.Samples {
	if source < 0 || source >= len(a.sources) || a.sources[source].samples.Count == 0 {
		return nil
	}
	return &a.sources[source].samples
}

// OutOfMemory reports whether the OOM killer ended the command, as far as the samples show: a signal KILL
// ended it that no time limit sent, and the kernel's log names it; or, if that names no process of the
// command, the count of the cgroup's kills rose meanwhile.
func (r *Run) OutOfMemory() bool {
	const kill = 9
	s := &r.Source.samples
	if r.State != Ended || r.Signal != kill || r.TimedOut() || s.Count == 0 {
		return false
	}
	if s.Last.OOMProcess != 0 {
		return s.Last.OOMProcess == r.PID
	}
	return s.Kills() > 0
}

// Samples returns what the samples of the run's log say.
func (r *Run) Samples() *samples.Samples { return &r.Source.samples }
