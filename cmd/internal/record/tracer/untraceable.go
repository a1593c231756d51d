//go:build linux

package tracer

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// A process has one tracer. A debugger, and a program built with LeakSanitizer, which stops its own
// threads by ptrace(2) before it ends, therefore fail if they are traced. Their names for the dynamic
// linker give them away when they are executed, and the tracer then lets them run untraced. It cannot
// where they have its filter, whose calls need a tracer.

// nature is what a program is to a tracer.
type nature int

const (
	traceable nature = iota
	debugger         // calls ptrace(2)
	leakChecked
)

// identity is that of an executable file.
type identity struct {
	dev, ino uint64
	changed  unix.Timespec
}

// naturesAtMost bounds how many programs the tracer remembers.
const naturesAtMost = 1024

// letRun detaches from a process that has just executed a program, if the program would fail traced.
func (t *tracer) letRun(k *task) bool {
	if t.rec == nil {
		return false
	}
	n := t.natureOf(k.pid)
	switch {
	case n == debugger && t.cfg.Want.calls(): // its failure is seen and reported
		return false
	case n == traceable || n == leakChecked && leaksIgnored(k.pid):
		return false
	}
	exe, _ := os.Readlink(procfs.File(k.pid, "exe"))
	detached := !t.filter && ptrace(unix.PTRACE_DETACH, k.tid, 0, 0) == nil
	t.reportUntraceable(filepath.Base(exe), n, detached)
	if detached {
		if t.untraced == nil {
			t.untraced, t.ends = make(map[int]*task), make(chan end, watchersAtMost)
		}
		t.untraced[k.pid] = k
		t.watchEnd(k)
		t.forget(k.tid)
	}
	return detached
}

// Codes of SIGCHLD.
const (
	childExited = 1 // CLD_EXITED
	childKilled = 2
	childDumped = 3
)

// childEnded records the end of a process that runs untraced, when its parent is about to get the signal
// that reports it. The kernel keeps one such signal: of two that end at the same time it loses one.
func (t *tracer) childEnded(parent int) {
	var si siginfo
	if signalInfo(parent, &si) != nil {
		return
	}
	k := t.untraced[int(si.pid)]
	if k == nil || running(k.pid) {
		return // perhaps a process of that number in another namespace
	}
	var status syscall.WaitStatus
	switch si.code {
	case childExited:
		status = syscall.WaitStatus(si.status) & 0xff << 8
	case childKilled:
		status = syscall.WaitStatus(si.status) & 0x7f
	case childDumped:
		status = syscall.WaitStatus(si.status)&0x7f | 0x80
	default:
		return // it was stopped or continued
	}
	delete(t.untraced, k.pid)
	const tick = int64(time.Second / 100)
	t.ended(k, status, &usage{Rusage: syscall.Rusage{Utime: syscall.NsecToTimeval(si.utime * tick), Stime: syscall.NsecToTimeval(si.stime * tick)}})
}

// reportUntraceable reports, once for each nature, what is not recorded, or what fails.
func (t *tracer) reportUntraceable(name string, n nature, detached bool) {
	if t.untraceable[n] {
		return
	}
	t.untraceable[n] = true
	text := name + " uses ptrace(2) itself"
	if n == leakChecked {
		text = name + " is built with LeakSanitizer"
	}
	if detached {
		text += ": such programs run untraced, and what they and their children do is not recorded"
	} else {
		text += " and fails because it is traced"
	}
	if n == leakChecked {
		text += "; ASAN_OPTIONS=detect_leaks=0 prevents this"
	}
	t.notify(text)
}

// warnOfLeaks reports that the process that the tracer has attached to fails if it ends while it is traced. It does
// not read a program whose file system may be what the process waits for: it would wait, too, and keep the process.
func (t *tracer) warnOfLeaks() {
	if procfs.ServedProgram(t.command) {
		return
	}
	if t.natureOf(t.command) == leakChecked && !leaksIgnored(t.command) {
		t.notify("process " + strconv.Itoa(t.command) + " is built with LeakSanitizer and fails if it ends while it is traced")
	}
}

// natureOf returns the nature of the program that a process executes.
func (t *tracer) natureOf(pid int) nature {
	n, _ := t.programOf(pid)
	return n
}

// natureIn finds the nature in the names that a program has for the dynamic linker: of libraries, and
// of functions that it uses or, with the sanitizers of clang, has. They end with null bytes.
func natureIn(names []byte) nature {
	for _, name := range []string{"\x00liblsan.so", "\x00libasan.so", "\x00libhwasan.so", "\x00libclang_rt.lsan", "\x00libclang_rt.asan", "\x00__lsan_"} {
		if bytes.Contains(names, []byte(name)) {
			return leakChecked
		}
	}
	if bytes.Contains(names, []byte("\x00ptrace\x00")) {
		return debugger
	}
	return traceable
}

// Bounds of what is read of a program.
const (
	maxSegments = 128
	maxDynamic  = 512
	maxNames    = 4 << 20
)

// dynamicNames returns the table of strings that a program of 64 bits has for the dynamic linker, cut
// at a bound, or nil. Nothing in the file is trusted.
func dynamicNames(f io.ReaderAt) []byte {
	section := func(offset, size uint64) io.Reader { return io.NewSectionReader(f, int64(offset), int64(size)) }
	segments := segmentsOf(f)
	var table, size uint64
	for _, s := range segments {
		if elf.ProgType(s.Type) != elf.PT_DYNAMIC {
			continue
		}
		dynamic := make([]elf.Dyn64, min(s.Filesz/16, maxDynamic))
		if binary.Read(section(s.Off, uint64(binary.Size(dynamic))), binary.LittleEndian, dynamic) != nil {
			return nil
		}
		for _, d := range dynamic {
			switch elf.DynTag(d.Tag) {
			case elf.DT_STRTAB:
				table = d.Val
			case elf.DT_STRSZ:
				size = d.Val
			}
		}
	}
	for _, s := range segments {
		if elf.ProgType(s.Type) == elf.PT_LOAD && table >= s.Vaddr && table-s.Vaddr < s.Filesz {
			names, _ := io.ReadAll(section(s.Off+table-s.Vaddr, min(size, s.Filesz-(table-s.Vaddr), maxNames)))
			return names
		}
	}
	return nil
}

// leaksIgnored reports whether a process has options by which LeakSanitizer does nothing.
func leaksIgnored(pid int) bool {
	environ, _ := os.ReadFile(procfs.File(pid, "environ"))
	for _, e := range bytes.Split(environ, []byte{0}) {
		if !bytes.HasPrefix(e, []byte("ASAN_OPTIONS=")) && !bytes.HasPrefix(e, []byte("LSAN_OPTIONS=")) {
			continue
		}
		for _, no := range []string{"0", "false", "no"} {
			if bytes.Contains(e, []byte("detect_leaks="+no)) {
				return true
			}
		}
	}
	return false
}
