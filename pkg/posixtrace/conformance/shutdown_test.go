package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// Section SHU: posix_trace_shutdown, by the call and by the owner's death.

var _ = conform("SHU-01/posix_trace_shutdown", func(t *testing.T) {
	for _, was := range []posixtrace.RunStatus{posixtrace.StatusRunning, posixtrace.StatusSuspended} {
		s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend})
		tracetest.OK(t, "Start", s.Start())
		recordNumbers(eventID(t, "shu.one"), 0, 3, 10)
		if was == posixtrace.StatusSuspended {
			tracetest.OK(t, "Stop", s.Stop())
		}
		info, err := s.Info()
		tracetest.OK(t, "Info", err)
		tracetest.OK(t, "Shutdown", s.Shutdown())
		// When it returns, the log is complete and the stream is gone.
		events, st := readLog(t, path)
		stops := 0
		for _, e := range events {
			if e.ID == posixtrace.EventStop {
				stops++
				if cause, err := posixtrace.DecodeInt([]byte(e.data)); err != nil || cause != posixtrace.StopByCall || e.PID != os.Getpid() {
					t.Errorf("STOP with cause %d by %d, %v", cause, e.PID, err)
				}
			}
		}
		if stops != 1 || st.StreamStatus != posixtrace.StatusSuspended {
			t.Errorf("shut down while %v: %d STOP events, %+v", was, stops, st)
		}
		if _, err := os.Stat(info.Path); !os.IsNotExist(err) {
			t.Errorf("the stream's file: %v", err)
		}
		wantErrno(t, s.Start(), syscall.EINVAL)
		wantErrno(t, s.Stop(), syscall.EINVAL)
		wantErrno(t, s.Clear(), syscall.EINVAL)
		wantErrno(t, s.Flush(), syscall.EINVAL)
		wantErrno(t, s.Shutdown(), syscall.EINVAL)
		wantErrno(t, s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet), syscall.EINVAL)
		_, err = s.Status()
		wantErrno(t, err, syscall.EINVAL)
		_, err = s.Attr()
		wantErrno(t, err, syscall.EINVAL)
		_, err = s.EventID("shu.one")
		wantErrno(t, err, syscall.EINVAL)
		_, _, err = s.TryNext(nil)
		wantErrno(t, err, syscall.EINVAL)
	}
})

// It frees all resources, memory included, also in a traced process that passes no
// trace point any more.
var _ = conform("SHU-01/posix_trace_shutdown/memory", func(t *testing.T) {
	a := newActor(t)
	one, two := running(t, a.pid, posixtrace.Attr{}), running(t, a.pid, posixtrace.Attr{})
	a.do("event shu.memory x")
	mapped := func(n int) {
		t.Helper()
		tracetest.Wait(t, fmt.Sprintf("process %d has %d streams mapped", a.pid, n), func() bool { return a.do("gc") == strconv.Itoa(n) })
	}
	mapped(2)
	tracetest.OK(t, "Shutdown", one.Shutdown())
	mapped(1)
	for range 3 {
		a.do("gc")
	}
	a.do("event shu.memory y")
	mapped(1)
	equal(t, drain(t, two), a.got("shu.memory", "x"), a.got("shu.memory", "y"))
	tracetest.OK(t, "Shutdown", two.Shutdown())
	mapped(0)
	// And again.
	three := running(t, a.pid, posixtrace.Attr{})
	a.do("event shu.memory z")
	equal(t, drain(t, three), a.got("shu.memory", "z"))
	mapped(1)
	tracetest.OK(t, "Shutdown", three.Shutdown())
	mapped(0)
})

func init() {
	// shu-deadlock passes a trace point and then deadlocks.
	tracetest.Helpers["shu-deadlock"] = func([]string) {
		fmt.Println("ready")
		os.Stdin.Read(make([]byte, 1))
		id, _ := posixtrace.OpenEventID("shu.last")
		posixtrace.Event(id, []byte("words"))
		runtime.GC()
		select {}
	}
}

// A traced process ends in the same way as an untraced one.
var _ = conform("SHU-07/deadlock", func(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	for _, traced := range []bool{false, true} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=shu-deadlock", tracetest.Quick)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		in, err := cmd.StdinPipe()
		tracetest.OK(t, "StdinPipe", err)
		out, err := cmd.StdoutPipe()
		tracetest.OK(t, "StdoutPipe", err)
		tracetest.OK(t, "Start", cmd.Start())
		late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		l, err := bufio.NewReader(out).ReadString('\n')
		if l != "ready\n" {
			t.Fatal(l, err)
		}
		var s *posixtrace.Stream
		if traced {
			s = running(t, cmd.Process.Pid, posixtrace.Attr{})
		}
		in.Close()
		err = cmd.Wait()
		late.Stop()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(stderr.String(), "all goroutines are asleep - deadlock!") {
			t.Errorf("traced %v: %v, %.200q", traced, err, stderr.String())
		}
		if traced {
			equal(t, drain(t, s), got{"shu.last", "words", cmd.Process.Pid})
		}
	}
})

