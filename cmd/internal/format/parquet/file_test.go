package parquet

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The rows of a file are the events: what one of them lacks is null, and another one's value does not take its
// place.
func TestFileReadsBack(t *testing.T) {
	var out bytes.Buffer
	f := Create(&out, "test", "1")
	tracetest.OK(t, "Begin", f.Begin(&Log{ID: "id", Log: "a.trace", Host: "h\xff", CommandLine: "make all", Name: func(id posixtrace.EventID) string {
		return fmt.Sprint("event ", id)
	}}))
	var recs []posixtrace.Record
	for i := range 3 * batchRows {
		var rec posixtrace.Record
		rec.ID, rec.PID, rec.TID, rec.UnixNano = posixtrace.EventID(40+i%3), 7, i, int64(i)*1000
		switch i % 4 {
		case 1:
			rec.Data = []byte("text")
		case 2:
			rec.Data = []byte{0xff, 0}
		case 3:
			rec.Span, rec.Parent = uint64(i), 1
		}
		recs = append(recs, rec)
	}
	tracetest.OK(t, "Add", f.Add(recs))
	tracetest.OK(t, "Close", f.Close())

	r := pq.NewGenericReader[row](bytes.NewReader(out.Bytes()))
	defer r.Close()
	rows := make([]row, len(recs)+1)
	n, err := r.Read(rows)
	if n != len(recs) || err != nil && err != io.EOF {
		t.Fatalf("%d rows of %d, %v", n, len(recs), err)
	}
	for i := range recs {
		got, want := &rows[i], &recs[i]
		text, binary := string(want.Data), ""
		if i%4 == 2 {
			text, binary = "", text
		}
		if got.TimeNS != want.UnixNano || got.TID != int64(i) || got.ID != int32(want.ID) || got.Event != fmt.Sprint("event ", want.ID) ||
			got.Data != text || string(got.Binary) != binary || got.Span != want.Span || got.Parent != want.Parent {
			t.Fatalf("row %d is %+v, of %+v", i, got, want)
		}
		if got.LogID != "id" || got.Command != "make all" || got.Host != `h\xff` {
			t.Fatalf("row %d is of log %q, command %q, host %q", i, got.LogID, got.Command, got.Host)
		}
	}
}
