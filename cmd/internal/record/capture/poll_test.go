package capture

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// end is one end of a channel for bytes.
type end struct {
	fd    int
	close func() // closes this end
	gone  func() // closes the other end
}

// pairs makes a channel of each kind and returns one end: the write end if outward.
var pairs = map[string]func(t *testing.T, outward bool) end{
	"pipe": func(t *testing.T, outward bool) end {
		var fd [2]int
		must(t, unix.Pipe2(fd[:], unix.O_CLOEXEC))
		if outward {
			fd[0], fd[1] = fd[1], fd[0]
		}
		return raw(fd[0], fd[1])
	},
	"fifo": func(t *testing.T, outward bool) end {
		name := filepath.Join(t.TempDir(), "fifo")
		must(t, unix.Mkfifo(name, 0o600))
		r, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		must(t, err)
		w, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		must(t, err)
		if outward {
			r, w = w, r
		}
		return raw(r, w)
	},
	"stream socket":   func(t *testing.T, _ bool) end { return socketpair(t, unix.SOCK_STREAM) },
	"packet socket":   func(t *testing.T, _ bool) end { return socketpair(t, unix.SOCK_SEQPACKET) },
	"datagram socket": func(t *testing.T, _ bool) end { return socketpair(t, unix.SOCK_DGRAM) },
	"tcp": func(t *testing.T, _ bool) end {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close()
		near, err := net.Dial("tcp", l.Addr().String())
		must(t, err)
		far, err := l.Accept()
		must(t, err)
		f, err := near.(*net.TCPConn).File()
		must(t, err)
		near.Close()
		e := fileEnd(t, f, nil)
		// A reset, not a half-close: a write must find no reader.
		e.gone = func() { far.(*net.TCPConn).SetLinger(0); far.Close() }
		return e
	},
	"terminal": func(t *testing.T, _ bool) end {
		master, slave, err := pty.Open()
		must(t, err)
		return fileEnd(t, slave, master)
	},
	"terminal's master": func(t *testing.T, _ bool) end {
		master, slave, err := pty.Open()
		must(t, err)
		return fileEnd(t, master, slave)
	},
	"file": func(t *testing.T, _ bool) end {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE, 0o600)
		must(t, err)
		return fileEnd(t, f, nil)
	},
	"null device": func(t *testing.T, _ bool) end {
		f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		must(t, err)
		return fileEnd(t, f, nil)
	},
}

