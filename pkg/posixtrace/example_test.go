package posixtrace_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A process that traces itself: controller, traced process and analyzer in one.
func Example() {
	// The controller: a stream that traces this process.
	s, err := posixtrace.Create(0, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		log.Fatal(err)
	}

	// The traced process: a name, once, and then trace points.
	page, err := posixtrace.OpenEventID("page.fetch")
	if err != nil {
		log.Fatal(err)
	}
	for n := range 3 {
		posixtrace.Event(page, fmt.Appendf(nil, "number %d", n))
	}
	if err := s.Stop(); err != nil {
		log.Fatal(err)
	}

	// The analyzer: events come out in the order of their times.
	for ev, err := range s.All() {
		if err != nil {
			log.Fatal(err)
		}
		if ev.ID.User() {
			fmt.Printf("%s %q\n", ev.Name, ev.Data)
		} else {
			fmt.Println(ev.Name)
		}
	}
	// Output:
	// posix_trace_start
	// page.fetch "number 0"
	// page.fetch "number 1"
	// page.fetch "number 2"
	// posix_trace_stop
}

// A stream with a log, which is read when the stream has been shut down.
func ExampleCreateWithLog() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "trace"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{
		Name:          "example",
		LogFullPolicy: posixtrace.PolicyAppend,
	}, f)
	if err != nil {
		log.Fatal(err)
	}
	s.Start()
	posixtrace.Event(posixtrace.EventUnnamed, []byte("kept"))
	if err := s.Shutdown(); err != nil {
		log.Fatal(err)
	}

	r, err := os.Open(f.Name())
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	l, err := posixtrace.Open(r)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	for ev, err := range l.All() {
		if err != nil {
			log.Fatal(err)
		}
		if ev.ID.User() {
			fmt.Printf("%s, data %v\n", ev.Data, ev.Truncation)
		}
	}
	// Output: kept, data none
}

// A filter names what a stream rejects.
func ExampleStream_SetFilter() {
	s, err := posixtrace.Create(0, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Shutdown()
	debug, err := s.EventID("debug")
	if err != nil {
		log.Fatal(err)
	}
	var reject posixtrace.EventSet
	reject.Add(debug)
	if err := s.SetFilter(reject, posixtrace.FilterSet); err != nil {
		log.Fatal(err)
	}
	filter, err := s.Filter()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(filter.Has(debug), filter.Has(posixtrace.EventUnnamed))
	// Output: true false
}

// The status tells when events were lost, and how many.
func ExampleStream_Status() {
	s, err := posixtrace.Create(0, &posixtrace.Attr{StreamSize: 4096, StreamFullPolicy: posixtrace.PolicyLoop})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Shutdown()
	s.Start()
	for range 100_000 {
		posixtrace.Event(posixtrace.EventUnnamed, []byte("more than it holds"))
	}
	st, err := s.Status()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(st.StreamStatus, st.StreamFullStatus, st.StreamOverrunStatus, st.Lost > 0)
	st, _ = s.Status() // reading the status has reset it
	fmt.Println(st.StreamOverrunStatus)
	// Output:
	// running full overrun true
	// no-overrun
}

// Errors carry the number that the standard asks for.
func ExampleError() {
	_, err := posixtrace.Create(-1, nil)
	fmt.Println(errors.Is(err, syscall.ESRCH))
	fmt.Println(err)
	// Output:
	// true
	// posix_trace_create: no such process
}

// A trace point that formats its data asks first whether a stream records it.
func ExampleEnabled() {
	id := posixtrace.MustEventID("example.fetch") // usually a package variable
	fetch := func(n int) {
		if posixtrace.Enabled(id) {
			posixtrace.Event(id, fmt.Appendf(nil, "number %d", n))
		}
	}
	fetch(1) // no stream traces the process

	s, err := posixtrace.Create(0, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Shutdown()
	s.Start()
	fetch(2)
	s.Stop()
	for ev, err := range s.All() {
		if err != nil {
			log.Fatal(err)
		}
		if ev.ID.User() {
			fmt.Println(ev.Name, string(ev.Data))
		}
	}
	// Output: example.fetch number 2
}
