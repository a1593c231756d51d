package report

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/pagetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// fuzzed are the event types of FuzzPage.
var fuzzed = []posixtrace.EventID{posixtrace.EventProcFork, posixtrace.EventProcExec, posixtrace.EventProcExit, posixtrace.EventOutputStdout, posixtrace.EventOutputStderr,
	3600, posixtrace.EventOverflow, posixtrace.EventResume, posixtrace.EventStart, posixtrace.EventStop, posixtrace.EventFilter, posixtrace.EventProcSignal, posixtrace.EventResSample,
	firstID, firstID + 1, firstID + 2, firstID + 3, firstID + 4, 0, 1 << 15}

// Whatever logs contain, the page is well-formed and keeps the schema, and each line is in it or
// counted.
func FuzzPage(f *testing.F) {
	for i, s := range hostile.Texts() {
		if i < 256 && i%16 != 0 || len(s) > 300 {
			continue
		}
		var b []byte
		for k := range byte(len(fuzzed)) {
			b = append(append(b, k, byte(i), k/2, 0, 0, 0, byte(i), k, 0, 0, byte(len(s))), s...)
		}
		f.Add(b)
	}
	f.Add([]byte("\x00\x01\x02\x03abcdefg\x04aaaa\x01\x01\x02\x03abcdefg\x04aaaa\x02\x01\x02\x03abcdefg\x00"))
	f.Fuzz(fuzzPage)
}

func fuzzPage(t *testing.T, b []byte) {
	names := []string{"a.begin", "a.end", "step.begin", "step.end", "plain"}
	w := NewBuilder()
	w.spans.most, w.marks.most, w.lines.room = 40, 20, 4000
	var sources [2]*Source
	for i := range sources {
		sources[i] = w.NewSource(func(id posixtrace.EventID) string {
			switch {
			case id.User() && int(id-firstID) < len(names):
				return names[id-firstID]
			case id == 3600:
				return "syscall.read"
			}
			return ""
		})
	}
	lines, size := 0, len(b)
	for len(b) >= 11 {
		rec := posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: fuzzed[int(b[0]&127)%len(fuzzed)], PID: int(b[1] % 8), TID: int(b[1] / 8 % 8), Span: uint64(b[2] % 4), Parent: uint64(b[2] / 4 % 4),
			UnixNano: int64(binary.LittleEndian.Uint64(b[2:]))}}
		source := sources[b[0]>>7]
		n := min(int(b[10]), len(b)-11)
		rec.Data, b = b[11:11+n], b[11+n:]
		if rec.ID == posixtrace.EventProcFork && n < 8 {
			rec.Data = (&posixtrace.ForkData{Child: n}).Append(nil)
		}
		if (rec.ID == posixtrace.EventOutputStdout || rec.ID == posixtrace.EventOutputStderr) && n > 0 {
			rec.Data[0] &= 5 // parts of lines would be one
			rec.Data = bytes.ReplaceAll(rec.Data, []byte("\n"), []byte(" "))
			if rec.Data[0]&4 == 0 || !escape.Blank(rec.Data[1:]) {
				lines++
			}
		}
		source.Add([]posixtrace.Record{rec})
	}
	runs := []*Run{w.Finish(Facts{Logs: []string{"a", "b"}})}
	p, err := pagetest.ParseData(appendData(nil, "", runs))
	if size%16 == 0 && err == nil {
		var page bytes.Buffer
		if err = Write(&page, runs, &Options{}); err == nil {
			_, err = pagetest.Parse(page.Bytes())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := p.Runs[0]; len(r.Text)+int(r.Omitted["lines"]) != lines {
		t.Fatalf("%d lines and %d left out of %d", len(r.Text), r.Omitted["lines"], lines)
	}
}
