package summary

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
)

// leastRequests is how many spans of one name tell how long such a span takes.
const leastRequests = 100

// requests returns the spans that a program makes again and again, as a server does for each request: the
// outermost ones of which there are many. It returns nil if there are none.
func (s *show) requests() (most *analysis.Span) {
	for _, r := range s.Spans() {
		if r.Step == "" && r.Times.Count >= leastRequests && 2*r.Outermost > r.Times.Count && (most == nil || r.Times.Total > most.Times.Total) {
			most = r
		}
	}
	return most
}

// slowestRequest names the slowest request, and says how long the others took.
func (s *show) slowestRequest() []line {
	r := s.requests()
	if r == nil {
		return nil
	}
	m := &r.Times
	data, _, _ := strings.Cut(string(r.Slowest), "\n")
	return []line{{before: "slowest of " + number(m.Count) + ": ", subject: strings.TrimSpace(r.Name + " " + data), span: r,
		after: ", " + duration(m.Max) + "; p50 " + duration(m.Quantile(.5)) + ", p99 " + duration(m.Quantile(.99))}}
}
