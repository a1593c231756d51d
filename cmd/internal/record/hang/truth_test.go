//go:build linux

package hang_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/hang"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// prelude is the start of the programs of these tests.
const prelude = `import ctypes, fcntl, os, resource, select, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def keeps(seconds, *fds, group=False):
    "A child that sleeps and keeps the descriptors, which the parent may close."
    r, w = os.pipe() # closed by execve, which comes after setpgid
    pid = os.fork()
    if pid:
        os.close(w)
        os.read(r, 1)
        os.close(r)
        return pid
    if group: os.setpgid(0, 0)
    for fd in fds: os.set_inheritable(fd, True)
    os.execlp("sleep", "sleep", str(seconds))
def full(w):
    os.set_blocking(w, False)
    try:
        while True: os.write(w, bytes(65536))
    except BlockingIOError: pass
def locks(seconds, start, how=fcntl.LOCK_EX):
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        f = os.open("l", os.O_RDWR | os.O_CREAT)
        fcntl.lockf(f, how, 10, start)
        os.write(w, b"x")
        os.set_inheritable(f, True)
        os.execlp("sleep", "sleep", str(seconds))
    os.read(r, 1)
def imitate(word, *more):
    "A thread waits for a word, as for a mutex, beside which are other words."
    m = (ctypes.c_uint32 * 64)()
    m[8] = word
    for i, v in enumerate(more): m[9+i] = v
    def wait(): libc.syscall(202 if os.uname().machine == "x86_64" else 98, ctypes.byref(m, 32), 128, word, None)
    threading.Thread(target=wait).start()
    time.sleep(1000)
`

// start runs a program of Python, whose processes end with the test.
func start(t testing.TB, code string, wrap ...string) *exec.Cmd {
	tracetest.NeedProgram(t, "python3")
	argv := append(wrap, "python3", "-c", prelude+code)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for n := 1; n > 0; { // all of the session
			n = 0
			list, _ := os.ReadDir("/proc")
			for _, d := range list {
				pid, _ := strconv.Atoi(d.Name())
				if f := procfs.StatFields(pid); len(f) > 3 && f[0] != "Z" && f[3] == strconv.Itoa(cmd.Process.Pid) {
					syscall.Kill(pid, syscall.SIGKILL)
					n++
				}
			}
		}
		cmd.Wait()
	})
	return cmd
}

