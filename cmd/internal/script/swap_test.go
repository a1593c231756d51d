package script_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// The adversary of these tests is a process of the same user. While a command waits before
// a system call on a file, the adversary replaces that file, or its directory, and restores
// it some calls later. The kernel asks it before each call (seccomp_unotify(2)), so it
// misses no instant.

// pathCalls are the calls that name a file, with the index of the name among the arguments,
// which follow the descriptor of the directory.
var pathCalls = map[int32]int{
	unix.SYS_OPENAT: 1, unix.SYS_MKDIRAT: 1, unix.SYS_UNLINKAT: 1, unix.SYS_RENAMEAT: 1, unix.SYS_RENAMEAT2: 1,
	unix.SYS_LINKAT: 1, unix.SYS_NEWFSTATAT: 1, unix.SYS_FCHMODAT: 1, unix.SYS_FACCESSAT2: 1,
	// Calls on a descriptor: something may happen between two of them.
	unix.SYS_FSTAT: -1, unix.SYS_FLOCK: -1, unix.SYS_FTRUNCATE: -1, unix.SYS_FALLOCATE: -1,
}

func init() {
	// swap-exec COMMAND...: executes it with a filter, whose listener is passed to
	// descriptor 3.
	helpers["swap-exec"] = func() {
		runtime.LockOSThread()
		prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
		for nr := range pathCalls {
			prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(nr), Jf: 1},
				unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
		}
		prog = append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
		fp := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
		exe, err := exec.LookPath(os.Args[1])
		if err != nil {
			panic(err)
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			panic(err)
		}
		fd, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&fp)))
		if no != 0 {
			panic(no)
		}
		if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(fd)), nil, 0); err != nil {
			panic(err)
		}
		unix.CloseOnExec(3)
		unix.CloseOnExec(int(fd))
		panic(unix.Exec(exe, os.Args[1:], os.Environ()))
	}
}

// swapped records what the test has put in place of a path.
type swapped struct {
	place, aside string
	theirs       string // former content of the directory that a link replaced
	fifo         int    // watch
}

type swapper struct {
	t      *testing.T
	base   string // with everything below it
	dir    string // the trace directory
	logs   string // directory of logs
	their  string // what must not change
	victim string
	spare  string // a log that the command is to create
	watch  int    // inotify
	env    []string

	now    *swapped
	skip   int // calls before the first swap
	calls  int
	swaps  int
	n      int
	trying string
}

const precious = "nobody's business\n"

func newSwapper(t *testing.T) *swapper {
	t.Helper()
	base, err := os.MkdirTemp("/dev/shm", "posixtrace-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	w := &swapper{t: t, base: base, dir: base + "/dir", logs: base + "/logs", their: base + "/their", victim: base + "/their/victim"}
	for _, d := range []string{w.logs, w.their, base + "/aside"} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(w.victim, []byte(precious), 0o640); err != nil {
		t.Fatal(err)
	}
	if w.watch, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(w.watch) })
	unix.InotifyAddWatch(w.watch, w.victim, unix.IN_MODIFY|unix.IN_CLOSE_WRITE)
	unix.InotifyAddWatch(w.watch, w.their, unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVE)
	w.env = append(os.Environ(), "PTRACE_DIR="+w.dir, "PTRACE_STREAM=", "PTRACE_SPOOL=")
	return w
}

// run runs a command undisturbed.
func (w *swapper) run(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.WaitDelay = w.env, time.Second
	out, _ := cmd.CombinedOutput()
	if ctx.Err() != nil {
		w.t.Fatalf("%q hangs: %s", args, out)
	}
	return string(out)
}

