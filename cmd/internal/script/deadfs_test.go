package script_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// mountDead compiles testdata/deadfs.c and mounts it on dir/m. It returns the start of a command line that runs
// another in its namespace of mounts, and a function that ends the file system and with it all waits for it.
func mountDead(t *testing.T, dir string) (inside []string, end func()) {
	t.Helper()
	tracetest.NeedRoot(t)
	tracetest.NeedProgram(t, "gcc")
	tracetest.NeedProgram(t, "nsenter")
	_, err := os.Stat("/dev/fuse")
	tracetest.Need(t, err == nil, "/dev/fuse")
	bin, at := filepath.Join(dir, "deadfs"), filepath.Join(dir, "m")
	if out, err := exec.Command("gcc", "-O1", "-o", bin, "testdata/deadfs.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, at, sleep)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			stdin.Close()
			cmd.Wait()
		}
	}
	t.Cleanup(end)
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "mounted\n" {
		end()
		tracetest.Need(t, false, "permission to mount a file system in user space: "+errs.String())
	}
	return []string{"nsenter", "-m", "-t", strconv.Itoa(cmd.Process.Pid)}, end
}

// deadTree starts processes that use a file system, of which one lets it die when the others wait. The first one
// waits for it in the end.
const deadTree = `m=$1 mapped=$2
echo $$ >"${m%/m}/root"
(cd $m/d && exec sleep 1001) & all=$!
$m/prog 1002 & all="$all $!"
sleep 1003 <$m/f & all="$all $!"
exec 9<$m/f; flock 9
flock $m/f true & all="$all $!"
exec 8<>$m/p
cat <&8 >/dev/null & all="$all $!"
exec python3 -c '
import ctypes, mmap, os, sys, time
m, mapped, pids = sys.argv[1], sys.argv[2], sys.argv[3:]
def text(pid, name):
    with open("/proc/%s/%s" % (pid, name)) as f: return f.read().strip()
def waits(pid):
    return text(pid, "comm") in ("sleep", "prog", "cat", "flock") and text(pid, "wchan") not in ("", "0") and "fuse" not in text(pid, "stack") and "folio" not in text(pid, "stack")
f = os.open(m + "/f", os.O_RDWR)
a = mmap.mmap(os.open(m + "/g", os.O_RDWR), 4096, flags=mmap.MAP_PRIVATE)
at = ctypes.addressof(ctypes.c_char.from_buffer(a))
n = 0
while n < 3:
    n = n + 1 if all(waits(p) for p in pids) else 0
    time.sleep(0.01)
dies = os.fork()
if not dies:
    os.stat(m + "/die")
while "fuse" not in text(dies, "stack"): time.sleep(0.01)
if not os.fork():
    os.read(f, 1)
open(os.path.dirname(m) + "/dead", "w")
if mapped == "yes":
    ctypes.CDLL(None).open(ctypes.c_void_p(at), 0) # the name is in memory that is a file there
os.stat(m + "/d")
' $m $mapped $all`

// within runs a command and returns its output. The file system that it waits for ends if the command does not
// within the time.
func within(t *testing.T, limit time.Duration, end func(), argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
		return out.String()
	case <-time.After(limit):
	}
	stacks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stack", cmd.Process.Pid))
	var where []string
	for _, name := range stacks {
		if b, err := os.ReadFile(name); err == nil && (strings.Contains(string(b), "fuse") || strings.Contains(string(b), "folio")) {
			where = append(where, string(b))
		}
	}
	cmd.Process.Kill()
	end()
	<-done
	t.Fatalf("%s has not ended after %v:\n%s\n%s", argv, limit, strings.Join(where, "\n"), out.String())
	return ""
}

