package plain

import (
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestMain(m *testing.M) { tracetest.Main(m) }

// Package event carries out whatever is more than a name and data.
func TestRecord(t *testing.T) {
	t.Setenv("PTRACE_STREAM", "")
	for _, c := range []struct {
		args []string
		done bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"-S", "stream", "name"}, false},
		{[]string{"--help"}, false},
		{[]string{strings.Repeat("x", posixtrace.EventNameMax+1)}, false},
		{[]string{"name"}, true},
		{[]string{"name", "-S", "is data"}, true},
	} {
		if got := record(c.args); got != c.done {
			t.Errorf("%.40q: %v, want %v", c.args, got, c.done)
		}
	}
}
