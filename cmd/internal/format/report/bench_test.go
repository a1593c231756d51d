package report

import (
	"io"
	"strconv"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// counted counts what is written.
type counted int

func (c *counted) Write(p []byte) (int, error) {
	*c += counted(len(p))
	return len(p), nil
}

// million are 1,000,000 events of which 100,000 are spans, in eight threads.
func million() (recs []posixtrace.Record) {
	at := t0
	add := func(id posixtrace.EventID, i int, data string) {
		at += int64(i%7)*1000 + 100_000
		recs = append(recs, posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: 10, TID: 10 + i%8, UnixNano: at}, Data: []byte(data)})
	}
	add(posixtrace.EventProcExec, 0, string((&posixtrace.ExecData{Path: "/bin/server", Argv: []string{"server"}}).Append(nil)))
	for i := range 100_000 {
		add(firstID+posixtrace.EventID(i%20), i, "request "+strconv.Itoa(i))
		for range 8 {
			add(firstID+40, i, "value "+strconv.Itoa(len(recs)))
		}
		add(firstID+20+posixtrace.EventID(i%20), i, "0")
	}
	return recs
}

// BenchmarkPage measures a page of 1,000,000 events of which 100,000 are spans. The goals are 2 s, and
// 4 MB without output.
func BenchmarkPage(b *testing.B) {
	recs := million()
	w := written{}
	for i := range 20 {
		w.names = append(w.names, "work"+strconv.Itoa(i)+".begin")
	}
	for i := range 20 {
		w.names = append(w.names, "work"+strconv.Itoa(i)+".end")
	}
	w.names = append(w.names, "tick")
	var size counted
	b.ReportAllocs()
	for b.Loop() {
		size = 0
		builder := NewBuilder()
		src := builder.NewSource(w.nameOf)
		for at := 0; at < len(recs); at += 256 {
			src.Add(recs[at:min(len(recs), at+256)])
		}
		if err := Write(io.Writer(&size), []*Run{builder.Finish(Facts{})}, &Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size), "page-bytes")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(recs)), "ns/event")
}

// The size of a page of 1,000,000 events of which 100,000 are spans is at most 4 MB.
func TestSize(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	w := newRun()
	for i := range 20 {
		w.names = append(w.names, "work"+strconv.Itoa(i)+".begin")
	}
	for i := range 20 {
		w.names = append(w.names, "work"+strconv.Itoa(i)+".end")
	}
	w.names = append(w.names, "tick")
	w.Add(million())
	html, r := w.page(t, Facts{})
	if len(html) > 4_000_000 || len(r.Spans["start"]) != 100_001 {
		t.Errorf("%d bytes, %d spans", len(html), len(r.Spans["start"]))
	}
	t.Logf("%d bytes, %d marks, %d bytes left out", len(html), len(r.Marks["time"]), r.Omitted["bytes"])
}
