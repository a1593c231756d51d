package run

import (
	"bytes"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/child"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/process"
)

// ownsKeys reports whether keys are the command's from the beginning. Somebody
// else may read them in a pipeline whose end we are; the command then gets them
// when it first asks for them, which in the background stops it.
func (t *console) ownsKeys() bool {
	if sameTerminal(0, 1) {
		return true
	}
	group := unix.Getpgrp()
	waiting := map[int]bool{}
	for pid, ok := os.Getpid(), true; ok && pid > 1 && len(waiting) < 4096; {
		waiting[pid] = true
		pid, ok = process.Parent(pid)
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := cli.ParseDigits(e.Name())
		if err != nil || waiting[int(pid)] {
			continue
		}
		if _, pgrp, ok := process.Stat(int(pid)); ok && pgrp == group {
			return false
		}
	}
	return true
}

// rouse wakes keys.
func (t *console) rouse() { unix.Write(t.wake[1], []byte{0}) }

// keys passes on what is typed.
func (t *console) keys() {
	buf := make([]byte, 4096)
	var again capture.Backoff
	for {
		t.mu.Lock()
		tty := -1
		if t.raw {
			tty = t.tty
		}
		t.mu.Unlock()
		fds := []unix.PollFd{{Fd: int32(t.wake[0]), Events: unix.POLLIN}, {Fd: int32(tty), Events: unix.POLLIN}}
		failed := capture.Poll(fds, -1) != nil
		if fds[0].Revents != 0 || failed {
			unix.Read(t.wake[0], buf)
		}
		select {
		case <-t.done:
			return
		default:
		}
		if fds[1].Revents == 0 && !failed {
			continue
		}
		n, gone := t.read(buf)
		if n > 0 {
			again.Reset()
		} else {
			again.Wait()
		}
		t.note(buf[:n])
		if gone || !t.write(buf[:n]) {
			return
		}
	}
}

// read reads keys, but not in the background, where that would stop us.
func (t *console) read(buf []byte) (n int, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.raw {
		return 0, false
	}
	n, err := unix.Read(t.tty, buf)
	switch {
	case err == unix.EINTR || err == unix.EAGAIN:
		return 0, false
	case err != nil || n == 0:
		return 0, true // the terminal has hung up
	}
	return n, false
}

// note remembers the keys that send the command a signal.
func (t *console) note(keys []byte) {
	attr, err := unix.IoctlGetTermios(t.master, unix.TCGETS)
	if err != nil || attr.Lflag&unix.ISIG == 0 {
		return
	}
	for _, key := range []struct {
		char uint8
		sig  syscall.Signal
	}{{attr.Cc[unix.VINTR], unix.SIGINT}, {attr.Cc[unix.VQUIT], unix.SIGQUIT}} {
		if key.char != 0 && bytes.IndexByte(keys, key.char) >= 0 {
			t.typed = key.sig
		}
	}
}

// killJob sends a signal that a key sent the command, and that killed it, to the others
// of our job, such as a script that waits for us: without us the key would have. It
// comes last, since our terminal may then be somebody else's.
func (t *console) killJob(sig syscall.Signal) {
	if t.typed == sig {
		child.SignalGroup(0, sig)
	}
}

// write types keys into the pseudo-terminal, as fast as it takes them.
func (t *console) write(b []byte) bool {
	var again capture.Backoff
	for len(b) > 0 {
		n, err := unix.Write(t.master, b)
		switch {
		case n > 0:
			b = b[n:]
			again.Reset()
		case err == unix.EAGAIN:
			fds := []unix.PollFd{{Fd: int32(t.wake[0]), Events: unix.POLLIN}, {Fd: int32(t.master), Events: unix.POLLOUT}}
			capture.Poll(fds, -1)
			again.Wait() // the other end may be gone, and a full terminal stay full
			if fds[0].Revents != 0 {
				var drop [64]byte
				unix.Read(t.wake[0], drop[:])
			}
			select {
			case <-t.done:
				return false
			default:
			}
		case err != unix.EINTR:
			return false
		}
	}
	return true
}
