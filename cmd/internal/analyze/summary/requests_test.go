package summary

import (
	"fmt"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// serve returns the summary of a server that served n requests, each with a query, of which number slow
// took a second and the others one to three milliseconds.
func serve(n, slow int, form Form) string { return servePath("/api/users/", n, slow, form) }

func servePath(path string, n, slow int, form Form) string {
	o := &Options{Top: 5, Form: form}
	a := New(o)
	names := []string{"request.begin", "request.end", "query.begin", "query.end", "job.begin", "job.end"}
	s := a.NewSource(func(id posixtrace.EventID) string { return names[id-100] })
	at := int64(0)
	add := func(id posixtrace.EventID, data string) {
		s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: 100 + id, PID: 1, TID: 1, UnixNano: at}, Data: []byte(data)}})
	}
	for i := range n {
		add(0, fmt.Sprintf("GET %s%d\nHost: example", path, i))
		add(2, "select 1")
		at += 1e6 * int64(1+i%3)
		if i == slow {
			at += 1e9
		}
		add(3, "")
		add(1, "")
	}
	a.Finish()
	return string(Append(nil, a, 0, o))
}

// The summary of a server names the slowest request by its data, and says how long requests take. Few
// spans tell nothing of the kind.
func TestSlowestRequest(t *testing.T) {
	const want = "slowest of 1000: request GET /api/users/770, 1.00s; p50 2.01ms, p99 3.01ms\n"
	if got := serve(1000, 770, Text); !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	if got := serve(1000, 770, Markdown); !strings.Contains(got, "slowest of 1000: <code>request GET &#47;api&#47;users&#47;770</code>, 1.00s; p50") {
		t.Errorf("%s", got)
	}
	for _, pad := range []string{"", "x", "xx"} { // what is kept of the data ends within none of the characters
		if got := servePath("/"+pad+strings.Repeat("語", 60), 1000, 770, Text); !strings.HasPrefix(got, "slowest of 1000: request GET /"+pad+"語") || strings.Contains(got, `\x`) {
			t.Errorf("%.300s", got)
		}
	}
	if got := serve(leastRequests-1, 7, Text); strings.Contains(got, "slowest of") {
		t.Errorf("few requests: %s", got)
	}
}

// Many spans inside of another one are no requests.
func TestInnerSpans(t *testing.T) {
	o := &Options{}
	a := New(o)
	names := []string{"job.begin", "job.end", "item.begin", "item.end"}
	s := a.NewSource(func(id posixtrace.EventID) string { return names[id-100] })
	add := func(id posixtrace.EventID, at int64) {
		s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: 100 + id, PID: 1, TID: 1, UnixNano: at}}})
	}
	add(0, 0)
	for i := range int64(500) {
		add(2, i*1000)
		add(3, i*1000+900)
	}
	add(1, 1e6)
	a.Finish()
	if got := string(Append(nil, a, 0, o)); strings.Contains(got, "slowest of") {
		t.Errorf("%s", got)
	}
}
