package analysis

import (
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/culprit"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Hang is what the threads of the first command of a log did when ptrace-run looked at them.
type Hang struct {
	At      int64
	Cause   posixtrace.HangCause
	Signal  int
	Report  int
	Threads []HangThread
	Omitted int // threads beyond maxHangThreads
}

// HangThread is what one of them did. Its texts are as untrusted as the log.
type HangThread struct {
	culprit.Thread
	Label    string // program and arguments that tell most
	Place    string // FILE:LINE of the script that started the process, "" if unknown
	ForPlace string // the same of ForPID
}

const (
	// maxHangThreads bounds the threads of a Hang, maxHangText each of their texts.
	maxHangThreads = 1 << 9
	maxHangText    = 1 << 9
)

// hung notes what a thread did. Of the reports of a run the latest counts: it precedes the end.
func (s *Source) hung(rec *posixtrace.Record) {
	d, err := posixtrace.DecodeHang(rec.Data)
	if err != nil {
		return
	}
	h := s.hang
	if h == nil || h.Report != d.Report {
		h = &Hang{At: rec.UnixNano, Cause: d.Cause, Signal: d.Signal, Report: d.Report}
		s.hang = h
	}
	t := HangThread{Thread: culprit.Thread{PID: rec.PID, TID: rec.TID, HangData: d}}
	for _, text := range [...]*string{&t.Program, &t.Call, &t.Wait, &t.For, &t.Note} {
		*text = strings.Clone((*text)[:escape.Cut(*text, maxHangText)])
	}
	t.Label = t.Program
	if len(d.Args) > 0 && d.Args[0] != "" {
		exec := posixtrace.ExecData{Path: d.Args[0], Argv: d.Args}
		c := Command{args: exec.Append(nil)}
		label([]*Command{&c})
		t.Label = c.Label()
		t.Label = strings.Clone(t.Label[:escape.Cut(t.Label, maxHangText)])
	}
	t.Args, t.Stack = nil, nil
	t.Place, t.ForPlace = s.placeOf(t.PID), s.placeOf(t.ForPID)
	if len(h.Threads) < maxHangThreads {
		h.Threads = append(h.Threads, t)
		return
	}
	h.Omitted++
	if !t.Stuck {
		return
	}
	for i := len(h.Threads) - 1; i > 0; i-- { // the first one leads to what the command waits for
		if !h.Threads[i].Stuck {
			h.Threads[i] = t
			return
		}
	}
}

// placeOf returns where the script is that started a process, as "FILE:LINE", "" if that is unknown.
func (s *Source) placeOf(pid int) string {
	q := s.a.processes.running.of(processKey(s, pid))
	if pid == 0 || q == nil || q.origin == nil {
		return ""
	}
	return placeOfStep(q.origin.Step)
}

// Hang returns what the threads of the first command of a log did when ptrace-run looked at them last, nil
// if it did not.
func (a *Analysis) Hang(source int) *Hang {
	if source < 0 || source >= len(a.sources) {
		return nil
	}
	return a.sources[source].hang
}

// Culprit returns the thread that says best why the command did not end, nil for none.
func (h *Hang) Culprit() *HangThread {
	if h == nil {
		return nil
	}
	list := make([]culprit.Thread, len(h.Threads))
	for i := range h.Threads {
		list[i] = h.Threads[i].Thread
	}
	if i := culprit.Of(list); i >= 0 {
		return &h.Threads[i]
	}
	return nil
}

// Ranked returns the threads the most important ones first: those of a deadlock, those that nothing can wake,
// those that compute, and the others as they are in the log.
func (h *Hang) Ranked() []*HangThread {
	list := make([]*HangThread, len(h.Threads))
	for i := range h.Threads {
		list[i] = &h.Threads[i]
	}
	rank := func(t *HangThread) int {
		switch {
		case t.Cycle:
			return 0
		case t.Stuck:
			return 1
		case t.Kind == posixtrace.HangBusy:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(list, func(a, b *HangThread) int { return rank(a) - rank(b) })
	return list
}
