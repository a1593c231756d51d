package ctl

import (
	"errors"
	"strconv"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// showThreads shows what each thread of a process is doing now.
func showThreads(env *cli.Env, args *cli.Args) error {
	if len(args.Operands) > 0 {
		return cli.Usagef("extra operand '%s': --pid names a process, not a stream", args.Operands[0])
	}
	pid, err := args.PID("pid", 0)
	if err != nil {
		return err
	}
	list, err := tracer.ThreadsOf(pid)
	if err != nil {
		return cli.Failf("process %d: %s", pid, cli.Reason(err))
	}
	var b []byte
	if args.Has("json") {
		for i := range list {
			b = appendThreadJSON(b, pid, &list[i])
		}
	} else {
		b = appendThreadTable(b, list)
	}
	if _, err := env.Stdout.Write(b); err != nil {
		return err
	}
	for i := range list {
		if err := list[i].Hidden; err != nil {
			env.Stdout.Flush()
			noteHidden(env, pid, err)
			return nil
		}
	}
	return nil
}

// noteHidden reports that the system calls of a process cannot be read.
func noteHidden(env *cli.Env, pid int, err error) {
	text := "process " + strconv.Itoa(pid) + ": cannot read its system calls: " + cli.Reason(err)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		env.NoteHint(text, "they are shown to root and, where kernel.yama.ptrace_scope is 0, to the user of the process")
		return
	}
	env.Note(text)
}

// call returns the system call that a thread is in: its name and its arguments.
func call(t *tracer.Thread) (name string, list []posixtrace.SyscallArg) {
	if !t.InCall {
		return "", nil
	}
	name, list = tracer.Describe(t.TID, t.Call, t.Args)
	if name == "" {
		name = "unknown"
	}
	return name, list
}

// within returns how long a thread has been in its system call. ok is false unless a tracer saw the
// thread enter it.
func within(t *tracer.Thread) (d time.Duration, ok bool) {
	if !t.InCall {
		return 0, false
	}
	at, ok := tracer.Entered(t.TID, t.Call)
	return max(time.Since(at), 0), ok
}

func appendThreadTable(b []byte, list []tracer.Thread) []byte {
	t := output.Table{Header: []string{"tid", "name", "state", "for", "doing"}, Align: []output.Align{output.Right, output.Left, output.Left, output.Right}, Escaped: true}
	for i := range list {
		th := &list[i]
		doing := ""
		if name, args := call(th); name != "" {
			doing = name + string(output.AppendCall(nil, &posixtrace.SyscallData{Args: args}, false))
		} else if th.Wait != "" {
			doing = "in the kernel: " + string(escape.AppendPrintable(nil, th.Wait))
		}
		since := ""
		if d, ok := within(th); ok {
			since = output.Duration(d.Nanoseconds())
		}
		t.Add(strconv.Itoa(th.TID), string(escape.AppendPrintable(nil, th.Name)), th.State, since, doing)
	}
	return t.Append(b)
}

func appendThreadJSON(b []byte, pid int, th *tracer.Thread) []byte {
	name, list := call(th)
	args := []string{}
	for _, a := range list {
		args = append(args, string(a.Value))
	}
	var f output.Fields
	f.Add("pid", pid)
	f.Add("tid", th.TID)
	f.Add("name", th.Name)
	f.Add("state", th.State)
	f.Add("call", name)
	f.Add("args", args)
	if d, ok := within(th); ok {
		f.Add("duration_ns", d.Nanoseconds())
	}
	f.Add("wait", th.Wait)
	reason := ""
	if th.Hidden != nil {
		reason = cli.Reason(th.Hidden)
	}
	f.Add("error", reason)
	return f.AppendJSON(b)
}