var _ = conform("SHU-02/posix_trace_shutdown", func(t *testing.T) {
	s, err := posixtrace.Create(0, nil)
	tracetest.OK(t, "Create", err)
	tracetest.OK(t, "Start", s.Start())
	recordNumbers(eventID(t, "shu.unread"), 0, 100, 10)
	tracetest.OK(t, "Shutdown", s.Shutdown())
})

var _ = conform("SHU-03/posix_trace_shutdown/EINVAL", func(t *testing.T) {
	s, err := posixtrace.Create(0, nil)
	tracetest.OK(t, "Create", err)
	tracetest.OK(t, "Shutdown", s.Shutdown())
	wantErrno(t, s.Shutdown(), syscall.EINVAL)
	s, _ = newLoggedWith(t, posixtrace.Attr{})
	tracetest.OK(t, "Shutdown", s.Shutdown())
	wantErrno(t, s.Shutdown(), syscall.EINVAL)
	// Of two concurrent calls one shuts the stream down and the other fails.
	for range 20 {
		s, _ := newLoggedWith(t, posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend})
		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- s.Shutdown() }()
		}
		a, b := <-errs, <-errs
		if a == nil {
			a = b
		} else if b != nil {
			t.Fatalf("both fail: %v, %v", a, b)
		}
		wantErrno(t, a, syscall.EINVAL)
	}
})

var _ = conform("SHU-04/posix_trace_shutdown", func(t *testing.T) {
	s, path := newLoggedWith(t, posixtrace.Attr{StreamFullPolicy: posixtrace.PolicyUntilFull, LogFullPolicy: posixtrace.PolicyAppend})
	tracetest.OK(t, "Start", s.Start())
	id := eventID(t, "shu.last")
	recordNumbers(id, 0, 50, 20)
	tracetest.OK(t, "Flush", s.Flush())
	recordNumbers(id, 50, 50, 20)
	tracetest.OK(t, "Shutdown", s.Shutdown())
	events, st := readLog(t, path)
	wantRange(t, "log", numbersOf(t, events, "shu.last"), 0, 100)
	if st.LogLost != 0 || st.Lost != 0 || st.StreamFlushError != 0 {
		t.Errorf("status: %+v", st)
	}
})

var _ = conform("SHU-04/posix_trace_shutdown/EFBIG", func(t *testing.T) {
	tracetest.RunHelper(t, nil, "log-efbig", filepath.Join(t.TempDir(), "log"), "shutdown")
})

var _ = conform("SHU-04/posix_trace_shutdown/ENOSPC", func(t *testing.T) {
	tracetest.NeedRoot(t)
	path := filepath.Join(t.TempDir(), "log")
	tracetest.RunHelper(t, &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}, "log-enospc", t.TempDir(), path, "shutdown")
})

var _ = conform("SHU-05/posix_trace_shutdown/EINVAL", func(t *testing.T) {
	s, err := posixtrace.Create(0, nil)
	tracetest.OK(t, "Create", err)
	const n = 4
	errs := make(chan error, n)
	for i := range n {
		go func() {
			var err error
			if i%2 == 0 {
				_, _, err = s.Next(context.Background(), nil)
			} else {
				_, _, err = s.TimedNext(time.Now().Add(time.Hour), nil)
			}
			errs <- err
		}()
	}
	tracetest.Wait(t, "all wait in the call", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return bytes.Count(stacks, []byte("(*Stream).Next("))+bytes.Count(stacks, []byte("(*Stream).TimedNext(")) >= n
	})
	tracetest.OK(t, "Shutdown", s.Shutdown())
	for range n {
		select {
		case err := <-errs:
			wantErrno(t, err, syscall.EINVAL)
		case <-time.After(time.Minute):
			t.Fatal("a reader is still blocked")
		}
	}
})

// controllerEnds are the ways in which a controller can go.
var controllerEnds = map[string]func(a *actor){
	"killed": (*actor).kill,
	"exit":   (*actor).exit,
	"exec":   (*actor).exec,
}

