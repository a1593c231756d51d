package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// hangs are commands that do not end, and what ptrace-ctl hang says of them: the first line, and a part of
// another one. # is a number, * any text.
var hangs = []struct {
	name, command, headline, line string
}{
	{"the writer is a background child", `(sleep 1000 & echo) | cat`,
		`cat (pid #) waits*in read(0<pipe:[#]>*for the writer of pipe:[#], sleep 1000 (pid #)`, ``},
	{"no reader", `yes | sleep 1000`, `yes (pid #) waits*in write(1<pipe:[#]>*for the reader of pipe:[#], sleep 1000 (pid #)`, ``},
	{"no reader, and no end", `exec 9>l; flock 9; yes | flock l true`,
		`deadlock: *`, `yes (pid #) waits*for the reader of pipe:[#], flock l true (pid #)`},
	{"a lock inherited", `exec 9>l; flock 9; flock l true`,
		`deadlock: flock l true (pid #)*for the lock of */l, which is held by sh -c * (pid #) or itself`, `deadlock: sh*wait4*for the end of flock l true (pid #)`},
	{"two flocks", `PY a, b = open("a", "w"), open("b", "w"); r, w = os.pipe(); r2, w2 = os.pipe()
if os.fork():
    fcntl.flock(a, 2); os.write(w, b"x"); os.read(r2, 1)
    fcntl.flock(open("b"), 2)
else:
    c = open("b"); fcntl.flock(c, 2); os.write(w2, b"x"); os.read(r, 1)
    fcntl.flock(open("a"), 2)`,
		`deadlock: python3 -c * in flock(*</*/b>, LOCK_EX) for the lock of /*/b, which is held by *python3 -c *`, `deadlock: *for the lock of /*/a, which is held by *`},
	{"a POSIX lock", `PY f = open("a", "w"); fcntl.lockf(f, 2)
if not os.fork():
    fcntl.lockf(open("a", "w"), 2)
os.wait()`,
		`deadlock: *`, `deadlock: python3* in fcntl(*, F_SETLKW) for the lock of /*/a, which is held by python3 -c *`},
	{"make's job server", `printf 'all: a b\na b:\n\tsleep 1000\n' >Makefile; mkfifo f; exec 3<>f; MAKEFLAGS=' -j --jobserver-auth=3,3' exec make`,
		`make (pid #) waits*for a token of make's job server, /*/f: none is left`, `sleep 1000 (pid #) sleeps*left`},
	{"a connection", `PY s = socket.create_server(("127.0.0.1", 0)); s.accept()`,
		`python3 * waits* in accept4(3<TCP:[127.0.0.1:#]>*for a connection to 127.0.0.1:#`, ``},
	{"an answer", `PY s = socket.create_server(("127.0.0.1", 0))
if os.fork():
    c, _ = s.accept(); time.sleep(1000)
else:
    c = socket.create_connection(s.getsockname()); s.close(); c.recv(1)`,
		`python3 * (pid #) waits*in recvfrom(*for the peer of TCP 127.0.0.1:#->127.0.0.1:#, python3 -c * (pid #)`, ``},
	{"a socket pair", `PY a, b = socket.socketpair()
if os.fork(): a.close(); time.sleep(1000)
else: b.close(); a.recv(1)`,
		`python3 * (pid #) waits*in recvfrom(*for the peer of the Unix socket [#], python3 -c * (pid #)`, ``},
	{"a terminal", `script -qc 'cat >x' /dev/null`, `cat (pid #) waits*in read(0</dev/pts/#>*for input from the terminal /dev/pts/#, which is that of script -qc *`, ``},
	{"a prompt", `script -qc 'read x </dev/tty' /dev/null`, `sh -c read x *</dev/tty>*for input from the terminal /dev/pts/#, *script -qc *`, ``},
	{"a zombie", `PY
if os.fork(): time.sleep(1000)`, `python3 * (pid #) sleeps*left`, `has ended, and waits for its parent to wait for it: python3 -c * (pid #)`},
	{"a stopped process", `sh -c 'kill -STOP $$'; true`, `sh -c kill -STOP $$ (pid #) is stopped, and waits for the signal CONT`, ``},
	{"in the background of a terminal", `script -qc 'bash -mc "cat & sleep 1000"' /dev/null`, `cat (pid #) is stopped, and waits for the signal CONT: it is in the background of its terminal`, ``},
	{"mutexes", `exec ./mutexes`, `deadlock: mutexes (pid #) waits*in futex(*for a mutex of its own thread #`, `deadlock: mutexes (pid #) thread # (mutexes) waits*for a mutex of its own thread #`},
	{"a thread", `exec ./mutexes x`, `mutexes x (pid #) waits*for the end of its own thread #`, `mutexes x (pid #) thread # (mutexes) waits*for a signal`},
	{"mutexes in a namespace of process ids", `unshare -Urpf ./mutexes`, `deadlock: mutexes (pid #) waits*in futex(*for a mutex of its own thread #`, ``},
	{"a lock of Python", `PY import threading
l = threading.Lock(); l.acquire(); t = threading.Thread(target=l.acquire); t.start(); t.join()`,
		`stuck: python3 -c *in futex(*for a futex whose owner is recorded nowhere: the other thread of the process, which waits, too`, ``},
	{"a loop", `while :; do :; done`, `sh -c while :; do :; done (pid #) is busy`, ``},
	{"a FIFO", `mkfifo f; cat f`, `cat f (pid #) waits*in openat(*for a process that opens the other end of the FIFO f`, ``},
	{"a poll", `sleep 1000 | python3 -c 'import select; select.select([0], [], [])'`,
		`python3 -c import select; * (pid #) waits*in *select*for the writer of pipe:[#], sleep 1000 (pid #)`, ``},
	{"a pidfd", `PY p = os.fork()
if not p: time.sleep(1000)
import select
q = select.poll(); q.register(os.pidfd_open(p)); q.poll()`,
		`python3 *in poll(*for the end of python3 -c * (pid #)`, `sleeps*left`},
	{"an eventfd", `PY e = os.eventfd(0)
if os.fork(): time.sleep(1000)
else: os.read(e, 8)`, `python3 * (pid #) waits*in read(3<*eventfd]>*for a write to eventfd # by *python3 -c *(pid #) or itself`, ``},
}

