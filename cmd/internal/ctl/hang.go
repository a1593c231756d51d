package ctl

import (
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/record/hang"
)

// nameTime bounds the search for names of functions: a tree may have many large programs.
const nameTime = 10 * time.Second

// showHang shows what a process and its descendants wait for.
func showHang(env *cli.Env, args *cli.Args) error {
	if len(args.Operands) > 0 || args.Has("stream") {
		return cli.Usagef("hang takes no stream: --pid names a process")
	}
	if !args.Has("pid") {
		return cli.Usagef("hang needs --pid=PID, the root of the tree of processes")
	}
	pid, err := args.PID("pid", 0)
	if err != nil {
		return err
	}
	r := hang.Look([]int{pid}, hang.Options{Stack: args.Has("stack")})
	if len(r.Threads) == 0 {
		return cli.Failf("process %d: %s", pid, cli.Strerror(syscall.ESRCH))
	}
	r.Name(time.Now().Add(nameTime))
	var b []byte
	if args.Has("json") {
		for i := range r.Threads {
			b = appendHangJSON(b, &r.Threads[i])
		}
	} else {
		b = r.AppendText(nil, 1<<20)
	}
	_, err = env.Stdout.Write(b)
	return err
}

// appendHangJSON appends a thread with the members that the event hang.thread has.
func appendHangJSON(b []byte, t *hang.Thread) []byte {
	var f output.Fields
	f.Add("pid", t.PID)
	f.Add("tid", t.TID)
	f.Add("program", t.Program)
	f.Add("argv", t.Args)
	f.Add("state", string(t.State))
	f.Add("kind", t.Kind.String())
	f.Add("call", t.Call)
	f.Add("wait", t.Wait)
	if t.Since >= 0 {
		f.Add("since_ns", t.Since.Nanoseconds())
	}
	f.Add("exact", t.Exact)
	f.Add("for", t.For)
	f.Add("for_pid", t.ForPID)
	f.Add("for_tid", t.ForTID)
	f.Add("stuck", t.Stuck)
	f.Add("cycle", t.Cycle)
	if t.Stack != nil {
		f.Add("callers", t.Stack)
	}
	f.Add("note", t.Note)
	return f.AppendJSON(b)
}