// Each end of the controller, each policy of the log, and each call that may come next: the
// log has the content that the call of the controller would have given it.
var _ = conform("SHU-06", func(t *testing.T) {
	next := map[string]func(log string) error{
		"open": func(log string) error {
			f, err := os.Open(log)
			if err != nil {
				return err
			}
			defer f.Close()
			l, err := posixtrace.Open(f)
			if err == nil {
				l.Close()
			}
			return err
		},
		"list":   func(string) error { _, err := posixtrace.List(); return err },
		"attach": func(string) error { _, err := posixtrace.Attach("shu6"); return wantENOENT(err) },
		"openlog": func(log string) error {
			f, err := os.Open(log)
			if err != nil {
				return err
			}
			defer f.Close()
			r, err := posixtrace.NewReader(f)
			if err == nil {
				r.Close()
			}
			return err
		},
	}
	comers := []string{"open", "list", "attach", "openlog"}
	i := 0
	for how, end := range controllerEnds {
		for _, lp := range []posixtrace.FullPolicy{posixtrace.PolicyAppend, posixtrace.PolicyUntilFull, posixtrace.PolicyLoop} {
			by := comers[i%len(comers)]
			i++
			t.Run(fmt.Sprintf("%s/%v/%s", how, lp, by), func(t *testing.T) {
				tg, c := newActor(t), newActor(t)
				log := filepath.Join(t.TempDir(), "log.trace")
				c.do("create shu6 %d close %s %d %d", tg.pid, log, posixtrace.PolicyUntilFull, lp)
				for i := range 10 {
					tg.do("event shu.kept %d", i)
				}
				c.do("flush shu6")
				for i := range 10 {
					tg.do("event shu.kept %d", 10+i)
				}
				end(c)
				tg.do("event shu.kept 20") // before the next process
				tracetest.OK(t, by, next[by](log))
				f, err := os.Open(log)
				tracetest.OK(t, "Open", err)
				defer f.Close()
				// It is finished now, seal included.
				r, err := posixtrace.NewReader(f)
				tracetest.OK(t, "NewReader", err)
				if state, why := r.State(); state != posixtrace.LogFinished {
					t.Errorf("the log is %v: %v", state, why)
				}
				r.Close()
				events, st := readLog(t, log)
				list := numbersOf(t, events, "shu.kept")
				wantRange(t, "log", list, 0, 21)
				if n := countOf(events, posixtrace.EventStop); n != 1 || st.StreamStatus != posixtrace.StatusSuspended || st.Lost != 0 || st.LogLost != 0 || st.LogOverrunStatus != posixtrace.StatusNoOverrun {
					t.Errorf("%d STOP events, status %+v", n, st)
				}
				for _, id := range []posixtrace.EventID{posixtrace.EventFlushStart, posixtrace.EventFlushStop} {
					if n := countOf(events, id); n != 2 {
						t.Errorf("%d events of type %d, want 2", n, id)
					}
				}
				if i, err := findStream("shu6"); err != nil || i != nil {
					t.Errorf("the stream is still there: %+v, %v", i, err)
				}
				tg.do("event shu.kept 21")
			})
		}
	}
})

func wantENOENT(err error) error {
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	return fmt.Errorf("Attach = %v, want ENOENT", err)
}

// A create shuts down the streams of dead controllers when it needs their room: when there
// are as many streams as there can be.
var _ = conform("SHU-06/posix_trace_create", func(t *testing.T) {
	dir := newTraceDirectory(t)
	c := newActor(t, "PTRACE_DIR="+dir)
	log := filepath.Join(t.TempDir(), "log.trace")
	c.do("create shu6c 0 close %s %d %d", log, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend)
	c.do("event shu.kept 0")
	c.kill()
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	// Enough streams that a create tidies up the directory.
	var streams []*posixtrace.Stream
	for range posixtrace.SysMax/8 + 1 {
		s, err := posixtrace.Create(0, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(0)})
		if err != nil {
			// One process takes no more than StreamsMax.
			wantErrno(t, err, syscall.EAGAIN)
			break
		}
		streams = append(streams, s)
	}
	for len(streams) < posixtrace.SysMax/8+1 {
		a := newActor(t)
		for range min(posixtrace.StreamsMax, posixtrace.SysMax/8+1-len(streams)) {
			s, err := posixtrace.Create(a.pid, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(0)})
			tracetest.OK(t, "Create", err)
			streams = append(streams, s)
		}
	}
	for _, s := range streams {
		tracetest.OK(t, "Shutdown", s.Shutdown())
	}
	f, err := os.Open(log)
	tracetest.OK(t, "Open", err)
	defer f.Close()
	// No process with another trace directory could complete it.
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", newTraceDirectory(t))
	tool.ForgetDirectory()
	r, err := posixtrace.NewReader(f)
	tracetest.OK(t, "NewReader", err)
	defer r.Close()
	if state, why := r.State(); state != posixtrace.LogFinished {
		t.Errorf("the log is %v: %v", state, why)
	}
})

