package stream

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// TestMarkTablesMatchComment compares the rules with the tables in the comment of marks.go.
func TestMarkTablesMatchComment(t *testing.T) {
	b, err := os.ReadFile("marks.go")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string // of all tables, without their headings
	for _, l := range regexp.MustCompile(`(?m)^//\t(\S.*)$`).FindAllStringSubmatch(string(b), -1) {
		rows = append(rows, regexp.MustCompile(`\s{2,}`).Split(l[1], -1))
	}
	marks := map[string]event.ID{"-": noMark, "OVERFLOW": event.Overflow, "RESUME": event.Resume, "STOP": event.Stop, "FLUSH_STOP": event.FlushStop}
	states := map[string]uint8{
		"no gap": uint8(noGap), "gap": uint8(inGap), "gap extends": uint8(inGap),
		"running": uint8(running), "stopped": uint8(stopped), "reported": uint8(stopReported), "loss": uint8(lossReported),
		"none": uint8(noFlushStop), "due": uint8(flushStopDue),
	}
	check := func(state uint8, cause int, mark event.ID, next uint8) {
		t.Helper()
		row := rows[0]
		if cause+1 >= len(row) {
			t.Fatalf("%q has no cause %d", row, cause)
		}
		m, n, stays := strings.Cut(row[cause+1], ", ")
		want, ok := marks[m]
		wantNext, known := state, true
		if stays {
			wantNext, known = states[n]
		}
		if !ok || !known {
			t.Errorf("%s: %q is no mark and state", row[0], row[cause+1])
		} else if mark != want || next != wantNext {
			t.Errorf("%s, cause %d: the comment has %q, the rules have mark %d, state %d", row[0], cause, row[cause+1], mark, next)
		}
	}
	if len(rows) != int(gapStates)+int(stopStates)+int(flushStates) {
		t.Fatalf("the tables of the comment have %d rows", len(rows))
	}
	for state, causes := range gapRules {
		for cause, r := range causes {
			check(uint8(state), cause, r.mark, uint8(r.next))
		}
		rows = rows[1:]
	}
	for state, causes := range stopRules {
		for cause, r := range causes {
			check(uint8(state), cause, r.mark, uint8(r.next))
		}
		rows = rows[1:]
	}
	for state, causes := range flushRules {
		for cause, r := range causes {
			check(uint8(state), cause, r.mark, uint8(r.next))
		}
		rows = rows[1:]
	}
}

// letter is a mark in a story.
func letter(mark event.ID) string {
	return map[event.ID]string{event.Overflow: "O", event.Resume: "R", event.Stop: "P1", event.FlushStop: ">"}[mark]
}

