package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"golang.org/x/sys/unix"
)

// crowd prints the nanoseconds per event, of all, of several writers of one stream of the given
// size: goroutines of this process, or processes. Both are measured in the same way: all writers
// start at once and end at the same instant, which the parent sends to each.
func crowd(args []string) error {
	if len(args) != 4 || args[0] != "goroutines" && args[0] != "processes" {
		return errors.New("wrong arguments")
	}
	n, err := numbers(args[1:3], 2)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	inherit := posixtrace.InheritNone
	if args[0] == "processes" {
		inherit = posixtrace.InheritChildren
	}
	id, err := posixtrace.OpenEventID("bench.event")
	if err != nil {
		return err
	}
	s, err := posixtrace.Create(0, &posixtrace.Attr{StreamSize: int64(n[1]), StreamFullPolicy: posixtrace.PolicyLoop, Inheritance: inherit})
	if err != nil {
		return err
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		return err
	}
	gate, open, err := os.Pipe()
	if err != nil {
		return err
	}
	ends := make([]func() (events, end int64, err error), n[0])
	for i := range ends {
		if inherit == posixtrace.InheritNone {
			ends[i], err = startGoroutine(gate, id)
		} else {
			ends[i], err = startProcess(gate)
		}
		if err != nil {
			return err
		}
	}
	start := nanos(unix.CLOCK_MONOTONIC)
	last := start + d.Nanoseconds()
	var deadline []byte
	for range ends {
		deadline = binary.LittleEndian.AppendUint64(deadline, uint64(last))
	}
	if _, err := open.Write(deadline); err != nil {
		return err
	}
	total := int64(0)
	for _, f := range ends {
		events, end, err := f()
		if err != nil {
			return err
		}
		total += events
		last = max(last, end)
	}
	_, err = fmt.Println(float64(last-start) / float64(total))
	return err
}

func startGoroutine(gate io.Reader, id posixtrace.EventID) (func() (int64, int64, error), error) {
	var done sync.WaitGroup
	var events, end int64
	var err error
	burst(id, sixteen, 1000)
	done.Go(func() { events, end, err = untilDeadline(gate, id) })
	return func() (int64, int64, error) {
		done.Wait()
		return events, end, err
	}, nil
}

func startProcess(gate *os.File) (func() (int64, int64, error), error) {
	cmd := exec.Command("/proc/self/exe", "member")
	cmd.Stdin, cmd.Stderr = gate, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var ready string
	if _, err := fmt.Fscan(out, &ready); err != nil || ready != "ready" {
		return nil, fmt.Errorf("a writer says %q, %v", ready, err)
	}
	return func() (events, end int64, err error) {
		if _, err := fmt.Fscan(out, &events, &end); err != nil {
			return 0, 0, err
		}
		return events, end, cmd.Wait()
	}, nil
}

// member is one process of a crowd.
func member([]string) error {
	id, err := posixtrace.OpenEventID("bench.event")
	if err != nil {
		return err
	}
	burst(id, sixteen, 1000)
	fmt.Println("ready")
	events, end, err := untilDeadline(os.Stdin, id)
	if err != nil {
		return err
	}
	_, err = fmt.Println(strconv.FormatInt(events, 10), strconv.FormatInt(end, 10))
	return err
}

// untilDeadline records events until the time that it reads from the gate. It returns how
// many, and when it ended.
func untilDeadline(gate io.Reader, id posixtrace.EventID) (events, end int64, err error) {
	var b [8]byte
	if _, err := io.ReadFull(gate, b[:]); err != nil {
		return 0, 0, err
	}
	deadline := int64(binary.LittleEndian.Uint64(b[:]))
	for {
		if end = nanos(unix.CLOCK_MONOTONIC); end >= deadline {
			return events, end, nil
		}
		burst(id, sixteen, 1000)
		events += 1000
	}
}
