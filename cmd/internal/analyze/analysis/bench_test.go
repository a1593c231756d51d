package analysis

import (
	"fmt"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The cost of an event, without that of reading it.
func BenchmarkAdd(b *testing.B) {
	for _, c := range []struct {
		name  string
		write func(w *written, i int64)
	}{
		{"spans", func(w *written, i int64) { w.user(i, "a.begin", 1, ""); w.user(i, "a.end", 1, "0") }},
		{"steps", func(w *written, i int64) {
			w.user(i, "step.begin", 1, fmt.Sprintf("deploy.sh:%d make target-%d", i%200, i%200))
			w.user(i, "step.end", 1, "0")
		}},
		{"keyed", func(w *written, i int64) {
			w.keyed(i, "a.begin", 1, uint64(2*i+1), 0)
			w.keyed(i, "b.begin", 1, uint64(2*i+2), uint64(2*i+1))
			w.keyed(i, "b.end", 1, uint64(2*i+2), 0)
			w.keyed(i, "a.end", 1, uint64(2*i+1), 0)
		}},
		{"processes", func(w *written, i int64) {
			w.fork(i, 1, int(10+i%50))
			w.exec(i, int(10+i%50), "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "-quiet", "-imultiarch", "x86_64-linux-gnu", "a.c", "-O2", "-o", "/tmp/x.s")
			w.exit(i+1, int(10+i%50), 0, 10, 1<<20)
		}},
		{"lines", func(w *written, i int64) { w.print(i*i%1000, "[ 1234/50000] CC pkg/module7/file_1234.c -O2 -o 1234.o") }},
		{"plain", func(w *written, i int64) { w.user(i, "tick", 1, "") }},
	} {
		run := func(b *testing.B, w *written) {
			var recs []posixtrace.Record
			w.sink = &recs
			w.exec(0, 1, "/bin/make")
			for i := range int64(1000) {
				c.write(w, i)
			}
			w.sink = nil
			b.ResetTimer()
			n := 0
			for b.Loop() {
				for at := 0; at < len(recs); at += 256 {
					w.Source.Add(recs[at:min(len(recs), at+256)])
				}
				n += len(recs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
		}
		b.Run(c.name, func(b *testing.B) { run(b, newLog(1000, BySelf)) })
		b.Run("each/"+c.name, func(b *testing.B) { run(b, newObserved(func(*Interval) {})) })
	}
}
