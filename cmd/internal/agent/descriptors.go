package agent

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// descriptors takes the descriptors of logs, which the library sends from a process of its own: neither
// needs a descriptor in the controller. A message is the channel's nonce and a number that the request
// then names.
type descriptors struct {
	fd    int
	spare int         // a descriptor to give up when it is the last, or -1
	full  atomic.Bool // a message waits for the agent to have a descriptor
	nonce [16]byte

	mu   sync.Mutex
	got  map[uint64]*os.File // nil for one that the agent had no room for
	news chan struct{}       // closed with each arrival
}

// How long a request waits for its descriptor, which was sent before, and a connection for its message:
// a sender on a busy machine may take long.
const (
	fdPatience      = 10 * time.Second
	messagePatience = 30 // seconds
)

// listen opens the socket, under a random name in the abstract space.
func listen(m *shared) (*descriptors, error) {
	d := &descriptors{got: make(map[uint64]*os.File), news: make(chan struct{})}
	rand.Read(d.nonce[:])
	var err error
	if d.fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, err
	}
	var random [12]byte
	rand.Read(random[:])
	name := fmt.Sprintf("posixtrace-%x", random)[:31]
	if err = unix.Bind(d.fd, &unix.SockaddrUnix{Name: "@" + name}); err == nil {
		err = unix.Listen(d.fd, 64)
	}
	if err == nil {
		d.spare, err = openSpare()
	}
	if err != nil {
		unix.Close(d.fd)
		return nil, err
	}
	m.ch.Nonce = d.nonce
	copy(m.ch.Socket[:], name)
	go d.serve()
	return d, nil
}

// serve takes connections. With the last descriptor taken, it gives up a spare one for a moment: the
// message, which comes without its descriptor then, says which request fails.
func (d *descriptors) serve() {
	for {
		if d.spare < 0 {
			d.spare, _ = openSpare()
		}
		fd, _, err := unix.Accept4(d.fd, unix.SOCK_CLOEXEC)
		d.full.Store(err == unix.EMFILE)
		switch {
		case err == nil:
			go func() { // a sender that is late delays no other
				d.receive(fd)
				unix.Close(fd)
			}()
		case err == unix.EINVAL || err == unix.EBADF:
			return // closed
		case err == unix.EMFILE && d.spare >= 0:
			unix.Close(d.spare)
			d.spare = -1
			if fd, _, err = unix.Accept4(d.fd, unix.SOCK_CLOEXEC); err == nil {
				d.full.Store(false)
				d.receive(fd)
				unix.Close(fd)
			}
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

func openSpare() (int, error) { return unix.Eventfd(0, unix.EFD_CLOEXEC) }

// receive takes one message. Another user's process may have connected: it gets no more than that.
func (d *descriptors) receive(conn int) {
	unix.SetsockoptTimeval(conn, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: messagePatience})
	if c, err := unix.GetsockoptUcred(conn, unix.SOL_SOCKET, unix.SO_PEERCRED); err != nil || int(c.Uid) != os.Geteuid() {
		return
	}
	msg, oob := make([]byte, 25), make([]byte, unix.CmsgSpace(4*8))
	n, on, _, _, err := unix.Recvmsg(conn, msg, oob, unix.MSG_CMSG_CLOEXEC)
	for err == unix.EINTR { // a call with a timeout is not restarted after a signal of the Go runtime
		n, on, _, _, err = unix.Recvmsg(conn, msg, oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return
	}
	fds := rightsIn(oob[:on])
	if n != 24 || len(fds) > 1 || !bytes.Equal(msg[:16], d.nonce[:]) {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return
	}
	var f *os.File
	if len(fds) > 0 {
		f = os.NewFile(uintptr(fds[0]), "log")
	}
	d.mu.Lock()
	d.got[binary.NativeEndian.Uint64(msg[16:])] = f
	close(d.news)
	d.news = make(chan struct{})
	d.mu.Unlock()
}

func rightsIn(oob []byte) (fds []int) {
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range list {
		if f, err := unix.ParseUnixRights(&list[i]); err == nil {
			fds = append(fds, f...)
		}
	}
	return fds
}

// take returns the descriptor with a number. Its errors are EMFILE the agent has no descriptor left;
// EBADF it did not come.
func (d *descriptors) take(number uint64) (*os.File, error) {
	late := time.After(fdPatience)
	for {
		d.mu.Lock()
		f, here := d.got[number]
		news := d.news
		delete(d.got, number)
		d.mu.Unlock()
		if f != nil {
			return f, nil
		}
		if here {
			return nil, unix.EMFILE
		}
		select {
		case <-news:
		case <-late:
			if d.full.Load() {
				return nil, unix.EMFILE
			}
			return nil, unix.EBADF
		}
	}
}
