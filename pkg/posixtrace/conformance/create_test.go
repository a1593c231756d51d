package conformance

import (
	"bufio"
	"context"
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
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// smallestAttr makes streams of the least size.
var smallestAttr = posixtrace.Attr{StreamSize: 1, MaxDataSize: new(0)}

func init() {
	// creator: for each line "PID N" it makes up to N small streams on that
	// process, keeps them, and prints how many and why not more.
	tracetest.Helpers["creator"] = func(args []string) {
		in := bufio.NewScanner(os.Stdin)
		var keep []*posixtrace.Stream
		for in.Scan() {
			var pid, n, made int
			fmt.Sscan(in.Text(), &pid, &n)
			var no syscall.Errno
			for range n {
				s, err := posixtrace.Create(pid, &smallestAttr)
				if err != nil {
					errors.As(err, &no)
					break
				}
				keep = append(keep, s)
				made++
			}
			fmt.Println(made, int(no))
		}
		for _, s := range keep {
			s.Shutdown()
		}
	}
	// protected: a process that must not be dumped.
	tracetest.Helpers["protected"] = func(args []string) {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
	}
	tracetest.Helpers["space"] = fillSpace
}

// makeStreams has a creator make streams.
func makeStreams(c *tracetest.Child, pid, n int) (made int, no syscall.Errno) {
	c.T.Helper()
	fmt.Fprintln(c.In, pid, n)
	l := c.Line()
	var e int
	if _, err := fmt.Sscan(l, &made, &e); err != nil {
		c.T.Fatalf("creator says %q", l)
	}
	return made, syscall.Errno(e)
}

// newSleeper is a process that knows nothing of tracing.
func newSleeper(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd.Process.Pid
}

// newZombie is a process that has ended and was not waited for, and afterwards
// one that is gone.
func newZombie(t *testing.T) (pid int, reap func()) {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid = cmd.Process.Pid
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	return pid, func() { cmd.Wait() }
}

// openFile opens a new log file with flags beside O_CREATE.
func openFile(t *testing.T, path string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flags|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func logPath(t *testing.T) string { return filepath.Join(t.TempDir(), "cre.trace") }

// userData reads the data of all user events of a log.
func userData(t *testing.T, l *posixtrace.Log) (list []string) {
	t.Helper()
	buf := make([]byte, 4096)
	for {
		ev, n, err := l.Next(buf)
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.ID.User() {
			list = append(list, string(buf[:n]))
		}
	}
}

// numberStrings is what userData reads of events 0 to n-1 that recordUnnamed records.
func numberStrings(n int) (list []string) {
	for i := range n {
		list = append(list, strconv.Itoa(i))
	}
	return list
}

func recordUnnamed(n int) {
	for i := range n {
		posixtrace.Event(posixtrace.EventUnnamed, []byte(strconv.Itoa(i)))
	}
}

// directoryFull is what became of filling a trace directory.
type directoryFull struct {
	err       error
	made      int           // streams, of two controllers
	here      syscall.Errno // of one more of this process
	there     syscall.Errno // of one more of the other
	elsewhere bool          // one more in another directory
	logs      error         // opening a log in between
	again     int           // streams made after the other controller was killed
	dead      int           // which had so many
	after     syscall.Errno // of one more then
	freed     error         // of one more after a shutdown
	kept      syscall.Errno // of one more, with a stream left to a process that lives
	stale     error         // and when that is dead
	full      syscall.Errno // and of another one
}

// fillDirectory fills a trace directory of its own, once for the tests that look at it.
var fillDirectory = sync.OnceValue(func() (r directoryFull) {
	old := os.Getenv("PTRACE_DIR")
	defer tool.ForgetDirectory()
	defer os.Setenv("PTRACE_DIR", old)
	base := os.TempDir()
	var fs unix.Statfs_t
	if unix.Statfs("/dev/shm", &fs) == nil && int64(fs.Bavail)*fs.Bsize > 1<<30 {
		base = "/dev/shm"
	}
	tmp, err := os.MkdirTemp(base, "posixtrace-full-")
	if err != nil {
		return directoryFull{err: err}
	}
	defer os.RemoveAll(tmp)
	dir, other := filepath.Join(tmp, "dir"), filepath.Join(tmp, "other")
	os.Mkdir(dir, 0o700)
	os.Mkdir(other, 0o700)
	os.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()

	var pids []int
	for range posixtrace.SysMax/posixtrace.StreamsMax + 1 { // the last has room when the directory has none
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			return directoryFull{err: err}
		}
		defer func() { cmd.Process.Kill(); cmd.Wait() }()
		pids = append(pids, cmd.Process.Pid)
	}
	last := pids[len(pids)-1]

	// A log, opened below.
	path := filepath.Join(tmp, "log.trace")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return directoryFull{err: err}
	}
	defer f.Close()
	ls, err := posixtrace.CreateWithLog(last, nil, f)
	if err == nil {
		err = ls.Shutdown()
	}
	if err != nil {
		return directoryFull{err: err}
	}

	// This process creates all but a few, another process the rest.
	const few = 24
	var streams []*posixtrace.Stream
	defer func() {
		for _, s := range streams {
			s.Shutdown()
		}
	}()
	for i := range posixtrace.SysMax - few {
		s, err := posixtrace.Create(pids[i/posixtrace.StreamsMax], &smallestAttr)
		if err != nil {
			return directoryFull{err: fmt.Errorf("stream %d: %w", i, err)}
		}
		streams = append(streams, s)
	}
	l, err := posixtrace.Open(f)
	if r.logs = err; err == nil {
		defer l.Close()
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), tracetest.HelperVar+"=creator", tracetest.Quick)
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		return directoryFull{err: err}
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	answers := bufio.NewReader(out)
	ask := func(n int) (made int, no syscall.Errno) {
		fmt.Fprintln(in, last, n)
		var e int
		_, err := fmt.Fscan(answers, &made, &e)
		if err != nil && r.err == nil {
			r.err = fmt.Errorf("creator: %w", err)
		}
		return made, syscall.Errno(e)
	}
	// more makes streams here until there are n or it fails.
	more := func(n int) (made int, no syscall.Errno) {
		for range n {
			s, err := posixtrace.Create(last, &smallestAttr)
			if err != nil {
				errors.As(err, &no)
				return made, no
			}
			streams = append(streams, s)
			made++
		}
		return made, 0
	}
	r.dead, r.there = ask(few + 1)
	r.made = len(streams) + r.dead
	_, r.here = more(1)
	os.Setenv("PTRACE_DIR", other)
	tool.ForgetDirectory()
	if s, err := posixtrace.Create(last, &smallestAttr); err == nil {
		r.elsewhere = true
		s.Shutdown()
	}
	os.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	cmd.Process.Kill()
	cmd.Wait()
	r.again, r.after = more(few + 1)
	if err := streams[0].Shutdown(); err != nil {
		return directoryFull{err: err}
	}
	streams = streams[1:]
	_, no := more(1)
	if no != 0 {
		r.freed = no
	}
	// A stream handed over to its process, which dies.
	heir := exec.Command("sleep", "600")
	if err := heir.Start(); err != nil {
		return directoryFull{err: err}
	}
	err = streams[0].Handover(heir.Process.Pid)
	_, r.kept = more(1)
	heir.Process.Kill()
	heir.Wait()
	if err != nil {
		return directoryFull{err: err}
	}
	if _, no := more(1); no != 0 {
		r.stale = no
	}
	_, r.full = more(1)
	streams[0].Close()
	streams = streams[1:]
	return r
})