// newTraceDirectory makes a trace directory.
func newTraceDirectory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv("PTRACE_DIR"), "dir")
	tracetest.OK(t, "MkdirTemp", err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A file that has replaced the log is never written: another file, a symbolic link to the
// log itself, or a link to a file of another user.
var _ = conform("SHU-06/replaced", func(t *testing.T) {
	for _, what := range []string{"file", "copy", "symlink", "linked log", "directory", "nothing", "fifo"} {
		t.Run(what, func(t *testing.T) {
			tg, c := newActor(t), newActor(t)
			dir := t.TempDir()
			log := filepath.Join(dir, "log.trace")
			c.do("create shu6 %d close %s %d %d", tg.pid, log, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend)
			tg.do("event shu.kept 0")
			c.do("flush shu6")
			tg.do("event shu.kept 1")
			c.kill()
			real := filepath.Join(dir, "real")
			before, err := os.ReadFile(log)
			tracetest.OK(t, "ReadFile", err)
			tracetest.OK(t, "Rename", os.Rename(log, real))
			precious := filepath.Join(dir, "precious")
			tracetest.OK(t, "WriteFile", os.WriteFile(precious, []byte("mine"), 0o600))
			switch what {
			case "file":
				err = os.WriteFile(log, []byte("mine"), 0o600)
			case "copy": // a sound log of the very same stream, but another inode
				err = os.WriteFile(log, before, 0o600)
			case "symlink":
				err = os.Symlink(precious, log)
			case "linked log":
				err = os.Symlink(real, log)
			case "directory":
				err = os.Mkdir(log, 0o700)
			case "fifo":
				err = syscall.Mkfifo(log, 0o600)
			}
			tracetest.OK(t, "replace", err)
			if i, err := findStream("shu6"); err != nil || i != nil {
				t.Errorf("List: %+v, %v", i, err)
			}
			same := func(path string, want []byte) {
				t.Helper()
				if have, err := os.ReadFile(path); err != nil || string(have) != string(want) {
					t.Errorf("%s was written: %d bytes, were %d, %v", filepath.Base(path), len(have), len(want), err)
				}
			}
			same(precious, []byte("mine"))
			same(real, before)
			switch what {
			case "file":
				same(log, []byte("mine"))
			case "copy":
				same(log, before)
			case "nothing":
				if _, err := os.Lstat(log); !os.IsNotExist(err) {
					t.Errorf("a log was made: %v", err)
				}
			}
		})
	}
})

// A log that was moved is still itself for the one who opens it.
var _ = conform("SHU-06/read-only", func(t *testing.T) {
	tg, c := newActor(t), newActor(t)
	log := filepath.Join(t.TempDir(), "log.trace")
	c.do("create shu6 %d close %s %d %d", tg.pid, log, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend)
	tg.do("event shu.kept 0")
	c.do("flush shu6")
	tg.do("event shu.kept 1")
	// While the owner lives a reader finds both parts and changes neither.
	before, err := os.ReadFile(log)
	tracetest.OK(t, "ReadFile", err)
	s, err := posixtrace.Attach("shu6")
	tracetest.OK(t, "Attach", err)
	r, err := s.Reader()
	tracetest.OK(t, "Reader", err)
	var list []string
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		tracetest.OK(t, "Next", err)
		if rec.ID.User() {
			list = append(list, string(rec.Data))
		}
	}
	tracetest.OK(t, "Close", r.Close())
	tracetest.OK(t, "Close", s.Close())
	if fmt.Sprint(list) != "[0 1]" {
		t.Errorf("have %v", list)
	}
	if after, err := os.ReadFile(log); err != nil || string(after) != string(before) {
		t.Errorf("reading has changed the log, %v", err)
	}
	c.kill()
	events, _ := readLog(t, log)
	wantRange(t, "log", numbersOf(t, events, "shu.kept"), 0, 2)
})

