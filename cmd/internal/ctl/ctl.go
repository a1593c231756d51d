// Package ctl implements ptrace-ctl: it controls active streams.
package ctl

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
	"github.com/posixtrace/posixtrace/cmd/internal/record/streams"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Command is ptrace-ctl.
var Command = &cli.Command{
	Name:    "ptrace-ctl",
	Usage:   "VERB [OPTION]... [STREAM]...",
	Brief:   "Control active trace streams. This is about POSIX Trace, not ptrace(2).",
	Options: options,
	After: `Verbs:
  start      start or resume recording
  stop       suspend recording
  clear      discard the recorded events and the filter
  flush      ask the owner to write the recorded events to the log
  shutdown   end the stream and complete its log
  status     show the status
  list       list the active streams
  hang       show what a process and its descendants wait for

Examples: ptrace-ctl status ci
          ptrace-ctl list --stale -q | xargs -r ptrace-ctl shutdown -f
`,
	VerbFirst: true,
	Run:       ctl,
}

var options = []cli.Option{
	{Short: 'S', Long: "stream", Arg: "STREAM", Help: "the stream (default: the operands, $PTRACE_STREAM)"},
	{Short: 'w', Long: "wait", Help: "flush: wait for the end and report its error", Verbs: []string{"flush"}},
	{Long: "sync", Help: "flush: wait until the log is on its device", Verbs: []string{"flush"}},
	{Short: 'f', Long: "force", Help: "shutdown: a missing stream is not an error", Verbs: []string{"shutdown"}},
	{Short: 'j', Long: "json", Help: "status, list, hang: one JSON object per stream, or thread", Verbs: []string{"status", "list", "hang"}},
	{Short: 'p', Long: "pid", Arg: "PID", Help: "status: what the threads of this process are doing now; hang: the root of the tree", Verbs: []string{"status", "hang"}, Excludes: cli.Excludes("stream", "reset")},
	{Long: "stack", Help: "hang: show the call stack of each thread", Verbs: []string{"hang"}, Needs: cli.Needs("pid")},
	{Long: "reset", Help: "status: reset the overrun and error members", Verbs: []string{"status"}},
	{Short: 'q', Long: "quiet", Help: "list: only names, or paths of ambiguous names", Verbs: []string{"list"}},
	{Long: "stale", Help: "list: only streams whose process has ended", Verbs: []string{"list"}},
}

// A verb carries out a verb of ptrace-ctl on one stream.
type verb func(env *cli.Env, args *cli.Args, s *posixtrace.Stream) error

var verbs = map[string]verb{
	"start":    func(_ *cli.Env, _ *cli.Args, s *posixtrace.Stream) error { return s.Start() },
	"stop":     func(_ *cli.Env, _ *cli.Args, s *posixtrace.Stream) error { return s.Stop() },
	"clear":    func(_ *cli.Env, _ *cli.Args, s *posixtrace.Stream) error { return s.Clear() },
	"flush":    flush,
	"shutdown": func(_ *cli.Env, _ *cli.Args, s *posixtrace.Stream) error { return s.Shutdown() },
	"status":   showStatus,
}

func flush(_ *cli.Env, args *cli.Args, s *posixtrace.Stream) error {
	info, err := s.Info()
	switch {
	case err == nil && info.LogPath == "":
		return cli.Failf("the stream has no log")
	case args.Has("sync"):
		return s.Sync()
	case args.Has("wait"):
		return s.Flush()
	}
	return s.RequestFlush()
}

const verbNames = "start, stop, clear, flush, shutdown, status, list and hang"

func unknownVerb(name string) error {
	known := append(slices.Sorted(maps.Keys(verbs)), "list", "hang")
	if ask := cli.DidYouMean(name, known); ask != "" {
		return cli.Usagef("unknown verb '%s', %s Verbs are %s", name, ask, verbNames)
	}
	return cli.Usagef("unknown verb '%s'; verbs are %s", name, verbNames)
}