var _ = conform("CRE-01/posix_trace_create/ENOMEM", func(t *testing.T) {
	pid := newSleeper(t)
	s := newStreamOf(t, pid, posixtrace.Attr{StreamSize: 1 << 20})
	info, err := s.Info()
	if err != nil || info.PID != pid {
		t.Fatalf("%+v, %v", info, err)
	}
	// All of its memory is allocated already.
	var st syscall.Stat_t
	if err := syscall.Stat(info.Path, &st); err != nil || st.Blocks*512 < st.Size || st.Size < 1<<20 {
		t.Errorf("%d bytes allocated of %d, %v", st.Blocks*512, st.Size, err)
	}
	for _, size := range []int64{1 << 39, 1 << 60, 1<<63 - 1} {
		s, err := posixtrace.Create(0, &posixtrace.Attr{StreamSize: size})
		wantErrno(t, err, syscall.ENOMEM)
		if s != nil {
			t.Error("a stream is returned")
		}
	}
})

func init() {
	// cre-nomem: a trace directory that is a small file system of its own.
	tracetest.Helpers["cre-nomem"] = func(args []string) {
		dir := args[0]
		err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=700")
		tracetest.Check(err == nil, "mount: %v", err)
		os.Setenv("PTRACE_DIR", dir)
		files := func() int {
			list, err := os.ReadDir(dir)
			tracetest.Check(err == nil, "ReadDir: %v", err)
			return len(list)
		}
		id, err := posixtrace.OpenEventID("known")
		tracetest.Check(err == nil, "OpenEventID: %v", err)
		var streams []*posixtrace.Stream
		for {
			before := files()
			s, err := posixtrace.Create(0, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull})
			if err != nil {
				tracetest.Check(errors.Is(err, syscall.ENOMEM) && s == nil, "Create = %v, %v, want ENOMEM", s, err)
				tracetest.Check(files() == before, "%d files were there, and after the failure %d", before, files())
				break
			}
			streams = append(streams, s)
			tracetest.Check(len(streams) < 20, "there is no end")
		}
		tracetest.Check(len(streams) > 2, "only %d streams", len(streams))
		// Not one byte is left. What exists has its memory, and nothing else is harmed.
		filler, err := os.Create(filepath.Join(dir, "filler"))
		tracetest.Check(err == nil, "filler: %v", err)
		for b := make([]byte, 4096); ; {
			if _, err := filler.Write(b); err != nil {
				break
			}
		}
		for _, s := range streams {
			err := s.Start()
			tracetest.Check(err == nil, "Start: %v", err)
		}
		a, _ := streams[0].Attr()
		n := int(a.StreamSize)/a.MaxUserEventSize(100) - 4
		for range n {
			posixtrace.Event(id, make([]byte, 100))
		}
		for _, s := range streams {
			st, err := s.Status()
			tracetest.Check(err == nil && st.Lost == 0, "status: %+v, %v", st, err)
			got := 0
			for {
				ev, _, err := s.TryNext(nil)
				if err != nil {
					break
				}
				if ev.ID == id {
					got++
				}
			}
			tracetest.Check(got == n, "%d events of %d", got, n)
		}
		// A new process finds no room for a page of its own; its trace points are silent.
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=cre-silent", tracetest.Quick)
		out, err := cmd.CombinedOutput()
		tracetest.Check(err == nil && string(out) == "through\n", "in a full trace directory a program says %q, %v", out, err)
		// With a shutdown there is room again.
		err = streams[0].Shutdown()
		tracetest.Check(err == nil, "Shutdown: %v", err)
		streams[0] = nil
		s, err := posixtrace.Create(0, nil)
		tracetest.Check(err == nil, "Create: %v", err)
		for _, s := range append(streams[1:], s) {
			err := s.Shutdown()
			tracetest.Check(err == nil, "Shutdown: %v", err)
		}
		fmt.Println("ok")
	}
	tracetest.Helpers["cre-silent"] = func([]string) {
		for range 3 {
			posixtrace.Event(posixtrace.EventUnnamed, []byte("x"))
		}
		fmt.Println("through")
	}
}

var _ = conform("CRE-01/posix_trace_create/ENOMEM/small file system", func(t *testing.T) {
	tracetest.NeedRoot(t)
	tracetest.RunHelper(t, &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}, "cre-nomem", t.TempDir())
})