// Look says of a wait only what is known: which of the holders can end it, and all of them.
func TestTruth(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		call       string // the thread that is meant
		want       string // a part of what it waits for
		never      string
		function   string // what is known if system calls cannot be read
	}{
		{"poll to write", `
r, w = os.pipe(); full(w)
keeps(1111, r); keeps(2222, w); os.close(r)
q = select.poll(); q.register(w, select.POLLOUT); q.poll()`,
			"poll(", "the reader of pipe:", "writer", "one of several descriptors, perhaps for a limited time"},
		{"epoll to write", `
r, w = os.pipe(); full(w)
keeps(1111, r); keeps(2222, w); os.close(r)
q = select.epoll(); q.register(w, select.EPOLLOUT); q.poll()`,
			"epoll_", "the reader of pipe:", "writer", "the reader of pipe:"},
		{"select to read and to write", `
r, w = os.pipe(); full(w)
keeps(1111, r); os.close(r)
r2, w2 = os.pipe()
keeps(2222, w2); os.close(w2)
select.select([r2], [w], [])`,
			"select", "one of 2 descriptors", "", "one of several descriptors, perhaps"},
		{"an epoll set of many", `
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
q = select.epoll()
for i in range(300):
    r, w = os.pipe(); q.register(r, select.EPOLLIN)
q.poll()`,
			"epoll_", "one of 300 descriptors", "", "one of 300 descriptors"},
		{"a part of a file", `
locks(1111, 0); locks(2222, 10)
fcntl.lockf(os.open("l", os.O_RDWR), fcntl.LOCK_EX, 10, 10)`,
			"fcntl(", "sleep 2222", "sleep 1111", "sleep 2222"},
		{"two threads wait for locks", `
for name in "a", "b":
    f = os.open(name, os.O_RDWR | os.O_CREAT)
    fcntl.flock(f, fcntl.LOCK_EX); keeps({"a": 1111, "b": 2222}[name], f); os.close(f)
for name in "a", "b":
    f = os.open(name, os.O_RDWR)
    threading.Thread(target=fcntl.flock, args=(f, fcntl.LOCK_EX)).start()
time.sleep(1000)`,
			"/a>, LOCK_EX", "sleep 1111", "sleep 2222", "a lock of a file"},
		{"a process group", `
keeps(1111, group=True); g = keeps(2222, group=True)
os.waitpid(-g, 0)`,
			"wait4(-", "sleep 2222", "sleep 1111", "one of its 2 children"},
		{"no mutex: a thread id beside a word of 2", `imitate(2, 0, os.getpid(), 0, 0)`,
			"FUTEX_WAIT_PRIVATE, 2, NULL", "whose owner is recorded nowhere", "mutex", "a futex"},
		{"no robust futex: as many readers as a thread's id", `imitate(1<<31 | os.getpid())`,
			"FUTEX_WAIT_PRIVATE, 2147", "whose owner is recorded nowhere", "mutex", "a futex"},
		{"no lock of the C library to read", `imitate(3, 0, 0, 0, os.getpid())`,
			"FUTEX_WAIT_PRIVATE, 3, NULL", "whose owner is recorded nowhere", "lock", "a futex"},
		{"a poll of its own wake-up call, and of connections", `
s = socket.create_server(("127.0.0.1", 0)); e = os.eventfd(0)
q = select.epoll(); q.register(e, select.EPOLLIN); q.register(s, select.EPOLLIN); q.poll()`,
			"epoll_", "one of 2 descriptors: a connection to 127.0.0.1:", "eventfd", "one of 2 descriptors: a connection to 127.0.0.1:"},
		{"a mutex", `
m = (ctypes.c_uint32 * 10)(); libc.pthread_mutex_lock(m)
threading.Thread(target=libc.pthread_mutex_lock, args=(m,)).start()
time.sleep(1000)`,
			"FUTEX_WAIT_PRIVATE, 2, NULL", "a mutex of its own thread", "", "a futex"},
		{"a recursive mutex", `
a = (ctypes.c_uint32 * 4)(); libc.pthread_mutexattr_init(a); libc.pthread_mutexattr_settype(a, 1)
m = (ctypes.c_uint32 * 10)(); libc.pthread_mutex_init(m, a); libc.pthread_mutex_lock(m); libc.pthread_mutex_lock(m)
threading.Thread(target=libc.pthread_mutex_lock, args=(m,)).start()
time.sleep(1000)`,
			"FUTEX_WAIT_PRIVATE, 2, NULL", "a mutex of its own thread", "", "a futex"},
		{"a robust mutex", `
a = (ctypes.c_uint32 * 4)(); libc.pthread_mutexattr_init(a); libc.pthread_mutexattr_setrobust(a, 1)
m = (ctypes.c_uint32 * 10)(); libc.pthread_mutex_init(m, a); libc.pthread_mutex_lock(m)
threading.Thread(target=libc.pthread_mutex_lock, args=(m,)).start()
time.sleep(1000)`,
			"FUTEX_WAIT", "a mutex of its own thread", "", "a futex"},
		{"a mutex with priority inheritance", `
a = (ctypes.c_uint32 * 4)(); libc.pthread_mutexattr_init(a); libc.pthread_mutexattr_setprotocol(a, 1)
m = (ctypes.c_uint32 * 10)(); libc.pthread_mutex_init(m, a); libc.pthread_mutex_lock(m)
threading.Thread(target=libc.pthread_mutex_lock, args=(m,)).start()
time.sleep(1000)`,
			"FUTEX_LOCK_PI", "a mutex of its own thread", "", ""},
		{"a lock to read", `
m = (ctypes.c_uint32 * 16)(); libc.pthread_rwlock_wrlock(m)
threading.Thread(target=libc.pthread_rwlock_rdlock, args=(m,)).start()
time.sleep(1000)`,
			"FUTEX_WAIT", "a lock to read", "nowhere", "a futex"},
		{"locks that both only read", `
locks(1111, 0, fcntl.LOCK_SH); locks(2222, 20)
fcntl.lockf(os.open("l", os.O_RDWR), fcntl.LOCK_SH, 30, 0)`,
			"fcntl(", "sleep 2222", "more", "sleep 2222"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := start(t, tt.code)
			last := ""
			options := hang.Options{Pause: 20 * time.Millisecond}
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				r := hang.Look([]int{cmd.Process.Pid}, options)
				for _, o := range r.Threads {
					if o.Kind == hang.Waits && strings.Contains(o.Call, tt.call) && strings.Contains(o.For, tt.want) &&
						(tt.never == "" || !strings.Contains(o.For, tt.never)) {
						less := hang.Look([]int{cmd.Process.Pid}, options.WithoutAttach())
						wrong := saysMore(r, less, o.TID, tt.function)
						if wrong == "" {
							return
						}
						t.Log(wrong) // a child that began between the looks is known to the second one alone
					}
				}
				last = string(r.AppendText(nil, 20))
			}
			t.Errorf("no thread waits in %s for %q without %q:\n%s", tt.call, tt.want, tt.never, last)
		})
	}
}