func init() {
	// later: a log that cannot be completed at first, in a file system of its own.
	tracetest.Helpers["shu-later"] = func(args []string) {
		how, dir := args[0], args[1]
		err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k,mode=700")
		tracetest.Check(err == nil, "mount: %v", err)
		log := filepath.Join(dir, "log")
		cmd := exec.Command(os.Args[0], strconv.Itoa(os.Getpid()), log, "shu6later")
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=controller", tracetest.Quick)
		out, err := cmd.StdoutPipe()
		tracetest.Check(err == nil && cmd.Start() == nil, "controller: %v", err)
		l, _ := bufio.NewReader(out).ReadString('\n')
		tracetest.Check(l == "ready\n", "controller says %q", l)
		id, _ := posixtrace.OpenEventID("shu.later")
		recordNumbers(id, 0, 10, 20)
		s, err := posixtrace.Attach("shu6later")
		tracetest.Check(err == nil, "Attach: %v", err)
		err = s.Flush()
		tracetest.Check(err == nil, "Flush: %v", err)
		s.Close()
		recordNumbers(id, 10, 290, 100)
		cmd.Process.Kill()
		cmd.Wait()
		before, _ := os.ReadFile(log)
		filler, err := os.Create(filepath.Join(dir, "filler"))
		tracetest.Check(err == nil, "Create: %v", err)
		if how == "full" {
			filler.Write(make([]byte, 128<<10))
		} else {
			filler.Close()
			err = syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
			tracetest.Check(err == nil, "remount: %v", err)
		}
		for range 3 {
			i, err := findStream("shu6later")
			tracetest.Check(err == nil && i == nil, "List: %+v, %v", i, err) // no active stream
			f, _ := os.Open(log)
			o, err := posixtrace.Open(f)
			f.Close()
			tracetest.Check(err == nil, "Open: %v", err)
			n := countEvents(o)
			st, _ := o.Status()
			o.Close()
			tracetest.Check(n == 300, "%d events", n)
			tracetest.Check(st.LogOverrunStatus == posixtrace.StatusOverrun && st.LogLost == 0, "status: %+v", st)
			after, _ := os.ReadFile(log)
			tracetest.Check(how == "full" || string(before) == string(after), "the log was written")
		}
		if how == "full" {
			filler.Truncate(0)
		} else {
			err = syscall.Mount("", dir, "", syscall.MS_REMOUNT, "")
			tracetest.Check(err == nil, "remount: %v", err)
		}
		f, _ := os.Open(log)
		o, err := posixtrace.Open(f)
		tracetest.Check(err == nil, "Open: %v", err)
		n := countEvents(o)
		st, _ := o.Status()
		tracetest.Check(n == 300 && st.LogOverrunStatus == posixtrace.StatusNoOverrun && st.LogLost == 0 && st.Lost == 0, "%d events, status: %+v", n, st)
		left, _ := filepath.Glob(os.Getenv("PTRACE_DIR") + "/s-*")
		tracetest.Check(len(left) == 0, "left: %v", left)
		fmt.Println("ok")
	}
}

// countEvents counts the numbered events of a log, which must be in order.
func countEvents(l *posixtrace.Log) (n int) {
	buf := make([]byte, 200)
	for {
		ev, size, err := l.Next(buf)
		if err == io.EOF {
			return n
		}
		tracetest.Check(err == nil, "Next: %v", err)
		if ev.ID.User() {
			tracetest.Check(strings.HasPrefix(string(buf[:size]), strconv.Itoa(n)+" "), "event %d is %.10q", n, buf[:size])
			n++
		}
	}
}

// A log that cannot be completed now is completed later; nothing is lost, and readers take
// what it lacks from the stream.
var _ = conform("SHU-06/later", func(t *testing.T) {
	tracetest.NeedRoot(t)
	for _, how := range []string{"full", "read-only"} {
		t.Run(how, func(t *testing.T) {
			t.Cleanup(tool.ForgetDirectory)
			t.Setenv("PTRACE_DIR", newTraceDirectory(t))
			tool.ForgetDirectory()
			tracetest.RunHelper(t, &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}, "shu-later", how, t.TempDir())
		})
	}
})

// newUserDirectory makes a directory of another user, and returns its path together with that of
// a trace directory in it.
func newUserDirectory(t *testing.T, uid int) (home, traces string) {
	t.Helper()
	home = tracetest.UserDir(t, uid, uid)
	traces = filepath.Join(home, "traces")
	tracetest.OK(t, "Mkdir", os.Mkdir(traces, 0o700))
	tracetest.OK(t, "Chown", os.Chown(traces, uid, uid))
	return home, traces
}

const strangerUID = 65534

// startObedientAs starts an obedient process of that user with that trace directory.
func startObedientAs(t *testing.T, uid uint32, traces string) *tracetest.Child {
	t.Helper()
	return startAsIn(t, traces, uid, uid, nil, "obedient")
}

