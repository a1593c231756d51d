// Command ownpoints records an event in each of several functions, and executes itself if it has an
// argument.
package main

import (
	"os"
	"sync"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

type box[T any] struct{ v T }

//go:noinline
func (b *box[T]) record(id posixtrace.EventID) { posixtrace.Event(id, nil) }

//go:noinline
func plain(id posixtrace.EventID) { posixtrace.Event(id, []byte("plain")) }

func main() {
	id, err := posixtrace.OpenEventID("own.point")
	if err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		plain(id)
		new(box[int]).record(id)
		new(box[string]).record(id)
		wg.Go(func() { posixtrace.Event(id, []byte("goroutine")) })
		func() {
			defer posixtrace.Event(id, []byte("deferred"))
		}()
	}
	wg.Wait()
	if len(os.Args) > 1 {
		err := syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
		panic(err)
	}
}
