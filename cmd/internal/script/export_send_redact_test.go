package script_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What --redact replaces does not reach the collector, the spool or a message. What the user gives
// for the collector itself reaches it as it is, and nothing else.
func TestSendRedact(t *testing.T) {
	s := newSender(t)
	cmd := exec.Command("ptrace-run", "-c", "-n", "job-hunter2", "-e", "proc,syscall", "-y", "--max-data-size=64", "-o", "secret.trace", "sh", "-c",
		`ptrace-event hunter2.login "x hunter2 y"; ptrace-event -r step.hunter2 true; echo `+strings.Repeat("-", 60)+`hunter2222; printf 'h\377hunter2\n'`, "hunter2")
	cmd.Dir, cmd.Env = s.dir, s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	down := newCollector(t, nil)
	down.Start()
	down.Close()
	spool := filepath.Join(s.dir, "spool")
	env := []string{"OTEL_EXPORTER_OTLP_HEADERS=x-key=hunter2,authorization=Bearer%20hunter2", "OTEL_RESOURCE_ATTRIBUTES=ci.job=hunter2", "CI_JOB_NAME=hunter2"}
	secret := func(what string, b []byte) bool {
		// The base64 of data that is not UTF-8 has the secret at one of three places.
		for _, part := range []string{"hunter2", "aHVudGVyM", "h1bnRlcj", "odW50ZXIy"} {
			if i := bytes.Index(b, []byte(part)); i >= 0 {
				if what != "" {
					t.Errorf("%s shows %s: %.300q", what, part, b[max(i-100, 0):])
				}
				return true
			}
		}
		return false
	}

	export := func(compression string, args ...string) {
		t.Helper()
		args = append(args, "--redact=hunter[0-9]+", "secret.trace")
		status, text := s.export(t, append(env, "OTEL_EXPORTER_OTLP_COMPRESSION="+compression), args...)
		if status != 0 || !strings.Contains(text, "redacted") {
			t.Errorf("%q: status %d, %q", args, status, text)
		}
		secret("a message", []byte(text))
	}
	for _, compression := range []string{"none", "gzip"} {
		c := newCollector(t, nil)
		c.Start()
		export(compression, "--endpoint="+c.URL)
		lines := c.took(t)
		if len(lines) < 2 {
			t.Errorf("%d batches", len(lines))
		}
		for _, line := range lines {
			secret("what the collector took", []byte(line))
		}
		if got := c.header.Get("X-Key") + c.header.Get("Authorization"); got != "hunter2Bearer hunter2" {
			t.Errorf("headers %q", got)
		}
	}
	export("none", "--timeout=300ms", "--endpoint="+down.URL, "--spool=spool")
	files, err := filepath.Glob(spool + "/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		secret("the spool", b)
	}

	// The next export sends what the spool has.
	c := newCollector(t, nil)
	c.Start()
	s.want(t, env, []string{"--endpoint=" + c.URL, "--spool=spool", "-e", "none.such", "a.trace"}, 0, `no event type`)
	if left, _ := filepath.Glob(spool + "/*"); len(left) > 0 {
		t.Errorf("left in the spool: %q", left)
	}
	lines := c.took(t)
	if len(lines) != len(files) {
		t.Errorf("%d batches of %d in the spool", len(lines), len(files))
	}
	for _, line := range lines {
		secret("what the collector took from the spool", []byte(line))
	}

	// Without the option all of it is there.
	plain := newCollector(t, nil)
	plain.Start()
	if status, text := s.export(t, env, "--endpoint="+plain.URL, "secret.trace"); status != 0 {
		t.Fatal(text)
	}
	if !secret("", []byte(strings.Join(plain.took(t), "\n"))) {
		t.Error("the log has no secret")
	}
}
