package newstream

import (
	"path"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
)

// DecodeOption is the option for what descriptors refer to.
var DecodeOption = cli.Option{Short: 'y', Long: "decode-fds", Help: "--events: record paths and sockets of descriptors", Needs: cli.Needs("events")}

// StackOption is the option for the stacks of calls.
var StackOption = cli.Option{Long: "stack", Help: "-e: record call stacks; values of the environment", Needs: cli.Needs("events")}

// EnvironmentOption is the option for the values of variables.
var EnvironmentOption = cli.Option{Long: "environment", Help: "-e proc: record the values of changed variables", Needs: cli.Needs("events"), SameRow: true}

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
		case "files":
			w.Files = true
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
	w.Paths, w.Stack, w.Environment = args.Has("decode-fds"), args.Has("stack"), args.Has("environment")
	slices.Sort(w.Calls)
	w.Calls = slices.Compact(w.Calls)
	return w, command, nil
}

// calls returns the numbers of the system calls that an item of --events names.
func calls(item string) (nrs []int, err error) {
	if item != "" && item[0] == catalog.CallPrefix {
		return classCalls(item)
	}
	name, isCall := strings.CutPrefix(item, tracer.Prefix)
	if !isCall || name == "" {
		if ask := cli.DidYouMean(item, likely()); ask != "" {
			return nil, cli.Usagef("invalid argument '%s' for '--events', %s", item, ask)
		}
		return nil, cli.Usagef("invalid argument '%s' for '--events'; valid: command, files, proc, signal, syscall, syscall.NAME, %%CLASS, none", item)
	}
	if _, err := path.Match(name, ""); err != nil {
		return nil, cli.Usagef("invalid pattern '%s' for '--events'", item)
	}
	if nrs = tracer.CallsOf(name); len(nrs) == 0 {
		if ask := cli.DidYouMean(item, callNames()); ask != "" {
			return nil, cli.Usagef("'%s' for '--events': there is no such system call here, %s", item, ask)
		}
		return nil, cli.Usagef("'%s' for '--events': there is no such system call here", item)
	}
	return nrs, nil
}

// classCalls returns the numbers of the system calls of a class that exist here.
func classCalls(class string) (nrs []int, err error) {
	names, err := selection.CallClass(class)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		nrs = append(nrs, tracer.CallsOf(name)...)
	}
	if len(nrs) == 0 {
		return nil, cli.Usagef("'%s' for '--events': there are no such system calls here", class)
	}
	return nrs, nil
}

// likely returns what an item that is not valid may stand for.
func likely() []string {
	return slices.Concat(selection.Words(), catalog.CallClasses(), callNames())
}

// callNames returns the names of the event types of the system calls.
func callNames() (names []string) {
	for _, name := range tracer.Names() {
		names = append(names, tracer.Prefix+name)
	}
	return names
}
