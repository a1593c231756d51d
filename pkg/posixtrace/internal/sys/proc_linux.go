// Package sys is the one place that speaks to the kernel: identity of processes,
// clocks, shared memory, file locks and files relative to a directory. It is
// the only importer of golang.org/x/sys/unix. Every call in it is safe against
// interruption by signals.
package sys

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Proc identifies a process for as long as the machine is up: process numbers
// are used again, a number together with its start time is not.
type Proc struct {
	PID   uint32
	Start uint64 // clock ticks since boot; see NowTicks
}

const (
	pidBits = 22 // the kernel's PID_MAX_LIMIT is 1<<22
	pidMask = 1<<pidBits - 1
)

// Pack puts p into one word: the pid in the low 22 bits, the start above.
func (p Proc) Pack() uint64 { return p.Start<<pidBits | uint64(p.PID)&pidMask }

// Unpack is the inverse of Pack.
func Unpack(w uint64) Proc { return Proc{PID: uint32(w & pidMask), Start: w >> pidBits} }

// ProcStat is what /proc/PID/stat tells about a process.
type ProcStat struct {
	PID     int
	PPID    int
	Group   int // its process group, 0 if we do not see that
	Session int
	Threads int
	State   byte
	Forked  bool // it has executed no program since it was forked
	Start   uint64
}

// Dead reports whether the process runs no more. A thread group whose leader
// has ended shows the state of a zombie while its other threads go on.
func (s *ProcStat) Dead() bool {
	return s.State == 'X' || s.State == 'x' || s.State == 'Z' && s.Threads <= 1
}

// Proc returns the identity of the process.
func (s *ProcStat) Proc() Proc { return Proc{uint32(s.PID), s.Start} }

// Stat reads /proc/PID/stat, also of a zombie. It fails with ESRCH when there is
// no such process, and with another error when there is one that /proc does not show:
// it may be mounted with hidepid, be that of another pid namespace, or not be there at all.
func Stat(pid int) (ProcStat, error) {
	if pid <= 0 || pid > pidMask {
		return ProcStat{}, unix.ESRCH
	}
	if pid == os.Getpid() {
		s, err := statSelf()
		if err == unix.ESRCH {
			err = errNoProc
		}
		return s, err
	}
	if !ownProc() {
		if !Exists(pid) {
			return ProcStat{}, unix.ESRCH
		}
		return ProcStat{}, errUnseen(pid)
	}
	var name [32]byte
	path := string(append(strconv.AppendInt(append(name[:0], "/proc/"...), int64(pid), 10), "/stat"...))
	s, err := statFile(path)
	if err != unix.ESRCH || !Exists(pid) {
		return s, err
	}
	// It is hidden, or has just started.
	if s, err = statFile(path); err == unix.ESRCH {
		err = errUnseen(pid)
	}
	return s, err
}

func errUnseen(pid int) error {
	return fmt.Errorf("/proc does not show process %d: %w", pid, unix.EPERM)
}

// Exists reports whether a process or a zombie has the number pid. It needs no /proc, and
// says yes where it cannot know.
func Exists(pid int) bool { return unix.Kill(pid, 0) != unix.ESRCH }

// isThread reports whether pid is the number of a thread that is not the first of its process:
// /proc has a directory for each, which it does not list.
func isThread(pid int) bool { return unix.Tgkill(pid, pid, 0) == unix.ESRCH }

// ownProc reports whether /proc counts as our pid namespace does. If it is another's, the
// same number means another process there.
func ownProc() bool {
	if procIsOurs.Load() {
		return true
	}
	var b [16]byte
	n, err := unix.Readlink("/proc/self", b[:])
	ours := err == nil && string(b[:n]) == strconv.Itoa(os.Getpid())
	procIsOurs.Store(ours)
	return ours
}

var procIsOurs atomic.Bool

// ShowsAll reports whether /proc shows all processes of our pid namespace. That can be seen
// by the first, which is always there and as a rule not ours.
func ShowsAll() bool {
	_, err := Stat(1)
	return err == nil
}

// statSelf is Stat of this process, which reads the file of its first thread: qemu's user
// mode makes up /proc/self/stat, with a start that is not the one that others see.
func statSelf() (ProcStat, error) {
	return statFile("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/stat")
}

func statFile(path string) (s ProcStat, err error) {
	// The 22 fields that matter take at most some 400 bytes.
	var buf [1024]byte
	b, err := readSmall(path, buf[:])
	if err != nil {
		return s, noProcess(path, err)
	}
	s, err = parseStat(b)
	if off := bootOffset() / (1e9 / userHZ); off != 0 && err == nil {
		s.Start -= uint64(off) // wraps round as it should for an offset below zero
	}
	return s, err
}