var _ = conform("CRE-02", func(t *testing.T) {
	s, err := posixtrace.Create(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	logged, err := posixtrace.CreateWithLog(0, nil, openFile(t, logPath(t), os.O_WRONLY))
	if err != nil {
		t.Fatal(err)
	}
	defer logged.Shutdown()
	for s, policy := range map[*posixtrace.Stream]posixtrace.FullPolicy{s: posixtrace.PolicyLoop, logged: posixtrace.PolicyFlush} {
		size := int64(posixtrace.DefaultStreamSize)
		if s == logged {
			size = posixtrace.DefaultLoggedStreamSize
		}
		a, err := s.Attr()
		if err != nil || a.Name != "" || a.Inheritance != posixtrace.InheritNone || a.StreamFullPolicy != policy || a.LogFullPolicy != posixtrace.PolicyLoop ||
			a.StreamSize != size || a.MaxDataSize != posixtrace.DefaultMaxDataSize || a.LogSize != posixtrace.DefaultLogSize {
			t.Errorf("attributes %+v, %v, want policy %v", a, err, policy)
		}
	}
})

var _ = conform("CRE-03", func(t *testing.T) {
	for _, pid := range []int{0, os.Getpid()} {
		s := running(t, pid, posixtrace.Attr{})
		if i, err := s.Info(); err != nil || i.PID != os.Getpid() {
			t.Errorf("Create(%d) traces %d, %v", pid, i.PID, err)
		}
		recordUnnamed(1)
		equal(t, drain(t, s), got{"posix_trace_unnamed_userevent", "0", os.Getpid()})
	}
})

var _ = conform("CRE-04", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{})
	logged, path := newLoggedOf(t, 0, posixtrace.Attr{})
	for _, s := range []*posixtrace.Stream{s, logged} {
		if st, err := s.Status(); err != nil || st != (posixtrace.Status{}) {
			t.Errorf("status %+v, %v, want all zero", st, err)
		}
		if f, err := s.Filter(); err != nil || !f.Empty() {
			t.Errorf("filter %v, %v", f, err)
		}
	}
	if z := (posixtrace.Status{}); z.StreamStatus != posixtrace.StatusSuspended || z.StreamFullStatus != posixtrace.StatusNotFull || z.StreamOverrunStatus != posixtrace.StatusNoOverrun ||
		z.StreamFlushStatus != posixtrace.StatusNotFlushing || z.StreamFlushError != 0 || z.LogOverrunStatus != posixtrace.StatusNoOverrun || z.LogFullStatus != posixtrace.StatusNotFull {
		t.Errorf("zero is %+v", z)
	}
	recordUnnamed(3) // not recorded
	if ev, _, err := s.TryNext(nil); err != posixtrace.ErrUnavailable {
		t.Errorf("a new stream holds %+v, %v", ev, err)
	}
	logged.Shutdown()
	l := openLogAt(t, path)
	for {
		ev, _, err := l.Next(nil)
		if err != nil {
			break
		}
		if ev.ID != posixtrace.EventFlushStart && ev.ID != posixtrace.EventFlushStop { // of the shutdown
			t.Errorf("the log holds %+v", ev)
		}
	}
})

var _ = conform("CRE-05", func(t *testing.T) {
	before := time.Now()
	s := newStreamOf(t, 0, posixtrace.Attr{})
	after := time.Now()
	a, err := s.Attr()
	if err != nil || a.CreateTime.Before(before.Round(0)) || a.CreateTime.After(after.Round(0)) {
		t.Errorf("created at %v, %v, want between %v and %v", a.CreateTime, err, before, after)
	}
	s.Clear()
	if b, _ := s.Attr(); !b.CreateTime.Equal(a.CreateTime) {
		t.Error("the time of creation changes")
	}
})

var _ = conform("CRE-06/posix_trace_create/ESRCH", func(t *testing.T) {
	zombie, reap := newZombie(t)
	defer reap()
	gone, reapGone := newZombie(t)
	reapGone()
	for _, pid := range []int{-1, -os.Getpid(), 1 << 30, 1<<31 - 1, zombie, gone} {
		s, err := posixtrace.Create(pid, nil)
		wantErrno(t, err, syscall.ESRCH)
		if s != nil {
			t.Error("a stream is returned")
		}
		s, err = posixtrace.CreateWithLog(pid, nil, openFile(t, logPath(t), os.O_WRONLY))
		wantErrno(t, err, syscall.ESRCH)
		if s != nil {
			t.Error("a stream is returned")
		}
	}
})

// startAs starts a helper as another user.
func startAs(t *testing.T, uid, gid uint32, caps []uintptr, helper string) *tracetest.Child {
	t.Helper()
	return startAsIn(t, tracetest.UserDir(t, int(uid), int(gid)), uid, gid, caps, helper)
}

// startAsIn starts the program as startAs does, with that trace directory.
func startAsIn(t *testing.T, dir string, uid, gid uint32, caps []uintptr, helper string) *tracetest.Child {
	t.Helper()
	// The path of the test binary need not be open to others; this one is.
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), tracetest.HelperVar+"="+helper, tracetest.Quick, "PTRACE_DIR="+dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid, NoSetGroups: true}, AmbientCaps: caps}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	return &tracetest.Child{T: t, Cmd: cmd, In: in.(*os.File), Out: bufio.NewReader(out), PID: cmd.Process.Pid}
}

var _ = conform("CRE-07/posix_trace_create/EPERM", func(t *testing.T) {
	tracetest.NeedRoot(t)
	const stranger = 65534
	c := startAs(t, stranger, stranger, nil, "creator")
	same := startAs(t, stranger, stranger, nil, "map")
	group := startAs(t, stranger, stranger-1, nil, "map")
	protected := startAs(t, stranger, stranger, nil, "protected")
	if l := protected.Line(); l != "ready" {
		t.Fatal(l)
	}
	openIn(same, "wait.until.it.runs")
	openIn(group, "wait.until.it.runs")
	for _, r := range []struct {
		what string
		pid  int
		want syscall.Errno
	}{
		{"itself", 0, 0},
		{"itself by number", c.PID, 0},
		{"a process of the same user and group", same.PID, 0},
		{"a process of root", os.Getpid(), syscall.EPERM},
		{"a process of another group", group.PID, syscall.EPERM},
		{"a protected process", protected.PID, syscall.EPERM},
	} {
		made, no := makeStreams(c, r.pid, 1)
		if no != r.want || (made == 1) != (no == 0) {
			t.Errorf("%s: %d streams, %v, want %v", r.what, made, no, r.want)
		}
	}
	const sysPtrace = 19
	able := startAs(t, stranger, stranger, []uintptr{sysPtrace}, "creator")
	for _, pid := range []int{os.Getpid(), protected.PID} {
		if made, no := makeStreams(able, pid, 1); made != 1 {
			t.Errorf("with CAP_SYS_PTRACE: %v", no)
		}
	}
	newStreamOf(t, same.PID, posixtrace.Attr{}) // root may
})

// Create checks that the process exists before it checks permission.
var _ = conform("CRE-07/posix_trace_create/ESRCH", func(t *testing.T) {
	tracetest.NeedRoot(t)
	const stranger = 65534
	c := startAs(t, stranger, stranger, nil, "creator")
	zombie, reap := newZombie(t) // root's
	defer reap()
	for what, pid := range map[string]int{"no process": 1 << 30, "a zombie of root": zombie} {
		if made, no := makeStreams(c, pid, 1); made != 0 || no != syscall.ESRCH {
			t.Errorf("%s: %d streams, %v, want ESRCH", what, made, no)
		}
	}
})