// saysMore returns what a look says that sees no system calls and should not: it says less than one that sees them,
// and nothing else. Of one thread it is known.
func saysMore(more, less *hang.Report, tid int, known string) string {
	for _, o := range less.Threads {
		i := slices.IndexFunc(more.Threads, func(m hang.Thread) bool { return m.TID == o.TID })
		if i < 0 {
			continue
		}
		m := more.Threads[i]
		if o.Call != "" || o.ForPID != 0 && (o.ForPID != m.ForPID || o.ForTID != m.ForTID) || o.Stuck && !m.Stuck || o.Cycle && !m.Cycle ||
			o.TID == tid && (!strings.Contains(o.For, known) || known == "" && o.For != "") {
			o.Args, m.Args = nil, nil
			return fmt.Sprintf("without system calls, want %q:\n%+v\nwith them:\n%+v", known, o, m)
		}
	}
	return ""
}

// The first line follows the waits from any thread of the first process, not only from its first.
func TestHeadline(t *testing.T) {
	for _, tt := range []struct{ name, code, want string }{
		{"another thread waits for a child", `
pid = keeps(1111); l = threading.Lock(); l.acquire()
threading.Thread(target=os.waitpid, args=(pid, 0)).start()
l.acquire()`, "sleep 1111 (pid "},
		{"another thread waits for a process", `
r, w = os.pipe(); keeps(1111, w); os.close(w); l = threading.Lock(); l.acquire()
threading.Thread(target=os.read, args=(r, 1)).start()
l.acquire()`, "python3 -c"},
		{"a child's other thread waits for its child", `
if os.fork(): os.wait()
pid = keeps(1111); l = threading.Lock(); l.acquire()
threading.Thread(target=os.waitpid, args=(pid, 0)).start()
l.acquire()`, "sleep 1111 (pid "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := start(t, tt.code)
			last := ""
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				r := hang.Look([]int{cmd.Process.Pid}, hang.Options{Pause: 20 * time.Millisecond})
				if h := r.Headline(); strings.HasPrefix(h, tt.want) && (strings.HasPrefix(h, "sleep") || strings.Contains(h, "sleep 1111 (pid ")) {
					return
				}
				last = string(r.AppendText(nil, 20))
			}
			t.Errorf("the first line does not begin with %q:\n%s", tt.want, last)
		})
	}
}
