package script_test

import (
	"context"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// goSpans GOROUTINES SPANS is a small server: each goroutine does one job after the other,
// and another goroutine ends a part of each job.
func goSpans() {
	request, err := posixtrace.OpenSpanType("request")
	if err != nil {
		panic(err)
	}
	query, err := posixtrace.OpenSpanType("query")
	if err != nil {
		panic(err)
	}
	goroutines, _ := strconv.Atoi(os.Args[1])
	spans, _ := strconv.Atoi(os.Args[2])
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range spans {
				ctx, r := request.Start(context.Background(), []byte("GET /"))
				_, q := query.Start(ctx, strconv.AppendInt(nil, int64(i), 10))
				time.Sleep(5 * time.Millisecond)
				done := make(chan struct{})
				go func() {
					q.End(nil)
					close(done)
				}()
				<-done
				r.End([]byte("200"))
			}
		})
	}
	wg.Wait()
}

func init() { helpers["go-spans"] = goSpans }