var _ = conform("CRE-08/posix_trace_create/EAGAIN", func(t *testing.T) {
	r := fillDirectory()
	if r.err != nil {
		t.Fatal(r.err)
	}
	if r.made != posixtrace.SysMax {
		t.Errorf("%d streams at once, want %d", r.made, posixtrace.SysMax)
	}
	if r.here != syscall.EAGAIN || r.there != syscall.EAGAIN {
		t.Errorf("one more: %v here and %v in the other process, want EAGAIN", r.here, r.there)
	}
	if r.logs != nil {
		t.Errorf("Open = %v", r.logs)
	}
	if r.again != r.dead || r.after != syscall.EAGAIN {
		t.Errorf("%d streams of a dead controller made room for %d, then %v", r.dead, r.again, r.after)
	}
	if r.freed != nil {
		t.Errorf("after a shutdown: %v", r.freed)
	}
	if r.kept != syscall.EAGAIN || r.stale != nil || r.full != syscall.EAGAIN {
		t.Errorf("one more: %v while the process that a stream was left to lives, %v when it is dead, then %v",
			r.kept, r.stale, r.full)
	}
})

var _ = conform("CRE-09/posix_trace_create", func(t *testing.T) {
	// There is no context to cancel, and signals never interrupt it.
	duringSignals(t, func() {
		for range 30 {
			newStreamOf(t, 0, posixtrace.Attr{}).Shutdown()
			s, _ := newLoggedOf(t, 0, posixtrace.Attr{})
			s.Shutdown()
		}
	})
})

var invalidAttrs = []posixtrace.Attr{
	{StreamFullPolicy: posixtrace.PolicyAppend},
	{StreamFullPolicy: posixtrace.PolicyAppend + 1},
	{StreamFullPolicy: 255},
	{LogFullPolicy: posixtrace.PolicyFlush},
	{LogFullPolicy: posixtrace.PolicyAppend + 1},
	{LogFullPolicy: 255},
	{Inheritance: posixtrace.InheritChildren + 1},
	{Inheritance: 255},
	{StreamSize: -1},
	{LogSize: -1},
	{LogSize: -1 << 63},
	{MaxDataSize: new(-1)},
	{MaxDataSize: new(-1 << 63)},
}

var _ = conform("CRE-10/posix_trace_create/EINVAL", func(t *testing.T) {
	for _, a := range invalidAttrs {
		for _, pid := range []int{0, os.Getppid()} {
			_, err := posixtrace.Create(pid, &a)
			wantErrno(t, err, syscall.EINVAL)
			_, err = posixtrace.CreateWithLog(pid, &a, openFile(t, logPath(t), os.O_WRONLY))
			wantErrno(t, err, syscall.EINVAL)
		}
	}
})

var _ = conform("CRE-11/posix_trace_create/EINVAL", func(t *testing.T) {
	_, err := posixtrace.Create(0, &posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyFlush})
	wantErrno(t, err, syscall.EINVAL)
	newLoggedOf(t, 0, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyFlush})
})

// traceFiles is everything that this process and the directory hold, but for
// what belongs to processes and not to streams.
func traceFiles(t *testing.T) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(os.Getenv("PTRACE_DIR"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, "file "+e.Name())
	}
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil {
			list = append(list, "descriptor "+to)
		}
	}
	slices.Sort(list)
	return list
}

var _ = conform("CRE-12", func(t *testing.T) {
	gone, reap := newZombie(t)
	reap()
	crowded, fresh := newSleeper(t), newSleeper(t)
	for range posixtrace.StreamsMax {
		newStreamOf(t, crowded, smallestAttr)
	}
	newStreamOf(t, fresh, posixtrace.Attr{}).Shutdown() // so that it has its page
	const old = "what was there before"
	path := logPath(t)
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	log := openFile(t, path, os.O_RDWR)
	readonly := openFile(t, path, os.O_RDONLY)
	appending := openFile(t, path, os.O_RDWR|os.O_APPEND)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, c := range []struct {
		what string
		pid  int
		attr posixtrace.Attr
		log  *os.File
		want syscall.Errno
	}{
		{"no such process", gone, posixtrace.Attr{}, nil, syscall.ESRCH},
		{"no such process", gone, posixtrace.Attr{}, log, syscall.ESRCH},
		{"bad policy", fresh, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyAppend}, log, syscall.EINVAL},
		{"flush without log", fresh, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyFlush}, nil, syscall.EINVAL},
		{"not for writing", fresh, posixtrace.Attr{}, readonly, syscall.EBADF},
		{"pipe that loops", fresh, posixtrace.Attr{LogFullPolicy: posixtrace.PolicyLoop}, w, syscall.EINVAL},
		{"appending that loops", fresh, posixtrace.Attr{LogFullPolicy: posixtrace.PolicyUntilFull}, appending, syscall.EINVAL},
		{"too many on a process", crowded, posixtrace.Attr{}, nil, syscall.EAGAIN},
		{"too many on a process", crowded, posixtrace.Attr{}, log, syscall.EAGAIN},
		{"too many on a process", crowded, posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend}, appending, syscall.EAGAIN},
		{"too many on a process", crowded, posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend}, w, syscall.EAGAIN},
		{"too large", fresh, posixtrace.Attr{StreamSize: 1 << 39}, nil, syscall.ENOMEM},
		{"too large", fresh, posixtrace.Attr{StreamSize: 1 << 39}, log, syscall.ENOMEM},
	} {
		runtime.GC() // closes what tests before have forgotten
		before := traceFiles(t)
		var s *posixtrace.Stream
		if c.log == nil {
			s, err = posixtrace.Create(c.pid, &c.attr)
		} else {
			s, err = posixtrace.CreateWithLog(c.pid, &c.attr, c.log)
		}
		wantErrno(t, err, c.want)
		if s != nil {
			t.Errorf("%s: a stream is returned", c.what)
		}
		for _, l := range traceFiles(t) {
			if !slices.Contains(before, l) {
				t.Errorf("%s leaves %s", c.what, l)
			}
		}
		if n := len(traceFiles(t)); n > len(before) {
			t.Errorf("%s leaves %d traces, there were %d", c.what, n, len(before))
		}
		if b, err := os.ReadFile(path); string(b) != old || err != nil {
			t.Fatalf("%s: the log is %d bytes, %v", c.what, len(b), err)
		}
	}
	r.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if n, _ := r.Read(make([]byte, 1)); n != 0 {
		t.Error("something was written to the pipe")
	}
})

