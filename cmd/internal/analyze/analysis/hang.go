package analysis

import (
	"slices"
	"strings"

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
	PID, TID int
	Label    string // program and arguments that tell most
	Place    string // FILE:LINE of the script that started the process, "" if unknown
	ForPlace string // the same of ForPID
	posixtrace.HangData
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
	t := HangThread{PID: rec.PID, TID: rec.TID, HangData: d}
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

// Culprit returns the thread that says best why the command did not end, nil for none: one of a deadlock, or
// the end of the chain in which each waits for the next. Of a process that waits for another one by anything
// else than its end, the waiting thread says more than the other.
func (h *Hang) Culprit() *HangThread {
	if h == nil || len(h.Threads) == 0 {
		return nil
	}
	var cycle *HangThread
	for i := range h.Threads {
		if t := &h.Threads[i]; t.Cycle && (cycle == nil || waitsForEnd(cycle) && !waitsForEnd(t)) {
			cycle = t
		}
	}
	if cycle != nil {
		return cycle
	}
	at := h.speaker(h.Threads[0].PID, 0)
	seen := map[*HangThread]bool{}
	for at != nil && !seen[at] {
		seen[at] = true
		if at.Kind != posixtrace.HangWaits || at.ForPID == 0 {
			break
		}
		next := h.speaker(at.ForPID, at.ForTID)
		if next == nil || seen[next] {
			break
		}
		if !waitsForEnd(at) && next.Kind != posixtrace.HangBusy && (next.Kind != posixtrace.HangWaits || next.ForPID == 0) {
			break
		}
		at = next
	}
	if at == nil || at.Kind != posixtrace.HangSleeps {
		return at
	}
	for i := range h.Threads {
		if t := &h.Threads[i]; t.Kind == posixtrace.HangWaits && t.ForPID == at.PID && t.PID != at.PID && !waitsForEnd(t) {
			return t // such as the reader of a pipe: what sleeps may be no part of the work
		}
	}
	return at
}

// waitsForEnd reports whether a thread waits for the end of a child.
func waitsForEnd(t *HangThread) bool {
	name, _, _ := strings.Cut(t.Call, "(")
	switch name {
	case "wait4", "waitid", "waitpid", "vfork", "clone", "clone3":
		return true
	}
	return strings.HasPrefix(t.Wait, "do_wait")
}

// speaker returns the thread of a process, or that with an id, that says best what the process waits for.
func (h *Hang) speaker(pid, tid int) (best *HangThread) {
	rank := func(t *HangThread) int {
		main := 0
		if t.TID == pid {
			main = 1
		}
		switch {
		case tid != 0 && tid != pid && t.TID == tid:
			return 20
		case t.Kind == posixtrace.HangBusy:
			return 16
		case t.Stuck:
			return 12 + main
		case t.Kind == posixtrace.HangStopped:
			return 10 + main
		case t.ForPID != 0 && t.ForPID != pid:
			return 8 + main
		case t.Kind == posixtrace.HangZombie:
			return 0
		}
		return 4 + main
	}
	for i := range h.Threads {
		if t := &h.Threads[i]; t.PID == pid && (best == nil || rank(t) > rank(best)) {
			best = t
		}
	}
	return best
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
