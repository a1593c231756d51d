package output

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// Long work shows its progress, and erases it.
func TestLine(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	env := &cli.Env{Stdout: cli.NewWriter(io.Discard), Stderr: tty, Prog: "ptrace-dump", Getenv: func(string) string { return "" }}
	p := NewProgress(env, func() (int64, bool) { return 10 * step, true })
	count := func(from, to int64) {
		for i := from; i < to; i++ {
			p.Add(1, i)
		}
	}
	count(0, 4*step)
	if p.width != 0 {
		t.Error("progress is shown at once")
	}
	p.next = time.Time{} // a second later
	p.From = 0
	count(4*step, 5*step)
	env.Note("a message")
	const line = "ptrace-dump: 20480 events, 50 %"
	want := "\r" + line + "\r" + strings.Repeat(" ", len(line)) + "\rptrace-dump: a message\r\n"
	tty.Close() // ends the output that can be read
	got, err := io.ReadAll(master)
	if string(got) != want {
		t.Errorf("the terminal shows %q, want %q (%v)", got, want, err)
	}
}