// consumers report everything that a stream holds, in order of time. They return the state of the
// gap afterwards, too.
var consumers = map[string]func(*testing.T, *Mem) ([]chunk.Record, gap){
	"read": func(t *testing.T, m *Mem) ([]chunk.Record, gap) {
		recs := readAll(t, m.NewReader())
		return recs, gap{m.h.gapEnd.Load()}
	},
	"snapshot": func(t *testing.T, m *Mem) ([]chunk.Record, gap) {
		end, overflow := m.h.gapEnd.Load(), m.h.pendingOverflow.Load()
		s := m.Snapshot()
		recs := readAll(t, s)
		if m.h.gapEnd.Load() != end || m.h.pendingOverflow.Load() != overflow {
			t.Error("a snapshot has changed the header")
		}
		return recs, s.gap
	},
	"flush": func(t *testing.T, m *Mem) ([]chunk.Record, gap) {
		var recs []chunk.Record
		if _, err := flushTo(m, 1, func(b *Block) error {
			p := piece{b: b.Payload, base: b.Base}
			p.each(func(rec *chunk.Record) {
				r := *rec
				r.Data = slices.Clone(rec.Data)
				recs = append(recs, r)
			})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		inOrder(recs)
		return recs, gap{m.h.gapEnd.Load()}
	},
}

// TestGapTable has each consumer meet each cause in each state of the gap.
func TestGapTable(t *testing.T) {
	for state := range gapStates {
		for cause := range gapCauses {
			for how := range consumers {
				for _, old := range []bool{false, true} {
					if old && (cause != eventWithin || state == noGap) {
						continue // with an event older than the end of the gap instead of a START
					}
					t.Run(fmt.Sprint(how, state, cause, old), func(t *testing.T) { testGap(t, how, state, cause, old) })
				}
			}
		}
	}
}

func testGap(t *testing.T, how string, state gapState, cause gapCause, old bool) {
	policy := uint8(UntilFull)
	if cause == overwritten {
		policy = Loop
	}
	m := newMem(t, 64<<10, policy)
	w := newWriter(t, m, 1)
	m.change(Running, 0) // without START
	e := Event{ID: event.FirstUser}
	if old {
		e.Tick = m.now()
	}
	if state == inGap {
		m.h.gapEnd.Store(m.now())
	}
	tick := m.now()
	rule := gapRules[state][cause]
	want := letter(rule.mark)
	switch cause {
	case overwritten:
		m.addLost(tick)
	case stopLoss:
		m.postponeOverflow(tick)
	case eventWithin:
		if !old {
			w.RecordSystem(&Event{ID: event.Start}, nil)
			want += "S"
			break
		}
		fallthrough
	case eventAfter:
		w.Record(0, &e, nil)
		want += "e"
	case eventOverflow:
		w.RecordSystem(&Event{ID: event.Overflow}, nil)
		m.h.recordedOverflow.Store(1)
		want += "O"
	}
	recs, g := consumers[how](t, m)
	if got := strings.ReplaceAll(story(recs), "<", ""); got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
	if g.state() != rule.next {
		t.Errorf("the gap is in state %d, want %d", g.state(), rule.next)
	}
	if (cause == overwritten || cause == stopLoss || cause == eventOverflow) && g.end < tick {
		t.Errorf("the gap ends %d before the loss", tick-g.end)
	}
}

// TestStopTable has each consumer, and a start, meet a stop for lack of room in each state.
func TestStopTable(t *testing.T) {
	for state := range stopStates {
		for cause := range stopCauses {
			for how := range consumers {
				if cause == atStartLost && state == running {
					continue // only a stop for lack of room loses events
				}
				if cause >= atStart && how != "read" {
					continue // the start reports, the reader shows it
				}
				t.Run(fmt.Sprint(how, state, cause), func(t *testing.T) { testStop(t, how, state, cause) })
			}
		}
	}
}

func testStop(t *testing.T, how string, state stopState, cause stopCause) {
	m := newMem(t, 64<<10, UntilFull)
	w := newWriter(t, m, 1)
	if state != running {
		m.change(Full, 0)
		m.h.autoStop.Store(m.now() + skew)
	}
	if state >= stopReported {
		m.change(StopReported, 0)
	}
	if state == lossReported {
		m.account(m.State()).overflow.Store(1)
	}
	if cause == atEndLost || cause == atStartLost {
		m.addLost(m.now())
	}
	want, next := "", state
	for mark := next.step(cause); mark != noMark; mark = next.step(cause) {
		want += letter(mark)
	}
	if cause >= atStart {
		m.start(w, Event{})
		want += "S"
		next = running
	}
	recs, _ := consumers[how](t, m)
	if got := strings.ReplaceAll(story(recs), "<", ""); got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
	if how == "snapshot" {
		next = state
	}
	if got := m.stopState(m.State()); got != next {
		t.Errorf("the stop is in state %d, want %d", got, next)
	}
	if recs, _ = consumers[how](t, m); how != "snapshot" && strings.ContainsAny(story(recs), "PO") {
		t.Errorf("reported %q once more", story(recs))
	}
}

// TestFlushStopTable takes the end of a flush through each state and cause.
func TestFlushStopTable(t *testing.T) {
	for state := range flushStates {
		for cause := range flushCauses {
			t.Run(fmt.Sprint(state, cause), func(t *testing.T) {
				m := newMem(t, 64<<10, UntilFull)
				if state == flushStopDue {
					m.h.flushStop.Store(m.now())
				}
				rule := flushRules[state][cause]
				var recs []chunk.Record
				next := rule.next
				switch cause {
				case flushStarts, flushEnds:
					recs, _ = consumers["flush"](t, m)
					next = flushStopDue // the flush has ended
				case logEnds:
					if b := m.LastMarks(); b != nil {
						p := piece{b: b.Payload, base: b.Base}
						p.each(func(rec *chunk.Record) { recs = append(recs, *rec) })
					}
				case onSnapshot:
					recs, _ = consumers["snapshot"](t, m)
				case onClear:
					m.Clear()
				}
				want := letter(rule.mark)
				if cause == flushEnds { // and starts before
					want = letter(flushRules[state][flushStarts].mark)
				}
				if got := strings.ReplaceAll(story(recs), "<", ""); got != want {
					t.Errorf("reported %q, want %q", got, want)
				}
				if got := flushStop(m.h.flushStop.Load()).state(); got != next {
					t.Errorf("state %d, want %d", got, next)
				}
			})
		}
	}
}
