package sys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// TestMain is also the program of the processes that the tests start.
func TestMain(m *testing.M) {
	switch os.Getenv("SYS_ROLE") {
	case "wait": // until the standard input ends
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "secure":
		fmt.Println(Secure())
		os.Exit(0)
	case "may-trace":
		for _, pid := range []int{os.Getpid(), os.Getppid()} {
			p, err := Lookup(pid)
			if err == nil {
				err = MayTrace(p)
			}
			fmt.Printf("%d\n", errno(err))
		}
		// A zombie child,
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			panic(err)
		}
		p, err := Lookup(cmd.Process.Pid)
		if err != nil {
			panic(err)
		}
		in.Close()
		for p.Alive() {
			time.Sleep(time.Millisecond)
		}
		fmt.Printf("%d\n", errno(MayTrace(p)))
		// and one that is exiting.
		for range 100 {
			cmd := exec.Command("true")
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			p, err := Lookup(cmd.Process.Pid)
			for err == nil {
				err = MayTrace(p)
			}
			if errno(err) != syscall.ESRCH {
				fmt.Println("while it ends:", err)
			}
			cmd.Wait()
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func errno(err error) syscall.Errno {
	var no syscall.Errno
	if err != nil && !errors.As(err, &no) {
		return ^syscall.Errno(0)
	}
	return no
}

func role(t *testing.T, name string) *exec.Cmd {
	// By descriptor: another user could not reach the path of the binary.
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { exe.Close() })
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{exe}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "SYS_ROLE="+name, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// waiting starts a process that lives until end is called, and is a zombie from then until the test
// is over.
func waiting(t *testing.T, attr *syscall.SysProcAttr) (p Proc, end func()) {
	t.Helper()
	tracetest.OnlyWithoutEmulator(t)
	cmd := role(t, "wait")
	cmd.SysProcAttr = attr
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
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	if p, err = Lookup(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return p, func() {
		in.Close()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if s, err := Stat(int(p.PID)); err != nil || s.Dead() {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("the process does not end")
			}
		}
	}
}

func TestParseStat(t *testing.T) {
	rest := " S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 11 0 249602 1 2 18446744073709551615"
	want := ProcStat{PID: 42, PPID: 7, Group: 8, Session: 9, Threads: 11, State: 'S', Start: 249602}
	for _, name := range []string{"(sh)", "()", "(a b)", "(x) Z 1 (y)", "())", "(()", "(\n)"} {
		if got, err := parseStat([]byte("42 " + name + rest)); err != nil || got != want {
			t.Errorf("name %q: %+v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "42", "42 (sh", "42 (sh)", "42 (sh) S 7 8", "x (sh)" + rest, "42 )sh(" + rest, "42 (sh) SS" + rest[2:]} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v, want an error", bad, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (sh) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 11 0 249602 1 2"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseStat(b); err == nil && (s.PID < 0 || s.PPID < 0 || s.Session < 0) {
			t.Errorf("%q: %+v", b, s)
		}
	})
}

func TestLookup(t *testing.T) {
	self := SelfProc()
	if p, err := Lookup(os.Getpid()); p != self || err != nil {
		t.Errorf("Lookup of this process = %v, %v, want %v", p, err, self)
	}
	now := NowTicks()
	if !self.Alive() || self.Start == 0 || self.Start > now || now-self.Start > 3600*userHZ {
		t.Errorf("alive %v, started at %d, now %d", self.Alive(), self.Start, now)
	}
	if (Proc{self.PID, self.Start + 1}).Alive() {
		t.Error("IsSelf or Alive accepts another process of the same pid")
	}
	for _, pid := range []int{0, -1, 1 << 22, 1<<22 - 1, math.MaxInt32, 1 << 40 & math.MaxInt} {
		if _, err := Lookup(pid); err != syscall.ESRCH {
			t.Errorf("Lookup(%d) = %v, want ESRCH", pid, err)
		}
	}
	before := NowTicks()
	p, end := waiting(t, &syscall.SysProcAttr{Setsid: true})
	if p.Start < before || p.Start > NowTicks() {
		t.Errorf("started at %d, but not before %d nor after %d", p.Start, before, NowTicks())
	}
	if st, err := Stat(int(p.PID)); err != nil || st.PPID != os.Getpid() || st.Session != int(p.PID) {
		t.Errorf("Stat = %+v, %v, want parent %d and session %d", st, err, os.Getpid(), p.PID)
	}
	byList, err1 := Children(os.Getpid())
	byScan, err2 := childrenByScan(os.Getpid())
	if !slices.Contains(byList, int(p.PID)) || !slices.Contains(byScan, int(p.PID)) {
		t.Errorf("%d is not among the children %v %v or %v %v", p.PID, byList, err1, byScan, err2)
	}
	if !p.Alive() {
		t.Error("Alive = false for a live process")
	}
	end()
	if p.Alive() {
		t.Error("Alive = true for a zombie")
	}
	if _, err := Lookup(int(p.PID)); err != syscall.ESRCH {
		t.Errorf("Lookup of a zombie = %v, want ESRCH", err)
	}
	if s, err := Stat(int(p.PID)); err != nil || s.Proc() != p {
		t.Errorf("Stat of a zombie = %+v, %v", s, err)
	}
}

func TestMayTrace(t *testing.T) {
	if err := MayTrace(SelfProc()); err != nil {
		t.Error(err)
	}
	p, end := waiting(t, nil)
	if err := MayTrace(p); err != nil {
		t.Errorf("own child: %v", err)
	}
	end()
	if err := MayTrace(p); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("zombie: %v, want ESRCH", err)
	}
	tracetest.NeedRoot(t)
	cmd := role(t, "may-trace")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.Output()
	if want := fmt.Sprintf("0\n%d\n%d\n", syscall.EPERM, syscall.ESRCH); string(out) != want || err != nil {
		t.Errorf("itself, a process of root, and one that has ended: %q, %v, want %q", out, err, want)
	}
}

// The status of a process in many groups is longer than a page.
func TestReadStatus(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{0, 1, 4095, 4096, 4097, 100_000} {
		want := bytes.Repeat([]byte("Groups:\t65534 65533"), n/19+1)[:n]
		if err := os.WriteFile(filepath.Join(dir, "status"), want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readStatus(dir); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: read %d, %v", n, len(got), err)
		}
	}
	if _, err := readStatus(filepath.Join(dir, "none")); err != syscall.ENOENT {
		t.Errorf("no file: %v", err)
	}
}