// disturbed runs a command while files are swapped.
func (w *swapper) disturbed(args ...string) {
	w.trying = strings.Join(args, " ")
	w.skip = rand.N(40)
	w.spare = ""
	for i, a := range args {
		if a == "-o" {
			w.spare = args[i+1]
		}
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer unix.Close(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "swap-exec", args...)
	cmd.Env, cmd.ExtraFiles, cmd.WaitDelay = w.env, []*os.File{theirs}, 2*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGQUIT) } // prints its path
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	theirs.Close()
	oob := make([]byte, 64)
	_, n, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), oob, 0)
	msgs, e := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || e != nil || len(msgs) != 1 {
		cmd.Wait()
		w.t.Fatalf("no listener: %v %v %s", err, e, &out)
	}
	fds, _ := unix.ParseUnixRights(&msgs[0])
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	w.serve(fds[0], done)
	unix.Close(fds[0])
	if ctx.Err() != nil {
		w.t.Errorf("%s hangs: %s", w.trying, &out)
	}
	if strings.Contains(out.String(), "panic") || strings.Contains(out.String(), precious) {
		w.t.Errorf("%s: %s", w.trying, &out)
	}
	w.restore()
}

type swapNotif struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type swapResp struct {
	id    uint64
	val   int64
	error int32
	flags uint32
}

// serve answers the kernel's questions until the command has ended. A process that outlives
// it gets no answer and ends.
func (w *swapper) serve(fd int, done <-chan struct{}) {
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 2)
		if n > 0 && fds[0].Revents&unix.POLLIN != 0 {
			var q swapNotif
			if _, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q))); no == 0 {
				w.before(&q)
				r := swapResp{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
				unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
			}
			continue
		}
		if n < 0 && err != unix.EINTR {
			w.t.Fatal(err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// before decides what to do before a call.
func (w *swapper) before(q *swapNotif) {
	place := w.placeOf(q)
	if place == "" {
		return
	}
	if w.calls++; w.skip > 0 { // most commands stop soon after a failure
		w.skip--
		return
	}
	if w.now == nil {
		w.swap(place)
	} else if rand.N(2) == 0 {
		w.restore()
	}
}

// placeOf returns the path of a call, if it is one of ours.
func (w *swapper) placeOf(q *swapNotif) string {
	proc := "/proc/" + strconv.Itoa(int(q.pid))
	at := pathCalls[q.nr]
	if at < 0 {
		path, _ := os.Readlink(proc + "/fd/" + strconv.Itoa(int(int32(q.args[0]))))
		return w.ours(path)
	}
	var b [512]byte
	local := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	n, err := unix.ProcessVMReadv(int(q.pid), []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(q.args[at]), Len: len(b)}}, 0)
	if err != nil {
		return ""
	}
	name, _, ok := bytes.Cut(b[:n], []byte{0})
	if !ok {
		return ""
	}
	path := string(name)
	if fd, ok := strings.CutPrefix(path, "/proc/self/fd/"); ok {
		path, _ = os.Readlink(proc + "/fd/" + fd)
	} else if !strings.HasPrefix(path, "/") && int32(q.args[at-1]) >= 0 {
		dir, _ := os.Readlink(proc + "/fd/" + strconv.Itoa(int(int32(q.args[at-1]))))
		path = filepath.Join(dir, path)
	}
	return w.ours(path)
}

func (w *swapper) ours(path string) string {
	path = filepath.Clean(path)
	if path != w.dir && !strings.HasPrefix(path, w.dir+"/") && !strings.HasPrefix(path, w.logs+"/") {
		return ""
	}
	// A log is created where the user asks, so that path is not watched.
	if path == w.spare || w.spare != "" && path == w.logs {
		return ""
	}
	return path
}

