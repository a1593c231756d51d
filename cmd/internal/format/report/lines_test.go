package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The last line ends with the command that wrote it, not with others, and not with the log.
func TestEndOfOutput(t *testing.T) {
	const command, other = 1, 2 // print uses process 1
	for _, c := range []struct {
		name string
		run  func(w *written)
		end  int64
	}{
		{"the command ends", func(w *written) { w.print(3, "x"); w.exit(5, command, 0) }, 5 * ms},
		{"another one ends later", func(w *written) { w.print(3, "x"); w.exit(5, command, 0); w.exit(7, other, 0) }, 5 * ms},
		{"the line is read later", func(w *written) { w.exit(2, command, 0); w.print(3, "x") }, 3 * ms},
		{"only another one ends", func(w *written) { w.print(3, "x"); w.exit(5, other, 0) }, -1},
		{"the log ends early", func(w *written) { w.print(3, "x") }, -1},
		{"no output", func(w *written) { w.exit(5, command, 0) }, -1},
	} {
		w := newRun()
		w.exec(0, command, "make")
		c.run(w)
		w.event(20, posixtrace.EventStop, 0, 0, nil)
		if _, r := w.page(t, Facts{}); r.End != c.end {
			t.Errorf("%s: the output ends at %d, want %d", c.name, r.End, c.end)
		}
	}
}

// The page says how many texts it has in part, and why.
func TestShortened(t *testing.T) {
	w := newRun()
	w.exec(0, 1, "cc", strings.Repeat("x", 1200))
	w.exec(1, 1, "cc", strings.Repeat("y", 1200))
	w.exec(2, 1, "cc", strings.Repeat("z", 900))
	for _, n := range []int{maxLine, maxLine + 1, 10} {
		for _, continues := range []bool{true, false} {
			w.event(3, posixtrace.EventOutputStdout, 1, 1, (&posixtrace.OutputData{Line: bytes.Repeat([]byte("é"), n/2), Continues: continues}).Append(nil))
		}
	}
	w.exit(5, 1, 0)
	html, _ := w.page(t, Facts{})
	for _, want := range []string{"2 commands, spans and calls with more than 1 KB of arguments or data", "2 lines of output longer than 64 KB"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(html, "without their arguments") {
		t.Error("the page says that it has no room")
	}
}

// A line of a damaged log may have newlines. It stays one line.
func TestNewlineInLine(t *testing.T) {
	w := newRun()
	for _, continues := range []bool{true, false, false} {
		w.event(3, posixtrace.EventOutputStdout, 1, 1, (&posixtrace.OutputData{Line: []byte("a\nb\n"), Continues: continues}).Append(nil))
	}
	if _, r := w.page(t, Facts{}); len(r.Text) != 2 || r.Text[0] != "a␊b␊a␊b␊" || r.Text[1] != "a␊b␊" {
		t.Errorf("lines: %q", r.Text)
	}
}

// The page says that lines of two pipes may have changed places, if some of them lie close together.
func TestLinesOfTwoPipes(t *testing.T) {
	line := func(text string) []byte { return (&posixtrace.OutputData{Line: []byte(text)}).Append(nil) }
	for _, c := range []struct {
		at     int64 // of the second line
		stream posixtrace.EventID
		want   bool
	}{
		{3, posixtrace.EventOutputStderr, true},
		{3, posixtrace.EventOutputStdout, false},
		{9, posixtrace.EventOutputStderr, false},
	} {
		w := newRun()
		w.event(3, posixtrace.EventOutputStdout, 1, 1, line("a"))
		w.event(c.at, c.stream, 1, 1, line("b"))
		if html, _ := w.page(t, Facts{}); strings.Contains(html, "may have changed places") != c.want {
			t.Errorf("after %d ms, %v: want the note: %v", c.at-3, c.stream, c.want)
		}
	}
}
