//go:build linux

package hang_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/record/hang"
)

// Where system calls cannot be read, the kernel's function and the descriptors say what they imply: the one file
// that a thread can wait for, or that it is one of several.
func TestFunction(t *testing.T) {
	for _, tt := range []struct{ name, code, want string }{
		{"a pipe", "r, w = os.pipe(); keeps(1111, w); os.close(w); os.read(r, 1)", "the writer of pipe:[#], sleep 1111 (pid #)"},
		{"three pipes", `
for i in range(3):
    r, w = os.pipe(); keeps(1111 * i + 1111, w); os.close(w)
os.read(r, 1)`, "one of its 3 pipes"},
		{"a full pipe", "os.dup2(0, 2); os.closerange(3, 1024); r, w = os.pipe(); full(w); os.set_blocking(w, True); keeps(1111, r); os.close(r); os.write(w, b'x')", "the reader of pipe:[#], sleep 1111 (pid #)"},
		{"its own pipe", "r, w = os.pipe(); os.read(r, 1)", "the writer of pipe:[#], itself"},
		{"a child", "keeps(1111); os.wait()", "the end of sleep 1111 (pid #)"},
		{"two children", "keeps(1111); keeps(2222); os.wait()", "one of its 2 children"},
		{"a lock of flock", `
f = os.open("l", os.O_RDWR | os.O_CREAT); fcntl.flock(f, fcntl.LOCK_EX); keeps(1111, f); os.close(f)
fcntl.flock(os.open("l", os.O_RDWR), fcntl.LOCK_EX)`, "the lock of */l, which is held by sleep 1111 (pid #)"},
		{"two locks, of which it waits for one", `
for name in "a", "b":
    f = os.open(name, os.O_RDWR | os.O_CREAT); fcntl.flock(f, fcntl.LOCK_EX); keeps({"a": 1111, "b": 2222}[name], f); os.close(f)
a, b = os.open("a", os.O_RDWR), os.open("b", os.O_RDWR)
fcntl.flock(b, fcntl.LOCK_EX)`, "the lock of */b, which is held by sleep 2222 (pid #)"},
		{"a lock of an open file", `
import struct
want = struct.pack("hhlli4x", 1, 0, 0, 0, 0)
f = os.open("l", os.O_RDWR | os.O_CREAT); fcntl.fcntl(f, 38, want); keeps(1111, f); os.close(f)
fcntl.fcntl(os.open("l", os.O_RDWR), 38, want)`, "the lock of */l, which is held by sleep 1111 (pid #)"},
		{"a Unix socket", "a, b = socket.socketpair(); keeps(1111, b.fileno()); b.close(); a.recv(1)", "the peer of the Unix socket [#], sleep 1111 (pid #)"},
		{"two Unix sockets", `
for i in range(2):
    a, b = socket.socketpair(); keeps(1111 * i + 1111, b.fileno()); b.close(); c = a if i == 0 else c
a.recv(1)`, "one of its 2 sockets"},
		{"a Unix socket of datagrams", "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); keeps(1111, b.fileno()); b.close(); a.recv(1)", "the peer of the Unix socket [#], sleep 1111 (pid #)"},
		{"a connection", `s = socket.create_server(("127.0.0.1", 0)); s.accept()`, "a connection to 127.0.0.1:#"},
		{"an answer", `
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); x, _ = s.accept()
keeps(1111, x.fileno()); x.close(); s.close(); c.recv(1)`, "the peer of TCP 127.0.0.1:#->127.0.0.1:#, sleep 1111 (pid #)"},
		{"datagrams", `s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); s.recv(1)`, ""},
		{"a terminal", "m, s = os.openpty(); keeps(1111, m); os.close(m); os.read(s, 1)", "input from or output to the terminal /dev/pts/#, which is that of sleep 1111 (pid #)"},
		{"a terminal and an answer", `
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); x, _ = s.accept()
m, t = os.openpty(); c.recv(1)`, "one of its 4 descriptors"},
		{"an eventfd", "e = os.eventfd(0); keeps(1111, e); os.read(e, 8)", "a write to eventfd # by sleep 1111 (pid #) or itself"},
		{"two eventfds", "e = os.eventfd(0); f = os.eventfd(0); keeps(1111, e); os.read(e, 8)", "one of its 2 descriptors"},
		{"a FIFO", `os.mkfifo("f"); os.open("f", os.O_RDONLY)`, "a process that opens the other end of a FIFO"},
		{"a signal", "import signal; signal.pause()", "a signal"},
		{"a time", "time.sleep(1000)", ""},
		{"a lock of Python", "l = threading.Lock(); l.acquire(); l.acquire()", "a futex"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := start(t, tt.code)
			last := ""
			options := hang.Options{Pause: 20 * time.Millisecond}
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				r := hang.Look([]int{cmd.Process.Pid}, options.WithoutAttach())
				if len(r.Threads) == 0 {
					continue
				}
				o := r.Threads[0]
				last = o.Wait + ": " + string(r.AppendText(nil, 20))
				if like(tt.want, o.For) && (tt.want != "" || o.Wait == "hrtimer_nanosleep" || o.Wait == "__skb_wait_for_more_packets") {
					wrong := saysMore(hang.Look([]int{cmd.Process.Pid}, options), r, 0, "")
					if wrong == "" {
						return
					}
					last = wrong
				}
			}
			t.Errorf("want %q:\n%s", tt.want, last)
		})
	}
}

// like reports whether a text is like a pattern, in which # is a number, and * any text.
func like(pattern, text string) bool {
	q := regexp.QuoteMeta(pattern)
	q = strings.ReplaceAll(strings.ReplaceAll(q, `\*`, `.*`), `#`, `[0-9]+`)
	return regexp.MustCompile("^" + q + "$").MatchString(text)
}
