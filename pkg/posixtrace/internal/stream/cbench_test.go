package stream

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// BenchmarkCAppend has 1 and 2 threads of a C program record events of 16 bytes. It reports the
// processor time of an event of the slowest thread.
func BenchmarkCAppend(b *testing.B) {
	for threads := 1; threads <= 2; threads++ {
		b.Run(fmt.Sprint(threads), func(b *testing.B) {
			prog := cPeer(b)
			dir, m, _ := killStream(b, Loop, 1<<20)
			ctl := newWriter(b, m, 1)
			m.Start(ctl, Event{})
			ctl.Close()
			b.ResetTimer()
			cmd := exec.Command(prog)
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=bench %d %d", killEnv, threads, b.N), "STREAM_TEST_DIR="+dir)
			out, err := cmd.Output()
			if err != nil {
				b.Fatal(err)
			}
			worst := 0.0
			for range threads {
				var ns float64
				if _, err := fmt.Sscanf(string(out), "%f", &ns); err != nil {
					b.Fatalf("%q: %v", out, err)
				}
				worst = max(worst, ns)
			}
			b.ReportMetric(worst, "thread-ns/op")
		})
	}
}
