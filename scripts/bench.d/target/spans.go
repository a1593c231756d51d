package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// spans writes a log of spans of twenty names with eight events inside of each, ten events in all. A
// span has the number of one of a hundred things as its data.
func spans(args []string) error {
	if len(args) != 2 {
		return errors.New("wrong number of arguments")
	}
	n, err := numbers(args[1:], 1)
	if err != nil {
		return err
	}
	log, err := os.Create(args[0])
	if err != nil {
		return err
	}
	defer log.Close()
	var begins, ends [20]posixtrace.EventID
	for i := range begins {
		begins[i] = posixtrace.MustEventID(fmt.Sprintf("work%d.begin", i))
		ends[i] = posixtrace.MustEventID(fmt.Sprintf("work%d.end", i))
	}
	inside := posixtrace.MustEventID("bench.event")
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
	at, data := time.Now().UnixNano(), []byte("0123456789abcdef")
	for i := range n[0] {
		for k := range 10 {
			id, text := inside, data
			switch k {
			case 0:
				id, text = begins[i*7%len(begins)], fmt.Appendf(nil, "thing %d", i*31%100)
			case 9:
				id, text = ends[i*7%len(ends)], nil
			}
			at += 100
			if !r.Record(posixtrace.EventInfo{ID: id, PID: os.Getpid(), TID: os.Getpid(), UnixNano: at}, text) {
				return fmt.Errorf("event %d of span %d was not recorded", k, i)
			}
		}
	}
	if err := r.Close(); err != nil {
		return err
	}
	return s.Shutdown()
}
