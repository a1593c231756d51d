package script_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// collector is a server that keeps what it takes.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string]int // how often each came
	asked  int
	header http.Header // of the latest request
	answer func(n int, w http.ResponseWriter) bool
}

// newCollector starts a collector. answer, unless nil, answers the nth request and reports whether it
// took the batch.
func newCollector(t *testing.T, answer func(n int, w http.ResponseWriter) bool) *collector {
	c := &collector{bodies: map[string]int{}, answer: answer}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	t.Cleanup(func() { c.CloseClientConnections(); c.Close() })
	return c
}

func (c *collector) serve(w http.ResponseWriter, r *http.Request) {
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		in = z
	}
	body, err := io.ReadAll(in)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	c.header = r.Header
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
		r.URL.Path != "/v1/traces" && r.URL.Path != "/v1/logs" && r.URL.Path != "/v1/metrics" {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	if c.answer != nil && !c.answer(c.asked, w) {
		return
	}
	c.bodies[strings.TrimPrefix(r.URL.Path, "/v1/")+" "+string(body)]++
	io.WriteString(w, "{}")
}

// took returns the batches that the collector took, as lines, and fails if one came twice.
func (c *collector) took(t *testing.T) (lines []string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for b, n := range c.bodies {
		kind, body, _ := strings.Cut(b, " ")
		begins := map[string]string{"traces": `{"resourceSpans"`, "logs": `{"resourceLogs"`, "metrics": `{"resourceMetrics"`}[kind]
		if n != 1 || !strings.HasPrefix(body, begins) {
			t.Errorf("a batch of %s came %d times: %.80s", kind, n, body)
		}
		lines = append(lines, body)
	}
	return lines
}

// sender runs ptrace-export --to=otlp on a log of its own.
type sender struct {
	dir string
	env []string
}

func newSender(t *testing.T) *sender {
	s := &sender{dir: t.TempDir()}
	s.env = append(os.Environ(), "PTRACE_STREAM=", "http_proxy=", "HTTP_PROXY=", "https_proxy=", "HTTPS_PROXY=")
	s.record(t, "a.trace", 10)
	return s
}