var _ = conform("CRE-13/posix_trace_create/EAGAIN", func(t *testing.T) {
	// Independent of each other, also of another controller's.
	c := tracetest.Start(t, "map")
	id := openIn(c, "cre.thirteen")
	other := tracetest.Start(t, "creator")
	if n, no := makeStreams(other, c.PID, 1); n != 1 {
		t.Fatal(no)
	}
	plain := running(t, c.PID, posixtrace.Attr{})
	stopped := running(t, c.PID, posixtrace.Attr{StreamSize: 1 << 20})
	filtered := running(t, c.PID, posixtrace.Attr{MaxDataSize: new(2)})
	full := running(t, c.PID, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, StreamSize: 1, MaxDataSize: new(0)})
	var set posixtrace.EventSet
	set.Add(id)
	filtered.SetFilter(set, posixtrace.FilterSet)
	stopped.Stop()
	c.Ask("event %d first", id)
	c.Ask("event %d second", posixtrace.EventUnnamed)
	equal(t, drain(t, plain), got{"cre.thirteen", "first", c.PID}, got{"posix_trace_unnamed_userevent", "second", c.PID})
	equal(t, drain(t, stopped))
	equal(t, drain(t, filtered), got{"posix_trace_unnamed_userevent", "se", c.PID})
	c.Ask("times %d 20000", id)
	for s, want := range map[*posixtrace.Stream]posixtrace.Status{
		plain:    {StreamStatus: posixtrace.StatusRunning},
		stopped:  {StreamStatus: posixtrace.StatusSuspended},
		filtered: {StreamStatus: posixtrace.StatusRunning},
		full:     {StreamStatus: posixtrace.StatusSuspended, StreamFullStatus: posixtrace.StatusFull, StreamOverrunStatus: posixtrace.StatusOverrun},
	} {
		have, err := s.Status()
		if s == plain { // the one that loops has its own business
			have.StreamFullStatus, have.StreamOverrunStatus = posixtrace.StatusNotFull, posixtrace.StatusNoOverrun
		}
		have.Lost = 0
		if have != want || err != nil {
			t.Errorf("status %+v, %v, want %+v", have, err, want)
		}
	}
	plain.Shutdown()
	if n := len(drain(t, full)); n == 0 {
		t.Error("nothing left in one stream after another was shut down")
	}

	// No more than 64, of all controllers together.
	pid := newSleeper(t)
	if n, no := makeStreams(other, pid, 10); n != 10 {
		t.Fatal(no)
	}
	var mine []*posixtrace.Stream
	for range posixtrace.StreamsMax - 10 {
		mine = append(mine, newStreamOf(t, pid, smallestAttr))
	}
	_, err := posixtrace.Create(pid, &smallestAttr)
	wantErrno(t, err, syscall.EAGAIN)
	if n, no := makeStreams(other, pid, 1); n != 0 || no != syscall.EAGAIN {
		t.Errorf("another controller: %d, %v, want EAGAIN", n, no)
	}
	newStreamOf(t, newSleeper(t), smallestAttr) // another process is another matter
	mine[3].Shutdown()
	newStreamOf(t, pid, smallestAttr)
	_, err = posixtrace.Create(pid, &smallestAttr)
	wantErrno(t, err, syscall.EAGAIN)
	// The streams of a dead controller do not count.
	other.Cmd.Process.Kill()
	other.Cmd.Wait()
	for range 10 {
		newStreamOf(t, pid, smallestAttr)
	}
	_, err = posixtrace.Create(pid, &smallestAttr)
	wantErrno(t, err, syscall.EAGAIN)
})

var _ = conform("CRE-14", func(t *testing.T) {
	var cs []*tracetest.Child
	var ss []*posixtrace.Stream
	for range 3 {
		c := tracetest.Start(t, "map")
		cs, ss = append(cs, c), append(ss, running(t, c.PID, posixtrace.Attr{}))
	}
	for i, c := range cs {
		c.Ask("event %d of.%d", posixtrace.EventUnnamed, i)
	}
	for i, c := range cs {
		equal(t, drain(t, ss[i]), got{"posix_trace_unnamed_userevent", fmt.Sprintf("of.%d", i), c.PID})
	}
})

var _ = conform("CRE-16", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	before := running(t, c.PID, posixtrace.Attr{}) // the target has not used the package yet
	// The test creates and shuts down streams while the target registers and passes trace points.
	done := make(chan string)
	go func() { done <- c.Ask("fill cre.sixteen. 300") }()
	var during []*posixtrace.Stream
	for len(done) == 0 && len(during) < 8 {
		during = append(during, running(t, c.PID, posixtrace.Attr{}))
	}
	if l := <-done; l != "300 0" {
		t.Fatal(l)
	}
	after := running(t, c.PID, posixtrace.Attr{})
	for i := range 300 {
		name := fmt.Sprintf("cre.sixteen.%d", i)
		id := openIn(c, name)
		for _, s := range append(during, before, after) {
			if n, err := s.EventName(id); n != name || err != nil {
				t.Fatalf("EventName(%d) = %q, %v, want %q", id, n, err, name)
			}
		}
	}
	c.Ask("event %d all", posixtrace.EventUnnamed)
	for _, s := range append(during, before, after) {
		equal(t, drain(t, s), got{"posix_trace_unnamed_userevent", "all", c.PID})
	}
	// A process that never uses its stream.
	s := running(t, newSleeper(t), posixtrace.Attr{})
	equal(t, drain(t, s))
})

var _ = conform("CRE-17", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	ids := map[string]posixtrace.EventID{}
	for i := range 5 {
		name := fmt.Sprintf("cre.seventeen.%d", i)
		ids[name] = openIn(c, name)
	}
	logged, path := newLoggedOf(t, c.PID, posixtrace.Attr{})
	s := newStreamOf(t, c.PID, posixtrace.Attr{})
	check := func(s typeLister) {
		t.Helper()
		list := listTypes(t, s)
		for name, id := range ids {
			if n, err := s.EventName(id); n != name || err != nil || !slices.Contains(list, name) {
				t.Errorf("EventName(%d) = %q, %v, want %q; list %v", id, n, err, name, list)
			}
		}
	}
	check(s)
	check(logged)
	logged.Shutdown()
	check(openLogAt(t, path))
})

// tidyDirectory has a create tidy the trace directory up, as it does when a process has as many
// streams as it may have.
func tidyDirectory(t *testing.T) {
	t.Helper()
	var streams []*posixtrace.Stream
	for {
		s, err := posixtrace.Create(0, &posixtrace.Attr{StreamSize: 1})
		if err != nil {
			wantErrno(t, err, syscall.EAGAIN)
			break
		}
		streams = append(streams, s)
	}
	for _, s := range streams {
		tracetest.OK(t, "Shutdown", s.Shutdown())
	}
}