// The next process may not write the log of a dead owner: nothing is lost or left out without
// a report. A process that may read the log finds the rest in the stream, and the log is
// completed as soon as that is permitted.
var _ = conform("SHU-06/not permitted", func(t *testing.T) {
	tracetest.NeedRoot(t)
	for _, what := range []string{"the log", "its directory"} {
		t.Run(what, func(t *testing.T) {
			home, traces := newUserDirectory(t, strangerUID)
			logs := filepath.Join(home, "logs")
			tracetest.OK(t, "Mkdir", os.Mkdir(logs, 0o755))
			tracetest.OK(t, "Chown", os.Chown(logs, strangerUID, strangerUID))
			owner, next := startObedientAs(t, strangerUID, traces), startObedientAs(t, strangerUID, traces)
			log := filepath.Join(logs, "log.trace")
			if l := owner.Ask("create shu6p %d inherit %s %d %d", owner.PID, log, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend); l != "" {
				t.Fatal(l)
			}
			for i := range 5 {
				owner.Ask("event shu.kept %d", i)
			}
			if l := owner.Ask("flush shu6p"); l != "" {
				t.Fatal(l)
			}
			for i := range 5 {
				owner.Ask("event shu.kept %d", 5+i)
			}
			lock, mode := log, os.FileMode(0o644)
			if what == "its directory" {
				lock, mode = logs, 0o700
			}
			tracetest.OK(t, "Chown", os.Chown(lock, 0, 0))
			tracetest.OK(t, "Chmod", os.Chmod(lock, mode))
			owner.Cmd.Process.Kill()
			owner.Cmd.Wait()
			before, err := os.ReadFile(log)
			tracetest.OK(t, "ReadFile", err)
			for range 2 {
				if l := next.Ask("list"); l != "0" {
					t.Errorf("%s streams are active", l)
				}
				want := "unfinished 0 1 2 3 4 5 6 7 8 9"
				if what == "its directory" {
					want = "error open " + log + ": permission denied"
				}
				if l := next.Ask("openlog %s", log); l != want {
					t.Errorf("the log is %q, want %q", l, want)
				}
			}
			if after, err := os.ReadFile(log); err != nil || string(after) != string(before) {
				t.Errorf("the log was written, %v", err)
			}
			tracetest.OK(t, "Chmod", os.Chmod(lock, mode|0o067))
			if l := next.Ask("openlog %s", log); l != "finished 0 1 2 3 4 5 6 7 8 9" {
				t.Errorf("with permission the log is %q", l)
			}
			if left, _ := filepath.Glob(traces + "/s-*"); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
			_, st := readLog(t, log)
			if st.Lost != 0 || st.LogLost != 0 || st.LogOverrunStatus != posixtrace.StatusNoOverrun {
				t.Errorf("status: %+v", st)
			}
		})
	}
})