// swap replaces a file or a directory above it.
func (w *swapper) swap(place string) {
	name := filepath.Base(place)
	for place != w.dir && rand.N(4) == 0 {
		if place = filepath.Dir(place); place == w.logs && w.spare != "" {
			return
		}
		if place == w.base {
			return
		}
	}
	w.n++
	s := &swapped{place: place, aside: filepath.Join(w.base, "aside", strconv.Itoa(w.n)), fifo: -1}
	if err := os.Rename(place, s.aside); err != nil {
		s.aside = "" // it does not exist yet, or no longer
	}
	var err error
	kind := rand.N(6)
	switch kind {
	case 0:
		err = os.Symlink(w.victim, place)
	case 1:
		err = os.Symlink(filepath.Join(w.their, "made"), place)
	case 2:
		err = os.Link(w.victim, place)
	case 3:
		if err = unix.Mkfifo(place, 0o600); err == nil {
			s.fifo, _ = unix.InotifyAddWatch(w.watch, place, unix.IN_OPEN)
		}
	case 4:
		err = os.Mkdir(place, 0o700)
	case 5:
		// Another directory, with a file of the same name.
		s.theirs = filepath.Join(w.base, "aside", strconv.Itoa(w.n)+".theirs")
		err = os.Mkdir(s.theirs, 0o700)
		for _, f := range []string{name, "spool", "state"} {
			os.WriteFile(filepath.Join(s.theirs, f), []byte(precious), 0o640)
		}
		os.Symlink(s.theirs, place)
	}
	if err != nil {
		if s.aside != "" {
			os.Rename(s.aside, place)
		}
		return
	}
	w.trying += fmt.Sprintf("\n\t%s: %d", strings.TrimPrefix(place, w.base), kind)
	w.now = s
	w.swaps++
}

// restore undoes a swap, and checks that the files that must not change have not.
func (w *swapper) restore() {
	s := w.now
	w.now = nil
	w.look()
	if s == nil {
		return
	}
	if s.theirs != "" {
		list, err := os.ReadDir(s.theirs)
		if err != nil || len(list) < 2 || len(list) > 3 {
			w.t.Errorf("%s\nleaves %v in a directory that is not its, %v", w.trying, list, err)
		}
		for _, e := range list {
			path := filepath.Join(s.theirs, e.Name())
			if b, err := os.ReadFile(path); err != nil || string(b) != precious {
				w.t.Errorf("%s\nmakes %q of %s: %v", w.trying, b, path, err)
			}
			if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o640 {
				w.t.Errorf("%s\nchanges %s to %v, %v", w.trying, path, fi.Mode(), err)
			}
		}
		os.RemoveAll(s.theirs)
	}
	if s.fifo >= 0 {
		unix.InotifyRmWatch(w.watch, uint32(s.fifo))
	}
	os.RemoveAll(s.place)
	if s.aside != "" {
		os.Rename(s.aside, s.place)
	}
}

// look returns what happened to the watched files.
func (w *swapper) look() {
	b := make([]byte, 4096)
	n, _ := unix.Read(w.watch, b)
	for off := 0; off+unix.SizeofInotifyEvent <= n; {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&b[off]))
		off += unix.SizeofInotifyEvent + int(e.Len)
		if e.Mask&unix.IN_IGNORED == 0 {
			w.t.Errorf("%s\ninotify reports %#x", w.trying, e.Mask)
		}
	}
	if b, err := os.ReadFile(w.victim); err != nil || string(b) != precious {
		w.t.Errorf("%s\nthe victim is %q, %v", w.trying, b, err)
	}
	if fi, err := os.Stat(w.victim); err != nil || fi.Mode().Perm() != 0o640 {
		w.t.Errorf("%s\nthe victim is %v, %v", w.trying, fi.Mode(), err)
	}
	if list, err := os.ReadDir(w.their); err != nil || len(list) != 1 {
		w.t.Errorf("%s\nbeside the victim there is %v, %v", w.trying, list, err)
	}
}

// finish ends what a round has left.
func (w *swapper) finish() {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		if b, err := os.ReadFile(path); err == nil && pid != os.Getpid() && bytes.Contains(b, []byte("PTRACE_DIR="+w.dir+"\x00")) {
			syscall.Kill(pid, syscall.SIGKILL)
			for end := time.Now().Add(60 * time.Second); alive(pid) && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
		}
	}
	os.RemoveAll(w.dir)
	list, _ := filepath.Glob(w.logs + "/*")
	for _, f := range list {
		os.RemoveAll(f)
	}
}