// readSmall reads the beginning of a file that the kernel makes, which it does
// whole in the first read. os.ReadFile takes ten system calls for that.
func readSmall(path string, buf []byte) ([]byte, error) {
	fd, err := retryInt(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := retryInt(func() (int, error) { return unix.Read(fd, buf) })
	return buf[:max(n, 0)], err
}

func noProcess(path string, err error) error {
	if err == unix.ENOENT || err == unix.ESRCH {
		return unix.ESRCH
	}
	return fmt.Errorf("%s: %w", path, err)
}

// parseStat reads the line of /proc/PID/stat. The second field is the command's
// name in parentheses and may itself hold blanks and parentheses.
func parseStat(b []byte) (s ProcStat, err error) {
	open, last := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || last < open {
		return s, errStat
	}
	f := bytes.Fields(b[last+1:])
	if len(f) < 20 || len(f[0]) != 1 { // field 3 is f[0]
		return s, errStat
	}
	s.State = f[0][0]
	num := func(b []byte, bits int) uint64 {
		v, e := strconv.ParseUint(string(b), 10, bits)
		if e != nil {
			err = errStat
		}
		return v
	}
	s.PID = int(num(bytes.TrimSpace(b[:open]), 31))
	s.PPID = int(num(f[1], 31))
	if f[2][0] != '-' {
		s.Group = int(num(f[2], 31))
	}
	if f[3][0] != '-' { // -1 is possible for a session outside of our pid namespace
		s.Session = int(num(f[3], 31))
	}
	const forkNoExec = 0x40 // PF_FORKNOEXEC
	s.Forked = num(f[6], 64)&forkNoExec != 0
	s.Threads = int(num(f[17], 31))
	s.Start = num(f[19], 64)
	if err != nil {
		return ProcStat{}, err
	}
	return s, nil
}

var errStat = fmt.Errorf("malformed stat line: %w", unix.EINVAL)

var selfStart = known(func() uint64 {
	s, err := statSelf()
	if err != nil || s.PID != os.Getpid() {
		return 0 // no usable /proc
	}
	return s.Start
})

// SelfProc returns the calling process. As long as there is no /proc its Start is 0.
func SelfProc() Proc { return Proc{uint32(os.Getpid()), selfStart()} }

// known returns a function that returns what f has found out. As long as that is nothing it asks
// f again.
func known[T comparable](f func() T) func() T {
	var found atomic.Pointer[T]
	return func() (v T) {
		if p := found.Load(); p != nil {
			return *p
		}
		var nothing T
		if v = f(); v != nothing {
			found.Store(&v)
		}
		return v
	}
}

// IsSelf reports whether p is the calling process.
func (p Proc) IsSelf() bool { return int(p.PID) == os.Getpid() && p == SelfProc() }

// Lookup returns the process that has the number pid now. It fails with ESRCH
// when there is none, or only a zombie, or pid is the number of a thread of a process.
func Lookup(pid int) (Proc, error) {
	s, err := Stat(pid)
	if err != nil {
		return Proc{}, err
	}
	if s.Dead() || isThread(pid) {
		return Proc{}, unix.ESRCH
	}
	return s.Proc(), nil
}

// Alive reports whether p still runs. When there is no knowing, because p is hidden from us,
// or a descriptor or memory is lacking for a moment, p counts as alive: a process
// declared dead by mistake would lose its streams. A start of 0 is that of a process
// that could not find out its own.
func (p Proc) Alive() bool {
	s, err := Stat(int(p.PID))
	if err != nil {
		return err != unix.ESRCH
	}
	return (s.Start == p.Start || p.Start == 0) && !s.Dead()
}

// Children returns the children of pid. One that starts meanwhile may be missing.
func Children(pid int) ([]int, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil, unix.ESRCH
	}
	var list []int
	for _, t := range threads {
		b, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if err != nil {
			if _, e := os.Stat(dir + "/" + t.Name()); e != nil {
				continue // the thread has ended
			}
			return childrenByScan(pid) // a kernel without CONFIG_PROC_CHILDREN
		}
		for _, f := range bytes.Fields(b) {
			if n, err := strconv.Atoi(string(f)); err == nil {
				list = append(list, n)
			}
		}
	}
	return list, nil
}

func childrenByScan(pid int) (list []int, err error) {
	err = EachProcess(func(s *ProcStat) {
		if s.PPID == pid {
			list = append(list, s.PID)
		}
	})
	return list, err
}

// EachProcess calls f for every process that can be seen, zombies included.
func EachProcess(f func(*ProcStat)) error {
	d, err := os.Open("/proc")
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := Stat(pid); err == nil {
			f(&s)
		}
	}
	return nil
}

// PIDNamespace returns a number for the pid namespace of the caller, 0 when
// it is not known. Numbers of processes mean nothing outside of theirs.
var PIDNamespace = known(func() uint64 {
	fi, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return 0
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
})

// initialPIDs is the pid namespace from which all processes are seen.
const initialPIDs = 4026531836

// NamespaceGone reports whether it is certain that no process is in a pid namespace any
// more. Only from the first one can that be seen.
func NamespaceGone(ns uint64) bool {
	if ns == 0 || ns == initialPIDs || PIDNamespace() != initialPIDs || !ownProc() || !ShowsAll() {
		return false
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, name := range names {
		// The first is in the first namespace, ours, and may be protected even from root.
		if name[0] < '1' || name[0] > '9' || name == "1" {
			continue
		}
		var st unix.Stat_t
		switch err := unix.Stat("/proc/"+name+"/ns/pid", &st); {
		case err == nil && st.Ino == ns:
			return false
		case err == unix.EACCES || err == unix.EPERM:
			// What other users' processes use is theirs. One of ours may be protected.
			if unix.Stat("/proc/"+name, &st) == nil && int(st.Uid) == os.Geteuid() {
				return false
			}
		}
	}
	return true
}

// retryInt calls f until it is not interrupted by a signal.
func retryInt(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// retry calls f until it is not interrupted by a signal.
func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
