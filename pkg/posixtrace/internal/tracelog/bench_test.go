package tracelog

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// benchLog makes a log of 192 chunks of 64 KiB. Chunks of as many writers overlap in time; each
// event has 16 bytes of data.
func benchLog(b testing.TB, overlap int) ([]byte, int) {
	s := superFor(Append)
	s.ChunkSize = 64 << 10
	var m memory
	w, err := create(&m, s)
	must(b, err)
	const per = (64<<10 - 64) / 24
	data := []byte("0123456789abcdef")
	for i := range 192 {
		base := uint64(i/overlap) * per * 100
		p := chunk.AppendSite(nil, 0, &chunk.Record{Event: 33, PID: uint32(i), TID: 1})
		for j := range per {
			p = chunk.AppendEvent(p, uint32(j*100+i%overlap*37%100), 0, false, data)
		}
		must(b, w.Events(EventsBlock{Payload: p, Base: base, Chunk: uint32(i)}))
	}
	must(b, w.Seal(Status{}, false))
	return m.b, 192 * per
}

func BenchmarkRead(b *testing.B) {
	var rec chunk.Record
	recs := make([]chunk.Record, 256)
	var hold Hold
	var counts Counts
	ways := map[string]func(r *Reader) (int, error){
		"next": func(r *Reader) (int, error) {
			ok, err := r.Next(&rec)
			if !ok {
				return 0, err
			}
			return 1, err
		},
		"batch": func(r *Reader) (int, error) { return r.NextBatch(recs, &hold) },
		"count": func(r *Reader) (int, error) {
			before := counts.Events
			_, err := r.Count(&counts)
			return int(counts.Events - before), err
		},
	}
	for _, c := range []struct {
		way     string
		overlap int
		stream  bool
	}{{"next", 1, false}, {"batch", 1, false}, {"count", 1, false}, {"batch", 4, false}, {"batch", 64, false}, {"batch", 1, true}} {
		b.Run(fmt.Sprintf("%s/writers=%d/stream=%v", c.way, c.overlap, c.stream), func(b *testing.B) {
			log, n := benchLog(b, c.overlap)
			b.ReportAllocs()
			events := 0
			for b.Loop() {
				counts = Counts{}
				r, err := OpenFile(bytes.NewReader(log), int64(len(log)))
				if c.stream {
					r, err = OpenStream(bytes.NewReader(log))
				}
				must(b, err)
				for {
					n, err := ways[c.way](r)
					if err != nil {
						b.Fatal(err)
					}
					if n == 0 {
						break
					}
					events += n
				}
				if s, err := r.State(); s != Finished {
					b.Fatal(err)
				}
			}
			if events != b.N*n {
				b.Fatalf("%d events, want %d", events, b.N*n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}

func BenchmarkSummarize(b *testing.B) {
	for _, mixed := range []bool{false, true} {
		b.Run(fmt.Sprintf("mixed=%v", mixed), func(b *testing.B) {
			p := chunk.AppendSite(nil, 0, &chunk.Record{Event: 33})
			n := 0
			for ; len(p) < 64<<10-40; n++ {
				data := "0123456789abcdef"
				if mixed {
					data = strings.Repeat("x", n*7919%32)
				}
				p = chunk.AppendEvent(p, uint32(n), 0, false, []byte(data))
			}
			var cur chunk.Cursor
			for b.Loop() {
				Summarize(&cur, p, 0)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
		})
	}
}
