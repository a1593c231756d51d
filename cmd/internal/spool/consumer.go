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
)

// ErrBusy says that another taker has the lock and does not end.
var ErrBusy = errors.New("another process is taking over the lines of the spool")

// Taker makes events of a stream's spool. It is not safe for concurrent use; any
// number of takers may be at work on one spool.
type Taker struct {
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

// NewTaker returns a taker for a stream. orphan tells that it has no owner any more.
func NewTaker(s *posixtrace.Stream, orphan bool) (*Taker, error) {
	info, err := s.Info()
	if err != nil {
		return nil, err
	}
	attr, err := s.Attr()
	if err != nil {
		return nil, err
	}
	return &Taker{
		s: s, path: info.Path, bound: 2 * attr.StreamSize, created: info.CreateTime.UnixNano(), attr: attr,
		foreign: info.LogPath != "" && info.Owner != os.Getpid() && !orphan,
	}, nil
}

// Close ends the taker.
func (t *Taker) Close() {
	if t.rec != nil {
		t.rec.Close()
		t.rec = nil
	}
	if t.d != nil {
		t.d.close()
		t.d = nil
	}
}

// Take records what has been written to the spool, if there is one, and reports
// whether there was anything. It waits for other takers, but not for ever: ErrBusy.
func (t *Taker) Take(wait time.Duration) (took bool, err error) {
	if t.d == nil {
		d, err := open(t.path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		t.d = d
	}
	if t.idle() {
		return false, nil
	}
	return t.locked(wait, t.takeAll)
}

// Last is Take after which nobody finds the spool any more.
func (t *Taker) Last(wait time.Duration) error {
	if t.d == nil {
		d, err := open(t.path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		t.d = d
	}
	name, sealed := posixtrace.SpoolDir(t.path)
	inParent(name, func(at int, name string) error { // or somebody else has
		return unix.Renameat(at, name, at, filepath.Base(sealed))
	})
	_, err := t.locked(wait, t.takeRest)
	if err == ErrBusy {
		t.abandon()
	}
	return err
}

// abandon counts the lines that are left to a taker who does not take them.
func (t *Taker) abandon() {
	f, _, err := t.d.file(stateName, os.O_RDONLY)
	if err != nil {
		return
	}
	defer f.Close()
	if t.rec == nil {
		if t.rec, err = t.s.Recorder(); err != nil {
			return
		}
	}
	st := readState(f)
	files := append(st.old, old{st.gen, st.done})
	for _, o := range files {
		name := oldName(o.gen)
		if o.gen == st.gen {
			name = t.d.name
		}
		// The taker may be about to put it aside.
		if f, fi, err := t.d.existing(name, os.O_RDONLY, 2); err == nil {
			r := io.NewSectionReader(f, o.done, max(fi.Size()-o.done, 0))
			for {
				n, err := r.Read(t.buffer())
				t.rec.Lose(uint64(bytes.Count(t.buf[:n], newline)))
				if err != nil {
					break
				}
			}
			f.Close()
		}
	}
}

func (t *Taker) buffer() []byte {
	if t.buf == nil {
		t.buf = make([]byte, batchSize)
	}
	return t.buf
}

// idle tells without the lock whether there is nothing to do.
func (t *Taker) idle() bool {
	f, _, err := t.d.file(stateName, os.O_RDONLY)
	if err != nil {
		return false
	}
	st := readState(f)
	f.Close()
	fi, err := t.d.stat(t.d.name)
	return err == nil && fi.Size == st.done && st.tryEnd == 0 && len(st.old) == 0
}

func (t *Taker) locked(wait time.Duration, f func() error) (took bool, err error) {
	t.lock, _, err = t.d.file(stateName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // removed
		}
		return false, err
	}
	defer t.lock.Close()
	for until := time.Now().Add(wait); ; time.Sleep(time.Millisecond) {
		err := unix.Flock(int(t.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
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
	if t.rec == nil {
		if t.rec, err = t.s.Recorder(); err != nil {
			return false, err
		}
	}
	t.took = false
	t.begun = t.rec.Now()
	t.st = readState(t.lock)
	err = t.settle()
	if err == nil {
		err = t.recover()
	}
	if err == nil {
		err = f()
	}
	if err == nil && t.took {
		// What comes now was written after that.
		t.st.floor = max(t.st.floor, t.begun)
		err = t.save()
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // removed with the stream
	}
	return t.took, err
}

func (t *Taker) save() error { return t.st.write(t.lock) }
