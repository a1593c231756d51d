package posixtrace

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// A midway is a process, in Go or in C, whose recording thread a test leads, instruction by instruction,
// to the middle of an event: the chunk of the thread is busy then. Its events have their number as data.
type midway struct {
	t    *testing.T
	c    *tracetest.Child
	page *midwayPage
	tid  int
	held bool // its thread is stopped
}

// midwayPage is memory that the test shares with the process. testdata/midevent.c has the same.
type midwayPage struct {
	tid           atomic.Uint64 // of the recording thread, when it is about to record its last event
	before, after atomic.Uint64 // the number of the last event that was started, and of the last that returned
	last          atomic.Uint64 // set by the test: record the last event
	jumped        atomic.Uint64 // a handler has left the last event
}

const midwaySize = 4096

// midwayData is the size of the data of each event.
const midwayData = 40

func mapMidway(path string) (*midwayPage, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(midwaySize); err != nil {
		return nil, err
	}
	b, err := sys.Map(f, midwaySize, true)
	if err != nil {
		return nil, err
	}
	return (*midwayPage)(unsafe.Pointer(&b[0])), nil
}

func init() {
	if os.Getenv(tracetest.HelperVar) == "midevent" {
		runtime.LockOSThread() // so that the recording thread is not the first one, whose end is that of the process
	}
	tracetest.Helpers["midevent"] = func(args []string) {
		page, err := mapMidway(args[0])
		tracetest.Check(err == nil, "%v", err)
		id, err := OpenEventID("midevent")
		tracetest.Check(err == nil, "%v", err)
		in := bufio.NewScanner(os.Stdin)
		fmt.Println("ready")
		for in.Scan() {
			switch what, arg, _ := strings.Cut(in.Text(), " "); what {
			case "record":
				n, _ := strconv.ParseUint(arg, 10, 64)
				go midwayRecord(page, id, n)
			case "exec":
				err := syscall.Exec("/bin/sleep", []string{"sleep", "1000"}, nil)
				tracetest.Check(false, "%v", err)
			}
		}
	}
}

// midwayRecord records n events, one more when the test asks, and some more behind that.
func midwayRecord(page *midwayPage, id EventID, n uint64) {
	runtime.LockOSThread()
	data := make([]byte, midwayData)
	event := func(i uint64) {
		binary.LittleEndian.PutUint64(data, i)
		page.before.Store(i)
		Event(id, data)
		page.after.Store(i)
	}
	for i := uint64(1); i <= n; i++ {
		event(i)
	}
	page.tid.Store(uint64(syscall.Gettid()))
	for page.last.Load() == 0 {
	}
	for i := n + 1; ; i++ {
		event(i)
		time.Sleep(time.Millisecond)
	}
}

// startMidway starts the process, in C if c is set.
func startMidway(t *testing.T, c bool) *midway {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page")
	page, err := mapMidway(path)
	tracetest.OK(t, "map", err)
	t.Cleanup(func() { sys.Unmap(unsafe.Slice((*byte)(unsafe.Pointer(page)), midwaySize)) })
	var cmd *exec.Cmd
	if c {
		cmd = ctest.Command(t, os.Getenv("PTRACE_DIR"), ctest.C(t, "testdata/midevent.c"), path)
	} else {
		cmd = exec.Command(os.Args[0], path)
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=midevent", "GODEBUG=asyncpreemptoff=1")
	}
	child, err := tracetest.StartCommand(t, cmd)
	tracetest.OK(t, "start", err)
	w := &midway{t: t, c: child, page: page}
	t.Cleanup(w.reap)
	if l := child.Line(); l != "ready" {
		t.Fatalf("the process says %q", l)
	}
	return w
}

// record has the process record n events.
func (w *midway) record(n uint64) {
	w.t.Helper()
	fmt.Fprintln(w.c.In, "record", n)
	tracetest.Wait(w.t, "the events", func() bool { return w.page.tid.Load() != 0 })
	w.tid = int(w.page.tid.Load())
}

// Requests of ptrace(2).
const (
	ptraceSeize     = 0x4206
	ptraceInterrupt = 0x4207
)

// hold leads the thread to the middle of its next event, which makes a chunk of m busy. more is how many
// instructions further it goes, if it is still in the middle of the event then. The caller stays on its
// thread until the process is let go or has ended.
func (w *midway) hold(m *stream.Mem, more int) {
	w.t.Helper()
	for _, request := range []uintptr{ptraceSeize, ptraceInterrupt} {
		if _, _, err := syscall.Syscall6(syscall.SYS_PTRACE, request, uintptr(w.tid), 0, 0, 0, 0); err != 0 {
			w.t.Fatalf("ptrace: %v", err)
		}
	}
	w.held = true
	w.await()
	w.page.last.Store(1)
	for steps := 0; m.Busy() == 0; steps++ {
		if steps > 5e6 || w.page.after.Load() > w.page.before.Load() {
			w.t.Fatalf("no chunk is busy after %d instructions", steps)
		}
		w.step()
	}
	for range more {
		if m.Busy() > 0 {
			w.step()
		}
	}
}

func (w *midway) step() {
	w.t.Helper()
	if err := syscall.PtraceSingleStep(w.tid); err != nil {
		w.t.Fatalf("a single step: %v", err)
	}
	w.await()
}

// await waits until the thread is stopped.
func (w *midway) await() {
	w.t.Helper()
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(w.tid, &ws, syscall.WALL, nil); err != nil || !ws.Stopped() {
		w.held = false
		w.t.Fatalf("the thread does not stop: %#x, %v", int(ws), err)
	}
}

// letGo lets the thread go on.
func (w *midway) letGo() {
	w.t.Helper()
	w.held = false
	if err := syscall.PtraceDetach(w.tid); err != nil {
		w.t.Fatalf("PTRACE_DETACH: %v", err)
	}
}

// stop stops the process as SIGSTOP does, and lets go of the thread, which does not move.
func (w *midway) stop() {
	w.t.Helper()
	tracetest.OK(w.t, "SIGSTOP", w.c.Cmd.Process.Signal(syscall.SIGSTOP))
	tracetest.Wait(w.t, "a stopped process", func() bool {
		s, err := sys.Stat(w.c.PID)
		return err == nil && s.State == 'T'
	})
	w.letGo()
}

// exec has the process execute another program.
func (w *midway) exec() {
	w.t.Helper()
	fmt.Fprintln(w.c.In, "exec")
	w.ended()
	tracetest.Wait(w.t, "another program", func() bool {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", w.c.PID))
		return string(comm) == "sleep\n"
	})
}

// reap waits for the thread of a process that ends.
func (w *midway) reap() {
	if w.held {
		w.c.Cmd.Process.Kill()
		w.ended()
	}
}

// ended waits for the end of the held thread, so that the process can end.
func (w *midway) ended() {
	var ws syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(w.tid, &ws, syscall.WALL, nil); err != nil || ws.Exited() || ws.Signaled() {
			break
		}
		syscall.PtraceCont(w.tid, 0)
	}
	w.held = false
}