// Another user has planted a stream and its log, perhaps with access for all, and perhaps
// died: no call, of root either, writes to them or anywhere else.
var _ = conform("SHU-06/planted", func(t *testing.T) {
	tracetest.NeedRoot(t)
	mine := os.Getenv("PTRACE_DIR")
	home, traces := newUserDirectory(t, strangerUID)
	stranger := startObedientAs(t, strangerUID, traces)
	log := filepath.Join(home, "log.trace")
	if l := stranger.Ask("create shu6x %d inherit %s %d %d", stranger.PID, log, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend); l != "" {
		t.Fatal(l)
	}
	stranger.Ask("event shu.planted 0")
	stranger.Ask("flush shu6x")
	stranger.Ask("event shu.planted 1")
	planted := stranger.Ask("path shu6x")
	all := func() map[string]string {
		t.Helper()
		m := map[string]string{}
		err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := d.Info()
			if err != nil {
				return err
			}
			b := []byte{}
			if fi.Mode().IsRegular() {
				if b, err = os.ReadFile(path); err != nil {
					return err
				}
			}
			m[path] = fmt.Sprint(fi.Mode(), fi.ModTime(), fi.Size(), string(b))
			return nil
		})
		tracetest.OK(t, "WalkDir", err)
		return m
	}
	modes := func(dir, file os.FileMode) {
		t.Helper()
		for _, d := range []string{home, traces} {
			tracetest.OK(t, "Chmod", os.Chmod(d, dir))
		}
		for _, f := range []string{log, planted} {
			tracetest.OK(t, "Chmod", os.Chmod(f, file))
		}
	}
	check := func(t *testing.T) {
		t.Cleanup(tool.ForgetDirectory)
		t.Setenv("PTRACE_DIR", mine)
		tool.ForgetDirectory()
		before := all()
		_, err := posixtrace.Attach(planted)
		wantErrno(t, err, syscall.EACCES)
		link := filepath.Join(t.TempDir(), filepath.Base(planted))
		tracetest.OK(t, "Symlink", os.Symlink(planted, link))
		if _, err := posixtrace.Attach(link); err == nil {
			t.Error("Attach follows a link to it")
		}
		// The log leads to the stream; it is read as far as it goes.
		f, err := os.OpenFile(log, os.O_RDWR, 0)
		tracetest.OK(t, "OpenFile", err)
		defer f.Close()
		r, err := posixtrace.NewReader(f)
		tracetest.OK(t, "NewReader", err)
		var said []string
		for rec, err := r.Next(); err == nil; rec, err = r.Next() {
			if rec.ID.User() {
				said = append(said, string(rec.Data))
			}
		}
		if state, _ := r.State(); state != posixtrace.LogUnfinished || fmt.Sprint(said) != "[0]" {
			t.Errorf("the log is %v and holds %v", state, said)
		}
		r.Close()
		if l, err := posixtrace.Open(f); err == nil {
			l.Close()
		}
		// The environment leads to it.
		a := newActor(t, "PTRACE_STREAM="+planted)
		a.do("event shu.victim mine")
		b := newActor(t, "PTRACE_DIR="+traces, "PTRACE_STREAM="+planted)
		fmt.Fprintln(b.in, "event shu.victim mine")
		if l := b.line(); !strings.Contains(l, "permission denied") {
			t.Errorf("in the stranger's trace directory an event is %q", l)
		}
		b.do("raw %d mine", posixtrace.EventUnnamed)
		t.Cleanup(tool.ForgetDirectory)
		t.Setenv("PTRACE_DIR", traces)
		tool.ForgetDirectory()
		for what, err := range map[string]error{
			"Create": func() error { _, err := posixtrace.Create(0, nil); return err }(),
			"List":   func() error { _, err := posixtrace.List(); return err }(),
			"Attach": func() error { _, err := posixtrace.Attach("shu6x"); return err }(),
		} {
			if !errors.Is(err, syscall.EACCES) {
				t.Errorf("%s in the stranger's trace directory = %v, want EACCES", what, err)
			}
		}
		t.Cleanup(tool.ForgetDirectory)
		t.Setenv("PTRACE_DIR", mine)
		tool.ForgetDirectory()
		// And a file of the stranger's in our own directory, where the stranger could not put it.
		inside := filepath.Join(mine, filepath.Base(planted))
		tracetest.OK(t, "Link", os.Link(planted, inside))
		defer os.Remove(inside)
		if i, err := findStream("shu6x"); err != nil || i != nil {
			t.Errorf("List: %+v, %v", i, err)
		}
		_, err = posixtrace.Attach(inside)
		if !errors.Is(err, syscall.EACCES) && !errors.Is(err, syscall.EINVAL) {
			t.Errorf("Attach to a file with two names = %v", err)
		}
		s, err := posixtrace.Create(0, nil)
		tracetest.OK(t, "Create", err)
		tracetest.OK(t, "Shutdown", s.Shutdown())
		tidyDirectory(t)
		after := all()
		for path, was := range before {
			if after[path] != was {
				t.Errorf("%s was changed", path)
			}
			delete(after, path)
		}
		for path := range after {
			t.Errorf("%s was made", path)
		}
	}
	for _, state := range []string{"alive", "dead"} {
		if state == "dead" {
			stranger.Cmd.Process.Kill()
			stranger.Cmd.Wait()
		}
		modes(0o777, 0o666)
		t.Run(state+", open", check)
		modes(0o700, 0o600)
		t.Run(state+", private", check)
	}
	// Its own user finds it unchanged.
	if l := startObedientAs(t, strangerUID, traces).Ask("openlog %s", log); l != "finished 0 1" {
		t.Errorf("its own user finds %q", l)
	}
})

// An owner that drops its Stream, or closes it, is still alive.
var _ = conform("SHU-06/alive", func(t *testing.T) {
	func() {
		s, err := posixtrace.Create(0, &posixtrace.Attr{Name: "shu6forgotten"})
		tracetest.OK(t, "Create", err)
		tracetest.OK(t, "Start", s.Start())
		s, err = posixtrace.Create(0, &posixtrace.Attr{Name: "shu6closed"})
		tracetest.OK(t, "Create", err)
		tracetest.OK(t, "Close", s.Close())
	}()
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	for _, name := range []string{"shu6forgotten", "shu6closed"} {
		if i, err := findStream(name); err != nil || i == nil {
			t.Errorf("%s was shut down though its owner lives: %v", name, err)
			continue
		}
		s, err := posixtrace.Attach(name)
		tracetest.OK(t, "Attach", err)
		tracetest.OK(t, "Shutdown", s.Shutdown())
	}
	// After the shutdown, the dropped Stream uses no resources.
	tracetest.Wait(t, "nothing is left of the forgotten stream", func() bool {
		runtime.GC()
		return len(tracetest.Leaks(os.Getenv("PTRACE_DIR"))) == 0
	})
})

