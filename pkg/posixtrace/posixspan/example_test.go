package posixspan_test

import (
	"context"
	"fmt"
	"log"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixspan"
)

// A span within a span.
func ExampleDo() {
	s, err := posixtrace.Create(0, nil) // or ptrace-run, or ptrace-create
	if err != nil {
		log.Fatal(err)
	}
	defer s.Shutdown()
	s.Start()

	posixspan.Do(context.Background(), "request", "/a", func(ctx context.Context) error {
		return posixspan.Do(ctx, "query", "select 1", func(context.Context) error {
			return fmt.Errorf("no rows")
		})
	})

	spans := map[uint64]string{}
	for ev, err := range s.All() {
		if err != nil {
			log.Fatal(err)
		}
		if ev.ID.User() {
			fmt.Printf("%s %q", ev.Name, ev.Data)
			if ev.Parent != 0 {
				fmt.Printf(" in %s", spans[ev.Parent])
			}
			fmt.Println()
			spans[ev.Span] = ev.Name
		}
	}
	// Output:
	// request.begin "/a"
	// query.begin "select 1" in request.begin
	// query.end "error: no rows"
	// request.end "error: no rows"
}
