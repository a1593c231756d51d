package spool

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// Watcher is a consumer that drains lines as they come.
type Watcher struct {
	c    *Consumer
	stop chan struct{}
	once sync.Once
	done chan struct{}

	marking sync.Mutex
	d       *dir // for Mark
}

// A watcher polls every pace while lines come. After idleTurns polls without a line it has
// inotify(7) wake it. It does not always use inotify, which would cost each writer more than
// the write itself.
const (
	pace      = 20 * time.Millisecond
	idleTurns = 5
	idleWait  = time.Second // interval of polls where inotify is not available
)

// Watch starts to drain the lines of a stream's spool, until Stop.
func Watch(s *posixtrace.Stream) (*Watcher, error) {
	t, err := NewConsumer(s, false)
	if err != nil {
		return nil, err
	}
	w := &Watcher{c: t, stop: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w, nil
}

// Stop ends the watcher. It leaves the lines that are not drained to other consumers. It
// does nothing for a nil Watcher.
func (w *Watcher) Stop() {
	if w == nil {
		return
	}
	w.once.Do(func() { close(w.stop) })
	<-w.done
	w.marking.Lock()
	defer w.marking.Unlock()
	if w.d != nil {
		w.d.close()
		w.d = nil
	}
}

func (w *Watcher) run() {
	defer close(w.done)
	defer w.c.Close()
	dir, _ := tool.SpoolDir(w.c.path)
	n := newNotifier(dir)
	defer n.close()
	for idle := 0; ; {
		// Another consumer does as well, and the last one reports an error.
		drained, err := w.c.Drain(0)
		if idle++; drained || err == ErrBusy {
			idle = 0
		}
		wait := pace
		if idle > idleTurns {
			if wait = idleWait; idle == idleTurns+1 && n.arm() {
				continue // drain the lines that came before the watch was set
			}
		}
		if n.armed {
			wait = time.Hour
		}
		timer := time.NewTimer(wait)
		select {
		case <-w.stop:
			timer.Stop()
			return
		case <-n.changed:
			n.armed, idle = false, 0
		case <-timer.C:
		}
		timer.Stop()
	}
}

// notifier reports, once after each arm, that something has changed in a directory.
type notifier struct {
	f       *os.File
	dir     string
	armed   bool
	changed chan struct{}
}

func newNotifier(dir string) *notifier {
	n := &notifier{dir: dir, changed: make(chan struct{}, 1)}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return n
	}
	n.f = os.NewFile(uintptr(fd), "inotify")
	go func() {
		b := make([]byte, 4096)
		for {
			if _, err := n.f.Read(b); err != nil {
				return
			}
			select {
			case n.changed <- struct{}{}:
			default:
			}
		}
	}()
	return n
}

func (n *notifier) arm() bool {
	if n.f == nil || n.armed {
		return false
	}
	c, err := n.f.SyscallConn()
	if err != nil {
		return false
	}
	c.Control(func(fd uintptr) {
		_, err = unix.InotifyAddWatch(int(fd), n.dir, unix.IN_MODIFY|unix.IN_MOVE_SELF|unix.IN_DELETE_SELF|unix.IN_ONLYDIR|unix.IN_ONESHOT)
	})
	n.armed = err == nil
	return n.armed
}

func (n *notifier) close() {
	if n.f != nil {
		n.f.Close()
	}
}
