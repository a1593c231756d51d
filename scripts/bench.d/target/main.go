// Target is a traced program for scripts/bench: loops around a trace point. It times
// them itself, so that starting the program is not part of the cost.
//
// The modes loop and paced print what bench.d/c/lttng.c prints: the nanoseconds of the
// loop, and the processor time of the whole process meanwhile.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"golang.org/x/sys/unix"
)

var modes = map[string]struct {
	args string
	run  func(args []string) error
}{
	"untraced": {"COUNT", untraced},
	"rejected": {"COUNT", rejected},
	"loop":     {"SIZE THREADS COUNT", loop},
	"paced":    {"COUNT BURST MICROSECONDS", paced},
	"crowd":    {"goroutines|processes WRITERS SIZE DURATION", crowd},
	"member":   {"", member},
	"memory":   {"SIZE", memory},
	"span":     {"LOG SIZE COUNT DURATION", span},
	"spans":    {"LOG SPANS", spans},
	"recorded": {"LOG spans|keyed|steps|processes|points|lines|calls COUNT", recorded},
	"streams":  {"STREAMS COUNT", streams},
	"types":    {"TYPES COUNT", types},
	"serve":    {"SOCKET", serve},
	"ask":      {"SOCKET DURATION", ask},
	"watch":    {"SOURCE COMMAND...", watch},
	"confined": {"CALL COMMAND...", confined},
}

func main() {
	m, ok := modes[arg(1)]
	if !ok {
		fmt.Fprintln(os.Stderr, "usage: target MODE ARG...")
		os.Exit(2)
	}
	if err := m.run(os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "target %s %s: %v\n", arg(1), m.args, err)
		os.Exit(1)
	}
}

func arg(i int) string {
	if i < len(os.Args) {
		return os.Args[i]
	}
	return ""
}

// numbers parses all arguments, of which there must be n.
func numbers(args []string, n int) ([]int, error) {
	if len(args) != n {
		return nil, errors.New("wrong number of arguments")
	}
	v := make([]int, n)
	for i, a := range args {
		var err error
		if v[i], err = strconv.Atoi(a); err != nil {
			return nil, err
		}
	}
	return v, nil
}

var sixteen = []byte("0123456789abcdef")

// burst is the measured loop. The trace point is inlined, which scripts/bench verifies.
//
//go:noinline
func burst(id posixtrace.EventID, data []byte, n int) {
	for range n {
		posixtrace.Event(id, data)
	}
}

