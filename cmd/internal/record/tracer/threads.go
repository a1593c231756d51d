//go:build linux

// What the threads of a process are doing now, from /proc. It stops no thread: what it returns was
// true for each thread at some moment, not for all at the same one.

package tracer

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// Thread is what a thread is doing.
type Thread struct {
	TID   int
	Name  string
	State string // running, sleeping, ...
	Wait  string // the kernel's function that it sleeps in, "" if it does not or that is hidden

	InCall bool // it waits in a system call, with these arguments; or continues it
	Call   int
	Args   [6]uint64
	IP, SP uint64 // behind the instruction that made the call, and the stack there; 0 if it runs
	Hidden error  // why its system call cannot be read
}

// states names the states of proc_pid_stat(5).
var states = map[byte]string{
	'R': "running", 'S': "sleeping", 'D': "uninterruptible", 'T': "stopped", 't': "traced",
	'Z': "zombie", 'X': "dead", 'x': "dead", 'I': "idle", 'P': "parked",
}

// kernelThread is the flag of a thread of the kernel, PF_KTHREAD.
const kernelThread = 0x00200000

// ThreadsOf returns the threads of a process, by their ids. A thread that ends meanwhile is left out.
// If there is none, the error is ESRCH or says why /proc cannot be read.
func ThreadsOf(pid int) (list []Thread, err error) {
	entries, err := os.ReadDir(procfs.File(pid, "task"))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) && present() {
			err = syscall.ESRCH
		}
		return nil, err
	}
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if t, ok := ReadThread(tid); ok {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return nil, syscall.ESRCH
	}
	slices.SortFunc(list, func(a, b Thread) int { return a.TID - b.TID })
	return list, nil
}

// present reports whether /proc is mounted.
func present() bool {
	_, err := os.Stat("/proc/self/task")
	return err == nil
}

// ReadThread returns what a thread is doing; ok is false if it has ended.
func ReadThread(tid int) (t Thread, ok bool) {
	stat, err := procfs.Read(tid, "stat")
	if err != nil {
		return t, false
	}
	t.TID = tid
	flags, ok := t.parseStat(stat)
	if !ok {
		return t, false
	}
	if wait, err := procfs.Read(tid, "wchan"); err == nil && string(wait) != "0" {
		t.Wait = string(wait)
	}
	if flags&kernelThread != 0 || t.State == "zombie" || t.State == "dead" {
		return t, true
	}
	call, err := procfs.Read(tid, "syscall")
	switch {
	case errors.Is(err, syscall.ESRCH):
		return t, false
	case err != nil:
		t.Hidden = err
	default:
		if t.parseCall(call); t.InCall {
			t.Call = Resumed(tid, t.Call, t.IP, t.Wait)
		}
	}
	return t, true
}

// Sleeps reports whether the thread waits for something in the kernel, and not for a processor or its
// tracer.
func (t *Thread) Sleeps() bool { return t.State == states['S'] || t.State == states['D'] }

// parseStat reads the name and the state, and returns the flags. The name may contain any
// character, including parentheses.
func (t *Thread) parseStat(stat []byte) (flags uint64, ok bool) {
	begin, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if begin < 0 || end < begin {
		return 0, false
	}
	t.Name = string(stat[begin+1 : end])
	f := strings.Fields(string(stat[end+1:]))
	if len(f) < 7 {
		return 0, false
	}
	if t.State = states[f[0][0]]; t.State == "" {
		t.State = f[0]
	}
	flags, err := strconv.ParseUint(f[6], 10, 64)
	return flags, err == nil
}

// parseCall reads the file syscall: "running", or the number of the call and its arguments, or
// -1 if the thread waits outside a call, as in a page fault.
func (t *Thread) parseCall(line []byte) {
	f := strings.Fields(string(line))
	if len(f) < 7 {
		return
	}
	nr, err := strconv.Atoi(f[0])
	if err != nil || nr < 0 {
		return
	}
	t.SP, _ = strconv.ParseUint(f[len(f)-2], 0, 64)
	for i := range t.Args {
		if t.Args[i], err = strconv.ParseUint(f[1+i], 0, 64); err != nil {
			return
		}
	}
	t.IP, _ = strconv.ParseUint(f[len(f)-1], 0, 64)
	t.InCall, t.Call = true, nr
}
