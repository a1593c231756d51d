package posixtrace_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A record of proc.exec that is truncated anywhere has the beginning of what the whole one has: the path and the
// arguments stay longest, no text behind them is shorter than it was, and the environment is lost first.
func TestTruncatedExec(t *testing.T) {
	whole := posixtrace.ExecData{Path: "/bin/cc", Argv: []string{"cc", "", "-c", "a b"}, Dir: "/src", Stdin: "</dev/null", Stdout: ">>/tmp/log", Stderr: ">&1",
		Unset: []string{"HOME", "A"}, Environment: []string{"PATH", "B=", "=", ""}}
	data := whole.Append(nil)
	d, err := posixtrace.DecodeExec(data)
	if err != nil || !reflect.DeepEqual(d, whole) {
		t.Fatalf("%+v, %v, want %+v", d, err, whole)
	}
	program := strings.Join(append([]string{whole.Path}, whole.Argv...), "\x00")
	latest := posixtrace.ExecData{}
	for n := range len(data) {
		d, err := posixtrace.DecodeExec(data[:n])
		if (err != nil) != (n <= 4) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if err != nil {
			continue
		}
		got := strings.Join(append([]string{d.Path}, d.Argv...), "\x00")
		if want := program[:min(n-4, len(program))]; got != want && got != strings.TrimSuffix(want, "\x00") {
			t.Fatalf("%d bytes: %q, want %q", n, got, want)
		}
		for i, text := range []string{d.Dir, d.Stdin, d.Stdout, d.Stderr} {
			if want := []string{whole.Dir, whole.Stdin, whole.Stdout, whole.Stderr}[i]; text != "" && text != want {
				t.Fatalf("%d bytes: %q, want %q or nothing", n, text, want)
			}
		}
		if !slices.Equal(d.Unset, whole.Unset[:len(d.Unset)]) || !slices.Equal(d.Environment, whole.Environment[:len(d.Environment)]) || len(d.Environment) > 0 && len(d.Unset) < len(whole.Unset) {
			t.Fatalf("%d bytes: %+v", n, d)
		}
		if lost := !reflect.DeepEqual(d, latest) && n > 4+len(program)+1 && d.Dir == ""; lost && d.Stdin != "" {
			t.Fatalf("%d bytes: the directory is lost before %+v", n, d)
		}
		latest = d
	}
}
