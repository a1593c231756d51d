package script_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A batch counts as sent if the answer is one of OTLP. After any other answer a message says so, the
// status with --strict is 1, and the spool keeps the batch, unless OTLP forbids to send it again.
func TestSendAnswers(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	const page = "<html><body>Please log in</body></html>"
	const json, protobuf, html, none = "application/json", "application/x-protobuf", "text/html; charset=utf-8", ""
	const taken, warned, rejected, refused, kept = "", "warned", "rejected", "refused", "kept"
	for _, tt := range []struct {
		status     int
		kind, body string
		want       string
		message    string
	}{
		// What collectors and stores answer: the Collector, Tempo, Loki (204), those that leave out the body or
		// the content type.
		{200, json, `{"partialSuccess":{}}`, taken, ""},
		{200, json, `{"partialSuccess":null}`, taken, ""},
		{200, json, `{"partialSuccess":{"rejectedSpans":"0","rejectedLogRecords":0,"errorMessage":""}}`, taken, ""},
		{200, json, `{"partialSuccess":{},"later":1}`, taken, ""}, // a member of a later version
		{200, json, "{}\n", taken, ""},
		{200, json, "", taken, ""},
		{200, none, "{}", taken, ""},
		{200, none, "", taken, ""},
		{200, html, "", taken, ""},
		{200, protobuf, "", taken, ""},
		{200, protobuf, "\x0a\x00", taken, ""},
		{202, json, "{}", taken, ""},
		{204, none, "", taken, ""},
		// All was taken, and the server has advice.
		{200, json, `{"partialSuccess":{"errorMessage":"too chatty"}}`, warned, "too chatty"},
		{200, protobuf, "\x0a\x0c\x12\x0atoo chatty", warned, "too chatty"},
		// A part was taken.
		{200, json, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}`, rejected, "3 spans rejected: too old"},
		{200, json, `{"partialSuccess":{"rejectedLogRecords":3}}`, rejected, "3 log records rejected"},
		{200, json, `{"partial_success":{"rejected_spans":3}}`, rejected, "3 spans rejected"},
		{200, protobuf, "\x0a\x09\x08\x03\x12\x05stale", rejected, "3 .* rejected: stale"},
		// Not the answer of a collector.
		{200, html, page, kept, "200 OK.*text/html"},
		{200, json, page, kept, "200 OK"},
		{200, none, page, kept, "200 OK"},
		{204, none, page, taken, ""}, // has no body
		{200, json, `{"error":"no such tenant"}`, kept, "200 OK.*no such tenant"},
		{200, json, `{"code":16,"message":"who are you?"}`, kept, "200 OK.*who are you"},
		{200, json, `{"partialSuccess":"yes"}`, kept, "200 OK"},
		{200, json, `{"partialSuccess":{"rejectedSpans":"many"}}`, kept, "200 OK"},
		{200, json, `{"partialSuccess":{}`, kept, "200 OK"},
		{200, json, `{}{}`, kept, "200 OK"},
		{200, json, `[]`, kept, "200 OK"},
		{200, json, `null`, kept, "200 OK"},
		{200, json, `"OK"`, kept, "200 OK"},
		{200, "text/plain", "OK", kept, "200 OK"},
		{200, protobuf, "OK", kept, "200 OK"},
		{200, protobuf, "\x0a\x7f", kept, "200 OK"},
		{200, json, strings.Repeat(" ", 5<<20) + "{}", kept, "200 OK"},
		// Something in between redirects, or has an error of its own.
		{301, html, page, kept, "301 Moved"},
		{302, html, page, kept, "302 Found"},
		{308, json, `{}`, kept, "308 Permanent"},
		{400, html, page, kept, "400 Bad"},
		{500, html, page, kept, "500 Internal"},
		{501, html, page, kept, "501 Not"},
		{413, html, page, refused, "413 Request Entity"},
		{400, json, `{"code":3,"message":"no"}`, refused, "400 Bad Request: no"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil // not detected
			if tt.kind != none {
				w.Header().Set("Content-Type", tt.kind)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tt.status)
			fmt.Fprint(w, tt.body)
		}))
		s.wantSent(t, fmt.Sprintf("%d %s %.60q", tt.status, tt.kind, tt.body), "--timeout=50s", server.URL, tt.want, tt.message)
		server.Close()
	}
	// A connection that ends within the answer.
	for _, head := range []string{"Content-Length: 400\r\n\r\n", "Content-Length: 400\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", "\r\n{\"partialSuccess\":{"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			c, b, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintf(b, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n%s", head)
			b.Flush()
			c.(*net.TCPConn).CloseWrite()
			c.Close()
		}))
		s.wantSent(t, fmt.Sprintf("cut: %q", head), "--timeout=300ms", server.URL, kept, "")
		server.Close()
	}
}

// wantSent exports to a server and checks the status, the message and the spool.
func (s *sender) wantSent(t *testing.T, what, timeout, url, want, message string) {
	t.Helper()
	spool := filepath.Join(s.dir, "spool")
	status, text := s.export(t, nil, timeout, "--endpoint="+url, "--spool=spool", "a.trace")
	list, _ := os.ReadDir(spool)
	os.RemoveAll(spool)
	strict, _ := s.export(t, nil, timeout, "--endpoint="+url, "--strict", "a.trace")
	keeps, fails := 0, 0
	switch want {
	case "rejected", "refused":
		fails = 1
	case "kept":
		keeps, fails = 2, 1
	}
	silent := want == ""
	if status != 0 || strict != fails || len(list) != keeps || silent != (text == "") || strings.Count(text, "\n") > 1 || !matches(message, text) {
		t.Errorf("%s: status %d, with --strict %d (want %d), %d batches kept (want %d), %q (want %s)", what, status, strict, fails, len(list), keeps, text, message)
	}
}