// orphan leaves a stream with a log whose keeper was killed, and an incomplete page and
// file of a dead process.
func (w *swapper) orphan(target string) {
	w.run("ptrace-create", "-s", "-p", target, "-o", w.logs+"/left.trace", "left")
	w.run("ptrace-event", "-S", "left", "e", "data")
	out := w.run("ptrace-ctl", "status", "--json", "left")
	if _, rest, ok := strings.Cut(out, `"owner":`); ok {
		n, _ := strconv.Atoi(rest[:strings.IndexAny(rest, ",}")])
		if n > 1 && strconv.Itoa(n) != target {
			syscall.Kill(n, syscall.SIGKILL)
			for end := time.Now().Add(60 * time.Second); alive(n) && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
		}
	}
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"t-4000000-1-0000000000000001", "p-4000000-1", "n-0000000000000001"} {
		path := filepath.Join(w.dir, name)
		os.WriteFile(path, nil, 0o600)
		os.Chtimes(path, old, old)
	}
}

// Whatever a process of the same user swaps at any instant, a command changes and opens
// nothing outside the trace directory, and it ends.
func TestSwaps(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	w := newSwapper(t)
	target := exec.Command("sleep", "600")
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Process.Kill(); target.Wait() })
	pid := strconv.Itoa(target.Process.Pid)
	log := w.logs + "/new.trace"
	rounds := []struct {
		before  [][]string
		orphan  bool
		command []string
	}{
		{command: []string{"ptrace-create", "-s", "-p", pid, "x"}},
		{command: []string{"ptrace-create", "--export", "-p", pid, "x"}},
		{command: []string{"ptrace-create", "--export", "-p", pid, "-o", log, "x"}},
		{command: []string{"ptrace-run", "--dump=always", "sh", "-c", "ptrace-event e"}},
		{command: []string{"ptrace-run", "--summary", "-o", log, "ptrace-event", "e", "data"}},
		{before: [][]string{{"ptrace-create", "--export", "-s", "-p", pid, "x"}}, command: []string{"ptrace-event", "-p", pid, "e", "data"}},
		{before: [][]string{{"ptrace-create", "--export", "-s", "-p", pid, "x"}}, command: []string{"ptrace-ctl", "shutdown", "x"}},
		{before: [][]string{{"ptrace-create", "--export", "-s", "-p", pid, "x"}}, command: []string{"ptrace-dump", "-S", "x"}},
		{before: [][]string{{"ptrace-create", "--export", "-s", "-p", pid, "x"}}, command: []string{"ptrace-filter", "-S", "x", "-x", "a*"}},
		{before: [][]string{{"ptrace-create", "-s", "-p", pid, "-o", w.logs + "/kept.trace", "x"}}, command: []string{"ptrace-dump", "--peek", "-S", "x"}},
		{orphan: true, command: []string{"ptrace-ctl", "list"}},
		{orphan: true, command: []string{"ptrace-ctl", "status", "left"}},
		{orphan: true, command: []string{"ptrace-create", "-p", pid, "x"}},
	}
	lines := []string{"sh", "-c", `for f in "$PTRACE_DIR"/l-*/spool*; do seq -f 'e 1  %g' 500 | tr ' ' '\t' >>"$f"; done`}
	want := tracetest.Scale(300, 5000, 50000)
	for n := 0; w.swaps < want && !t.Failed() && n < want; n++ {
		r := rounds[n%len(rounds)]
		if r.orphan {
			w.orphan(pid)
		}
		for _, c := range r.before {
			w.run(c...)
		}
		if len(r.before) > 0 {
			w.run(lines...)
		}
		w.disturbed(r.command...)
		w.look()
		w.finish()
	}
	t.Logf("%d swaps before %d calls", w.swaps, w.calls)
	if w.swaps < want {
		t.Errorf("only %d swaps", w.swaps)
	}
}