// useStream uses a stream in every way but the reader calls.
func useStream(t *testing.T, s *posixtrace.Stream, flush error) {
	t.Helper()
	id := eventID(t, "cre.matrix")
	ok := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s = %v", what, err)
		}
	}
	ok("start", s.Start())
	ok("stop", s.Stop())
	ok("clear", s.Clear())
	_, err := s.Status()
	ok("get_status", err)
	_, err = s.Attr()
	ok("get_attr", err)
	_, err = s.Filter()
	ok("get_filter", err)
	ok("set_filter", s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet))
	_, err = s.EventID("cre.matrix")
	ok("trid_eventid_open", err)
	_, err = s.EventName(id)
	ok("eventid_get_name", err)
	_, _, err = s.NextEventType()
	ok("eventtypelist_getnext_id", err)
	ok("eventtypelist_rewind", s.RewindEventTypes())
	if err := s.Flush(); flush == nil {
		ok("flush", err)
	} else {
		wantErrno(t, err, syscall.EINVAL)
	}
}

var _ = conform("CRE-18/EINVAL", func(t *testing.T) {
	s := newStreamOf(t, 0, posixtrace.Attr{})
	useStream(t, s, syscall.EINVAL)
	s.Start()
	if _, _, err := s.Next(timeoutContext(t, time.Minute), nil); err != nil {
		t.Errorf("getnext = %v", err)
	}
	recordUnnamed(2)
	if _, _, err := s.TimedNext(time.Now().Add(time.Minute), nil); err != nil {
		t.Errorf("timedgetnext = %v", err)
	}
	if _, _, err := s.TryNext(nil); err != nil {
		t.Errorf("trygetnext = %v", err)
	}
	if err := s.Shutdown(); err != nil {
		t.Errorf("shutdown = %v", err)
	}
	// rewind and close are methods of a Log alone; the Close of a Stream is an
	// extension, which gives it up.
	if _, ok := any(s).(interface{ Rewind() error }); ok {
		t.Error("an active stream can be rewound")
	}
})

var _ = conform("CRE-19", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	s, path := newLoggedOf(t, c.PID, posixtrace.Attr{Name: "nineteen"})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	c.Ask("event %d one", openIn(c, "cre.nineteen"))
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	l := openLogAt(t, path)
	if data := userData(t, l); fmt.Sprint(data) != "[one]" {
		t.Errorf("the log holds %q", data)
	}
	if a, _ := l.Attr(); a.Name != "nineteen" {
		t.Errorf("the log is of %q", a.Name)
	}
	// The errors of create.
	log := openFile(t, logPath(t), os.O_WRONLY)
	gone, reap := newZombie(t)
	reap()
	_, err := posixtrace.CreateWithLog(gone, nil, log)
	wantErrno(t, err, syscall.ESRCH)
	for _, a := range invalidAttrs {
		_, err := posixtrace.CreateWithLog(0, &a, log)
		wantErrno(t, err, syscall.EINVAL)
	}
	_, err = posixtrace.CreateWithLog(0, &posixtrace.Attr{StreamSize: 1 << 60}, log)
	wantErrno(t, err, syscall.ENOMEM)
	pid := newSleeper(t)
	for range posixtrace.StreamsMax {
		newStreamOf(t, pid, smallestAttr)
	}
	_, err = posixtrace.CreateWithLog(pid, nil, log)
	wantErrno(t, err, syscall.EAGAIN)
})

var _ = conform("CRE-20/posix_trace_create_withlog/EBADF", func(t *testing.T) {
	path := logPath(t)
	closed := openFile(t, path, os.O_WRONLY)
	closed.Close()
	opath, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	rw, err := unix.Open(path, unix.O_PATH|unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*os.File{
		"nil": nil, "closed": closed, "O_RDONLY": openFile(t, path, os.O_RDONLY),
		"O_PATH": os.NewFile(uintptr(opath), "opath"), "O_PATH|O_RDWR": os.NewFile(uintptr(rw), "opath"),
		"directory": dir, "reading end of a pipe": pr, "no descriptor": os.NewFile(1<<20, "none"),
	}
	for what, f := range files {
		for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend} {
			t.Run(what, func(t *testing.T) {
				_, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogFullPolicy: p}, f)
				wantErrno(t, err, syscall.EBADF)
			})
		}
	}
	for _, f := range []*os.File{dir, pr, pw, files["O_PATH"], files["O_PATH|O_RDWR"]} {
		f.Close()
	}
})

var _ = conform("CRE-21/posix_trace_create_withlog/EINVAL", func(t *testing.T) {
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyDefault, posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend} {
		s, path := newLoggedOf(t, 0, posixtrace.Attr{LogFullPolicy: p})
		s.Start()
		recordUnnamed(3)
		if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
		if data := userData(t, openLogAt(t, path)); !slices.Equal(data, numberStrings(3)) {
			t.Errorf("%v: the log holds %q", p, data)
		}
	}

	// Files that cannot seek.
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ends := map[string]func() (r, w *os.File){
		"pipe": func() (r, w *os.File) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			return r, w
		},
		"fifo": func() (r, w *os.File) {
			fd, err := unix.Open(fifo, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			return os.NewFile(uintptr(fd), fifo), openFile(t, fifo, os.O_WRONLY)
		},
		"socket": func() (r, w *os.File) {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			return os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket")
		},
		"character device": func() (r, w *os.File) { return nil, openFile(t, "/dev/null", os.O_WRONLY) },
	}
	for what, open := range ends {
		r, w := open()
		for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyDefault, posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
			_, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogFullPolicy: p}, w)
			wantErrno(t, err, syscall.EINVAL)
		}
		s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend}, w)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		w.Close()
		s.Start()
		recordUnnamed(3)
		if err := s.Shutdown(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if r == nil {
			continue
		}
		rd, err := posixtrace.NewReader(r)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		n := 0
		for rec, err := rd.Next(); err == nil; rec, err = rd.Next() {
			if rec.ID.User() {
				if string(rec.Data) != strconv.Itoa(n) {
					t.Errorf("%s: event %d is %q", what, n, rec.Data)
				}
				n++
			}
		}
		if st, err := rd.State(); n != 3 || st != posixtrace.LogFinished {
			t.Errorf("%s: %d events in a log that is %v, %v", what, n, st, err)
		}
		rd.Close()
		r.Close()
	}

	// Files that cannot be logs.
	ev, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string]*os.File{"eventfd": os.NewFile(uintptr(ev), "eventfd")}
	// A loop device to which nothing is attached.
	if fd, err := unix.Open("/dev/loop7", unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
		bad["block device"] = os.NewFile(uintptr(fd), "/dev/loop7")
	}
	for what, f := range bad {
		for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyDefault, posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend} {
			s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogFullPolicy: p}, f)
			var e *posixtrace.Error
			if !errors.As(err, &e) || e.Err != syscall.EINVAL {
				t.Errorf("%s, %v: %v, want EINVAL", what, p, err)
			}
			if err == nil {
				s.Shutdown()
			}
		}
		f.Close()
	}
})

