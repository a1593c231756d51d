package report

import (
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
