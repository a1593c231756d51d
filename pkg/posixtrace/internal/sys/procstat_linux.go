package sys

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Stat reads /proc/PID/stat, also of a zombie. It fails with ESRCH when there is no such process, and
// with another error when there is one that /proc does not show: /proc may be mounted with hidepid,
// belong to another pid namespace, or not be mounted at all.
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
	// The process is hidden, or has just started.
	if s, err = statFile(path); err == unix.ESRCH {
		err = errUnseen(pid)
	}
	return s, err
}

func errUnseen(pid int) error {
	return fmt.Errorf("/proc does not show process %d: %w", pid, unix.EPERM)
}

// Exists reports whether pid is a process or a zombie. It needs no /proc, and returns true where it
// cannot know.
func Exists(pid int) bool { return unix.Kill(pid, 0) != unix.ESRCH }

// isThread reports whether pid is a thread other than the first of its process. /proc has a directory
// for every thread, but does not list it.
func isThread(pid int) bool { return unix.Tgkill(pid, pid, 0) == unix.ESRCH }

// ownProc reports whether /proc shows our pid namespace. In the /proc of another namespace a pid is
// another process.
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

// ShowsAll reports whether /proc shows all processes of our pid namespace. The test is process 1,
// which always exists and as a rule belongs to another user.
func ShowsAll() bool {
	_, err := Stat(1)
	return err == nil
}

// statSelf reads the status of this process. It reads the file of the first thread: qemu's user mode emulation
// makes up /proc/self/stat, with another start time than other processes see.
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

// readSmall reads the beginning of a file that the kernel generates, whole in the first read.
// os.ReadFile takes ten system calls for that.
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

// parseStat parses the line of /proc/PID/stat. The second field is the command's name in parentheses,
// and may itself contain blanks and parentheses.
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

var errStat = Wrap("malformed stat line", unix.EINVAL)
