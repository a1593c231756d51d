package posixtrace

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
)

// Of several exclusive Create calls with one name one succeeds while the stream is active. Calls
// without Exclusive create a stream of any name.
func TestExclusiveNameIsUnique(t *testing.T) {
	attr := &Attr{Name: "exclusive", StreamSize: 4096, Exclusive: true}
	for range 10 {
		var mu sync.Mutex
		var made []*Stream
		var wg sync.WaitGroup
		for n := range 6 {
			wg.Go(func() {
				create := Create
				if n%2 == 0 {
					create = func(_ int, attr *Attr) (*Stream, error) { return CreateForChild(attr, nil) }
				}
				s, err := create(0, attr)
				switch {
				case err == nil:
					mu.Lock()
					made = append(made, s)
					mu.Unlock()
				case !errors.Is(err, syscall.EEXIST):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(made) != 1 {
			t.Fatalf("%d streams of one name", len(made))
		}
		s, err := Attach("exclusive")
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		second, err := Create(os.Getpid(), &Attr{Name: "exclusive", StreamSize: 4096})
		if err != nil {
			t.Fatal(err)
		}
		second.Shutdown()
		made[0].Shutdown()
	}
}
