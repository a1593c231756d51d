package script_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func matches(pattern, text string) bool {
	return regexp.MustCompile(`(?s)` + pattern).MatchString(text)
}

// A malformed variable of OpenTelemetry is reported and ignored, and one for a signal before that for
// all: the batches arrive. What would weaken a connection sends nothing. Neither fails a job.
func TestSendEnvironment(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	const all = "OTEL_EXPORTER_OTLP_"
	for _, tt := range []struct {
		name, value, message string
	}{
		{"TIMEOUT", "ten", `ignored: OTEL_EXPORTER_OTLP_\w*TIMEOUT=ten: `},
		{"TIMEOUT", "-1", `ignored: .*=-1: `},
		{"TIMEOUT", "1.5", `ignored: .*=1.5: `},
		{"TIMEOUT", "99999999999", `ignored: .*=9*: `},
		{"TIMEOUT", "0", `^$`}, // no limit
		{"COMPRESSION", "zip", `ignored: OTEL_EXPORTER_OTLP_\w*COMPRESSION=zip: `},
		{"COMPRESSION", "GZIP", `^$`},
		{"COMPRESSION", "none", `^$`},
		{"PROTOCOL", "grpc", `ignored: OTEL_EXPORTER_OTLP_\w*PROTOCOL=grpc: `},
		{"PROTOCOL", "carrier/pigeon", `ignored: .*PROTOCOL=carrier/pigeon: `},
		{"PROTOCOL", "http/protobuf", `^$`},
		{"HEADERS", "hunter2", `ignored: .*HEADERS: `},
		{"HEADERS", "a b=hunter2", `ignored: .*HEADERS: `},
		{"HEADERS", "a=%zzhunter2", `ignored: .*HEADERS: `},
		{"HEADERS", "a=hunter2%0d%0ab: c", `ignored: .*HEADERS: `},
		{"HEADERS", "a=hunter2%01", `ignored: .*HEADERS: `},
		{"HEADERS", "=hunter2,,x-good=1", `ignored: .*HEADERS: `},
		{"CERTIFICATE", "/nonexistent", `^$`}, // not used without TLS
		{"CLIENT_KEY", "/nonexistent", `^$`},
	} {
		for _, form := range []string{all + tt.name, all + "TRACES_" + tt.name, all + "LOGS_" + tt.name} {
			c := newCollector(t, nil)
			c.Start()
			env := []string{all + "ENDPOINT=" + c.URL, form + "=" + tt.value}
			status, text := s.export(t, env, "--strict", "--timeout=20s", "a.trace")
			lines := strings.Count(text, "\n")
			if sent := len(c.took(t)); status != 0 || sent != 2 || !matches(tt.message, text) || lines > 1 || strings.Contains(text, "hunter2") {
				t.Errorf("%s=%s: status %d, %d batches sent, %q", form, tt.value, status, sent, text)
			}
			if strings.Contains(tt.value, "x-good") && !strings.Contains(form, "TRACES") && c.header.Get("X-Good") != "1" {
				t.Errorf("%s=%s: header %v", form, tt.value, c.header)
			}
			c.Close()
		}
		// What is malformed for a signal leaves that for all in force.
		if tt.name == "HEADERS" && !strings.Contains(tt.value, "good") {
			c := newCollector(t, nil)
			c.Start()
			s.export(t, []string{all + "ENDPOINT=" + c.URL, all + "HEADERS=x-good=1", all + "LOGS_HEADERS=" + tt.value}, "--strict", "a.trace")
			if c.header.Get("X-Good") != "1" {
				t.Errorf("%s: header %v", tt.value, c.header)
			}
			c.Close()
		}
	}
	for _, tt := range []struct {
		name, value string
	}{{"CERTIFICATE", "a.trace"}, {"CERTIFICATE", "/nonexistent"}, {"CLIENT_CERTIFICATE", "a.trace"}, {"CLIENT_KEY", "a.trace"}} {
		for _, form := range []string{all + tt.name, all + "TRACES_" + tt.name, all + "LOGS_" + tt.name} {
			env := []string{all + "ENDPOINT=https://127.0.0.1:1", form + "=" + tt.value}
			s.want(t, env, []string{"--timeout=300ms", "a.trace"}, 0, tt.name+`.* not sent`)
			s.want(t, env, []string{"--timeout=300ms", "--strict", "a.trace"}, 1, tt.name+`.* not sent`)
		}
	}
}

// Each signal has an endpoint of its own: what one lacks, or is down, keeps the other from nothing.
func TestSendSignals(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	const traces, logs, all = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=", "OTEL_EXPORTER_OTLP_ENDPOINT="
	release := make(chan struct{})
	hangs := newHanging(t, release)
	defer close(release)
	for _, tt := range []struct {
		env     []string // @ is the collector
		sent    int
		message string
	}{
		{[]string{traces + "@/v1/traces"}, 1, `OTEL_EXPORTER_OTLP_LOGS_ENDPOINT.*1 batch not sent`},
		{[]string{logs + "@/v1/logs"}, 1, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.*1 batch not sent`},
		{[]string{traces + "@/v1/traces", logs + "@/v1/logs"}, 2, `^$`},
		{[]string{traces + "@/v1/traces", logs + "http://127.0.0.1:1/v1/logs"}, 1, `(refused|in time); 1 batch not sent`},
		{[]string{traces + "http://127.0.0.1:1/v1/logs", logs + "@/v1/logs"}, 1, `(refused|in time); 1 batch not sent`},
		{[]string{traces + hangs, logs + "@/v1/logs"}, 1, `no answer in time; 1 batch not sent`},
		{[]string{traces + "@/v1/traces", logs + hangs}, 1, `no answer in time; 1 batch not sent`},
		{[]string{traces + "@/v1/traces", logs + "@/elsewhere"}, 1, `1 batch dropped`},
		{[]string{all + "@", logs + "localhost:4318"}, 2, `ignored: OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `},
		{[]string{all + "@", traces + "/v1/traces"}, 2, `ignored: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `},
		{[]string{all + "collector:4317"}, 0, `ignored: OTEL_EXPORTER_OTLP_ENDPOINT: .*2 batches not sent`},
		{[]string{all + "@/?a=b"}, 2, `^$`},
	} {
		c := newCollector(t, nil)
		c.Start()
		for i := range tt.env {
			tt.env[i] = strings.Replace(tt.env[i], "@", c.URL, 1)
		}
		start := time.Now()
		status, text := s.export(t, tt.env, "--timeout=4s", "a.trace")
		if sent := len(c.took(t)); status != 0 || sent != tt.sent || !matches(tt.message, text) {
			t.Errorf("%q: status %d, %d batches sent, %q; want %d, %s", tt.env, status, sent, text, tt.sent, tt.message)
		}
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("%q: took %v", tt.env, d)
		}
		c.CloseClientConnections()
		c.Close()
	}
}
