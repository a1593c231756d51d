package sys

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Flock locks the open file description of f (flock(2)). The lock excludes other descriptions,
// those of this process too, and ends when the last descriptor of f is closed, however its holders
// die. Without wait it fails with EAGAIN when another description holds the lock.
func Flock(f *os.File, exclusive, wait bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	if !wait {
		how |= unix.LOCK_NB
	}
	return flock(f, how)
}

// FlockWithin is an exclusive Flock that waits at most for wait and then fails with EAGAIN.
func FlockWithin(f *os.File, wait time.Duration) error {
	err := Flock(f, true, false)
	for pause, end := 20*time.Microsecond, time.Now().Add(wait); err == unix.EAGAIN && time.Now().Before(end); {
		time.Sleep(pause)
		pause = min(2*pause, 2*time.Millisecond)
		err = Flock(f, true, false)
	}
	return err
}

// Funlock releases the lock at once, even while a child that is about to exec still has the
// descriptor.
func Funlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	return onFile(f, func(fd uintptr) error { return unix.Flock(int(fd), how) })
}

// onFile calls call with the descriptor of f, again when a signal interrupts it. The descriptor
// stays that of f even if another goroutine closes f meanwhile.
func onFile(f *os.File, call func(fd uintptr) error) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if e := rc.Control(func(fd uintptr) { err = retry(func() error { return call(fd) }) }); e != nil {
		return e
	}
	return err
}

// Hold marks f as held by the open file description of f until the last descriptor of that is
// closed, which exec does as well as death. It is independent of Flock.
func Hold(f *os.File) error { return hold(f, unix.F_WRLCK, 0) }

// HoldShared holds a file like Hold. Several descriptions may hold it at once.
func HoldShared(f *os.File) error { return hold(f, unix.F_RDLCK, 0) }

// HoldAs is Hold under a number from 1 to 1<<62-1. Holds of different numbers are independent.
func HoldAs(f *os.File, number uint64) error { return hold(f, unix.F_WRLCK, int64(number)) }

// HoldSharedAs holds a file like HoldAs. Several descriptions may hold it at once. The number may have 63 bits.
func HoldSharedAs(f *os.File, number uint64) error { return hold(f, unix.F_RDLCK, int64(number)) }

// ReleaseAs releases a hold of HoldSharedAs.
func ReleaseAs(f *os.File, number uint64) error { return hold(f, unix.F_UNLCK, int64(number)) }

func hold(f *os.File, how int16, at int64) error {
	l := unix.Flock_t{Type: how, Start: at, Len: 1}
	return onFile(f, func(fd uintptr) error { return unix.FcntlFlock(fd, unix.F_OFD_SETLK, &l) })
}

// Held reports whether another open file description holds the file of f. It returns true where it
// cannot find out.
func Held(f *os.File) bool { return HeldAs(f, 0) }

// HeldAs reports whether a file is held under a number of HoldAs.
func HeldAs(f *os.File, number uint64) bool {
	held, err := FindHeldAs(f, number)
	return held || err != nil
}

// FindHeldAs reports like HeldAs, and returns an error where it cannot find out.
func FindHeldAs(f *os.File, number uint64) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(number), Len: 1}
	err := onFile(f, func(fd uintptr) error { return unix.FcntlFlock(fd, unix.F_OFD_GETLK, &l) })
	return err == nil && l.Type != unix.F_UNLCK, err
}
