package spool

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// takeAll takes what there is now.
func (t *Taker) takeAll() error {
	if err := t.takeOld(); err != nil {
		return err
	}
	size, err := t.takeCurrent(false)
	if err != nil || size < t.rotateAt() || len(t.st.old) >= maxOld || t.st.skipping {
		return err
	}
	if err := t.rotate(); err != nil {
		return err
	}
	return t.takeOld()
}

// lastWait bounds how long the end waits for those who have found the file and
// not yet written to it.
const lastWait = 100 * time.Millisecond

// takeRest takes all that will ever be there.
func (t *Taker) takeRest() error {
	err := t.takeOld()
	for until := time.Now().Add(lastWait); err == nil; time.Sleep(time.Millisecond) {
		f, _, e := t.d.file(t.d.name, os.O_RDONLY)
		if e != nil {
			return e
		}
		complete := unopened(f)
		err = t.takeFile(f, t.st.gen, complete)
		f.Close()
		if complete || time.Now().After(until) {
			break
		}
	}
	return err
}

func (t *Taker) takeCurrent(complete bool) (size int64, err error) {
	f, fi, err := t.d.file(t.d.name, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return fi.Size(), t.takeFile(f, t.st.gen, complete)
}

// takeOld takes what was appended to files after they were put aside, and
// removes those that nobody has open any more.
func (t *Taker) takeOld() error {
	for i := 0; i < len(t.st.old); {
		gen := t.st.old[i].gen
		f, _, err := t.d.file(oldName(gen), os.O_RDONLY)
		gone := errors.Is(err, fs.ErrNotExist)
		if err != nil && !gone {
			return err
		}
		if !gone {
			gone = unopened(f)
			if err = t.takeFile(f, gen, gone); err == nil && gone {
				err = t.d.remove(oldName(gen))
			}
			f.Close() // not before it is removed: the lease keeps it ours
			if err != nil {
				return err
			}
		}
		if !gone {
			i++
			continue
		}
		t.st.old = slices.Delete(t.st.old, i, i+1)
		if err := t.save(); err != nil {
			return err
		}
	}
	return nil
}

// rotateAt is the size at which the file is put aside.
func (t *Taker) rotateAt() int64 { return min(t.bound/4, 256<<10) }

// rotate puts the file aside. Each step can be the last; settle goes on from there.
func (t *Taker) rotate() error {
	t.d.remove(newName) // what a killed taker has left, or anybody put there
	f, err := t.d.create(newName, os.O_WRONLY)
	if err != nil {
		return err
	}
	f.Close()
	if err = t.d.link(t.d.name, oldName(t.st.gen)); err == nil {
		err = t.d.rename(newName, t.d.name)
	}
	if err != nil {
		return err
	}
	return t.turn()
}

// turn notes that the file was put aside.
func (t *Taker) turn() error {
	t.st.old = append(t.st.old, old{t.st.gen, t.st.done})
	t.st.gen++
	t.st.done = 0
	return t.save()
}

// settle finishes what a killed taker had begun of rotate.
func (t *Taker) settle() error {
	aside, err := t.d.stat(oldName(t.st.gen))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := t.d.stat(t.d.name)
	if err != nil {
		return err
	}
	if aside.Ino == now.Ino && aside.Dev == now.Dev {
		return t.d.remove(oldName(t.st.gen))
	}
	if len(t.st.old) >= maxOld {
		return errForeign
	}
	return t.turn()
}

// unopened reports whether nobody but us has f open. Then nobody else gets to
// open it either until f is closed, except by a name that only takers know, or none.
func unopened(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	switch err {
	case nil:
		return true
	case unix.EAGAIN:
		return false
	}
	// A file system without leases: go by how long nobody has written.
	fi, err := f.Stat()
	return err == nil && time.Since(fi.ModTime()) > quiet
}

// quiet is after what time nobody is taken to be about to write, where the kernel
// cannot tell.
const quiet = 10 * time.Second

const batchSize = 64 << 10

// takeFile takes the lines of one file. complete tells that nothing will be
// added to it.
func (t *Taker) takeFile(f *os.File, gen int64, complete bool) error {
	done := t.st.doneOf(gen)
	fi, err := f.Stat()
	if err != nil || done == nil {
		return err
	}
	size := fi.Size()
	t.file = inode(fi)
	end := size
	if size-*done > t.bound {
		if t.attr.StreamFullPolicy == posixtrace.Loop {
			// The oldest go first, there as in the stream.
			if err := t.discard(f, done, size-t.bound); err != nil {
				return err
			}
		} else {
			end = *done + t.bound
		}
	}
	t.buffer()
	for *done < end {
		n, err := f.ReadAt(t.buf[:min(int64(len(t.buf)), size-*done)], *done)
		if n == 0 {
			if *done > size || err != nil {
				break
			}
			continue
		}
		b := t.buf[:n]
		if t.st.skipping && gen == t.st.gen {
			i := bytes.IndexByte(b, '\n')
			if i >= 0 {
				n, t.st.skipping = i+1, false
				t.lose(1)
			}
			if err := t.forward(done, n); err != nil {
				return err
			}
			continue
		}
		i := bytes.LastIndexByte(b, '\n')
		if i < 0 {
			if n < len(t.buf) || gen != t.st.gen {
				break
			}
			t.st.skipping = true
			if err := t.forward(done, n); err != nil {
				return err
			}
			continue
		}
		if err := t.batch(gen, done, b[:i+1]); err != nil {
			return err
		}
	}
	if end < size {
		if err := t.discard(f, done, size); err != nil {
			return err
		}
	}
	if complete && *done < size {
		t.lose(1) // its writer was killed
		return t.forward(done, int(size-*done))
	}
	return nil
}

// forward notes that n bytes more are done.
func (t *Taker) forward(done *int64, n int) error {
	t.took = true
	*done += int64(n)
	return t.save()
}

// discard counts the lines that begin before the offset to as lost.
func (t *Taker) discard(f *os.File, done *int64, to int64) error {
	b := make([]byte, 256<<10)
	for *done < to {
		n, _ := f.ReadAt(b, *done)
		if n == 0 {
			return nil
		}
		use := b[:n]
		if rest := to - *done; int64(n) > rest {
			i := bytes.IndexByte(b[max(rest-1, 0):n], '\n')
			if i >= 0 {
				use = b[:max(rest-1, 0)+int64(i)+1]
			}
		}
		i := bytes.LastIndexByte(use, '\n')
		if i < 0 && n < len(b) {
			return nil // not complete
		}
		t.st.skipping = i < 0 && done == &t.st.done
		if i < 0 {
			i = len(use) - 1
		}
		t.lose(uint64(bytes.Count(use[:i+1], newline)))
		if err := t.forward(done, i+1); err != nil {
			return err
		}
	}
	return nil
}

var newline = []byte{'\n'}

func (t *Taker) lose(n uint64) { t.rec.Lose(n) }

// batchAddress marks the events of a batch. No program has this address, nor has one
// of an event whose time is coarse (posixtrace.CoarseAddress).
func batchAddress(gen, offset int64) uint64 {
	return posixtrace.SpoolAddress | uint64(gen)&(1<<22-1)<<40 | uint64(offset)&(1<<40-1)
}

// split takes a batch apart; a line that is no event has no name.
func (t *Taker) split(b []byte) {
	t.lines = t.lines[:0]
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		l, ok := parse(b[:i])
		if !ok || i >= MaxLine {
			l = line{lost: max(l.lost, 1)}
		}
		l.end = i + 1
		if n := len(t.lines); n > 0 {
			l.end += t.lines[n-1].end
		}
		t.lines = append(t.lines, l)
		b = b[i+1:]
	}
}