func ctl(env *cli.Env, args *cli.Args) error {
	if len(args.Operands) == 0 {
		return cli.Usagef("missing verb: start, stop, clear, flush, shutdown, status, list or hang")
	}
	name := args.Operands[0]
	args.Operands = args.Operands[1:]
	do, ok := verbs[name]
	if !ok && name != "list" && name != "hang" {
		return unknownVerb(name)
	}
	if err := cli.CheckVerb(options, name, args); err != nil {
		return err
	}
	switch {
	case args.Has("quiet"): // for scripts
	case args.Has("json"):
		env.Stdout.Guard(escape.JSON, false)
	default:
		env.Stdout.Guard(escape.Text, true)
	}
	if name == "list" {
		if len(args.Operands) > 0 || args.Has("stream") {
			return cli.Usagef("list takes no stream")
		}
		return listStreams(env, args)
	}
	if name == "hang" {
		return showHang(env, args)
	}
	if args.Has("pid") {
		return showThreads(env, args)
	}
	operands, err := streams.Operands(env, args, true)
	if err != nil {
		return err
	}
	if name != "status" {
		defer streams.MarkSpool(env)
	}
	shown := 0
	for _, stream := range operands {
		s, err := streams.Attach(stream)
		if err != nil {
			if !args.Has("force") || !errors.Is(err, streams.ErrNone) {
				env.Warn(err)
			}
			continue
		}
		if name == "status" && !args.Has("json") && shown > 0 {
			env.Stdout.WriteString("\n")
		}
		shown++
		if err := do(env, args, s); err != nil {
			env.Warn(streams.Named(stream, err))
		}
		s.Close()
	}
	return nil
}

func showStatus(env *cli.Env, args *cli.Args, s *posixtrace.Stream) error {
	info, err := s.Info()
	if err != nil {
		return err
	}
	read := s.PeekStatus
	if args.Has("reset") {
		read = s.Status
	}
	st, err := read()
	if err != nil {
		return err
	}
	var f output.Fields
	f.Add("name", info.Name)
	f.Add("path", info.Path)
	f.Add("pid", info.PID)
	f.Add("owner", info.Owner)
	f.Add("log", info.LogPath)
	f.Add("create_time", info.CreateTime)
	f.Add("stale", info.Stale)
	f = output.StatusFields(f, st)
	f.Add("missed", st.Missed)
	f.Add("missed_error", output.MissedText(st.MissedError))
	if n, ok := redact.Count(info.Path); ok {
		f.Add("redacted", n)
	}
	if args.Has("json") {
		_, err = env.Stdout.Write(f.AppendJSON(nil))
	} else {
		_, err = env.Stdout.Write(f.AppendTable(nil))
	}
	return err
}

func listStreams(env *cli.Env, args *cli.Args) error {
	list, err := posixtrace.List()
	if err != nil {
		return cli.Failure("", err)
	}
	times := map[string]int{}
	for _, s := range list {
		if s.Err == nil {
			times[s.Name]++
		}
	}
	var b []byte
	t := output.Table{Header: []string{"name", "pid", "status", "full", "log"}, Align: []output.Align{output.Left, output.Right}}
	for _, s := range list {
		if args.Has("stale") && !s.Stale {
			continue
		}
		switch {
		case args.Has("json"):
			var f output.Fields
			f.Add("name", s.Name)
			f.Add("path", s.Path)
			f.Add("pid", s.PID)
			f.Add("owner", s.Owner)
			f.Add("log", s.LogPath)
			f.Add("status", state(s))
			f.Add("full", s.Full == posixtrace.StatusFull)
			f.Add("stale", s.Stale)
			f.Add("create_time", s.CreateTime)
			f.Add("error", errorText(s.Err))
			b = f.AppendJSON(b)
		case args.Has("quiet") && s.Err != nil:
			// No verb can do anything with it.
		case args.Has("quiet"):
			name := s.Name
			if name == "" || times[name] > 1 {
				name = s.Path
			}
			b = append(escape.AppendPrintable(b, name), '\n')
		case s.Err != nil:
			name, pid := s.Name, strconv.Itoa(s.PID)
			if name == "" {
				name = s.Path
			}
			if s.PID == 0 {
				pid = "-"
			}
			t.Add(name, pid, state(s), "-", s.LogPath)
		default:
			state := state(s)
			if s.Stale {
				state = "stale"
			}
			t.Add(s.Name, strconv.Itoa(s.PID), state, s.Full.String(), s.LogPath)
		}
	}
	if len(t.Rows) > 0 {
		b = t.Append(b)
	}
	_, err = env.Stdout.Write(b)
	return err
}

// state returns the status of a stream in a list.
func state(s posixtrace.StreamInfo) string {
	if s.Err != nil {
		return "another version"
	}
	return s.Status.String()
}

// errorText returns why a stream in a list cannot be used, or "".
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return cli.Reason(err)
}
