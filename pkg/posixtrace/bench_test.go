package posixtrace

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

var sixteen = []byte("0123456789abcdef")

// benchStream makes a running LOOP stream on this process.
func benchStream(b *testing.B, attr Attr) (*Stream, EventID) {
	b.Helper()
	id, err := OpenEventID("bench.event")
	if err != nil {
		b.Fatal(err)
	}
	if attr.StreamSize == 0 {
		attr.StreamSize = 1 << 20
	}
	s, err := Create(0, &attr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Shutdown() })
	if err := s.Start(); err != nil {
		b.Fatal(err)
	}
	return s, id
}

// A trace point that does nothing comes first in the results.

func BenchmarkEventUntraced(b *testing.B) {
	id, err := OpenEventID("bench.event")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		Event(id, sixteen)
	}
}

func BenchmarkEventFiltered(b *testing.B) {
	s, id := benchStream(b, Attr{})
	var set EventSet
	set.Add(id)
	if err := s.SetFilter(set, FilterSet); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		Event(id, sixteen)
	}
}

func BenchmarkEvent(b *testing.B) {
	for _, n := range []int{0, 16, 256} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			_, id := benchStream(b, Attr{})
			data := make([]byte, n)
			b.ReportAllocs()
			for b.Loop() {
				Event(id, data)
			}
		})
	}
}

// BenchmarkEventStreams has several streams trace the process. Thread, address and clock are read once.
func BenchmarkEventStreams(b *testing.B) {
	for _, n := range []int{1, 2, 10} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var id EventID
			for range n {
				_, id = benchStream(b, Attr{})
			}
			b.ReportAllocs()
			for b.Loop() {
				Event(id, sixteen)
			}
		})
	}
}

// BenchmarkEventParallel: ns/op is the wall time over all events; it halves when two
// goroutines do not meet.
func BenchmarkEventParallel(b *testing.B) {
	_, id := benchStream(b, Attr{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Event(id, sixteen)
		}
	})
}

// BenchmarkYardstick is the minimum of an event: clock, caller's address, 40 bytes, one
// compare-and-swap.
func BenchmarkYardstick(b *testing.B) {
	sys.FastSelf()
	y := &yardstick{buf: make([]byte, 1<<20)}
	for b.Loop() {
		y.record(sixteen)
	}
}

type yardstick struct {
	ctl uint64
	off int
	buf []byte
}

//go:noinline
func (y *yardstick) record(data []byte) {
	if !atomic.CompareAndSwapUint64(&y.ctl, 0, 1) {
		return
	}
	tick := sys.Ticks()
	tid, pc, _, _ := sys.Self()
	if y.off+40 > len(y.buf) {
		y.off = 0
	}
	p := y.buf[y.off : y.off+40 : y.off+40]
	binary.LittleEndian.PutUint64(p, tick)
	binary.LittleEndian.PutUint64(p[8:], tid)
	binary.LittleEndian.PutUint64(p[16:], pc)
	copy(p[24:], data)
	y.off += 40
	y.ctl = 0
}

func init() {
	// bench-writer: prints how many events it recorded in the given time, after a line of input.
	tracetest.Helpers["bench-writer"] = func(args []string) {
		id, err := OpenEventID("bench.event")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		d, _ := time.ParseDuration(args[0])
		Event(id, sixteen) // connects
		fmt.Println("ready")
		bufio.NewReader(os.Stdin).ReadString('\n')
		n := 0
		start := time.Now()
		for time.Since(start) < d {
			for range 10000 {
				Event(id, sixteen)
			}
			n += 10000
		}
		fmt.Println(float64(n) / time.Since(start).Seconds())
	}
}

// rate starts n processes that write to one stream and returns their total rate.
func rate(b *testing.B, n int) (total float64) {
	type child struct {
		cmd *exec.Cmd
		in  *os.File
		out *bufio.Reader
	}
	var children []child
	for range n {
		cmd := exec.Command(os.Args[0], "300ms")
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=bench-writer")
		cmd.Stderr = os.Stderr
		in, w, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		cmd.Stdin = in
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		in.Close()
		c := child{cmd, w, bufio.NewReader(out)}
		if l, err := c.out.ReadString('\n'); l != "ready\n" {
			b.Fatalf("writer says %q, %v", l, err)
		}
		children = append(children, c)
	}
	for _, c := range children {
		c.in.Close()
	}
	for _, c := range children {
		l, err := c.out.ReadString('\n')
		r, e := strconv.ParseFloat(strings.TrimSpace(l), 64)
		if err != nil || e != nil {
			b.Fatalf("writer says %q, %v", l, err)
		}
		total += r
		if err := c.cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	return total
}

// BenchmarkProcesses compares two processes that write to one stream with one.
func BenchmarkProcesses(b *testing.B) {
	benchStream(b, Attr{Inheritance: InheritChildren})
	for b.Loop() {
		one, two := rate(b, 1), rate(b, 2)
		b.ReportMetric(one/1e6, "Mevents/s-of-1")
		b.ReportMetric(two/1e6, "Mevents/s-of-2")
		b.ReportMetric(two/one, "ratio")
	}
}

// BenchmarkParts measures the parts of the minimum of an event alone, and then the event, for
// scripts/bench. Each part works on the shared memory of a stream's size and kind.
func BenchmarkParts(b *testing.B) {
	tracetest.Need(b, sys.FastSelf(), "the quick ways to thread and caller")
	mem, err := sys.MapAnon(1 << 20)
	if err != nil {
		b.Fatal(err)
	}
	defer sys.Unmap(mem)
	b.Run("clock,_thread_and_address", func(b *testing.B) {
		for b.Loop() {
			sys.Self()
		}
	})
	b.Run("copy", func(b *testing.B) {
		for off := 0; b.Loop(); off = (off + 24) & (1<<19 - 1) {
			p := mem[off : off+24 : off+24]
			binary.LittleEndian.PutUint64(p, uint64(off))
			copy(p[8:], sixteen)
		}
	})
	b.Run("publish", func(b *testing.B) {
		p := (*uint64)(unsafe.Pointer(&mem[0]))
		for b.Loop() {
			v := *p
			if atomic.CompareAndSwapUint64(p, v, v|1) {
				*p = v + 2
			}
		}
	})
	b.Run("together", func(b *testing.B) {
		y := &yardstick{buf: mem}
		for b.Loop() {
			y.record(sixteen)
		}
	})
	b.Run("event", func(b *testing.B) {
		_, id := benchStream(b, Attr{})
		for b.Loop() {
			Event(id, sixteen)
		}
	})
}

// BenchmarkSpan is a span whose context is not used: two events, at most a tenth more expensive
// than that.
func BenchmarkSpan(b *testing.B) {
	benchStream(b, Attr{})
	t, err := OpenSpanType("bench.span")
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N { // Loop would keep the context
		_, s := t.Start(ctx, sixteen)
		s.End(sixteen)
	}
}

// BenchmarkSpanWithin has a context that encloses another span.
func BenchmarkSpanWithin(b *testing.B) {
	benchStream(b, Attr{})
	t, err := OpenSpanType("bench.span")
	if err != nil {
		b.Fatal(err)
	}
	outer, o := t.Start(context.Background(), nil)
	defer o.End(nil)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N { // Loop would keep the context
		ctx, s := t.Start(outer, sixteen)
		kept = ctx
		s.End(sixteen)
	}
}

var kept context.Context

func BenchmarkSpanUntraced(b *testing.B) {
	t, err := OpenSpanType("bench.span")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N { // Loop would keep the context
		_, s := t.Start(context.Background(), sixteen)
		s.End(sixteen)
	}
}
