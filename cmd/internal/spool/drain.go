package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

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
