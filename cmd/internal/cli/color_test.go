package cli

import (
	"bytes"
	"os"
	"testing"
)

func TestWantColor(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, tt := range []struct {
		when string
		env  map[string]string
		want bool
	}{
		{"", nil, false}, // no terminal
		{"auto", nil, false},
		{"always", nil, true},
		{"always", map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, true},
		{"never", map[string]string{"FORCE_COLOR": "1"}, false},
		{"auto", map[string]string{"FORCE_COLOR": "1"}, true},
		{"auto", map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{"auto", map[string]string{"FORCE_COLOR": "0"}, false},
		{"auto", map[string]string{"FORCE_COLOR": "1", "NO_COLOR": "1"}, false},
	} {
		env := &Env{Stdout: NewWriter(null), Getenv: func(k string) string { return tt.env[k] }}
		if got := env.wantColor(tt.when, null); got != tt.want {
			t.Errorf("--color=%q with %v: %v, want %v", tt.when, tt.env, got, tt.want)
		}
	}
}

// The environment does not override the command line, and each output stream is decided on
// its own.
func TestColorOfMessages(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	var out, errs bytes.Buffer
	env := &Env{Prog: "ptrace-x", Stdout: NewWriter(&out), Stderr: &errs, Getenv: os.Getenv}
	for when, want := range map[string]string{
		"always": "ptrace-x: a\\x1bb\n\x1b[36mhint:\x1b[0m c\n",
		"auto":   "ptrace-x: a\\x1bb\nhint: c\n",
	} {
		errs.Reset()
		env.setColor(when)
		env.Warn(WithHint(Failf("a\x1bb"), "c"))
		if got := errs.String(); got != want {
			t.Errorf("--color=%s: message %q, want %q", when, got, want)
		}
	}
}
