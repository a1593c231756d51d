package traced

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// A C program is traced from outside: names, data, process, thread and address are right.
func TestProgramIsTraced(t *testing.T) {
	p := startPeer(t)
	before := p.number("fds")
	id := p.number("open first")
	p.done("event %d 3", id) // nothing traces it yet
	s := create(t, p.pid, nil)
	p.done("event %d 1000", id)
	p.done("unnamed hello")
	list := events(t, s)
	if len(list) != 1001 {
		t.Fatalf("%d events", len(list))
	}
	for i, e := range list[:1000] {
		if e.name != "first" || e.number() != i || e.PID != p.pid || e.TID != p.pid || e.Address == 0 || int(e.ID) != id {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
	if e := list[1000]; e.ID != posixtrace.EventUnnamed || e.data != "hello" || e.Address == list[0].Address {
		t.Errorf("%+v", e)
	}
	none(t, s)
	if n := p.number("fds"); n != before {
		t.Errorf("%d descriptors are open, before it was traced %d", n, before)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	p.done("event %d 3", id)
	p.end()
}

// A stream attached later, or to a program that records already, gets what comes from then on.
func TestStreamsComeAndGo(t *testing.T) {
	p := startPeer(t)
	id := p.number("open x")
	first := create(t, p.pid, nil)
	for i := range 20 {
		s := create(t, p.pid, &posixtrace.Attr{Name: fmt.Sprint(i)})
		p.done("event %d 5", id)
		if n := len(events(t, s)); n != 5 {
			t.Errorf("stream %d: %d events", i, n)
		}
		none(t, s)
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		p.done("event %d 1", id)
	}
	if n := len(events(t, first)); n != 120 {
		t.Errorf("%d events", n)
	}
	p.end()
}

// A process that cannot connect for want of descriptors counts as missed, once; streams that it has
// stay connected. It retries.
func TestMissedForWantOfDescriptors(t *testing.T) {
	p := startPeer(t)
	id := p.number("open x")
	first := create(t, p.pid, nil)
	p.done("event %d 1", id)
	p.done("nofile 3")
	second := create(t, p.pid, nil)
	for range 3 {
		p.done("event %d 5", id)
	}
	if n := len(events(t, first)); n != 16 {
		t.Errorf("%d events in the stream that was there", n)
	}
	p.done("nofile 0")
	// It may have failed more than once, so the pause is 1 s at least.
	tracetest.Wait(t, "the retry", func() bool {
		p.done("event %d 5", id)
		return len(events(t, second)) == 5
	})
	if st, err := second.Status(); err != nil || st.Missed != 1 || st.MissedError != syscall.EMFILE {
		t.Errorf("%+v, %v", st, err)
	}
	none(t, first)
	p.end()
}

// A program that the process executes connects anew. The slot and the names of the one before do not
// count.
func TestExec(t *testing.T) {
	p := startPeer(t)
	s := create(t, p.pid, nil)
	for range 3 {
		id := p.number("open x")
		p.done("event %d 10", id)
		if got := p.ask("count 1000"); !strings.HasPrefix(got, "0 1000 ") {
			t.Errorf("1000 names: %s", got)
		}
		p.done("unnamed before")
		fmt.Fprintln(p.in, "exec")
	}
	p.done("unnamed last")
	list := events(t, s)
	if len(list) != 34 {
		t.Errorf("%d events", len(list))
	}
	none(t, s)
	p.end()
}

// A process has TRACE_USER_EVENT_MAX user event types, the unnamed one included; further names get that
// one. A name has TRACE_EVENT_NAME_MAX bytes.
func TestNameLimits(t *testing.T) {
	p := startPeer(t)
	if got := p.ask("count 1030"); got != fmt.Sprintf("0 %d %d", posixtrace.UserEventMax-1, posixtrace.EventUnnamed) {
		t.Errorf("1030 names: %s", got)
	}
	long := strings.Repeat("n", posixtrace.EventNameMax)
	if n := p.number("open %sx", long); n != -int(syscall.ENAMETOOLONG) {
		t.Errorf("a name of 256 bytes: %d", n)
	}
	if n := p.number("open n 7"); n == int(posixtrace.EventUnnamed) || n <= 0 {
		t.Errorf("a name that it has: %d", n)
	}
	if n := p.number("open posix_trace_start"); n != int(posixtrace.EventStart) {
		t.Errorf("a predefined name: %d", n)
	}
	p.end()
	q := startPeer(t)
	if n := q.number("open %s", long); n < 33 {
		t.Errorf("a name of 255 bytes: %d", n)
	}
	for _, name := range []string{"posix_trace_error", "proc.exit", "output.stderr", "posix_trace_unnamed_userevent"} {
		s := create(t, q.pid, nil)
		want, err := s.EventID(name)
		if got := q.number("open %s", name); err != nil || got != int(want) {
			t.Errorf("%s: %d, want %d, %v", name, got, want, err)
		}
	}
	q.end()
}

// A filter with patterns holds for names that do not exist yet.
func TestFilterPatterns(t *testing.T) {
	p := startPeer(t)
	s := create(t, p.pid, nil)
	err := s.FilterOps([]posixtrace.FilterOp{
		{How: posixtrace.FilterAdd, Patterns: []string{"noise.*"}},
		{How: posixtrace.FilterSub, Patterns: []string{"noise.loud"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"noise.a", "signal", "noise.loud", "noise.b"} {
		p.done("event %d 1", p.number("open %s", name))
	}
	var got []string
	for _, e := range events(t, s) {
		got = append(got, e.name)
	}
	if want := []string{"signal", "noise.loud"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	p.end()
}

// A stream that is not inherited traces the process alone; an inherited one also its children.
func TestInheritance(t *testing.T) {
	for _, how := range []posixtrace.Inheritance{posixtrace.InheritNone, posixtrace.InheritChildren} {
		p := startPeer(t)
		s := create(t, p.pid, &posixtrace.Attr{Inheritance: how})
		p.done("unnamed parent")
		child := p.number("fork")
		p.done("unnamed child")
		grandchild := p.number("fork")
		p.done("unnamed grandchild")
		pids := []int{p.pid}
		if how == posixtrace.InheritChildren {
			pids = append(pids, child, grandchild)
		}
		var got []int
		for _, e := range events(t, s) {
			got = append(got, e.PID)
		}
		if !slices.Equal(got, pids) {
			t.Errorf("%v: events of processes %d, want %d", how, got, pids)
		}
		none(t, s)
		p.end()
	}
}

// A program that $PTRACE_STREAM leads to a stream is connected before main: it may enter a sandbox then.
// It finds the stream although no ancestor of its is traced.
func TestConnectedBeforeMain(t *testing.T) {
	owner := startPeer(t)
	s := create(t, owner.pid, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	owner.done("unnamed owner")
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // start times count in hundredths of a second
	p := startPeer(t, "PTRACE_STREAM="+info.Path)
	p.done("nofile 3") // nothing can be opened any more
	p.done("unnamed heir")
	var got []string
	for _, e := range events(t, s) {
		got = append(got, e.data)
	}
	if want := []string{"owner", "heir"}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if a, b := owner.number("open same"), func() int { p.done("nofile 0"); return p.number("open same") }(); a != b {
		t.Errorf("a name has the ids %d and %d in one family", a, b)
	}
	none(t, s)
	p.end()
	for _, path := range []string{"s-0123456789abcdef", info.Path + "x", "/nowhere/s-0123456789abcdef", "/", strings.Repeat("/x", 3000)} {
		q := startPeer(t, "PTRACE_STREAM="+path)
		q.done("unnamed stranger")
		q.end()
	}
	if list := events(t, s); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	owner.end()
}

// Processes that nothing traces leave no more files than they must.
func TestShortLivedProcessesLeaveNoFiles(t *testing.T) {
	dir := ctest.TraceDir(t)
	program := ctest.C(t, "testdata/peer.c")
	const processes = 150
	for range processes {
		cmd := ctest.Command(t, dir, program)
		cmd.Stdin = strings.NewReader("open x\nunnamed y\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) > processes/3 {
		t.Errorf("%d processes have left %d files", processes, len(files))
	}
}

// A set-uid program trusts no environment, and is traced by no stream of its directory (INH-16).
func TestSetUIDProgram(t *testing.T) {
	tracetest.NeedRoot(t)
	native(t)
	owner := startPeer(t)
	s := create(t, owner.pid, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	owner.done("unnamed owner")
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "setuid")
	// Static: the library's directory is not open to other users.
	b, err := os.ReadFile(ctest.Build(t, ctest.Program{Sources: []string{"testdata/peer.c"}, Static: true}))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, b, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, os.ModeSetuid|0o755); err != nil {
		t.Fatal(err)
	}
	for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	elsewhere := filepath.Join(dir, "elsewhere")
	cmd := exec.Command(program)
	cmd.Env = []string{"PTRACE_DIR=" + elsewhere, "PTRACE_STREAM=" + info.Path}
	tracetest.InOwnShm(t, cmd, 65534)
	secret := startCommand(t, cmd)
	secret.done("unnamed secret")
	secret.ask("open x")
	// It uses the directory of the user that it has become.
	pages, _ := filepath.Glob(fmt.Sprintf("/proc/%d/root/dev/shm/posixtrace-0/p-%[1]d-*", cmd.Process.Pid))
	secret.end()
	if len(pages) != 1 {
		t.Errorf("pages of the program: %v", pages)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("the directory that the environment names was made")
	}
	for _, e := range events(t, s) {
		if e.data != "owner" {
			t.Errorf("recorded: %q", e.data)
		}
	}
	owner.end()
}

// A process that is traced again and again stays small.
func TestManyStreamsOneAfterAnother(t *testing.T) {
	native(t)
	p := startPeer(t)
	id := p.number("open x")
	size := func() (kb int) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), "VmRSS:")
		fmt.Sscan(rest, &kb)
		return kb
	}
	before := size()
	const streams = 200
	for range streams {
		s := create(t, p.pid, &posixtrace.Attr{StreamSize: 256 << 10})
		p.done("event %d 100", id)
		if n := len(events(t, s)); n != 100 {
			t.Fatalf("%d events", n)
		}
		s.Shutdown()
	}
	if grown := size() - before; grown > streams*16 {
		t.Errorf("the process has grown by %d kB", grown)
	} else {
		t.Logf("%d streams, %d kB", streams, grown)
	}
	p.end()
}

// A process that nothing traced removes its files when it exits, unless a child may want its names.
// What others leave behind, later processes sweep.
func TestUntracedProcessLeavesNoFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traces")
	left := func(pattern string) int {
		t.Helper()
		list, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	begin := func() *peer {
		t.Helper()
		p := startPeer(t, "PTRACE_DIR="+dir)
		if p.number("open a name") <= 0 {
			t.Fatal("no id")
		}
		return p
	}
	p := begin()
	if left("p-*") != 1 || left("n-*") != 1 {
		t.Fatalf("%d pages, %d files of names of a running process", left("p-*"), left("n-*"))
	}
	p.end()
	if n := left("[pn]-*"); n != 0 {
		t.Errorf("%d files of a process that has ended", n)
	}
	p = begin()
	p.ask("fork")
	p.end()
	if left("p-*") == 0 || left("n-*") == 0 {
		t.Error("a process with a child removed its files")
	}
	const killed = 40
	for range killed {
		p := begin()
		p.cmd.Process.Kill()
		p.cmd.Wait()
		p.over = true
	}
	if n := left("p-*"); n >= killed/2 {
		t.Errorf("%d pages of %d killed processes", n, killed)
	}
	if n := left("n-*"); n >= killed/2 {
		t.Errorf("%d files of names of %d killed processes", n, killed)
	}
}

// A daemon uses the ids that its parent has opened, who ends before the first event of the daemon. The
// page of the daemon is its own, or one that a controller has made; what its parents left is gone.
func TestDaemonKeepsNames(t *testing.T) {
	for _, names := range []int{3, 300} { // with and without memory beyond the first page
		for _, first := range []bool{false, true} {
			t.Run(fmt.Sprint(names, " names, own page ", first), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "traces")
				t.Cleanup(tool.ForgetDirectory)
				t.Setenv("PTRACE_DIR", dir)
				tool.ForgetDirectory()
				p := startPeer(t)
				ids := make([]int, names)
				for i := range ids {
					ids[i] = p.number("open name.%d", i)
				}
				p.number("daemon")
				daemon := p.number("daemon")
				left, err := filepath.Glob(filepath.Join(dir, "[pn]-*"))
				if err != nil || len(left) == 0 {
					t.Fatalf("%d files, %v", len(left), err)
				}
				for _, name := range left {
					tracetest.OK(t, "Remove", os.Remove(name))
				}
				if first {
					p.done("event %d 1", ids[1])
				}
				s := create(t, daemon, nil)
				p.done("event %d 1", ids[names-1])
				more := p.number("open more")
				p.done("event %d 1", more)
				var got []string
				for _, e := range events(t, s) {
					got = append(got, e.name)
				}
				if want := fmt.Sprintf("[name.%d more]", names-1); fmt.Sprint(got) != want || more != ids[names-1]+1 {
					t.Errorf("recorded: %q, want %s; the id of a further name is %d", got, want, more)
				}
				p.end()
			})
		}
	}
}

// A process whose parent has ended finds the stream by the page of its session's leader.
func TestInheritFromLeaderOfSession(t *testing.T) {
	native(t) // the shell starts the program
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd := command(t, "/bin/sh", "-c", `read go; ("$0" <&3 &); echo ready; read end; :`, ctest.C(t, "testdata/peer.c"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.ExtraFiles = []*os.File{r}
	leader := startCommand(t, cmd)
	r.Close()
	s := create(t, leader.pid, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	if line := leader.ask("go"); line != "ready" {
		t.Fatalf("the shell says %q", line)
	}
	fmt.Fprintln(w, "unnamed orphan")
	if line := leader.line(); line != "done" {
		t.Fatalf("the program says %q", line)
	}
	w.Close()
	leader.end()
	if list := events(t, s); len(list) != 1 || list[0].data != "orphan" {
		t.Errorf("recorded: %v", list)
	}
}