// fileEnd makes an end of files. A pump closes the bare descriptor, so no os.File may own it.
func fileEnd(t *testing.T, mine, other *os.File) end {
	fd, err := unix.FcntlInt(mine.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	must(t, err)
	must(t, mine.Close())
	e := raw(fd, -1)
	e.gone = func() { other.Close() } // nil: returns an error
	return e
}

// final has the pairs in which no write can succeed once the other end is closed, so that
// the pump can report Broken before the command writes.
var final = map[string]bool{"pipe": true, "stream socket": true, "packet socket": true, "tcp": true, "terminal": true}

func raw(mine, other int) end {
	return end{mine, func() { unix.Close(mine) }, func() { unix.Close(other) }}
}

func socketpair(t *testing.T, kind int) end {
	fd, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	return raw(fd[0], fd[1])
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(unix.RUSAGE_THREAD, &r)
	return time.Duration(syscall.TimevalToNsec(r.Utime) + syscall.TimevalToNsec(r.Stime))
}

// pumping is a pump that runs on a thread of its own.
type pumping struct {
	result chan Result
	spent  time.Duration // processor time, set before the result is sent
}

func startPump(p *Pump) *pumping {
	r := &pumping{result: make(chan Result, 1)}
	go func() {
		runtime.LockOSThread()
		before := threadTime()
		got := p.Run()
		r.spent = threadTime() - before
		r.result <- got
	}()
	return r
}

func (r *pumping) wait(t *testing.T, want Result) {
	t.Helper()
	select {
	case got := <-r.result:
		if got != want {
			t.Errorf("the pump ended with %v, want %v", got, want)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("the pump does not end within 30 s")
	}
	// A thread that spins for half the idle time uses more.
	if r.spent > idle/2 {
		t.Errorf("the idle pump used %v of processor time, want at most %v", r.spent, idle/2)
	}
}

// idle is how long the pumps have no input.
const idle = 200 * time.Millisecond

// No pump spins, whatever kind of file its output is and whether the other end of the output
// is open, and each pump ends at the end of its input.
func TestPumpSleepsWhileIdle(t *testing.T) {
	type run struct {
		name string
		r    *pumping
		in   end
		want Result
	}
	var runs []run
	for name, pair := range pairs {
		for _, gone := range []bool{false, true} {
			in, out := pairs["pipe"](t, false), pair(t, true)
			p := &Pump{In: in.fd, Out: out.fd, Done: -1}
			r := run{name: name + ", open", in: in, want: EOF}
			if gone {
				out.gone()
				if r.name = name + ", closed"; final[name] {
					r.want = Broken
				}
			} else {
				defer out.gone()
			}
			defer out.close()
			r.r = startPump(p)
			runs = append(runs, r)
		}
	}
	r := run{name: "closed descriptor", in: pairs["pipe"](t, false), want: EOF}
	r.r = startPump(&Pump{In: r.in.fd, Out: 1 << 20, Done: -1})
	runs = append(runs, r)
	time.Sleep(idle)
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			if r.want == Broken {
				defer r.in.gone()
			} else {
				r.in.gone()
			}
			r.r.wait(t, r.want)
		})
	}
}

// An input of any kind ends when its other end is closed, and an empty input costs no
// processor time.
func TestPumpEndsWhenInputIsClosed(t *testing.T) {
	for name, pair := range pairs {
		if name == "datagram socket" {
			continue // closing the other end does not end the first
		}
		for _, shared := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				in := pair(t, false)
				r := startPump(&Pump{In: in.fd, Shared: shared, Out: -1, Done: -1})
				time.Sleep(idle / 10)
				in.gone()
				r.wait(t, EOF)
			})
		}
	}
}

// The pump writes to a FIFO whenever the FIFO has a reader.
func TestPumpWritesToEachReaderOfFIFO(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(name, 0o600))
	read := func() *os.File {
		f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
		must(t, err)
		return f
	}
	f := read()
	out, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(out)
	var fd [2]int
	must(t, unix.Pipe2(fd[:], unix.O_CLOEXEC))
	w := os.NewFile(uintptr(fd[1]), "in")
	r := startPump(&Pump{In: fd[0], Out: out, Done: -1})
	for i := range 5 {
		if i > 0 {
			time.Sleep(idle / 10) // without a reader
			f = read()
		}
		_, err := io.WriteString(w, "text")
		must(t, err)
		b := make([]byte, 4)
		if _, err := io.ReadFull(f, b); err != nil || string(b) != "text" {
			t.Fatalf("reader %d got %q, %v", i+1, b, err)
		}
		f.Close()
	}
	// Without a reader, a write of the command itself would have failed.
	_, err = io.WriteString(w, "text")
	must(t, err)
	r.wait(t, Broken)
	w.Close()
}

// A pump works, slowly, where poll(2) fails, as under a seccomp filter.
func TestPumpWithoutPoll(t *testing.T) {
	in, out := pairs["pipe"](t, false), pairs["pipe"](t, true)
	defer in.gone()
	defer out.close()
	done := pairs["pipe"](t, false)
	defer done.close()
	defer out.gone()
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	few := unix.Rlimit{Cur: 2, Max: old.Max}
	must(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &few, nil)) // poll of more: EINVAL
	r := startPump(&Pump{In: in.fd, Out: out.fd, Done: done.fd})
	time.Sleep(idle)
	done.gone() // the command has ended; the pipe is still open
	defer unix.Close(in.fd)
	r.wait(t, Left)
	must(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &old, nil))
}