// A report of processes that wait for a file system, execute a program of it, or have descriptors, a directory
// or memory there, asks nothing of the file system: it may answer no more.
func TestDeadFileSystem(t *testing.T) {
	dir := t.TempDir()
	inside, end := mountDead(t, dir)
	at := filepath.Join(dir, "m")
	run := func(argv ...string) []string { return append(inside[:len(inside):len(inside)], argv...) }

	tree := run("sh", "-c", deadTree, "tree", at, "yes")
	cmd := exec.Command(tree[0], tree[1:]...)
	cmd.Env = append(os.Environ(), "HANG_TEST="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(); killMarked("HANG_TEST=" + dir); cmd.Wait() })
	awaitDead(t, dir)
	pid := strconv.Itoa(cmd.Process.Pid)
	wanted := []string{
		`sleep 1001 (pid #) sleeps *left`,
		`prog 1002 (pid #) sleeps *left`,
		`sleep 1003 (pid #) sleeps *left`,
		`flock *m/f true (pid #) waits*for the lock of *m/f, which is held by *`,
		`cat (pid #) waits*in read(0<*m/p>*for the writer of *m/p, `,
		`in *stat*(* for an answer of the file system */m (fuse.dead of dead), from deadfs * (pid #)`,
		`in open* for an answer of a file system in user space (FUSE), from `,
		`in read(*m/f>* for an answer of the file system */m (fuse.dead of dead), from deadfs * (pid #)`,
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		out := within(t, 10*time.Second, end, run("ptrace-ctl", "hang", "-p", pid)...)
		lacks := lackingLine(out, wanted)
		if lacks == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("no line is like %s:\n%s", lacks, out)
			break
		}
	}
	if out := within(t, 10*time.Second, end, run("ptrace-ctl", "hang", "--stack", "-p", pid)...); !strings.Contains(out, "no stack: its program or a library is in a file system that may not answer") {
		t.Errorf("with stacks:\n%s", out)
	}
	children, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	if err != nil {
		t.Fatal(err)
	}
	prog := ""
	for _, pid := range append(strings.Fields(string(children)), pid) {
		if comm, _ := os.ReadFile("/proc/" + pid + "/comm"); string(comm) == "prog\n" {
			prog = pid
		}
		out := within(t, 10*time.Second, end, run("ptrace-ctl", "status", "-p", pid)...)
		if !strings.Contains(out, "(") {
			t.Errorf("process %s is in no call:\n%s", pid, out)
		}
	}
	log := filepath.Join(dir, "x.trace")
	out := within(t, 20*time.Second, end, run("sh", "-c", `mkdir -m 700 "$1" && PTRACE_DIR=$1 timeout -s INT 1 ptrace-run -p $2 -e proc -o "$3"`, "sh", filepath.Join(dir, "streams"), prog, log)...)
	if b, err := exec.Command("ptrace-dump", log).CombinedOutput(); err != nil || !strings.Contains(string(b), "proc.exec") {
		t.Errorf("attached to process %s: %v\n%s\n%s", prog, err, b, out)
	}
}

// awaitDead waits until the file system has died.
func awaitDead(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "dead")); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the tree is not ready")
		}
	}
}

// A command that waits for a file system is reported when a signal is to end it, and gets the signal. Whether it
// then ends is the file system's matter.
func TestDeadFileSystemRun(t *testing.T) {
	for _, options := range []string{"-N 0", "-o x.trace --report=x.html", "-o x.trace -e syscall,proc --stack --sample=100ms"} {
		t.Run(options, func(t *testing.T) {
			const want = "for an answer of "
			said := ""
			for range 5 { // a machine may be so busy that a look takes too long
				if said = signalDead(t, options); strings.Contains(said, want) {
					return
				}
			}
			t.Errorf("%s is not in\n%s", want, said)
		})
	}
}

// signalDead ends ptrace-run with deadTree by a signal, and returns why the command did not end.
func signalDead(t *testing.T, options string) string {
	t.Helper()
	mapped := "yes"
	if strings.Contains(options, "syscall") {
		mapped = "no" // a tracer reads the names that calls have, and waits as the call does
	}
	dir := t.TempDir()
	inside, end := mountDead(t, dir)
	if err := os.Mkdir(filepath.Join(dir, "streams"), 0o700); err != nil {
		t.Fatal(err)
	}
	argv := append(inside, "sh", "-c", "cd "+dir+`; exec ptrace-run `+options+` -- "$@"`, "run", "sh", "-c", deadTree, "tree", filepath.Join(dir, "m"), mapped)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "HANG_TEST="+dir, "PTRACE_STREAM=", "PTRACE_DIR="+filepath.Join(dir, "streams"))
	if strings.Contains(options, "--sample") { // its last sample asks for room in the directory of temporary files
		cmd.Env = append(cmd.Env, "TMPDIR="+filepath.Join(dir, "m"))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	errs, err := os.Create(filepath.Join(dir, "errors")) // no pipe, which processes may keep open
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { end(); killMarked("HANG_TEST=" + dir); cmd.Wait() }()
	awaitDead(t, dir)
	root, err := os.ReadFile(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	process := "/proc/" + strings.TrimSpace(string(root))
	await := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the command ", what)
			}
		}
	}
	await("does not wait", func() bool {
		b, err := os.ReadFile(process + "/stack")
		return err != nil || strings.Contains(string(b), "fuse")
	})
	cmd.Process.Signal(syscall.SIGTERM)
	await("gets no signal", func() bool {
		b, err := os.ReadFile(process + "/status")
		_, pending, _ := strings.Cut(string(b), "\nShdPnd:\t")
		pending, _, _ = strings.Cut(pending, "\n")
		set, _ := strconv.ParseUint(pending, 16, 64)
		return err != nil || set&(1<<(syscall.SIGTERM-1)) != 0
	})
	end()
	cmd.Wait()
	text, _ := os.ReadFile(errs.Name())
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGTERM {
		t.Errorf("%v: %s", cmd.ProcessState, text)
	}
	if !strings.HasPrefix(options, "-o") {
		return string(text)
	}
	b, err := exec.Command("ptrace-dump", "-s", filepath.Join(dir, "x.trace")).Output()
	if err != nil {
		t.Error(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// lackingLine returns the first pattern that no line is like, "" if there is none.
func lackingLine(text string, patterns []string) string {
	for _, p := range patterns {
		found := false
		for line := range strings.Lines(text) {
			found = found || likeLine(p, line, false)
		}
		if !found {
			return p
		}
	}
	return ""
}
