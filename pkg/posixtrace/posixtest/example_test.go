package posixtest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/posixtest"
)

// A server records what it does. Its test waits for that, and checks it.
func ExampleRecord() {
	request, _ := posixtrace.OpenSpanType("example.request")
	query := posixtrace.MustEventID("example.query")
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := request.Start(r.Context(), []byte(r.URL.Path))
		defer span.End(nil)
		posixtrace.EventIn(ctx, query, []byte("select 1"))
	})

	_ = func(t *testing.T) { // func TestServe(t *testing.T)
		tr := posixtest.Record(t, "example.*")
		server := httptest.NewServer(handler)
		defer server.Close()
		if _, err := http.Get(server.URL + "/a"); err != nil {
			t.Fatal(err)
		}
		tr.Wait(10*time.Second, "example.request.end")
		tr.Order("example.request.begin /a", "example.query select*", "example.request.end")
		tr.Count(1, "example.query")
		tr.None("example.error")
	}
}

// The order of requests that a server answers at a time differs from run to run. That within each
// request does not.
func ExampleTrace_GoldenSpans() {
	_ = func(t *testing.T) {
		tr := posixtest.Record(t, "example.*")
		// ... several requests at a time ...
		tr.WaitCount(10*time.Second, 3, "example.request.end")
		tr.GoldenSpans("testdata/requests.golden")
	}
}
