package spool

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// ErrBusy says that another taker has the lock and does not end.
var ErrBusy = errors.New("another process is taking over the lines of the spool")

// Consumer makes events of a stream's spool. It is not safe for concurrent use; any
// number of takers may be at work on one spool.
type Consumer struct {
	s       *posixtrace.Stream
	path    string // of the stream
	created int64
	attr    posixtrace.Attr
	bound   int64 // of the spool
	foreign bool  // of a stream with a log that another process owns
	rec     *posixtrace.Recorder
	ids     map[string]posixtrace.EventID
	d       *dir

	// While the lock is held.
	lock  *os.File
	st    state
	took  bool
	owing int64 // bytes recorded since the log's owner was asked to flush
	buf   []byte
	lines []line
	begun int64  // the time of the stream at which the lines were looked for
	file  uint64 // the inode of the file that they are in

	marks marks
}

// NewConsumer returns a taker for a stream. orphan tells that it has no owner any more.
func NewConsumer(s *posixtrace.Stream, orphan bool) (*Consumer, error) {
	info, err := s.Info()
	if err != nil {
		return nil, err
	}
	attr, err := s.Attr()
	if err != nil {
		return nil, err
	}
	return &Consumer{
		s: s, path: info.Path, bound: 2 * attr.StreamSize, created: info.CreateTime.UnixNano(), attr: attr,
		foreign: info.LogPath != "" && info.Owner != os.Getpid() && !orphan,
	}, nil
}

// Close ends the taker.
func (c *Consumer) Close() {
	if c.rec != nil {
		c.rec.Close()
		c.rec = nil
	}
	if c.d != nil {
		c.d.close()
		c.d = nil
	}
}

// Take records what has been written to the spool, if there is one, and reports
// whether there was anything. It waits for other takers, but not for ever: ErrBusy.
func (c *Consumer) Drain(wait time.Duration) (took bool, err error) {
	if c.d == nil {
		d, err := open(c.path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		c.d = d
	}
	if c.idle() {
		return false, nil
	}
	return c.locked(wait, c.takeAll)
}

// Finish seals the spool, so that no shell finds it any more, and drains what
// was written to it.
func (c *Consumer) Finish(wait time.Duration) error {
	if c.d == nil {
		d, err := open(c.path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		c.d = d
	}
	name, sealed := tool.SpoolDir(c.path)
	inParent(name, func(at int, name string) error { // fails if it is sealed already
		return unix.Renameat(at, name, at, filepath.Base(sealed))
	})
	_, err := c.locked(wait, c.takeRest)
	if err == ErrBusy {
		c.abandon()
	}
	return err
}

// abandon counts the lines that are left to a taker who does not take them.
func (c *Consumer) abandon() {
	f, _, err := c.d.file(stateName, os.O_RDONLY)
	if err != nil {
		return
	}
	defer f.Close()
	if c.rec == nil {
		if c.rec, err = c.s.Recorder(); err != nil {
			return
		}
	}
	st := readState(f)
	files := append(st.old, old{st.gen, st.done})
	for _, o := range files {
		name := oldName(o.gen)
		if o.gen == st.gen {
			name = c.d.name
		}
		// The taker may be about to put it aside.
		if f, fi, err := c.d.existing(name, os.O_RDONLY, 2); err == nil {
			r := io.NewSectionReader(f, o.done, max(fi.Size()-o.done, 0))
			for {
				n, err := r.Read(c.buffer())
				tool.Lose(c.rec, uint64(bytes.Count(c.buf[:n], newline)))
				if err != nil {
					break
				}
			}
			f.Close()
		}
	}
}

func (c *Consumer) buffer() []byte {
	if c.buf == nil {
		c.buf = make([]byte, batchSize)
	}
	return c.buf
}

// idle tells without the lock whether there is nothing to do.
func (c *Consumer) idle() bool {
	f, _, err := c.d.file(stateName, os.O_RDONLY)
	if err != nil {
		return false
	}
	st := readState(f)
	f.Close()
	fi, err := c.d.stat(c.d.name)
	return err == nil && fi.Size == st.done && st.tryEnd == 0 && len(st.old) == 0
}

func (c *Consumer) locked(wait time.Duration, f func() error) (took bool, err error) {
	c.lock, _, err = c.d.file(stateName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // removed
		}
		return false, err
	}
	defer c.lock.Close()
	for until := time.Now().Add(wait); ; time.Sleep(time.Millisecond) {
		err := unix.Flock(int(c.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if err != unix.EINTR && err != unix.EWOULDBLOCK {
			return false, err
		}
		if !time.Now().Before(until) {
			return false, ErrBusy
		}
	}
	if c.rec == nil {
		if c.rec, err = c.s.Recorder(); err != nil {
			return false, err
		}
	}
	c.took = false
	c.begun = c.rec.Now()
	c.st = readState(c.lock)
	err = c.settle()
	if err == nil {
		err = c.recover()
	}
	if err == nil {
		err = f()
	}
	if err == nil && c.took {
		// What comes now was written after that.
		c.st.floor = max(c.st.floor, c.begun)
		err = c.save()
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // removed with the stream
	}
	return c.took, err
}

func (c *Consumer) save() error { return c.st.write(c.lock) }
