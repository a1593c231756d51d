package posixtrace

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func init() {
	// hands-over PID NAME... creates streams, hands them over and ends.
	tracetest.Helpers["hands-over"] = func(args []string) {
		pid, _ := strconv.Atoi(args[0])
		var streams []*Stream
		for _, name := range args[1:] {
			s, err := Create(pid, &Attr{Name: name, StreamSize: 4096, Exclusive: true})
			tracetest.Check(err == nil, "Create: %v", err)
			streams = append(streams, s)
		}
		for _, s := range streams {
			tracetest.Check(s.Handover(pid) == nil, "Handover failed")
		}
		fmt.Println("ok")
	}
}

// A process that looks for streams while another one hands its stream over and ends does not take it for
// the stream of a dead owner.
func TestHandoverBesideList(t *testing.T) {
	var end atomic.Bool
	var lists sync.WaitGroup
	defer lists.Wait()
	defer end.Store(true)
	for range 6 {
		lists.Go(func() {
			for !end.Load() {
				if _, err := List(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range tracetest.Scale(25, 100, 1000) {
		names := []string{"heir-1", "heir-2", "heir-3", "heir-4"}
		tracetest.RunHelper(t, nil, "hands-over", append([]string{strconv.Itoa(os.Getpid())}, names...)...)
		for _, name := range names {
			s, err := Attach(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Shutdown(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
