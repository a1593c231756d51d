package posixtrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func init() {
	// creates: creates a stream, lists all streams, and shuts its stream down.
	tracetest.Helpers["creates"] = func([]string) {
		s, err := Create(0, nil)
		tracetest.Check(err == nil, "Create: %v", err)
		_, err = List()
		tracetest.Check(err == nil, "List: %v", err)
		err = s.Shutdown()
		tracetest.Check(err == nil, "Shutdown: %v", err)
		fmt.Println("done")
	}
	// owns-for: creates a stream with log args[1] for process args[0], prints its path, and waits.
	tracetest.Helpers["owns-for"] = func(args []string) {
		pid, _ := strconv.Atoi(args[0])
		f, err := os.Create(args[1])
		tracetest.Check(err == nil, "%v", err)
		s, err := CreateWithLog(pid, nil, f)
		tracetest.Check(err == nil, "CreateWithLog: %v", err)
		fmt.Println(s.c.Path)
		os.Stdin.Read(make([]byte, 1))
	}
}

// slowPipe is a pipe whose writers wait.
type slowPipe struct {
	r, w *os.File
	name string
}

func newSlowPipe(t *testing.T) *slowPipe {
	t.Helper()
	var p [2]int
	tracetest.OK(t, "pipe", syscall.Pipe2(p[:], syscall.O_CLOEXEC)) // os.Pipe would set O_NONBLOCK
	s := &slowPipe{r: os.NewFile(uintptr(p[0]), "read end"), w: os.NewFile(uintptr(p[1]), "write end")}
	t.Cleanup(func() {
		s.r.Close()
		s.w.Close()
	})
	s.name, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", p[1]))
	return s
}