var _ = conform("CRE-22/posix_trace_create_withlog/EINVAL", func(t *testing.T) {
	path := logPath(t)
	for _, flags := range []int{os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_APPEND} {
		f := openFile(t, path, flags)
		for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyDefault, posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
			_, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogFullPolicy: p}, f)
			wantErrno(t, err, syscall.EINVAL)
		}
		s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend, StreamSize: 1}, f)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		want := numberStrings(500)
		for i, n := range want {
			posixtrace.Event(posixtrace.EventUnnamed, []byte(n))
			if i%10 == 9 {
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
		if data := userData(t, openLogAt(t, path)); !slices.Equal(data, want) {
			t.Errorf("the log holds %d events, want %d", len(data), len(want))
		}
	}
})

// fillSpace runs in a mount namespace of its own and says what goes wrong.
func fillSpace(args []string) {
	defer fmt.Println("end")
	dir := args[0]
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		fmt.Println("cannot:", err)
		return
	}
	if err := unix.Mount("small", dir, "tmpfs", 0, "size=512k,mode=700"); err != nil {
		fmt.Println("cannot:", err)
		return
	}
	open := func(name string) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return f
	}
	refused := func(what string, a posixtrace.Attr) {
		before, _ := posixtrace.List()
		f := open("refused.trace")
		defer f.Close()
		s, err := posixtrace.CreateWithLog(0, &a, f)
		var e *posixtrace.Error
		if s != nil || !errors.As(err, &e) || e.Err != syscall.ENOSPC {
			fmt.Printf("%s: %v, want ENOSPC\n", what, err)
		}
		var st unix.Stat_t
		if unix.Fstat(int(f.Fd()), &st); st.Blocks != 0 || st.Size != 0 {
			fmt.Printf("%s: leaves %d blocks and %d bytes\n", what, st.Blocks, st.Size)
		}
		if list, err := posixtrace.List(); len(list) != len(before) || err != nil {
			fmt.Printf("%s: leaves %v, %v\n", what, list, err)
		}
	}
	refused("loop", posixtrace.Attr{LogSize: 1 << 20, StreamSize: 1})
	refused("until-full", posixtrace.Attr{LogSize: 1 << 20, StreamSize: 1, LogFullPolicy: posixtrace.PolicyUntilFull})

	// A log keeps its reserved room, however full the file system becomes.
	var reserved []*posixtrace.Stream
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogSize: 100 << 10, StreamSize: 16 << 10, LogFullPolicy: p}, open(p.String()+".trace"))
		if err != nil {
			fmt.Println(p, err)
			continue
		}
		reserved = append(reserved, s)
	}
	filler := open("filler")
	for b := make([]byte, 4096); ; {
		if _, err := filler.Write(b); err != nil {
			break
		}
	}
	refused("append", posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend})
	for _, s := range reserved {
		s.Start()
		for i := range 8 {
			for range 10 {
				posixtrace.Event(posixtrace.EventUnnamed, make([]byte, 500))
			}
			if err := s.Flush(); err != nil {
				fmt.Println("flush", i, "into reserved room:", err)
			}
		}
	}
	os.Remove(filepath.Join(dir, "filler"))
	filler.Close()
	for _, s := range reserved {
		if err := s.Shutdown(); err != nil {
			fmt.Println("shutdown:", err)
		}
	}

	// A file system that cannot reserve room gets the header only.
	if err := unix.Mount("ramfs", dir, "ramfs", 0, "mode=700"); err != nil {
		fmt.Println("cannot:", err)
		return
	}
	f := open("ramfs.trace")
	s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogSize: 1 << 20, LogFullPolicy: posixtrace.PolicyUntilFull}, f)
	if err != nil {
		fmt.Println("ramfs:", err)
		return
	}
	if st, err := f.Stat(); err != nil || st.Size() == 0 || st.Size() > 64<<10 {
		fmt.Println("ramfs: log of", st.Size(), "bytes", err)
	}
	s.Shutdown()
}

var _ = conform("CRE-23/posix_trace_create_withlog/ENOSPC", func(t *testing.T) {
	tracetest.NeedRoot(t)
	cmd := exec.Command(os.Args[0], t.TempDir())
	cmd.Env = append(os.Environ(), tracetest.HelperVar+"=space", tracetest.Quick, "PTRACE_DIR="+newDirectory(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	tracetest.Need(t, !errors.Is(err, syscall.EPERM) && !strings.HasPrefix(string(out), "cannot:"), "private mounts")
	if err != nil || string(out) != "end\n" {
		t.Errorf("%v\n%s", err, out)
	}
})

var _ = conform("CRE-24", func(t *testing.T) {
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend} {
		path := logPath(t)
		f := openFile(t, path, os.O_WRONLY)
		s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{LogFullPolicy: p, LogSize: 100 << 10, StreamSize: 1}, f)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		for range 20 {
			recordUnnamed(40)
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(maps), path) {
			t.Errorf("%v: the log is mapped", p)
		}
		if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
		if data := userData(t, openLogAt(t, path)); len(data) < 40 || p == posixtrace.PolicyAppend && len(data) != 800 {
			t.Errorf("%v: the log holds %d events", p, len(data))
		}
	}
})

var _ = conform("CRE-25", func(t *testing.T) {
	for _, p := range []posixtrace.FullPolicy{posixtrace.PolicyLoop, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend} {
		path := logPath(t)
		record := func(n int, a posixtrace.Attr) {
			t.Helper()
			s, err := posixtrace.CreateWithLog(0, &a, openFile(t, path, os.O_WRONLY))
			if err != nil {
				t.Fatal(err)
			}
			if st, _ := os.Stat(path); st.Size() < 8<<20 && a.Name == "" {
				t.Errorf("%v: creation cut the file to %d bytes", p, st.Size())
			}
			s.Start()
			for i := range n {
				posixtrace.Event(posixtrace.EventUnnamed, []byte(strconv.Itoa(i)))
				if i%100 == 99 {
					s.Flush()
				}
			}
			if err := s.Shutdown(); err != nil {
				t.Fatal(err)
			}
		}
		// Room that the caller has reserved, then an older and longer log.
		f := openFile(t, path, os.O_RDWR)
		if err := syscall.Fallocate(int(f.Fd()), 0, 0, 8<<20); err != nil {
			t.Fatal(err)
		}
		record(3000, posixtrace.Attr{LogFullPolicy: p, LogSize: 4 << 20})
		old, _ := os.Stat(path)
		if old.Size() >= 8<<20 {
			t.Errorf("%v: the log is %d bytes", p, old.Size())
		}
		if data := userData(t, openLogAt(t, path)); !slices.Equal(data, numberStrings(3000)) {
			t.Errorf("%v: %d events in reserved room", p, len(data))
		}
		record(7, posixtrace.Attr{LogFullPolicy: p, LogSize: 100 << 10, Name: "short"})
		now, _ := os.Stat(path)
		if now.Size() >= old.Size() {
			t.Errorf("%v: a short log of %d bytes over one of %d", p, now.Size(), old.Size())
		}
		if data := userData(t, openLogAt(t, path)); !slices.Equal(data, numberStrings(7)) {
			t.Errorf("%v: %d events of %q over an older log", p, len(data), data)
		}
		// Rubbish, longer than the log.
		if err := os.WriteFile(path, []byte(strings.Repeat("rubbish\xff", 1<<17)), 0o600); err != nil {
			t.Fatal(err)
		}
		record(5, posixtrace.Attr{LogFullPolicy: p, LogSize: 100 << 10, Name: "short"})
		if data := userData(t, openLogAt(t, path)); !slices.Equal(data, numberStrings(5)) {
			t.Errorf("%v: %d events over rubbish", p, len(data))
		}
	}
})

