// Package plain runs ptrace-event NAME [DATA]... without options. A script starts it for each
// event, so its cost is that of starting a program.
//
// Package plain records the event while the program initializes its packages, and ends the
// program. The libraries of the command line have not been initialized by then: see "Order of
// initialization" in package idle.
//
// Whatever the command line has beside NAME and DATA, and each failure, is for package event:
// plain returns without effect and main runs as usual.
package plain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/record/destination"
	"github.com/posixtrace/posixtrace/cmd/internal/record/spool"
	_ "github.com/posixtrace/posixtrace/cmd/internal/startup/original" // the events are the script's
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Only the program ptrace-event has these command lines. Tests import this package, too.
func init() {
	if len(os.Args) > 0 && filepath.Base(os.Args[0]) == "ptrace-event" && record(os.Args[1:]) {
		os.Exit(0)
	}
}

// record carries out a command line and reports whether it is done.
func record(args []string) bool {
	if len(args) == 0 || args[0] == "" || args[0][0] == '-' || len(args[0]) > posixtrace.EventNameMax {
		return false
	}
	lines := os.Getenv(spool.Env)
	if lines != "" && spool.Pending(lines) {
		return false
	}
	t := destination.Script()
	defer t.Close()
	if slices.ContainsFunc(t.Streams(), spool.HasPatterns) {
		return false // the expressions need more libraries
	}
	if t.Event(args[0], []byte(strings.Join(args[1:], " "))) != nil {
		return false // nothing was recorded
	}
	if lines != "" {
		spool.Mark(lines)
	}
	return true
}