func (s *sender) record(t *testing.T, log string, events int) {
	t.Helper()
	cmd := exec.Command("ptrace-run", "-o", log, "--stream-size=16M", "--", "sh", "-c", fmt.Sprintf(`seq %d | sed 's/^/n\t/' | ptrace-event --batch`, events))
	cmd.Dir, cmd.Env = s.dir, s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// export runs the command and returns its status and messages.
func (s *sender) export(t *testing.T, env []string, args ...string) (status int, messages string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ptrace-export", append([]string{"--to=otlp"}, args...)...)
	cmd.Dir, cmd.Env = s.dir, append(s.env, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil || bytes.Contains(out, []byte("goroutine ")) {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	harmless(t, "messages", out, "")
	return cmd.ProcessState.ExitCode(), string(out)
}

func (s *sender) want(t *testing.T, env []string, args []string, status int, message string) {
	t.Helper()
	got, text := s.export(t, env, args...)
	if got != status || !regexp.MustCompile(message).MatchString(strings.TrimSuffix(text, "\n")) || message == "^$" && text != "" || strings.Count(text, "\n") > 1 {
		t.Errorf("%q: status %d, %q; want %d, %s", args, got, text, status, message)
	}
}

// A collector gets all batches, whatever it answers at first.
func TestSendRetries(t *testing.T) {
	s := newSender(t)
	c := newCollector(t, func(n int, w http.ResponseWriter) bool {
		switch n {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		case 3:
			panic(http.ErrAbortHandler) // the connection breaks
		}
		return n > 3
	})
	c.Start()
	env := []string{"OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20top,x-a = b ", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip"}
	s.want(t, env, []string{"--strict", "--timeout=50s", "--endpoint=" + c.URL, "a.trace"}, 0, "^$")
	if lines := c.took(t); len(lines) != 2 || c.header.Get("Authorization") != "Bearer top" || c.header.Get("X-A") != "b" {
		t.Errorf("%d lines, header %v", len(lines), c.header)
	}
	// What it takes is what a file has.
	if status, text := s.export(t, nil, "-o", "a.json", "a.trace"); status != 0 {
		t.Fatal(text)
	}
	file, err := os.ReadFile(filepath.Join(s.dir, "a.json"))
	for _, line := range c.took(t) {
		if err != nil || !strings.Contains("\n"+string(file), "\n"+line+"\n") {
			t.Errorf("not in the file: %v: %.200s", err, line)
		}
	}
	// The endpoint of the environment.
	s.want(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL + "/"}, []string{"-e", "n", "--strict", "a.trace"}, 0, "^$")
	if lines := c.took(t); len(lines) != 3 {
		t.Errorf("%d lines with the endpoint of the environment", len(lines))
	}
}

// A collector that is down, hangs, refuses or is not one never fails a job, unless --strict asks for it.
func TestSendFaults(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	down := newCollector(t, nil)
	down.Start()
	down.Close()
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); hangs.Close() })
	answering := func(status int, text string) string {
		c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(status)
			io.WriteString(w, text)
		}))
		t.Cleanup(c.Close)
		return c.URL
	}
	for _, tt := range []struct{ url, message, timeout string }{
		{down.URL, `connection refused; 2 batches not sent`, "500ms"},
		{hangs.URL, `no answer in time; 2 batches not sent`, "500ms"},
		{"http://name.invalid:4318", `2 batches not sent`, "500ms"},
		{answering(503, ""), `503 Service Unavailable; 2 batches not sent`, "50s"},
		{answering(404, "no"), `404 Not Found; 2 batches not sent`, "50s"},
		{answering(307, ""), `307 Temporary Redirect; 2 batches not sent`, "50s"},
		{answering(400, `{"code":3,"message":"bad \u001b[2Jid"}`), `400 Bad Request: bad .*id; .*400 Bad Request`, "50s"},
		{answering(200, `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too \u001b[2Jold"}}`), `1 spans rejected: too .*old`, "50s"},
		{answering(200, `{"partialSuccess":{"rejectedLogRecords":2}}`), `2 log records rejected`, "50s"},
	} {
		s.want(t, nil, []string{"--timeout=" + tt.timeout, "--endpoint=" + tt.url, "a.trace"}, 0, `^ptrace-export: http://[^\n]*`+tt.message)
		s.want(t, nil, []string{"--timeout=" + tt.timeout, "--strict", "--endpoint=" + tt.url, "a.trace"}, 1, tt.message)
	}
	for _, tt := range []struct {
		env     []string
		args    []string
		status  int
		message string
	}{
		{nil, []string{"--endpoint=ftp://x"}, 1, `--endpoint is no address`},
		{nil, []string{"--endpoint=http://u:secret@x"}, 1, `--endpoint has a password`},
		{nil, []string{"--endpoint=http://x", "-o", "y"}, 2, `exclude each other`},
		{nil, []string{"--spool=x", "-o", "y"}, 2, `--spool is for --endpoint`},
		{[]string{"OTEL_EXPORTER_OTLP_HEADERS=secret"}, []string{"--endpoint=" + down.URL, "--timeout=1ms", "--strict"}, 1, `ignored: OTEL_EXPORTER_OTLP_HEADERS: header 1 is malformed`},
		{[]string{"OTEL_EXPORTER_OTLP_CERTIFICATE=a.trace"}, []string{"--endpoint=https://x", "--strict"}, 1, `a.trace has no certificate`},
		{[]string{"OTEL_EXPORTER_OTLP_CLIENT_KEY=a.trace"}, []string{"--endpoint=https://x", "--strict"}, 1, `belong together`},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + down.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, []string{"--timeout=1ms", "--strict"}, 1, `PROTOCOL=grpc`},
	} {
		status, text := s.export(t, tt.env, append(tt.args, "a.trace")...)
		if status != tt.status || !strings.Contains(text, tt.message) || strings.Contains(text, "secret") {
			t.Errorf("%q %q: status %d, %q", tt.env, tt.args, status, text)
		}
	}
}

// The spool keeps what was not sent for the next export, which sends it first, once.
func TestSendSpool(t *testing.T) {
	s := newSender(t)
	s.record(t, "many.trace", 30000)
	c := newCollector(t, nil)
	c.Start()
	down := newCollector(t, nil)
	down.Start()
	down.Close()
	for range 2 { // the second time they are there already
		s.want(t, nil, []string{"--timeout=300ms", "--endpoint=" + down.URL, "--spool=spool", "a.trace", "many.trace"}, 0, `; [0-9]+ batches kept in spool$`)
	}
	kept, err := os.ReadDir(filepath.Join(s.dir, "spool"))
	if err != nil || len(kept) < 5 {
		t.Fatal(kept, err)
	}
	// What a killed export leaves, and what is not its own, is not sent.
	spool := filepath.Join(s.dir, "spool")
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(spool, name), []byte("not whole"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".4711.0.tmp")
	write("README")
	if err := os.Symlink("/etc/passwd", filepath.Join(spool, strings.Repeat("0", 32)+".logs.json")); err != nil {
		t.Fatal(err)
	}
	// Four exports share the spool.
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			s.want(t, nil, []string{"--timeout=50s", "--strict", "--endpoint=" + c.URL, "--spool=spool", "-e", "none.such", "a.trace"}, 0, `no event type`)
		})
	}
	all.Wait()
	lines := c.took(t)
	if len(lines) != len(kept) {
		t.Errorf("the collector took %d batches of %d", len(lines), len(kept))
	}
	left, _ := os.ReadDir(spool)
	if len(left) != 2 {
		t.Errorf("left in the spool: %v", left)
	}
	if text := strings.Join(lines, "\n"); strings.Contains(text, "root:") || strings.Contains(text, "not whole") {
		t.Error("a foreign file was sent")
	}
}

