package sys

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Flock locks the open file description of f (flock(2)): it excludes other
// descriptions, of this process too, and ends with the last descriptor of f,
// however its holders die. Without wait it fails with EAGAIN when another
// holds the lock.
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

// FlockWithin is an exclusive Flock that fails with EAGAIN when others hold the lock for
// as long as wait.
func FlockWithin(f *os.File, wait time.Duration) error {
	err := Flock(f, true, false)
	for pause, end := 20*time.Microsecond, time.Now().Add(wait); err == unix.EAGAIN && time.Now().Before(end); {
		time.Sleep(pause)
		pause = min(2*pause, 2*time.Millisecond)
		err = Flock(f, true, false)
	}
	return err
}

// Funlock gives the lock back at once, also when a child that is about to exec
// still has the descriptor.
func Funlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	return onFile(f, func(fd uintptr) error { return unix.Flock(int(fd), how) })
}

// onFile calls call with the descriptor of f until no signal interrupts it. Another goroutine
// that closes f meanwhile does not make the number another file's.
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

// Hold marks f as held by the open file description of f, for as long as that
// lasts: until its last descriptor and mapping are gone, which exec sees to as
// well as death. It has nothing to do with Flock.
func Hold(f *os.File) error { return hold(f, unix.F_WRLCK, 0) }

// HoldToo is Hold for several descriptions at once.
func HoldToo(f *os.File) error { return hold(f, unix.F_RDLCK, 0) }

// HoldAs is Hold under a number of 62 bits but 0, of which each is a hold of its own.
func HoldAs(f *os.File, number uint64) error { return hold(f, unix.F_WRLCK, int64(number)) }

// HoldTooAs is HoldAs for several descriptions at once. The number may have 63 bits.
func HoldTooAs(f *os.File, number uint64) error { return hold(f, unix.F_RDLCK, int64(number)) }

// LetAs ends what HoldTooAs began.
func LetAs(f *os.File, number uint64) error { return hold(f, unix.F_UNLCK, int64(number)) }

func hold(f *os.File, how int16, at int64) error {
	l := unix.Flock_t{Type: how, Start: at, Len: 1}
	return onFile(f, func(fd uintptr) error { return unix.FcntlFlock(fd, unix.F_OFD_SETLK, &l) })
}

// Held reports whether another open file description holds the file of f. When
// that cannot be found out, it counts as held.
func Held(f *os.File) bool { return HeldAs(f, 0) }

// HeldAs is Held for a number of HoldAs.
func HeldAs(f *os.File, number uint64) bool {
	held, err := FindHeldAs(f, number)
	return held || err != nil
}

// FindHeldAs is HeldAs that fails when it cannot be found out.
func FindHeldAs(f *os.File, number uint64) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(number), Len: 1}
	err := onFile(f, func(fd uintptr) error { return unix.FcntlFlock(fd, unix.F_OFD_GETLK, &l) })
	return err == nil && l.Type != unix.F_UNLCK, err
}
