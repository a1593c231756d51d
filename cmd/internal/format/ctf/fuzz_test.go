package ctf

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// fuzzTypes are the types of fuzzed events.
var fuzzTypes = []posixtrace.EventID{
	posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventFilter, posixtrace.EventError, posixtrace.EventOverflow,
	posixtrace.EventProcFork, posixtrace.EventProcExec, posixtrace.EventProcExit, posixtrace.EventProcSignal, posixtrace.EventProcMap,
	posixtrace.EventProcContext, posixtrace.EventProcTimeout, posixtrace.EventHangThread, posixtrace.EventResSample, posixtrace.EventFileAccess, posixtrace.EventOutputStdout, posixtrace.EventOutputStderr, posixtrace.EventUnnamed, 33, 34, 3584, 4095,
}

// fuzzRecords makes records of bytes: for each a type, a span, a time, a length and data.
func fuzzRecords(b []byte) (recs []posixtrace.Record) {
	at := int64(0)
	for len(b) >= 13 && len(recs) < 1000 {
		step := int64(binary.LittleEndian.Uint64(b[2:]))
		if b[1]&2 != 0 { // small steps are usual
			step = int64(int32(step) >> 8)
		}
		at += step
		n := min(int(binary.LittleEndian.Uint16(b[10:])), len(b)-13)
		rec := posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: fuzzTypes[int(b[0])%len(fuzzTypes)], UnixNano: at, PID: int(b[2]), TID: int(b[3]),
			Address: uint64(step), Truncation: posixtrace.Truncation(b[12] % 3)}, Data: b[13 : 13+n]}
		if b[1]&1 != 0 {
			rec.Span, rec.Parent = uint64(b[4])+1, uint64(b[5])
		}
		recs = append(recs, rec)
		b = b[13+n:]
	}
	return recs
}

// FuzzTrace writes records of any content. The metadata parses, every byte of every packet belongs to
// an event, and the events are the records.
func FuzzTrace(f *testing.F) {
	for i, s := range hostile.Texts() {
		rec := []byte{byte(i), 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}
		binary.LittleEndian.PutUint16(rec[10:], uint16(len(s)))
		f.Add(append(rec, s...), s, uint64(i))
	}
	call := posixtrace.SyscallData{Opened: []byte("x"), Args: []posixtrace.SyscallArg{{Value: []byte("a")}, {Value: []byte("\xff")}}}
	data := call.Append(nil)
	f.Add(append([]byte{20, 3, 9, 0, 0, 0, 0, 0, 0, 0, byte(len(data)), 0, 0}, data...), "syscall.read", uint64(3))
	for _, text := range []string{"a", "", "\xff"} { // no text of the thread is empty, some are, or one is not text
		hang := posixtrace.HangData{Program: "a", Args: []string{"a", text}, State: 'S', Call: text, Wait: "w", For: text, Note: text, Stack: []string{text}}
		data = hang.Append(nil)
		f.Add(append([]byte{12, 3, 9, 0, 0, 0, 0, 0, 0, 0, byte(len(data)), 0, 0}, data...), "hang", uint64(3))
		data = (&posixtrace.FileData{Kind: posixtrace.FileRename, Mode: posixtrace.FileRead, Path: "a", To: text, Canonical: text}).Append(nil)
		f.Add(append([]byte{14, 3, 9, 0, 0, 0, 0, 0, 0, 0, byte(len(data)), 0, 0}, data...), "file", uint64(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, name string, lost uint64) {
		recs := fuzzRecords(b)
		dir := t.TempDir()
		w := Create(dir, name)
		w.Env = []Variable{{"command", Quote([]string{name, ""})}}
		w.Epoch = lost%2 == 0
		w.Name = func(id posixtrace.EventID) string {
			switch {
			case id >= 3584:
				return "syscall." + name
			case id.System():
				return "system." + name
			}
			return "user." + name
		}
		n := 0
		for n < len(recs) && w.Add(recs[n:n+1]) == nil {
			n++
		}
		if err := w.Close(lost); err != nil {
			t.Fatal(err)
		}
		checkTrace(t, dir, w, recs[:n], lost)
	})
}

// checkTrace reads a trace and compares its events with the records.
func checkTrace(t *testing.T, dir string, w *Trace, recs []posixtrace.Record, lost uint64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "metadata"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := readMetadata(string(text))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "[el]*"))
	var list []readEvent
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		events, discarded, err := r.readStream(b)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if losses := filepath.Base(file) == "losses"; losses && (len(events) > 0 || discarded != min(lost, 1<<64-2)) || !losses && discarded != 0 {
			t.Fatalf("%s: %d events discarded, %d of them there", file, discarded, len(events))
		}
		list = append(list, events...)
	}
	want := map[string]int{}
	for i := range recs {
		want[eventKey(recordEvent(w, &recs[i]))]++
	}
	for i := range list {
		if want[eventKey(list[i])]--; want[eventKey(list[i])] < 0 {
			t.Fatalf("event %+v was not recorded", list[i])
		}
	}
	if len(list) != len(recs) {
		t.Fatalf("%d events of %d", len(list), len(recs))
	}
}

// eventKey is what must be the same in the record and in the event that a reader sees. The fields of
// system events are compared with those of ptrace-dump, in the tests of the commands.
func eventKey(ev readEvent) string {
	data := ev.fields["data"]
	if list, ok := data.([]any); ok {
		b := make([]byte, len(list))
		for i, c := range list {
			b[i] = byte(c.(uint64))
		}
		data = string(b)
	}
	if !strings.HasPrefix(ev.name, "user.") {
		data = nil
	}
	return fmt.Sprintf("%q %d %d %d %x %d %x %x %q", ev.name, ev.nanos, ev.pid, ev.tid, ev.address, ev.cut, ev.span, ev.key, data)
}

// recordEvent returns what a reader must see of a record, without its fields.
func recordEvent(w *Trace, rec *posixtrace.Record) readEvent {
	ev := readEvent{name: escape.String(catalog.TypeOrNumber(w.Name(rec.ID), rec.ID)), nanos: rec.UnixNano, pid: uint32(rec.PID), tid: uint32(rec.TID), address: rec.Address, cut: byte(rec.Truncation)}
	if rec.Span != 0 {
		ev.span, ev.key = rec.Span, rec.Parent
	}
	if !rec.ID.System() {
		ev.fields = map[string]any{"data": string(rec.Data)}
	}
	return ev
}