func (s *slowPipe) fill(t *testing.T) {
	t.Helper()
	fd, err := syscall.Open(fmt.Sprintf("/proc/self/fd/%d", s.w.Fd()), syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	tracetest.OK(t, "open", err)
	defer syscall.Close(fd)
	for size := 4096; size > 0; {
		switch _, err := syscall.Write(fd, make([]byte, size)); err {
		case nil, syscall.EINTR:
		case syscall.EAGAIN:
			size /= 2
		default:
			t.Fatal(err)
		}
	}
}

// awaitWriter waits until a thread of this process waits in write(2) to the pipe.
func (s *slowPipe) awaitWriter(t *testing.T) {
	t.Helper()
	tracetest.Wait(t, "a write to a full pipe", func() bool {
		calls, _ := filepath.Glob("/proc/self/task/*/syscall")
		for _, file := range calls {
			b, _ := os.ReadFile(file)
			f := strings.Fields(string(b))
			if len(f) < 2 || f[0] != strconv.Itoa(syscall.SYS_WRITE) && f[0] != strconv.Itoa(syscall.SYS_WRITEV) {
				continue
			}
			fd, err := strconv.ParseUint(f[1], 0, 32)
			if to, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && to == s.name {
				return true
			}
		}
		return false
	})
}

// others checks that calls for other streams do not wait, of this process and of another one.
func others(t *testing.T, before *Stream) {
	t.Helper()
	soon(t, "Create", func() {
		s, err := Create(0, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if err := s.Start(); err != nil {
			t.Error(err)
		}
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	soon(t, "Shutdown", func() {
		if err := before.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	c := tracetest.Start(t, "creates")
	soon(t, "another process", func() {
		if err := c.Cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// Calls that write to a log may wait for its reader as long as it likes. Meanwhile other streams are
// created, started, listed and shut down, by any process: a call that waits holds no lock of the directory.
func TestSlowLogHoldsUpItsStreamOnly(t *testing.T) {
	big := Attr{LogFullPolicy: PolicyAppend, StreamFullPolicy: PolicyUntilFull, StreamSize: 1 << 20}
	held := big
	held.HoldLog = true
	id, err := OpenEventID("slowlog")
	tracetest.OK(t, "OpenEventID", err)
	record := func(s *Stream) {
		tracetest.OK(t, "Start", s.Start())
		for range 2000 {
			Event(id, make([]byte, 100))
		}
	}
	for _, tt := range []struct {
		name  string
		attr  Attr
		early bool // the pipe is full before the stream is created
		call  func(s *Stream) error
	}{
		{"create", big, true, nil},
		{"begin", held, true, (*Stream).BeginLog},
		{"flush", big, false, (*Stream).Flush},
		{"shutdown", big, false, (*Stream).Shutdown},
		{"shutdown by another", big, false, func(s *Stream) error {
			other, err := Attach(s.c.Path)
			if err != nil {
				return err
			}
			return other.Shutdown()
		}},
		{"flush by another", big, false, func(s *Stream) error {
			other, err := Attach(s.c.Path)
			if err != nil {
				return err
			}
			defer other.Close()
			return other.Flush()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, err := Create(0, nil)
			tracetest.OK(t, "Create", err)
			pipe := newSlowPipe(t)
			if tt.early {
				pipe.fill(t)
			}
			done := make(chan *Stream, 1)
			go func() {
				s, err := CreateWithLog(0, &tt.attr, pipe.w)
				if err != nil {
					t.Error(err)
					done <- nil
					return
				}
				if tt.call != nil {
					if !tt.early {
						record(s)
						pipe.fill(t)
					}
					if err := tt.call(s); err != nil {
						t.Error(err)
					}
				}
				done <- s
			}()
			pipe.awaitWriter(t)
			others(t, before)
			// With its reader gone, the log takes no more.
			go func() {
				for b := make([]byte, 64<<10); ; {
					if _, err := pipe.r.Read(b); err != nil {
						return
					}
				}
			}()
			if s := <-done; s != nil {
				if !s.isClosed() {
					tracetest.OK(t, "Shutdown", s.Shutdown())
				}
			}
			pipe.w.Close() // ends the goroutine that reads
		})
	}
}

// A create call that needs the place of an orphan, whose lock a stopped process holds, holds up itself only.
func TestStuckOrphanHoldsUpNoOther(t *testing.T) {
	defer func(was time.Duration) { orphanWait = was }(orphanWait)
	orphanWait = 300 * time.Millisecond
	target := tracetest.Start(t, "target")
	target.Line()
	owner := tracetest.Start(t, "owns-for", strconv.Itoa(target.PID), filepath.Join(t.TempDir(), "log.trace"))
	path := owner.Line()
	release := holdStream(t, path)
	owner.Cmd.Process.Kill()
	owner.Cmd.Wait()
	var list []*Stream
	defer func() {
		release()
		for _, s := range list {
			s.Shutdown()
		}
		List()
	}()
	for range StreamsMax - 1 {
		s, err := Create(target.PID, nil)
		tracetest.OK(t, "Create", err)
		list = append(list, s)
	}
	before, err := Create(0, nil)
	tracetest.OK(t, "Create", err)
	soon(t, "List", func() { List() })
	more := make(chan error, 1)
	go func() {
		s, err := Create(target.PID, nil)
		if err == nil {
			list = append(list, s)
		}
		more <- err
	}()
	// The new process is a child that inherits nothing: it traces itself.
	for end := time.Now().Add(orphanWait / 2); time.Now().Before(end); time.Sleep(time.Millisecond) {
		s, err := Create(0, nil)
		tracetest.OK(t, "Create", err)
		tracetest.OK(t, "Shutdown", s.Shutdown())
	}
	others(t, before)
	soon(t, "a create call for the orphan's place", func() {
		if err := <-more; !errors.Is(err, syscall.EAGAIN) {
			t.Errorf("%v, want EAGAIN", err)
		}
	})
	release()
	s, err := Create(target.PID, nil)
	tracetest.OK(t, "Create", err)
	list = append(list, s)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the orphan: %v", err)
	}
}
