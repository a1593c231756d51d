//go:build amd64 || arm64

package idle

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestPlain(t *testing.T) {
	long := strings.Repeat("x", posixtrace.EventNameMax)
	for _, c := range []struct {
		args string
		want bool
	}{
		{"ptrace-event e", true}, {"/usr/bin/ptrace-event e -r", true}, {"./ptrace-event " + long, true},
		{"ptrace-event " + long + "x", false}, {"ptrace-event", false}, {"ptrace-event -S", false}, {"ptrace-event - e", false},
		{"ptrace-event  e", false}, {"ptrace-run e", false}, {"ptrace-event/x e", false}, {"ptrace-event2 e", false}, {"", false},
	} {
		if got := plain(strings.Split(c.args, " ")); got != c.want {
			t.Errorf("plain(%q) = %v", c.args, got)
		}
	}
}

func TestIdle(t *testing.T) {
	make := func(files ...string) string {
		dir := t.TempDir()
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("p-%d-%d", i, i))
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(make(), link); err != nil {
		t.Fatal(err)
	}
	empty, used := "PTRACE_DIR="+make(), "PTRACE_DIR="+make("lock", "s-0123456789abcdef")
	for name, c := range map[string]struct {
		environ []string
		want    bool
	}{
		"empty":          {[]string{empty}, true},
		"no stream":      {[]string{"PTRACE_DIR=" + make("lock", "p-1-1", "n-1", "t-1-2-3-4", "s")}, true},
		"many files":     {[]string{"PTRACE_DIR=" + make(many...)}, true},
		"a stream":       {[]string{used}, false},
		"a stream last":  {[]string{"PTRACE_DIR=" + make(append(many, "s-1")...)}, false},
		"first counts":   {[]string{empty, used}, true},
		"first counts 2": {[]string{used, empty}, false},
		"no spool":       {[]string{"PTRACE_SPOOL=", empty}, true},
		"spool":          {[]string{empty, "PTRACE_SPOOL=/x"}, false},
		"no directory":   {[]string{"PTRACE_DIR=" + filepath.Join(make(), "none")}, false},
		"symbolic link":  {[]string{"PTRACE_DIR=" + link}, false},
		"file":           {[]string{"PTRACE_DIR=" + filepath.Join(make("f"), "f")}, false},
		"long":           {[]string{"PTRACE_DIR=" + strings.Repeat("/", 4096)}, false},
	} {
		if got := idle(append([]string{"A=b", "PTRACE_"}, c.environ...)); got != c.want {
			t.Errorf("%s: idle = %v, want %v", name, got, c.want)
		}
	}
	// The path of the user's directory.
	if got, want := string(decimal([]byte("u-"), os.Geteuid())), "u-"+strconv.Itoa(os.Geteuid()); got != want {
		t.Errorf("decimal = %q, want %q", got, want)
	}
}
