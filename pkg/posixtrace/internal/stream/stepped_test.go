package stream

import (
	"bufio"
	"cmp"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// maxSteps is far more instructions than any path has.
const maxSteps = 5000000

// stepped is a victim that stands before the call, and its stream.
type stepped struct {
	t     *testing.T
	dir   string
	m     *Mem
	all   []oracle
	cmd   *exec.Cmd
	out   io.Reader
	phase *atomic.Uint64
	ws    syscall.WaitStatus
	proc  sys.Proc
	steps int  // done
	c     bool // it is written in C

	called    uintptr // the function that it called last
	atCall    int     // steps at that time
	preempted int     // how often it left its steps for the Go runtime
	singles   int     // steps, and instructions of the Go runtime between them
}

func startStepped(t *testing.T, v stepVariant) *stepped {
	return startSteppedAs(t, v, "step "+v.name, 16<<10)
}

// startSteppedAs starts a stepped writer in a mode, with a stream of a size.
func startSteppedAs(t *testing.T, v stepVariant, mode string, size int64) *stepped {
	dir, m, all := killStream(t, v.policy, size)
	m.Start(newWriter(t, m, 1), Event{})
	cmd := exec.Command(cmp.Or(v.prog, "/proc/self/exe"))
	cmd.Env = append(os.Environ(), killEnv+"="+mode, "STREAM_TEST_DIR="+dir, "STREAM_TEST_WHO=0", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "GOGC=off")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x := &stepped{t: t, dir: dir, m: m, all: all, cmd: cmd, out: out, phase: &all[1].before, c: v.prog != ""}
	x.wait() // of exec
	x.runTo(stepReady)
	for _, p := range m.writers() {
		if p.PID == uint32(cmd.Process.Pid) {
			x.proc = p
		}
	}
	return x
}

// end kills the victim.
func (x *stepped) end() {
	x.cmd.Process.Kill()
	x.cmd.Wait()
	sys.Unmap(x.m.Bytes())
	os.RemoveAll(x.dir)
}

func (x *stepped) wait() {
	if _, err := syscall.Wait4(x.cmd.Process.Pid, &x.ws, syscall.WALL, nil); err != nil {
		x.t.Fatal(err)
	}
	if !x.ws.Stopped() {
		l, _ := bufio.NewReader(x.out).ReadString(0)
		x.t.Fatalf("the writer has ended with %#x: %s", int(x.ws), l)
	}
}

// runTo lets the victim run until it has reached a phase.
func (x *stepped) runTo(phase uint64) {
	for x.phase.Load() != phase {
		sig := x.ws.StopSignal()
		if sig == syscall.SIGTRAP {
			sig = 0
		}
		if err := syscall.PtraceCont(x.cmd.Process.Pid, int(sig)); err != nil {
			x.t.Fatal(err)
		}
		x.wait()
	}
}

// step executes one instruction of the writer.
//
// The Go runtime may preempt a writer at the start of a function, for some thousand instructions, and
// the slower the machine, the more often. Those do not count, and the function starts again: in
// all victims of a variant instruction n is the same one.
func (x *stepped) step() {
	x.single()
	x.steps++
	if x.c { // which has no such runtime
		return
	}
	pc := x.pc()
	switch f := runtime.FuncForPC(pc); {
	case f == nil:
	case pc == f.Entry() && !growsStack(f):
		x.called, x.atCall = pc, x.steps
	case growsStack(f):
		x.stepOver()
	}
}

// growsStack reports whether f is what a function calls at its start if its stack is too small, or
// if the runtime has asked its goroutine to yield.
func growsStack(f *runtime.Func) bool {
	return f.Name() == "runtime.morestack" || f.Name() == "runtime.morestack_noctxt"
}

// stepOver executes instructions until the function that was called last starts again.
func (x *stepped) stepOver() {
	if f := runtime.FuncForPC(x.called); runtime.GOARCH == "amd64" && !strings.HasPrefix(f.Name(), "runtime.") {
		x.runToCalled()
	} else { // other threads, and the scheduler, may call it
		for back := false; !back || x.pc() != x.called; x.single() {
			f := runtime.FuncForPC(x.pc())
			back = back || f != nil && f.Name() == "runtime.gogo" // to the stack of the goroutine
		}
	}
	x.steps = x.atCall
	x.preempted++
}

// runToCalled lets the victim run to the start of the function that was called last, which only
// the traced thread calls.
func (x *stepped) runToCalled() {
	pid := x.cmd.Process.Pid
	was := make([]byte, 1)
	_, err := syscall.PtracePeekText(pid, x.called, was)
	if err == nil {
		_, err = syscall.PtracePokeText(pid, x.called, []byte{0xcc}) // int3
	}
	if err != nil {
		x.t.Fatal(err)
	}
	for sig := 0; ; sig = int(x.ws.StopSignal()) {
		if err := syscall.PtraceCont(pid, sig); err != nil {
			x.t.Fatal(err)
		}
		if x.wait(); x.ws.StopSignal() == syscall.SIGTRAP {
			break
		}
	}
	if x.pc() != x.called+1 {
		x.t.Fatalf("a breakpoint at %#x, not at %#x", x.pc()-1, x.called)
	}
	if _, err := syscall.PtracePokeText(pid, x.called, was); err != nil {
		x.t.Fatal(err)
	}
	var regs syscall.PtraceRegs
	x.registers(getRegSet, &regs)
	regs.SetPC(uint64(x.called))
	x.registers(setRegSet, &regs)
}

// pc returns the address of the next instruction.
func (x *stepped) pc() uintptr {
	var regs syscall.PtraceRegs
	x.registers(getRegSet, &regs)
	return uintptr(regs.PC())
}

// Requests of ptrace(2), for registers.
const (
	getRegSet = 0x4204
	setRegSet = 0x4205
)

// registers performs a request for the general registers.
func (x *stepped) registers(request uintptr, regs *syscall.PtraceRegs) {
	const general = 1
	v := syscall.Iovec{Base: (*byte)(unsafe.Pointer(regs))}
	v.SetLen(int(unsafe.Sizeof(*regs)))
	if _, _, err := syscall.Syscall6(syscall.SYS_PTRACE, request, uintptr(x.cmd.Process.Pid), general, uintptr(unsafe.Pointer(&v)), 0, 0); err != 0 {
		x.t.Fatalf("the registers of the writer: %v", err)
	}
}

// single executes one instruction.
func (x *stepped) single() {
	for {
		if err := syscall.PtraceSingleStep(x.cmd.Process.Pid); err != nil {
			x.t.Fatalf("a single step of the writer, whose status was %#x: %v", int(x.ws), err)
		}
		x.wait()
		if x.singles++; x.singles > maxSteps {
			x.t.Fatal("no end")
		}
		switch sig := x.ws.StopSignal(); sig {
		case syscall.SIGTRAP:
			return
		case syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGCONT: // for the whole test, perhaps; before the instruction
		default:
			x.t.Fatalf("signal %v", sig)
		}
	}
}
