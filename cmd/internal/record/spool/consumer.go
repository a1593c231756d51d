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

// ErrBusy reports that another consumer has held the lock for the whole wait.
var ErrBusy = errors.New("another process is draining the spool")

// Consumer records the lines of a stream's spool as events. It is not safe for concurrent
// use, but any number of consumers, in any processes, may work on one spool.
type Consumer struct {
	s            *posixtrace.Stream
	path         string // of the stream
	created      int64
	attr         posixtrace.StreamAttr
	bound        int64 // of the spool's size
	foreignOwner bool  // the stream has a log and another process owns it
	orphan       bool  // the stream's owner is dead
	rec          *posixtrace.Recorder
	ids          map[string]posixtrace.EventID
	d            *dir

	// Valid while the consumer holds the lock.
	lock      *os.File
	st        state
	drained   bool  // the consumer has advanced through a file
	unflushed int64 // bytes recorded since the log's owner was asked to flush
	buf       []byte
	lines     []line
	started   int64  // the stream's time when the lock was acquired
	file      uint64 // the inode of the file that lines came from
	written   int64  // when it was written to last, by the system's clock; 0 unless orphan

	marks marks

	rewrite Rewrite // replaces secrets; may be nil
}

// NewConsumer returns a consumer for the spool of a stream. orphan says that the stream's
// owner is dead.
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
		s: s, path: info.Path, bound: 2 * attr.StreamSize, created: info.CreateTime.UnixNano(), attr: attr, orphan: orphan,
		foreignOwner: info.LogPath != "" && info.Owner != os.Getpid() && !orphan,
	}, nil
}

// Close releases the consumer's resources.
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

// Drain records the lines that have been written to the spool, if the stream has one, and
// reports whether there were any. It waits at most this long for other consumers, then
// returns ErrBusy.
func (c *Consumer) Drain(wait time.Duration) (drained bool, err error) {
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
	if c.upToDate() {
		return false, nil
	}
	return c.withLock(wait, c.drainAll)
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
	_, err := c.withLock(wait, c.drainRest)
	if err == ErrBusy {
		c.countUndrained()
	}
	return err
}

// countUndrained counts as lost the lines that a consumer which keeps the lock has not
// drained.
func (c *Consumer) countUndrained() {
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
	files := append(st.rotated, rotated{st.gen, st.done})
	for _, o := range files {
		name := rotatedName(o.gen)
		if o.gen == st.gen {
			name = c.d.name
		}
		// Two names: that consumer may be rotating the file.
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

// upToDate reports, without the lock, whether there is nothing to drain or to clean up.
func (c *Consumer) upToDate() bool {
	f, _, err := c.d.file(stateName, os.O_RDONLY)
	if err != nil {
		return false
	}
	st := readState(f)
	f.Close()
	fi, err := c.d.stat(c.d.name)
	return err == nil && fi.Size == st.done && st.tryEnd == 0 && len(st.rotated) == 0
}

// withLock calls f with the lock held, after it has finished what a killed consumer left
// half done. It reports whether any lines were drained.
func (c *Consumer) withLock(wait time.Duration, f func() error) (drained bool, err error) {
	c.lock, _, err = c.d.file(stateName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // the spool was removed
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
	if Rewriter != nil {
		var end func()
		if c.rewrite, end = Rewriter(c.path); end != nil {
			defer end()
		}
	}
	c.drained = false
	c.started = c.rec.Now()
	c.st = readState(c.lock)
	err = c.finishRotation()
	if err == nil {
		err = c.resume()
	}
	if err == nil {
		err = f()
	}
	if err == nil && c.drained {
		// The lines up to c.started are drained; later ones were written after it.
		c.st.floor = max(c.st.floor, c.started)
		err = c.save()
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the spool was removed with the stream
	}
	return c.drained, err
}

func (c *Consumer) save() error { return c.st.write(c.lock) }
