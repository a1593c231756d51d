package registry

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// The tests need real processes with real ancestors: the test binary, started again, in one of
// these roles.
var roles = map[string]func() error{
	"node":     node,
	"open":     roleOpen,
	"register": roleRegister,
	"flicker":  roleFlicker,
	"page":     rolePage,
}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv("REGISTRY_ROLE")]; role != nil {
		if err := role(); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	status := m.Run()
	ctest.Clean()
	os.Exit(status)
}

const patience = time.Minute

// as returns a command that runs the test binary in a role.
func as(role string, env ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), append(env, "REGISTRY_ROLE="+role, "GORACE=atexit_sleep_ms=0")...)
	return cmd
}

// testDir makes a trace directory for the test and its children.
func testDir(t testing.TB) *Dir {
	t.Helper()
	t.Setenv("PTRACE_DIR", filepath.Join(t.TempDir(), "trace"))
	d, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func locked(t testing.TB, d *Dir, f func()) {
	t.Helper()
	unlock, err := d.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	f()
}

// nextTick waits for the next tick of the clock of start times.
func nextTick() {
	for now := sys.NowTicks(); sys.NowTicks() == now; {
		time.Sleep(time.Millisecond)
	}
}

// waitFor waits until ok holds.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within the time limit", what)
		}
	}
}

// A forest is a set of processes that carry out commands.
type forest struct {
	t     *testing.T
	d     *Dir
	l     net.Listener
	trees []*tree
}

type tree struct {
	f    *forest
	c    net.Conn
	in   *bufio.Reader
	proc sys.Proc
}

func newForest(t *testing.T) *forest {
	d := testDir(t)
	sock := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("REGISTRY_SOCKET", sock)
	f := &forest{t: t, d: d, l: l}
	t.Cleanup(func() {
		l.Close()
		for _, n := range f.trees {
			n.c.Close() // a node whose connection ends, ends
		}
		for _, n := range f.trees {
			waitFor(t, "the end of a process", func() bool { return !n.proc.Alive() })
		}
	})
	return f
}

// accept waits for a new process to connect.
func (f *forest) accept() *tree {
	f.t.Helper()
	f.l.(*net.UnixListener).SetDeadline(time.Now().Add(patience))
	c, err := f.l.Accept()
	if err != nil {
		f.t.Fatal(err)
	}
	n := &tree{f: f, c: c, in: bufio.NewReader(c)}
	pid, err := strconv.Atoi(n.answer())
	if err != nil {
		f.t.Fatal(err)
	}
	if n.proc, err = sys.Lookup(pid); err != nil {
		f.t.Fatal(err)
	}
	f.trees = append(f.trees, n)
	return n
}

func (n *tree) answer() string {
	n.f.t.Helper()
	n.c.SetDeadline(time.Now().Add(patience))
	s, err := n.in.ReadString('\n')
	if err != nil {
		n.f.t.Fatalf("process %d: %v", n.proc.PID, err)
	}
	return strings.TrimSpace(s)
}

func (n *tree) send(cmd string) {
	n.f.t.Helper()
	if _, err := fmt.Fprintln(n.c, cmd); err != nil {
		n.f.t.Fatal(err)
	}
}

// root starts a process in a session of its own.
func (f *forest) root() *tree {
	f.t.Helper()
	cmd := as("node")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	go cmd.Wait()
	return f.accept()
}

// fork makes the process start a child; how is "spawn" or "spawn-session".
func (n *tree) fork(how string) *tree {
	n.f.t.Helper()
	n.send(how)
	child := n.f.accept()
	if s := n.answer(); s != "ok" {
		n.f.t.Fatal(s)
	}
	return child
}

func (n *tree) spawn() *tree { n.f.t.Helper(); return n.fork("spawn") }

// do sends a command and expects "ok".
func (n *tree) do(cmd string) {
	n.f.t.Helper()
	n.send(cmd)
	if s := n.answer(); s != "ok" {
		n.f.t.Fatalf("%s: %s", cmd, s)
	}
}

// end ends the process and waits for that.
func (n *tree) end() {
	n.f.t.Helper()
	n.c.Close()
	waitFor(n.f.t, "the end of a process", func() bool { return !n.proc.Alive() })
}

// node is a process of a tree.
func node() error {
	c, err := net.Dial("unix", os.Getenv("REGISTRY_SOCKET"))
	if err != nil {
		return err
	}
	fmt.Fprintln(c, os.Getpid())
	in := bufio.NewScanner(c)
	for in.Scan() {
		if err := obey(in.Text()); err != nil {
			fmt.Fprintln(c, err)
		} else {
			fmt.Fprintln(c, "ok")
		}
	}
	return nil
}

func obey(order string) error {
	order, group, _ := strings.Cut(order, " ")
	switch order {
	case "spawn-group":
		cmd := as("node")
		pgid, _ := strconv.Atoi(group)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: pgid}
		if err := cmd.Start(); err != nil {
			return err
		}
		go cmd.Wait()
		return nil
	case "spawn", "spawn-session":
		cmd := as("node")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: order == "spawn-session"}
		if err := cmd.Start(); err != nil {
			return err
		}
		go cmd.Wait()
		return nil
	case "subreaper":
		const prSetChildSubreaper = 36
		if _, _, no := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); no != 0 {
			return no
		}
		return nil
	case "page":
		d, err := Open()
		if err != nil {
			return err
		}
		_, err = d.Page(sys.SelfProc(), true)
		return err
	case "exec":
		// The new program connects again, under the same pid.
		return syscall.Exec("/proc/self/exe", []string{"node"}, os.Environ())
	}
	return fmt.Errorf("unknown command %q", order)
}
