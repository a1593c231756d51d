package posixtrace

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkFlush is what the owner of a stream pays to move an event to a log: processor time of the
// flushes alone. The writer and the flush run on one processor in turn, so the flush finds the chunks
// in its cache, unlike that of a traced process on another processor.
func BenchmarkFlush(b *testing.B) {
	dirs := map[string]string{"file": b.TempDir(), "memory": "/dev/shm"}
	for _, kind := range []string{"file", "memory"} {
		b.Run(kind, func(b *testing.B) {
			f, err := os.CreateTemp(dirs[kind], "posixtrace-bench")
			if err != nil {
				b.Fatal(err)
			}
			defer os.Remove(f.Name())
			defer f.Close()
			s, err := CreateWithLog(0, &Attr{StreamSize: 16 << 20, LogFullPolicy: PolicyAppend}, f)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Shutdown()
			if err := s.Start(); err != nil {
				b.Fatal(err)
			}
			id, err := OpenEventID("bench.event")
			if err != nil {
				b.Fatal(err)
			}
			const burst = 300_000 // a little less than half of the stream
			var cpu time.Duration
			for b.Loop() {
				for range burst {
					Event(id, sixteen)
				}
				start := processTime(b)
				if err := s.Flush(); err != nil {
					b.Fatal(err)
				}
				cpu += processTime(b) - start
				// What follows goes behind a hole. The file does not grow to gigabytes.
				if err := f.Truncate(0); err != nil {
					b.Fatal(err)
				}
				if st, err := s.Status(); err != nil || st.Lost+st.LogLost > 0 {
					b.Fatalf("%+v, %v", st, err)
				}
			}
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N*burst), "ns/event")
		})
	}
}

// processTime returns the processor time of this process.
func processTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