// A batch that the server refuses for good is dropped and counted, and those behind it in the spool are
// sent. Any other batch stays in the spool. The message is one line.
func TestSendRefused(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	for _, log := range []string{"b.trace", "c.trace"} {
		s.record(t, log, 10)
	}
	down := newCollector(t, nil)
	down.Start()
	down.Close()
	good := newCollector(t, nil)
	good.Start()
	for _, tt := range []struct {
		status  int
		drops   bool
		message string
	}{
		{400, true, `400 Bad Request: why; 1 batch dropped$`},
		{413, true, `413 Request Entity Too Large: why; 1 batch dropped$`},
		{418, true, `418 I'm a teapot: why; 1 batch dropped$`},
		{422, true, `422 Unprocessable Entity: why; 1 batch dropped$`},
		{500, true, `500 Internal Server Error: why; 1 batch dropped$`},
		{501, true, `501 Not Implemented: why; 1 batch dropped$`},
		{307, false, `307 Temporary Redirect: why$`},
		{401, false, `401 Unauthorized: why$`},
		{403, false, `403 Forbidden: why$`},
		{404, false, `404 Not Found: why$`},
		{415, false, `415 Unsupported Media Type: why$`},
		{429, false, `429 Too Many Requests: why$`},
		{502, false, `502 Bad Gateway: why$`},
		{503, false, `503 Service Unavailable: why$`},
		{504, false, `504 Gateway Timeout: why$`},
	} {
		spool := "spool" + strconv.Itoa(tt.status)
		left := func() int {
			list, err := os.ReadDir(filepath.Join(s.dir, spool))
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		s.want(t, nil, []string{"--timeout=1ms", "--endpoint=" + down.URL, "--spool=" + spool, "a.trace", "b.trace", "c.trace"}, 0, ` batch(es)? kept in spool`)
		all := left()
		bad := newCollector(t, func(n int, w http.ResponseWriter) bool {
			if n > 1 {
				return true
			}
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(tt.status)
			io.WriteString(w, `{"code":3,"message":"why"}`)
			return false
		})
		bad.Start()
		// No event of a log has this name, so that the export sends the spool alone.
		resend := []string{"--timeout=50s", "--endpoint=" + bad.URL, "--spool=" + spool, "-e", "proc.exec", "-x", "@all", "a.trace"}
		s.want(t, nil, resend, 0, `^ptrace-export: http://127[^;]*`+tt.message)
		sent, kept := len(bad.took(t)), left()
		if want := map[bool][2]int{true: {all - 1, 0}, false: {0, all}}[tt.drops]; all < 2 || sent != want[0] || kept != want[1] {
			t.Errorf("%d, of %d batches: %d sent, %d kept", tt.status, all, sent, kept)
		}
		// What failed is not the first again: the others come before it.
		if !tt.drops {
			order := newCollector(t, func(n int, w http.ResponseWriter) bool {
				if n >= all {
					w.WriteHeader(http.StatusForbidden)
				}
				return n < all
			})
			order.Start()
			resend[1] = "--endpoint=" + order.URL
			s.want(t, nil, append(resend, "--strict"), 1, `403 Forbidden$`)
			if sent := len(order.took(t)); sent != all-1 || left() != 1 {
				t.Errorf("%d: %d of %d sent, %d kept", tt.status, sent, all, left())
			}
			resend[1] = "--endpoint=" + good.URL
			s.want(t, nil, append(resend, "--strict"), 0, `^$`)
			if left() != 0 {
				t.Errorf("%d: %d kept", tt.status, left())
			}
		}
	}
	// Without a spool, too. A reason is shown once, and there are at most three.
	for _, distinct := range []bool{false, true} {
		var n atomic.Int32
		c := newCollector(t, func(_ int, w http.ResponseWriter) bool {
			w.WriteHeader(http.StatusBadRequest)
			if n := n.Add(1); distinct {
				fmt.Fprintf(w, `{"message":"reason %d"}`, n)
			}
			return false
		})
		c.Start()
		message := `^[^;]*v1/[a-z]*: 400 Bad Request; [^;]*400 Bad Request; 6 batches dropped$`
		if distinct {
			message = `^[^;]*: reason 1; [^;]*: reason 2; [^;]*: reason 3; 3 more; 6 batches dropped$`
		}
		for range 3 {
			s.want(t, nil, []string{"--timeout=50s", "--strict", "--endpoint=" + c.URL, "a.trace", "b.trace", "c.trace"}, 1, message)
			n.Store(0)
		}
	}
}

// An export that is killed while it keeps batches loses those that it has not kept, and tears none.
func TestSendKilled(t *testing.T) {
	s := newSender(t)
	s.record(t, "many.trace", 100000)
	down := newCollector(t, nil)
	down.Start()
	down.Close()
	spool := filepath.Join(s.dir, "spool")
	for i := range 5 {
		cmd := exec.Command("ptrace-export", "--to=otlp", "--timeout=1ms", "--endpoint="+down.URL, "--spool=spool", "many.trace")
		cmd.Dir, cmd.Env = s.dir, s.env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tracetest.Wait(t, "batches in the spool", func() bool {
			list, _ := os.ReadDir(spool)
			return len(list) > 2*i
		})
		cmd.Process.Kill()
		cmd.Wait()
	}
	c := newCollector(t, nil)
	c.Start()
	s.want(t, nil, []string{"--timeout=50s", "--strict", "--endpoint=" + c.URL, "--spool=spool", "-e", "none.such", "a.trace"}, 0, `no event type`)
	if list, err := os.ReadDir(spool); err != nil || len(list) > 0 {
		t.Errorf("left in the spool: %v, %v", list, err)
	}
	if status, text := s.export(t, nil, "-o", "many.json", "many.trace"); status != 0 {
		t.Fatal(text)
	}
	file, err := os.ReadFile(filepath.Join(s.dir, "many.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range c.took(t) {
		if !strings.Contains("\n"+string(file), "\n"+line+"\n") {
			t.Errorf("not a batch of the log: %.200s", line)
		}
	}
}

// Batches that a full disk has no room for are reported.
func TestSendSpoolFull(t *testing.T) {
	s := newSender(t)
	down := newCollector(t, nil)
	down.Start()
	down.Close()
	if err := os.Mkdir(filepath.Join(s.dir, "spool"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `ulimit -f 0; exec "$@"`, "sh", "ptrace-export", "--to=otlp", "--timeout=100ms", "--endpoint="+down.URL, "--spool=spool", "a.trace")
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "; 2 batches not sent: "+unix.EFBIG.Error()) && !strings.Contains(string(out), "not sent: File too large") {
		t.Errorf("%v: %s", err, out)
	}
	if list, _ := os.ReadDir(filepath.Join(s.dir, "spool")); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(t, nil, []string{"--timeout=100ms", "--endpoint=" + down.URL, "--spool=file", "--strict", "a.trace"}, 1, `; 2 batches not sent: file: Not a directory$`)
}

// TLS: a server of its own authority, which asks for a certificate.
func TestSendTLS(t *testing.T) {
	s := newSender(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "job"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	own, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	c := newCollector(t, nil)
	pool := x509.NewCertPool()
	pool.AddCert(own)
	c.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	c.Config.ErrorLog = nil
	c.StartTLS()
	for name, block := range map[string]*pem.Block{
		"ca.pem": {Type: "CERTIFICATE", Bytes: c.Certificate().Raw}, "cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ca, mine := "OTEL_EXPORTER_OTLP_CERTIFICATE=ca.pem", []string{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=cert.pem", "OTEL_EXPORTER_OTLP_CLIENT_KEY=key.pem"}
	args := []string{"--timeout=50s", "--endpoint=" + c.URL, "a.trace"}
	s.want(t, nil, args, 0, `certificate signed by unknown authority; 2 batches not sent$`)
	s.want(t, []string{ca}, args, 0, `certificate required; 2 batches not sent$`)
	s.want(t, append(mine, ca), append(args, "--strict"), 0, "^$")
	if lines := c.took(t); len(lines) != 2 {
		t.Errorf("%d lines", len(lines))
	}
}
