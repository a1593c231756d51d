package newstream

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
)

// CheckAttach refuses a process to which a tracer cannot attach whatever its permissions: one that
// does not exist, a thread, or a kernel thread.
func CheckAttach(pid int) error {
	status, err := procfs.Read(pid, "status")
	if err != nil {
		return attachFault(pid, cli.Strerror(syscall.ESRCH), "")
	}
	f := fields(status)
	switch {
	case f["Tgid"] != strconv.Itoa(pid):
		return attachFault(pid, "this is a thread of process "+f["Tgid"], "")
	case f["Kthread"] == "1" || f["VmSize"] == "" && kernelThread(pid):
		return attachFault(pid, "this is a thread of the kernel", "")
	}
	return nil
}

// yamaFile says which processes a user may trace, where the kernel has the Yama module.
const yamaFile = "/proc/sys/kernel/yama/ptrace_scope"

// AttachFault explains why a tracer could not attach to a process.
func AttachFault(pid int, err error) error {
	var no syscall.Errno
	if !errors.As(err, &no) || no != unix.EPERM && no != unix.EACCES && no != tracer.ErrTraced {
		return attachFault(pid, cli.Reason(err), "")
	}
	status, e := procfs.Read(pid, "status")
	if e != nil {
		return attachFault(pid, cli.Strerror(syscall.ESRCH), "")
	}
	scope, _ := os.ReadFile(yamaFile)
	f := fields(status)
	if tid, _ := strconv.Atoi(f["TracerPid"]); tid != 0 {
		f["TracerPid"] = strconv.Itoa(cmp.Or(procfs.Of(tid), tid))
	} else if no == tracer.ErrTraced { // it traces another thread, or has detached meanwhile
		return attachFault(pid, "another process traces it already, and a process has one tracer", "")
	}
	reason, hint := refusal(f, os.Geteuid(), string(scope))
	return attachFault(pid, reason, hint)
}

// refusal returns why ptrace(2) refuses to attach to a process, and the way out, from its status,
// our user and the scope that the Yama module sets.
func refusal(status map[string]string, euid int, scope string) (reason, hint string) {
	owner, _, _ := strings.Cut(status["Uid"], "\t")
	switch tracer := status["TracerPid"]; {
	case tracer != "" && tracer != "0":
		return fmt.Sprintf("process %s traces it already, and a process has one tracer", tracer), ""
	case strings.TrimSpace(scope) == "3":
		return "kernel.yama.ptrace_scope is 3: no process may be traced", "the machine must be started again with another value"
	case euid != 0 && owner != "" && owner != strconv.Itoa(euid):
		return "it belongs to another user", "run this as root (sudo)"
	case euid != 0 && strings.TrimSpace(scope) == "1":
		return "kernel.yama.ptrace_scope is 1: only a program that a tracer starts itself may be traced",
			"run this as root (sudo), start the program under ptrace-run -e, or set kernel.yama.ptrace_scope to 0"
	case euid != 0 && strings.TrimSpace(scope) == "2":
		return "kernel.yama.ptrace_scope is 2: only root may trace", "run this as root (sudo)"
	case euid != 0:
		return "it is protected: it changed its user, its program cannot be read or is set-uid", "run this as root (sudo)"
	}
	return "ptrace(2) is refused here", "a container needs --cap-add=SYS_PTRACE"
}

func attachFault(pid int, reason, hint string) error {
	text := fmt.Sprintf("cannot attach to process %d: %s", pid, reason)
	if hint != "" {
		text += "; " + hint
	}
	return cli.Failf("%s", text)
}

// fields returns the fields of /proc/PID/status.
func fields(status []byte) map[string]string {
	f := map[string]string{}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		f[name] = strings.TrimSpace(value)
	}
	return f
}

// kernelThread reports whether a process is a thread of the kernel: its parent is kthreadd or 0,
// and it has no program.
func kernelThread(pid int) bool {
	ppid, _, ok := procfs.Stat(pid)
	_, err := os.Readlink(procfs.File(pid, "exe"))
	return ok && (ppid == 0 || ppid == 2) && errors.Is(err, syscall.ENOENT)
}

// Attachable returns a usage error unless --events asks for what a tracer of a running process can
// record.
func Attachable(args *cli.Args, w *tracer.Want) error {
	if !args.Has("events") {
		return cli.Usagef("--pid needs --events")
	}
	if !w.Any() {
		return cli.Usagef("invalid argument '%s' for '--events' with --pid; valid: files, proc, signal, syscall, syscall.NAME", args.Value("events"))
	}
	return nil
}
