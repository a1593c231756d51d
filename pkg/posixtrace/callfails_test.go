package posixtrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// TestEveryCallFails makes the system calls on files fail in turn, the first, the second,
// until there are no more, in each way that they can: those of a flush, a shutdown, the
// completion of a dead owner's log and the creation of a stream. The call reports the error
// with its number, no recorded event is lost while the stream has room, and the operation
// succeeds once the cause is gone.
func TestEveryCallFails(t *testing.T) {
	for _, what := range []string{"flush", "sync", "shutdown", "complete", "create", "create-log", "create-other"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			own := filepath.Join(dir, "streams")
			if err := os.Mkdir(own, 0o700); err != nil {
				t.Fatal(err)
			}
			step := tracetest.Scale(5, 1, 1)
			if what == "complete" { // each trial kills another process
				step = tracetest.Scale(17, 1, 1)
			}
			cmd := exec.Command(os.Args[0], what, dir, strconv.Itoa(step))
			cmd.Env = append(os.Environ(), tracetest.HelperVar+"=every-call-fails", "PTRACE_DIR="+own, tracetest.Quick)
			out, err := cmd.CombinedOutput()
			lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
			if last := lines[len(lines)-1]; err != nil || !bytes.HasPrefix(last, []byte("ok ")) {
				t.Fatalf("%v\n%s", err, out)
			} else {
				t.Logf("%s", last)
			}
			if left, _ := filepath.Glob(filepath.Join(own, "[st]-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// failing is one kind of failure.
type failing struct {
	errno  syscall.Errno // 0: a short write
	calls  []int
	passes bool // without an error
}

var writeCalls = []int{unix.SYS_PWRITE64, unix.SYS_WRITE, unix.SYS_FTRUNCATE}

var writeFailures = []failing{
	{syscall.ENOSPC, writeCalls, false}, {syscall.EIO, writeCalls, false}, {syscall.EDQUOT, writeCalls, false}, {syscall.EFBIG, writeCalls, false},
	{syscall.EROFS, writeCalls, false}, {syscall.EINTR, writeCalls, true}, {0, []int{unix.SYS_PWRITE64, unix.SYS_WRITE}, true},
}

// openFailures are those of a process, or of a machine, that can open no more files.
var openFailures = []failing{
	{syscall.EMFILE, nil, false}, {syscall.ENFILE, nil, false}, {syscall.ENOMEM, nil, false},
}

// becomeOrdinary makes this process, if it is root's, one of a user who owns the trace directory. Root may
// trace all processes; that of another user has to be looked up.
func becomeOrdinary(dir string) {
	const ordinary = 65534
	if os.Geteuid() != 0 {
		return
	}
	for _, above := range []string{filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} { // those of T.TempDir
		tracetest.Check(os.Chmod(above, 0o711) == nil, "Chmod")
	}
	tracetest.Check(os.Chown(dir, ordinary, ordinary) == nil, "Chown")
	tracetest.Check(syscall.Setgroups(nil) == nil, "Setgroups")
	tracetest.Check(syscall.Setresgid(ordinary, ordinary, ordinary) == nil, "Setresgid")
	tracetest.Check(syscall.Setresuid(ordinary, ordinary, ordinary) == nil, "Setresuid")
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) // else its files in /proc are root's
	tracetest.Check(err == nil, "dumpable: %v", err)
}

type nthFail struct {
	f         *faults
	dir       string
	id        EventID
	n, trials int
	failed    int
	calls     map[string]int
}

func init() {
	tracetest.Helpers["every-call-fails"] = func(args []string) {
		h := &nthFail{dir: args[1], calls: map[string]int{}}
		step, _ := strconv.Atoi(args[2])
		var err error
		var other *exec.Cmd
		if args[0] == "create-other" {
			becomeOrdinary(os.Getenv("PTRACE_DIR"))
			other = exec.Command("sleep", "300")
			runtime.LockOSThread() // the thread whose end is the child's
			other.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			err = other.Start()
			tracetest.Check(err == nil, "Start: %v", err)
			defer func() { other.Process.Kill(); other.Wait() }()
		}
		if args[0] != "complete" {
			h.id, err = OpenEventID("numbered")
			tracetest.Check(err == nil, "OpenEventID: %v", err)
		}
		h.f = newFaults()
		for i, p := range []FullPolicy{PolicyAppend, PolicyUntilFull, PolicyLoop} {
			list := writeFailures
			if other != nil {
				list = openFailures
			}
			for j, k := range list {
				h.every((i+j)%step, step, k, func() bool {
					switch args[0] {
					case "flush":
						return h.flush(p, k, (*Stream).Flush)
					case "sync":
						k.calls = append(slices.Clone(k.calls), unix.SYS_FSYNC)
						return h.flush(p, k, (*Stream).Sync)
					case "shutdown":
						return h.shutdown(p, k)
					case "complete":
						return h.complete(p, k)
					case "create":
						return h.create(0, nil, k)
					case "create-other":
						return h.create(other.Process.Pid, nil, k)
					}
					return h.create(0, &p, k)
				})
			}
		}
		fmt.Printf("ok %d trials, %d of them failed, as they should: %v\n", h.trials, h.failed, h.calls)
	}
	tracetest.Helpers["numbered"] = func(args []string) {
		// An owner killed with events in its stream.
		p, _ := strconv.Atoi(args[1])
		f, err := os.Create(args[0])
		tracetest.Check(err == nil, "Create: %v", err)
		s, err := CreateWithLog(0, &Attr{StreamFullPolicy: PolicyUntilFull, LogFullPolicy: FullPolicy(p)}, f)
		tracetest.Check(err == nil, "CreateWithLog: %v", err)
		id, _ := OpenEventID("numbered")
		s.Start()
		numbers(id, 0, 60, 100)
		s.Flush()
		numbers(id, 60, 140, 300)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

// every runs trial with rising n, from 1 and in steps, until no call failed.
func (h *nthFail) every(first, step int, k failing, trial func() bool) {
	for h.n = 1 + first; ; h.n += step {
		h.trials++
		if !trial() {
			return
		}
		h.failed++
		tracetest.Check(h.n < 500, "there is no end of calls")
	}
}

func (h *nthFail) arm(k failing) { h.f.arm(h.n, k.errno, k.calls...) }

// disarm checks that err is the armed failure.
func (h *nthFail) disarm(what string, k failing, err error) bool {
	call, hit := h.f.disarm()
	switch {
	case !hit:
		tracetest.Check(err == nil, "%s, nothing fails: %v", what, err)
	case k.passes:
		tracetest.Check(err == nil, "%s, call %d (%d), %v: %v", what, h.n, call, k.errno, err)
	default:
		var e *Error
		tracetest.Check(err == nil || errors.As(err, &e) && e.Err == k.errno, "%s, call %d (%d): %v, want %v", what, h.n, call, err, k.errno)
		tracetest.Check(err != nil || call != unix.SYS_PWRITE64 && call != unix.SYS_FSYNC, "%s: call %d (%d) fails with %v, and no call reports it", what, h.n, call, k.errno)
	}
	if hit {
		h.calls[fmt.Sprintf("%d %v", call, k.errno)]++
	}
	return hit
}

func (h *nthFail) stream(p FullPolicy) (*Stream, string) {
	path := filepath.Join(h.dir, "log")
	os.Remove(path)
	f, err := os.Create(path)
	tracetest.Check(err == nil, "Create: %v", err)
	defer f.Close()
	s, err := CreateWithLog(0, &Attr{StreamFullPolicy: PolicyUntilFull, LogFullPolicy: p}, f)
	tracetest.Check(err == nil, "CreateWithLog: %v", err)
	tracetest.Check(s.Start() == nil, "Start")
	return s, path
}

func (h *nthFail) flush(p FullPolicy, k failing, flush func(*Stream) error) bool {
	s, path := h.stream(p)
	numbers(h.id, 0, 40, 100)
	tracetest.Check(flush(s) == nil, "the first flush")
	numbers(h.id, 40, 140, 200)
	h.arm(k)
	err := flush(s)
	hit := h.disarm("flush", k, err)
	numbers(h.id, 180, 20, 100) // the traced process notices nothing
	st, _ := s.Status()
	tracetest.Check(st.Lost == 0 && st.LogLost == 0 && st.StreamStatus == StatusRunning, "status: %+v", st)
	var e *Error
	if errors.As(err, &e) && !strings.Contains(err.Error(), "sync") {
		tracetest.Check(st.StreamFlushError == e.Err, "flush: %v, but the status has %v", err, st.StreamFlushError)
	}
	err = flush(s)
	if hit && err != nil {
		call := strings.Contains(err.Error(), "log: sync")
		tracetest.Check(call && errors.Is(err, k.errno), "the next flush: %v", err)
		err = nil
	}
	tracetest.Check(err == nil, "the next flush: %v", err)
	numbers(h.id, 200, 20, 100)
	err = s.Shutdown()
	tracetest.Check(err == nil, "Shutdown: %v", err)
	h.read(path, 220, 0, true)
	return hit
}

func (h *nthFail) shutdown(p FullPolicy, k failing) bool {
	s, path := h.stream(p)
	numbers(h.id, 0, 40, 100)
	tracetest.Check(s.Flush() == nil, "Flush")
	numbers(h.id, 40, 140, 200)
	m := s.c.Mem
	h.arm(k)
	err := s.Shutdown()
	hit := h.disarm("shutdown", k, err)
	_, e := os.Stat(s.c.Path)
	tracetest.Check(os.IsNotExist(e), "the stream is left: %v", e)
	st := toStatus(m.Status(false))
	n := h.read(path, 180, int(st.LogLost), err == nil)
	tracetest.Check(err != nil || n == 180, "%d events", n)
	return hit
}

func (h *nthFail) complete(p FullPolicy, k failing) bool {
	path := filepath.Join(h.dir, "log")
	os.Remove(path)
	cmd := exec.Command(os.Args[0], path, strconv.Itoa(int(p)))
	cmd.Env = append(os.Environ(), tracetest.HelperVar+"=numbered", tracetest.Quick)
	out, err := cmd.CombinedOutput()
	tracetest.Check(cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL, "the owner: %v %s", err, out)
	// The next List completes the log. If that fails, the one after it does.
	h.arm(k)
	_, err = List()
	_, hit := h.f.disarm()
	tracetest.Check(err == nil, "List: %v", err)
	list, err := List()
	tracetest.Check(err == nil && len(list) == 0, "List: %v, %v", list, err)
	h.read(path, 200, 0, true)
	return hit
}

// create makes a stream, with a log if policy is set.
func (h *nthFail) create(pid int, p *FullPolicy, k failing) bool {
	k.calls = append(slices.Clone(k.calls), unix.SYS_OPENAT, unix.SYS_FALLOCATE, unix.SYS_MKDIRAT, unix.SYS_RENAMEAT2,
		unix.SYS_LINKAT, unix.SYS_FLOCK, unix.SYS_FCHMOD, unix.SYS_FSYNC, unix.SYS_MMAP)
	if k.errno == 0 {
		k.calls = writeCalls[:2]
	}
	var f *os.File
	var err error
	path := filepath.Join(h.dir, "log")
	if p != nil {
		os.Remove(path)
		f, err = os.Create(path)
		tracetest.Check(err == nil, "Create: %v", err)
		defer f.Close()
	}
	before := openDescriptors()
	create := func() (*Stream, error) {
		if p != nil {
			return CreateWithLog(pid, &Attr{StreamFullPolicy: PolicyUntilFull, LogFullPolicy: *p}, f)
		}
		return Create(pid, nil)
	}
	h.arm(k)
	s, err := create()
	call, hit := h.f.disarm()
	if hit {
		h.calls[fmt.Sprintf("%d %v", call, k.errno)]++
	}
	if err != nil {
		var e *Error
		tracetest.Check(s == nil && hit && errors.As(err, &e) && e.Err != 0, "Create: %v", err)
		tracetest.Check(e.Err == k.errno || e.Err == syscall.ENOMEM && (k.errno == syscall.ENOSPC || k.errno == syscall.EDQUOT || k.errno == syscall.EFBIG),
			"Create, call %d (%d): %v, want %v", h.n, call, err, k.errno)
		list, _ := List()
		left, _ := filepath.Glob(filepath.Join(os.Getenv("PTRACE_DIR"), "[st]-*"))
		tracetest.Check(len(list) == 0 && len(left) == 0, "Create, call %d (%d): leaves %v, %v", h.n, call, list, left)
		if after := openDescriptors(); after > before {
			tracetest.Check(false, "Create, call %d (%d): %d descriptors, before %d", h.n, call, after, before)
		}
		s, err = create()
		tracetest.Check(err == nil, "Create once more: %v", err)
	}
	tracetest.Check(s.Start() == nil, "Start")
	if pid == 0 {
		numbers(h.id, 0, 5, 100)
	}
	err = s.Shutdown()
	tracetest.Check(err == nil, "Shutdown: %v", err)
	if p != nil {
		h.read(path, 5, 0, true)
	}
	return hit
}

func openDescriptors() int {
	d, err := os.ReadDir("/proc/self/fd")
	tracetest.Check(err == nil, "%v", err)
	return len(d)
}

// read checks that a log has all numbered events in order. A log that could not be finished may
// lack the lost ones, START and STOP among them, and one of two chunks that were filled in
// turn.
func (h *nthFail) read(path string, all, lost int, finished bool) (n int) {
	f, err := os.Open(path)
	tracetest.Check(err == nil, "Open: %v", err)
	defer f.Close()
	r, err := NewReader(f)
	if errors.Is(err, syscall.EINVAL) && lost > 0 {
		return 0
	}
	tracetest.Check(err == nil, "call %d: NewReader: %v", h.n, err)
	defer r.Close()
	next := 0
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		tracetest.Check(err == nil, "Next: %v", err)
		if !rec.ID.User() {
			continue
		}
		num, _, _ := strings.Cut(string(rec.Data), " ")
		i, err := strconv.Atoi(num)
		tracetest.Check(err == nil && i >= next && (i == next || lost > 0), "call %d: event %s where %d should be", h.n, num, next)
		next = i + 1
		n++
	}
	state, err := r.State()
	tracetest.Check(state == LogFinished || !finished, "call %d: %v, %v", h.n, state, err)
	tracetest.Check(n <= all && n+lost >= all && n+lost <= all+2, "call %d: %d events and %d lost of %d", h.n, n, lost, all)
	return n
}
