package dump

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Long work shows its progress on a terminal, and only there, and erases it.
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
	env := &cli.Env{Stdout: cli.NewWriter(file), Stderr: tty, Prog: "ptrace-dump", Getenv: func(string) string { return "" }}
	p := newProgress(env, nil, true)
	count := func(from, to int64) {
		for i := from; i < to; i++ {
			p.step(&posixtrace.Record{EventInfo: posixtrace.EventInfo{UnixNano: i}})
		}
	}
	count(0, 4*progressStep)
	if p.width != 0 {
		t.Error("progress is shown at once")
	}
	p.next = time.Time{} // a second later
	p.from, p.to, p.searched = 0, 10*progressStep, true
	count(4*progressStep, 5*progressStep)
	env.Note("a message")
	const line = "ptrace-dump: 20480 events, 50 %"
	want := "\r" + line + "\r" + strings.Repeat(" ", len(line)) + "\rptrace-dump: a message\r\n"
	tty.Close() // ends the output that can be read
	got, err := io.ReadAll(master)
	if string(got) != want {
		t.Errorf("the terminal shows %q, want %q (%v)", got, want, err)
	}
}
