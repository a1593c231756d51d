package posixtrace

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

func init() {
	// bench-writers N: prints "ready" and records on N goroutines until its input ends.
	tracetest.Helpers["bench-writers"] = func(args []string) {
		id, err := OpenEventID("bench.event")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		Event(id, sixteen) // connects
		n, _ := strconv.Atoi(args[0])
		for range n {
			go func() {
				for {
					Event(id, sixteen)
				}
			}()
		}
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
	}
}

// BenchmarkLiveOrder reads a stream for eight seconds while four writers record at full speed, all in
// one process or in one process each, and reports how many events were out of order: their times
// are before that of an event reported earlier. The usual patience makes some late. With a long one
// none may be.
func BenchmarkLiveOrder(b *testing.B) {
	for _, c := range []struct {
		name                  string
		processes, goroutines int
		patience              time.Duration
	}{
		{"goroutines", 1, 4, 0},
		{"goroutines,patient", 1, 4, 5 * time.Second},
		{"processes", 4, 1, 0},
		{"processes,patient", 4, 1, 5 * time.Second},
	} {
		b.Run(c.name, func(b *testing.B) {
			if c.patience > 0 {
				b.Cleanup(stream.SetPatience(c.patience))
			}
			for b.Loop() {
				liveOrder(b, c.processes, c.goroutines)
			}
		})
	}
}

func liveOrder(b *testing.B, processes, goroutines int) {
	s, _ := benchStream(b, Attr{Inheritance: InheritChildren})
	for range processes {
		cmd := exec.Command(os.Args[0], strconv.Itoa(goroutines))
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=bench-writers")
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() {
			in.Close()
			cmd.Wait()
		}()
		if l, err := bufio.NewReader(out).ReadString('\n'); l != "ready\n" {
			b.Fatalf("a writer says %q, %v", l, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	var read, disordered int
	var latest int64
	var data [16]byte
	for {
		ev, _, err := s.Next(ctx, data[:])
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		read++
		if ev.UnixNano < latest {
			disordered++
		} else {
			latest = ev.UnixNano
		}
	}
	b.ReportMetric(float64(disordered), "disordered")
	b.ReportMetric(float64(s.c.Mem.Late()), "late")
	b.ReportMetric(float64(read), "read")
}

// BenchmarkEventRead records bursts of events, slowly enough for a reader that consumes each of
// them on another processor meanwhile.
func BenchmarkEventRead(b *testing.B) {
	s, id := benchStream(b, Attr{StreamFullPolicy: PolicyLoop})
	stop := make(chan struct{})
	var done sync.WaitGroup
	read := 0
	done.Go(func() {
		var data [16]byte
		for {
			select {
			case <-stop:
				return
			default:
			}
			for range 100 {
				if _, _, err := s.TryNext(data[:]); err == nil {
					read++
				}
			}
		}
	})
	const burst = 500
	var busy time.Duration
	n := 0
	for b.Loop() {
		start := time.Now()
		for range burst {
			Event(id, sixteen)
		}
		busy += time.Since(start)
		n += burst
		for start := time.Now(); time.Since(start) < 200*time.Microsecond; {
		}
	}
	close(stop)
	done.Wait()
	b.ReportMetric(float64(busy.Nanoseconds())/float64(n), "ns/event")
	b.ReportMetric(float64(read)/float64(n), "read/event")
}
