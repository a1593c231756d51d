package creation

import (
	"path"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/tracer"
)

// Events reads --events: what a tracer records, and whether the set has the events of the
// command itself, as it has without the option.
func Events(args *cli.Args) (w tracer.Want, command bool, err error) {
	v, ok := args.Lookup("events")
	if !ok {
		return w, true, nil
	}
	for _, item := range strings.Split(v, ",") {
		switch item {
		case "command":
			command = true
		case "none":
			command, w = false, tracer.Want{}
		case "proc":
			w.Proc = true
		case "signal":
			w.Signal = true
		case "syscall":
			w.All = true
		default:
			nrs, err := calls(item)
			if err != nil {
				return w, false, err
			}
			w.Calls = append(w.Calls, nrs...)
		}
	}
	slices.Sort(w.Calls)
	w.Calls = slices.Compact(w.Calls)
	return w, command, nil
}

// calls returns the numbers of the system calls that an item of --events names.
func calls(item string) (nrs []int, err error) {
	name, isCall := strings.CutPrefix(item, tracer.Prefix)
	if !isCall || name == "" {
		return nil, cli.Usagef("invalid argument '%s' for '--events'; valid: command, proc, signal, syscall, syscall.NAME, none", item)
	}
	if _, err := path.Match(name, ""); err != nil {
		return nil, cli.Usagef("invalid pattern '%s' for '--events'", item)
	}
	if nrs = tracer.CallsOf(name); len(nrs) == 0 {
		return nil, cli.Usagef("'%s' for '--events': there is no such system call here", item)
	}
	return nrs, nil
}
