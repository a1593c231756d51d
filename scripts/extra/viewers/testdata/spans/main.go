// Command spans records requests, each with a query, in goroutines that sleep and so change threads.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func main() {
	request, err := posixtrace.OpenSpanType("request")
	query, err2 := posixtrace.OpenSpanType("query")
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, "spans:", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 5 {
				ctx, s := request.Start(context.Background(), fmt.Appendf(nil, "GET /%d/%d", g, i))
				time.Sleep(time.Millisecond)
				_, q := query.Start(ctx, fmt.Appendf(nil, "select %d", i))
				time.Sleep(time.Millisecond)
				q.End(nil)
				s.End([]byte("200"))
			}
		})
	}
	wg.Wait()
}