func nanos(clock int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// timed runs f and prints its duration.
func timed(f func()) error {
	wall, cpu := nanos(unix.CLOCK_MONOTONIC), nanos(unix.CLOCK_PROCESS_CPUTIME_ID)
	f()
	wall, cpu = nanos(unix.CLOCK_MONOTONIC)-wall, nanos(unix.CLOCK_PROCESS_CPUTIME_ID)-cpu
	_, err := fmt.Println(wall, cpu)
	return err
}

// stream creates a running stream on this process, a flight recorder of the size of
// the peer's buffers.
func stream(inherit posixtrace.Inheritance, maxData int) (*posixtrace.Stream, posixtrace.EventID, error) {
	id, err := posixtrace.OpenEventID("bench.event")
	if err != nil {
		return nil, 0, err
	}
	attr := posixtrace.Attr{StreamSize: 1 << 20, StreamFullPolicy: posixtrace.PolicyLoop, Inheritance: inherit}
	if maxData > 0 {
		attr.MaxDataSize = &maxData
	}
	s, err := posixtrace.Create(0, &attr)
	if err != nil {
		return nil, 0, err
	}
	return s, id, s.Start()
}

func untraced(args []string) error {
	n, err := numbers(args, 1)
	if err != nil {
		return err
	}
	id, err := posixtrace.OpenEventID("bench.event")
	if err != nil {
		return err
	}
	burst(id, sixteen, 1000)
	return timed(func() { burst(id, sixteen, n[0]) })
}

func rejected(args []string) error {
	n, err := numbers(args, 1)
	if err != nil {
		return err
	}
	s, id, err := stream(posixtrace.InheritNone, 0)
	if err != nil {
		return err
	}
	defer s.Shutdown()
	var set posixtrace.EventSet
	set.Add(id)
	if err := s.SetFilter(set, posixtrace.FilterSet); err != nil {
		return err
	}
	burst(id, sixteen, 1000)
	return timed(func() { burst(id, sixteen, n[0]) })
}

func loop(args []string) error {
	n, err := numbers(args, 3)
	if err != nil {
		return err
	}
	s, id, err := stream(posixtrace.InheritNone, n[0])
	if err != nil {
		return err
	}
	defer s.Shutdown()
	data := make([]byte, n[0])
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for range n[1] {
		ready.Add(1)
		done.Go(func() {
			burst(id, data, 10000)
			ready.Done()
			<-begin
			burst(id, data, n[2])
		})
	}
	ready.Wait()
	return timed(func() {
		close(begin)
		done.Wait()
	})
}

func paced(args []string) error {
	n, err := numbers(args, 3)
	if err != nil {
		return err
	}
	id, err := posixtrace.OpenEventID("bench.event")
	if err != nil {
		return err
	}
	return timed(func() {
		for left := n[0]; left > 0; left -= n[1] {
			burst(id, sixteen, min(n[1], left))
			pause(time.Duration(n[2]) * time.Microsecond)
		}
	})
}

// pause sleeps as the peer does, by nanosleep(2). A timer of the runtime takes another 30 us of
// processor time, for threads that look for work; the row is about events.
func pause(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	p := uintptr(unsafe.Pointer(&left))
	for {
		if _, _, no := unix.RawSyscall(unix.SYS_NANOSLEEP, p, p, 0); no != unix.EINTR {
			return
		}
	}
}

// memory prints the file size of a stream of the given size.
func memory(args []string) error {
	n, err := numbers(args, 1)
	if err != nil {
		return err
	}
	s, err := posixtrace.Create(0, &posixtrace.Attr{StreamSize: int64(n[0])})
	if err != nil {
		return err
	}
	defer s.Shutdown()
	files, err := filepath.Glob(filepath.Join(os.Getenv("PTRACE_DIR"), "s-*"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("streams: %v, %v", files, err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(files[0], &st); err != nil {
		return err
	}
	_, err = fmt.Println(st.Blocks * 512)
	return err
}

// span writes a log of equal events, evenly spread over a time that ends now.
func span(args []string) error {
	if len(args) != 4 {
		return errors.New("wrong number of arguments")
	}
	n, err := numbers(args[1:3], 2)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	log, err := os.Create(args[0])
	if err != nil {
		return err
	}
	defer log.Close()
	id, err := posixtrace.OpenEventID("bench.event")
	if err != nil {
		return err
	}
	s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{StreamSize: 16 << 20, StreamFullPolicy: posixtrace.PolicyFlush, LogFullPolicy: posixtrace.PolicyAppend}, log)
	if err != nil {
		return err
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		return err
	}
	r, err := s.Recorder()
	if err != nil {
		return err
	}
	data := bytes.Repeat([]byte("x"), n[0])
	begin := time.Now().Add(-d).UnixNano()
	for i := range n[1] {
		ev := posixtrace.EventInfo{ID: id, PID: os.Getpid(), TID: os.Getpid(), UnixNano: begin + int64(float64(d)*float64(i)/float64(n[1]))}
		if !r.Record(ev, data) {
			return fmt.Errorf("event %d of %d was not recorded", i, n[1])
		}
	}
	if err := r.Close(); err != nil {
		return err
	}
	return s.Shutdown()
}

// streams runs loop with one thread, which several streams trace.
func streams(args []string) error {
	n, err := numbers(args, 2)
	if err != nil {
		return err
	}
	var id posixtrace.EventID
	for range n[0] {
		var s *posixtrace.Stream
		if s, id, err = stream(posixtrace.InheritNone, 0); err != nil {
			return err
		}
		defer s.Shutdown()
	}
	burst(id, sixteen, 10000)
	return timed(func() { burst(id, sixteen, n[1]) })
}

// types runs loop with one thread and trace points of several types in turn.
func types(args []string) error {
	n, err := numbers(args, 2)
	if err != nil {
		return err
	}
	s, _, err := stream(posixtrace.InheritNone, 0)
	if err != nil {
		return err
	}
	defer s.Shutdown()
	ids := make([]posixtrace.EventID, n[0])
	for i := range ids {
		if ids[i], err = posixtrace.OpenEventID(fmt.Sprint("bench.type", i)); err != nil {
			return err
		}
	}
	round := func(times int) {
		for range times {
			for _, id := range ids {
				posixtrace.Event(id, sixteen)
			}
		}
	}
	round(10)
	return timed(func() { round(n[1] / n[0]) })
}
