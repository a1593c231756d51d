package dump

import (
	"os"
	"testing"

	"github.com/creack/pty"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// Progress is shown on a terminal, and only where it does not disturb a listing.
func TestProgress(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, tt := range []struct {
		name           string
		stdout, stderr *os.File
		listing, want  bool
	}{
		{"all on a terminal, a listing", tty, tty, true, false},
		{"all on a terminal, a check", tty, tty, false, true},
		{"a listing into a file", file, tty, true, true},
		{"a listing into a pager, maybe", w, tty, true, false},
		{"no terminal", file, w, false, false},
	} {
		env := &cli.Env{Stdout: cli.NewWriter(tt.stdout), Stderr: tt.stderr}
		if p := newProgress(env, nil, tt.listing); (p != nil) != tt.want {
			t.Errorf("%s: progress is shown: %v", tt.name, p != nil)
		}
	}
}
