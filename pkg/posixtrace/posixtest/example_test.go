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
		posixtrace.EventIn(ctx, 0, query, []byte("select 1"))
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
	}
}