var _ = conform("SHU-06/handover", func(t *testing.T) {
	for how, end := range controllerEnds {
		t.Run(how, func(t *testing.T) {
			tg, c := newActor(t), newActor(t)
			c.do("create shu6h %d close", tg.pid)
			c.do("handover shu6h %d", tg.pid)
			tg.do("event shu.kept 0")
			end(c)
			i, err := findStream("shu6h")
			if err != nil || i == nil || i.Stale || i.Owner != tg.pid || i.Status != posixtrace.StatusRunning {
				t.Fatalf("handed over, and its creator gone: %+v, %v", i, err)
			}
			tg.do("event shu.kept 1")
			tg.exec() // the target stays the owner whatever it runs
			tg.do("event shu.kept 2")
			tg.kill()
			// It stays readable after its target, until shutdown.
			if i, err = findStream("shu6h"); err != nil || i == nil || !i.Stale {
				t.Fatalf("its target gone: %+v, %v", i, err)
			}
			s, err := posixtrace.Attach("shu6h")
			tracetest.OK(t, "Attach", err)
			equal(t, drain(t, s), tg.got("shu.kept", "0"), tg.got("shu.kept", "1"), tg.got("shu.kept", "2"))
			tracetest.OK(t, "Shutdown", s.Shutdown())
			if i, err := findStream("shu6h"); err != nil || i != nil {
				t.Errorf("after its shutdown: %+v, %v", i, err)
			}
		})
	}
})

var _ = conform("SHU-07", func(t *testing.T) {
	a := newActor(t)
	s := running(t, a.pid, posixtrace.Attr{})
	id := a.do("event shu.after 1")
	tracetest.OK(t, "Shutdown", s.Shutdown())
	a.do("event shu.after 2")
	a.do("raw %s 3", id)
	if again := a.do("event shu.after 4"); again != id {
		t.Errorf("shu.after is %s, and after a shutdown %s", id, again)
	}
	// The map is kept for streams to come.
	s = running(t, a.pid, posixtrace.Attr{})
	a.do("raw %s 5", id)
	equal(t, drain(t, s), a.got("shu.after", "5"))
})

var _ = conform("SHU-08", func(t *testing.T) {
	dir := newTraceDirectory(t)
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	a := newActor(t)
	var streams []*posixtrace.Stream
	defer func() {
		for _, s := range streams {
			s.Shutdown()
		}
	}()
	// As many streams as one process can have; a freed slot can be used at once.
	for range posixtrace.StreamsMax {
		s, err := posixtrace.Create(a.pid, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(0)})
		tracetest.OK(t, "Create", err)
		streams = append(streams, s)
	}
	_, err := posixtrace.Create(a.pid, nil)
	wantErrno(t, err, syscall.EAGAIN)
	for i := range streams {
		tracetest.OK(t, "Shutdown", streams[i].Shutdown())
		s, err := posixtrace.Create(a.pid, &posixtrace.Attr{StreamSize: 1, MaxDataSize: new(0)})
		tracetest.OK(t, "Create", err)
		streams[i] = s
	}
	if n := activeStreams(t, dir); n != posixtrace.StreamsMax {
		t.Errorf("%d streams exist, want %d", n, posixtrace.StreamsMax)
	}
	for _, s := range streams {
		tracetest.OK(t, "Shutdown", s.Shutdown())
	}
	streams = nil
	if n := activeStreams(t, dir); n != 0 {
		t.Errorf("%d streams exist after their shutdown", n)
	}
})

// activeStreams counts the places that are taken in a trace directory.
func activeStreams(t *testing.T, dir string) int {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "s-*"))
	tracetest.OK(t, "Glob", err)
	return len(list)
}

var _ = conform("SHU-09", func(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.trace")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	tracetest.OK(t, "OpenFile", err)
	defer f.Close()
	s := createWithLog(t, posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend}, f)
	tracetest.OK(t, "Start", s.Start())
	recordNumbers(eventID(t, "shu.again"), 0, 3, 10)
	tracetest.OK(t, "Shutdown", s.Shutdown())
	// The descriptor was never closed, and no flush writes to it any more.
	l, err := posixtrace.Open(f)
	tracetest.OK(t, "Open", err)
	wantRange(t, "log", numbersOf(t, readNamed(t, l), "shu.again"), 0, 3)
	tracetest.OK(t, "Close", l.Close())
	tracetest.OK(t, "Truncate", f.Truncate(0))
	_, err = f.WriteAt([]byte("mine again"), 0)
	tracetest.OK(t, "WriteAt", err)
	// Another stream may have it next.
	s = createWithLog(t, posixtrace.Attr{LogFullPolicy: posixtrace.PolicyAppend}, f)
	tracetest.OK(t, "Shutdown", s.Shutdown())
	if events, _ := readLog(t, path); len(events) != 2 {
		t.Errorf("a log without events: %v", events)
	}
})