// clockSet is the least by which a system's clock is set that is worth a
// correction: less is the pace of the two clocks, or our own.
const clockSet = 10 * time.Millisecond

// wallClock is the system's clock; tests set it.
var wallClock = time.Now

// batch records the lines in b, which are whole.
func (t *Taker) batch(gen int64, done *int64, b []byte) error {
	n := len(b)
	t.split(b)
	// Should the system's clock have been set since the stream was created, the
	// stream's has not.
	now := t.rec.Now()
	set := now - wallClock().UnixNano()
	if max(set, -set) < int64(clockSet) {
		set = 0
	}
	t.st.tryGen, t.st.tryEnd, t.st.since = gen, *done+int64(n), now
	t.date(now, set, *done)
	for i := range t.lines {
		t.st.since = min(t.st.since, t.lines[i].nanos)
	}
	if err := t.save(); err != nil {
		return err
	}
	address := batchAddress(gen, *done)
	for i := range t.lines {
		t.record(&t.lines[i], address)
	}
	t.st.tryGen, t.st.tryEnd, t.st.since = 0, 0, 0
	t.st.floor = max(t.st.floor, t.lines[len(t.lines)-1].nanos)
	if err := t.forward(done, n); err != nil {
		return err
	}
	if t.owing += int64(n); t.foreign && t.owing > t.attr.StreamSize/4 {
		// The stream must not become full before its owner comes to look.
		t.owing = 0
		t.s.Flush()
	}
	return nil
}

func (t *Taker) record(l *line, address uint64) {
	if l.name == nil {
		t.lose(l.lost)
		return
	}
	id, ok := t.ids[string(l.name)]
	if !ok {
		var err error
		id, err = t.s.EventID(string(l.name))
		if err != nil {
			id = 0
		}
		if t.ids == nil || len(t.ids) >= posixtrace.UserEventMax {
			t.ids = map[string]posixtrace.EventID{}
		}
		t.ids[string(l.name)] = id
	}
	if id == 0 || id.System() {
		t.lose(1)
		return
	}
	if l.coarse {
		address |= posixtrace.CoarseAddress
	}
	t.rec.Record(posixtrace.EventInfo{ID: id, PID: l.pid, TID: l.pid, UnixNano: l.nanos, Address: address, Span: l.span, Parent: l.parent}, l.data)
}
