package resources

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// Log is the kernel's log from a moment on, or nil where it cannot be read.
type Log struct{ fd int }

// OpenLog opens the kernel's log at its end.
func OpenLog(path string) *Log {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
		unix.Close(fd)
		return nil
	}
	return &Log{fd}
}

// Killed returns the last process that the OOM killer has killed since, or 0, of those that ours is true of.
func (l *Log) Killed(ours func(pid int) bool) (pid int) {
	if l == nil {
		return 0
	}
	b := make([]byte, 8192)
	for range 10_000 { // each read is a message
		n, err := unix.Read(l.fd, b)
		if err == unix.EPIPE || err == unix.EINTR { // messages were overwritten
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		if p := victim(b[:n]); p != 0 && ours(p) {
			pid = p
		}
	}
	return pid
}

// victim returns the process that a message of the OOM killer names, or 0.
func victim(message []byte) int {
	line, _, _ := bytes.Cut(message, []byte{'\n'})
	_, line, ok := bytes.Cut(line, []byte{';'})
	if !ok || !bytes.Contains(line, []byte("ut of memory")) {
		return 0
	}
	_, rest, ok := bytes.Cut(line, []byte("Killed process "))
	if !ok {
		return 0
	}
	digits, _, _ := bytes.Cut(rest, []byte{' '})
	pid, err := strconv.Atoi(string(digits))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

// Close closes the log.
func (l *Log) Close() {
	if l != nil {
		unix.Close(l.fd)
	}
}
