package script_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { helpers["trace-confined"] = traceConfined }

// traceConfined sets a seccomp filter of its own, by the call that its first argument names,
// and makes calls: some that the filter refuses, some that it hands to a tracer, which there is
// none, and some that do not exist. It prints the results, and starts a child that does the same.
func traceConfined() {
	runtime.LockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LSEEK, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EDOM)},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_GETPRIORITY, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE | 7},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	var no syscall.Errno
	switch os.Args[1] {
	case "strict":
		_, _, no = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_STRICT, 0)
	case "prctl":
		_, _, no = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)))
	case "seccomp":
		_, _, no = unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	case "tsync":
		_, _, no = unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	}
	fmt.Println("set:", int(no))
	for _, nr := range []uintptr{unix.SYS_LSEEK, unix.SYS_GETPRIORITY, unix.SYS_GETSID, 1500, ^uintptr(0)} {
		a := ^uintptr(0)
		if nr == unix.SYS_GETSID {
			a = 0
		}
		_, _, no := unix.RawSyscall(nr, a, 0, 0)
		fmt.Print(int(no), " ")
	}
	fmt.Println()
	if os.Args[1] != "child" {
		cmd := exec.Command("trace-confined", "child")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Println(err)
		}
	}
}

// A program with a seccomp filter of its own gets the same results with and without a tracer,
// and the calls that its filter refuses are recorded. So are calls with unknown numbers.
func TestTraceConfined(t *testing.T) {
	const calls = "syscall.lseek,syscall.getpriority,syscall.getsid"
	for _, tt := range []struct {
		how, events string
		recorded    int // of each of these calls
		reported    string
	}{
		{"seccomp", calls, 2, ""},
		{"prctl", calls, 2, ""},
		{"tsync", calls, 2, "calls that a filter of # refuses in its other threads are not all recorded"},
		{"seccomp", "syscall.getsid", 0, ""},
		{"seccomp", "proc", 0, ""},
		{"seccomp", "syscall", 2, ""},
		{"seccomp", "files", 0, ""},
		{"strict", "syscall.execve", 0, "# asks for the strict mode of seccomp(2), which a traced process cannot have"},
	} {
		t.Run(tt.how+" "+tt.events, func(t *testing.T) {
			dir := t.TempDir()
			traces := filepath.Join(dir, "traces")
			if err := os.Mkdir(traces, 0o700); err != nil {
				t.Fatal(err)
			}
			log := filepath.Join(traces, "x.trace")
			run := func(argv ...string) (out, errs string) {
				var o, e bytes.Buffer
				cmd := exec.Command(argv[0], argv[1:]...)
				cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "PTRACE_SPOOL=", "LC_ALL=C")
				cmd.Stdout, cmd.Stderr = &o, &e
				if err := cmd.Run(); err != nil {
					t.Errorf("%q: %v, %s", argv, err, e.String())
				}
				return o.String(), e.String()
			}
			out, errs := run("ptrace-run", "-e", tt.events, "-o", log, "--", "trace-confined", tt.how)
			want, begin := out, "set: 22\n9 22 0 " // without a tracer it would be killed
			if tt.how != "strict" {
				want, _ = run("trace-confined", tt.how)
				begin = "set: 0\n33 38 0 "
			}
			if out != want || !strings.HasPrefix(out, begin) {
				t.Errorf("with a tracer the program prints %q, want %q", out, want)
			}
			exe, _ := exec.LookPath("trace-confined")
			if exe, err := filepath.EvalSymlinks(exe); err == nil {
				errs = strings.ReplaceAll(errs, exe, "#")
			}
			errs = strings.TrimSuffix(strings.TrimPrefix(errs, "ptrace-run: "), "\n")
			if errs != tt.reported {
				t.Errorf("ptrace-run reports %q, want %q", errs, tt.reported)
			}
			dump := traceCommand(t, dir, traces, nil, "ptrace-dump", "--format=%n %d\n", log).String()
			for _, call := range []string{`lseek \(-1, .* errno=EDOM `, `getpriority \(.* errno=ENOSYS `} {
				if n := len(regexp.MustCompile(`(?m)^syscall\.`+call).FindAllString(dump, -1)); n != tt.recorded {
					t.Errorf("%d times %s, want %d", n, call, tt.recorded)
				}
			}
			sids := tt.recorded
			if strings.Contains(tt.events, "getsid") {
				sids = 2
			}
			if n := strings.Count(dump, "syscall.getsid (0) result="); n != sids {
				t.Errorf("%d times getsid, want %d", n, sids)
			}
			if tt.events == "syscall" {
				for _, nr := range []string{"1500", "-1"} {
					if n := strings.Count(dump, "syscall.unknown (nr="+nr+", "); n != 2 {
						t.Errorf("%d times call %s", n, nr)
					}
				}
			}
			reports := 0
			if tt.reported != "" {
				reports = 1
			}
			if n := strings.Count(dump, "posix_trace_error errno="); n != reports {
				t.Errorf("%d reports, want %d", n, reports)
			}
		})
	}
}
