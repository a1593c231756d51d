// Recorder records spans, and events within them, from several threads: recorder SPANS EVENTS.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func main() {
	spans, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	events, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	const threads = 8
	inner := posixtrace.MustEventID("cache.lookup")
	var all sync.WaitGroup
	for t := range threads {
		all.Go(func() {
			runtime.LockOSThread()
			name := "request." + strconv.Itoa(t)
			begin, end := posixtrace.MustEventID(name+".begin"), posixtrace.MustEventID(name+".end")
			for i := t; i < spans; i += threads {
				posixtrace.Event(begin, fmt.Appendf(nil, "path=/item/%d", i))
				for k := range (events + i) / spans {
					posixtrace.Event(inner, strconv.AppendInt(nil, int64(k), 10))
				}
				posixtrace.Event(end, nil)
				if i/threads%100 == 99 {
					time.Sleep(time.Millisecond) // a pause, in which the stream is flushed
				}
			}
		})
	}
	all.Wait()
}
