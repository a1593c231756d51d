package run

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
)

// A command with a pseudo-terminal of its own is the child of a monitor (monitor.go).
// ptrace-run and the monitor exchange packets on a socket: one byte for the type, and a
// number or text.

// Orders to the monitor.
const (
	orderStart       = 'g' // start the command; 1: in the foreground
	orderSignal      = 's' // signal the command
	orderSignalGroup = 'a' // signal its process group
	orderForeground  = 'F' // continue the stopped command in the foreground
	orderBackground  = 'B' // continue it in the background
)

// Reports of the monitor, and of the process that becomes the command.
const (
	reportPID     = 'p' // the id of the process that will become the command
	reportTrying  = 'x' // it tries to execute: path, NUL, the script if sh interprets it
	reportStarted = 'b' // it has executed what it tried last
	reportFailed  = 'f' // it could not: exit status, NUL, message
	reportStopped = 't' // a signal has stopped the command
	reportEnded   = 'e' // the command's wait status and resource usage
)

// link is one end of the socket.
type link struct {
	fd    int
	ended chan ending // of the command, for Wait
}

// ending is how a command ended.
type ending struct {
	Status uint32
	Usage  child.Usage
}

var errMonitorGone = cli.Failf("the monitor of its terminal ended")

// newLink makes both ends. A process that we start inherits the other one. Its number is
// beyond the descriptors in use and the few that the runtime adds while it starts a process.
func newLink() (l *link, other int, err error) {
	fd, other, err := child.PacketPair(child.FreeDescriptor())
	if err != nil {
		return nil, -1, err
	}
	unix.FcntlInt(uintptr(other), unix.F_SETFD, 0)
	return &link{fd: fd, ended: make(chan ending, 1)}, other, nil
}

// send sends a number.
func (l *link) send(what byte, n int) error { return l.sendText(what, strconv.Itoa(n)) }

func (l *link) sendText(what byte, text string) error {
	return child.SendPacket(l.fd, what, []byte(text))
}

// receive waits for a packet. At the end of the socket, and on any error, what is 0.
func (l *link) receive() (what byte, text string) {
	what, data := child.ReceivePacket(l.fd)
	return what, string(data)
}

func (l *link) close() { unix.Close(l.fd) }

func (e ending) text() string {
	var b bytes.Buffer
	binary.Write(&b, binary.NativeEndian, e)
	return b.String()
}

func parseEnding(s string) (e ending, ok bool) {
	err := binary.Read(bytes.NewReader([]byte(s)), binary.NativeEndian, &e)
	return e, err == nil
}

// Signal makes the monitor signal the command.
func (l *link) Signal(sig syscall.Signal) { l.send(orderSignal, int(sig)) }

// SignalGroup makes the monitor signal the command's process group.
func (l *link) SignalGroup(sig syscall.Signal) { l.send(orderSignalGroup, int(sig)) }

// Wait waits for the end of the command.
func (l *link) Wait() (syscall.WaitStatus, child.Usage, error) {
	e, ok := <-l.ended
	if !ok {
		return 0, e.Usage, errMonitorGone
	}
	return syscall.WaitStatus(e.Status), e.Usage, nil
}