// killMarked kills every process with this setting in its environment.
func killMarked(setting string) {
	for left := true; left; {
		left = false
		environs, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, name := range environs {
			if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), setting) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
				left = syscall.Kill(pid, syscall.SIGKILL) == nil || left
			}
		}
	}
}

// likeLine reports whether a line is like a pattern: * is any text, # a number.
func likeLine(pattern, line string, whole bool) bool {
	q := regexp.QuoteMeta(pattern)
	q = strings.ReplaceAll(strings.ReplaceAll(q, `\*`, `.*`), `#`, `[0-9]+`)
	if whole {
		q = "^(?:" + q + ")"
	}
	return regexp.MustCompile(q).MatchString(line)
}

// ptrace-ctl hang names what a command that does not end waits for, and who could end it.
func TestHang(t *testing.T) {
	tracetest.Need(t, os.Geteuid() == 0 || os.Getenv("CI") != "", "ptrace(2) of other processes")
	dir := t.TempDir()
	mutexes := filepath.Join(dir, "mutexes")
	if out, err := exec.Command("gcc", "-O1", "-pthread", "-o", mutexes, "testdata/mutexes.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tt := range hangs {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Link(mutexes, filepath.Join(dir, "mutexes")); err != nil {
				t.Fatal(err)
			}
			argv := []string{"sh", "-c", tt.command}
			if code, ok := strings.CutPrefix(tt.command, "PY"); ok {
				argv = []string{"python3", "-c", "import fcntl, os, socket, time\n" + strings.TrimSpace(code)}
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "SHELL=/bin/sh", "HANG_TEST="+dir)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			stdin, end, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer end.Close() // a terminal that has no end of input
			cmd.Stdin = stdin
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { killMarked("HANG_TEST=" + dir); cmd.Wait() })
			var out []byte
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				out, _ = exec.Command("ptrace-ctl", "hang", "-p", strconv.Itoa(cmd.Process.Pid)).CombinedOutput()
				lines := strings.Split(string(out), "\n")
				found := tt.line == ""
				for _, l := range lines[1:] {
					found = found || likeLine(tt.line, l, false)
				}
				if found && likeLine(tt.headline, lines[0], true) {
					return
				}
			}
			t.Errorf("the first line is not\n%s\nor no other has\n%s:\n%s", tt.headline, tt.line, out)
		})
	}
}
