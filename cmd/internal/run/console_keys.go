package run

import (
	"bytes"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/cmd/internal/record/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
)

// ownsKeys reports whether keys go to the command from the start. In a pipeline that ends with
// ptrace-run, another process may read them. The command then starts in the background,
// and gets the keys when its first read stops it.
func (t *console) ownsKeys() bool {
	if sameTerminal(0, 1) {
		return true
	}
	group := unix.Getpgrp()
	waiting := map[int]bool{}
	for pid, ok := os.Getpid(), true; ok && pid > 1 && len(waiting) < 4096; {
		waiting[pid] = true
		pid, ok = procfs.Parent(pid)
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := cli.ParseDigits(e.Name())
		if err != nil || waiting[int(pid)] {
			continue
		}
		if _, pgrp, ok := procfs.Stat(int(pid)); ok && pgrp == group {
			return false
		}
	}
	return true
}

// wakeKeys wakes the goroutine of keys.
func (t *console) wakeKeys() { unix.Write(t.wake[1], []byte{0}) }

// keys passes the user's keys to the pseudo-terminal.
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
		t.noteSignalKeys(buf[:n])
		if gone || !t.write(buf[:n]) {
			return
		}
	}
}

// read reads keys, but not in the background, where reading would stop ptrace-run.
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

// noteSignalKeys notes keys that make the pseudo-terminal signal the command.
func (t *console) noteSignalKeys(keys []byte) {
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

// killJob sends the signal that has killed the command to the rest of our job, such as a
// script that waits for ptrace-run, if a key sent it: without ptrace-run, the key would have
// reached them too. It comes last, since the terminal may belong to another job afterwards.
func (t *console) killJob(sig syscall.Signal) {
	if t.typed == sig {
		child.SignalGroup(0, sig)
	}
}

// write writes keys to the pseudo-terminal, as fast as it accepts them. It returns false if
// the pseudo-terminal or the console is closed.
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
			again.Wait() // if the slave is closed, a full terminal stays full
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
