package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

var selfStart = known(func() uint64 {
	s, err := statSelf()
	if err != nil || s.PID != os.Getpid() {
		return 0 // no usable /proc
	}
	return s.Start
})

// Lookup returns the process that has this pid now. It fails with ESRCH when there is none, or only a
// zombie, or when pid is a thread other than the first.
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

// Alive reports whether p still runs. It returns true where it cannot know, because p is hidden or
// the caller is out of descriptors or memory: a process taken for dead would lose its streams. A
// start of 0 is that of a process that could not find out its own.
func (p Proc) Alive() bool {
	s, err := Stat(int(p.PID))
	if err != nil {
		return err != unix.ESRCH
	}
	return (s.Start == p.Start || p.Start == 0) && !s.Dead()
}
