package send

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A server that takes no metrics gets traces and log records all the same: many stores have these alone. What it
// will never take is not kept for it.
func TestServerWithoutMetrics(t *testing.T) {
	for _, test := range []struct {
		status  int
		kept    int
		message string
	}{
		{http.StatusNotFound, 0, "404 Not Found; 1 batch dropped"},
		{http.StatusMethodNotAllowed, 0, "405 Method Not Allowed; 1 batch dropped"},
		{http.StatusForbidden, 1, "403 Forbidden; 1 batch kept in "},
		{http.StatusServiceUnavailable, 1, "503 Service Unavailable; 1 batch kept in "},
	} {
		var took []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/metrics" {
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(test.status)
				return
			}
			took = append(took, r.URL.Path)
		}))
		config, err := NewConfig(func(string) string { return "" }, server.URL, func(text string) { t.Error(text) })
		tracetest.OK(t, "NewConfig", err)
		s := &Sender{Config: config, Limit: 20 * time.Second, Spool: t.TempDir()}
		s.Begin(context.Background())
		tracetest.OK(t, "Metrics", s.Metrics([]byte("{}"), 1))
		tracetest.OK(t, "Traces", s.Traces([]byte("{}"), 1))
		tracetest.OK(t, "Logs", s.Logs([]byte("{}"), 1))
		server.Close()
		if !slices.Equal(took, []string{"/v1/traces", "/v1/logs"}) {
			t.Errorf("%d: the server took %q", test.status, took)
		}
		if text, failed := s.Result(); !failed || s.kept != test.kept || !strings.Contains(text, "/v1/metrics: "+test.message) {
			t.Errorf("%d: %v, %d kept, %q", test.status, failed, s.kept, text)
		}
	}
}