var _ = conform("CRE-26", func(t *testing.T) {
	path := logPath(t)
	f := openFile(t, path, os.O_WRONLY)
	early := openFile(t, path+".early.trace", os.O_WRONLY)
	if _, err := f.Seek(5, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	s, err := posixtrace.CreateWithLog(0, nil, f)
	if err != nil {
		t.Fatal(err)
	}
	s2, err := posixtrace.CreateWithLog(0, nil, early)
	if err != nil {
		t.Fatal(err)
	}
	early.Close()
	// Every descriptor on the file but the application's is closed on exec.
	fds, _ := filepath.Glob("/proc/self/fd/*")
	ours := 0
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); to != path && to != path+".early.trace" {
			continue
		}
		info, err := os.ReadFile("/proc/self/fdinfo/" + filepath.Base(fd))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(info), "flags:")
		var flags int
		fmt.Sscanf(rest, "%o", &flags)
		if flags&syscall.O_CLOEXEC == 0 {
			t.Errorf("descriptor %s is not closed on exec", fd)
		}
		ours++
	}
	if ours != 3 {
		t.Errorf("%d descriptors on two logs, want one of the application's and two of ours", ours)
	}
	for _, s := range []*posixtrace.Stream{s, s2} {
		s.Start()
	}
	recordUnnamed(4)
	for _, s := range []*posixtrace.Stream{s, s2} {
		if err := s.Flush(); err != nil {
			t.Error(err)
		}
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	}
	if _, err := f.Stat(); err != nil {
		t.Errorf("the application's descriptor: %v", err)
	}
	if at, err := f.Seek(0, io.SeekCurrent); at != 5 || err != nil {
		t.Errorf("its offset is %d, %v, want 5", at, err)
	}
	for _, p := range []string{path, path + ".early.trace"} {
		if data := userData(t, openLogAt(t, p)); !slices.Equal(data, numberStrings(4)) {
			t.Errorf("%s holds %q", p, data)
		}
	}
})

var _ = conform("CRE-27/EINVAL", func(t *testing.T) {
	s, _ := newLoggedOf(t, 0, posixtrace.Attr{})
	useStream(t, s, nil)
	s.Start()
	_, _, err := s.Next(timeoutContext(t, time.Minute), nil)
	wantErrno(t, err, syscall.EINVAL)
	_, _, err = s.TimedNext(time.Now().Add(time.Minute), nil)
	wantErrno(t, err, syscall.EINVAL)
	_, _, err = s.TryNext(nil)
	wantErrno(t, err, syscall.EINVAL)
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
})

var _ = conform("CRE-28", func(t *testing.T) {
	old := time.Unix(1000000000, 0)
	path := logPath(t)
	f := openFile(t, path, os.O_WRONLY)
	changed := func(what string, do func() error) {
		t.Helper()
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		var before, after unix.Stat_t
		unix.Stat(path, &before)
		// The clock of the file system is coarse.
		for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; {
			runtime.Gosched()
		}
		if err := do(); err != nil {
			t.Fatal(err)
		}
		unix.Stat(path, &after)
		if after.Mtim.Sec == old.Unix() || after.Ctim == before.Ctim {
			t.Errorf("%s leaves the times at %v and %v", what, after.Mtim, after.Ctim)
		}
	}
	var s *posixtrace.Stream
	changed("create_withlog", func() (err error) { s, err = posixtrace.CreateWithLog(0, nil, f); return err })
	s.Start()
	recordUnnamed(1)
	changed("flush", s.Flush)
	recordUnnamed(1)
	changed("shutdown", s.Shutdown)
	if err := os.Chtimes(path, old, time.Now()); err != nil {
		t.Fatal(err)
	}
	l := openLogAt(t, path)
	if data := userData(t, l); len(data) != 2 {
		t.Errorf("%q", data)
	}
	var fs unix.Statfs_t
	var st unix.Stat_t
	if err := unix.Statfs(path, &fs); err != nil {
		t.Fatal(err)
	}
	if unix.Stat(path, &st); st.Atim.Sec == old.Unix() && fs.Flags&(unix.ST_NOATIME) == 0 {
		t.Error("reading leaves the access time")
	}
})

var _ = conform("CRE-29", func(t *testing.T) {
	c := tracetest.Start(t, "map")
	s := running(t, c.PID, posixtrace.Attr{})
	id := openIn(c, "cre.twentynine")
	c.Ask("event %d last", id)
	c.In.Close()
	c.Cmd.Wait()
	if st, err := s.Status(); err != nil || st.StreamStatus != posixtrace.StatusRunning {
		t.Errorf("status %+v, %v", st, err)
	}
	list, err := posixtrace.List() // not taken for a dead one
	if err != nil || !slices.ContainsFunc(list, func(i posixtrace.StreamInfo) bool { return i.PID == c.PID }) {
		t.Errorf("List = %v, %v", list, err)
	}
	equal(t, drain(t, s), got{"cre.twentynine", "last", c.PID})
	if n, err := s.EventName(id); n != "cre.twentynine" || err != nil {
		t.Errorf("EventName = %q, %v", n, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err = s.Next(ctx, nil) // blocks until then
	wantErrno(t, err, syscall.EINTR)
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if ev, _, err := s.TryNext(nil); err != nil || ev.ID != posixtrace.EventStop {
		t.Errorf("TryNext = %+v, %v", ev, err)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
})
