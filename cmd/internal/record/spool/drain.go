package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// drainAll drains what the spool holds now, and rotates the file if it has grown.
func (c *Consumer) drainAll() error {
	if err := c.drainRotated(); err != nil {
		return err
	}
	size, err := c.drainCurrent()
	if err != nil || size < c.rotationSize() || len(c.st.rotated) >= maxRotated || c.st.skipping {
		return err
	}
	if err := c.rotate(); err != nil {
		return err
	}
	return c.drainRotated()
}

// lastWait bounds how long drainRest waits for shells that have opened the file and not
// yet written to it.
const lastWait = 100 * time.Millisecond

// drainRest drains a sealed spool: everything that will ever be written to it.
func (c *Consumer) drainRest() error {
	err := c.drainRotated()
	for until := time.Now().Add(lastWait); err == nil; time.Sleep(time.Millisecond) {
		f, _, e := c.d.file(c.d.name, c.mode())
		if e != nil {
			return e
		}
		complete := solelyOpen(f)
		err = c.drainFile(f, c.st.gen, complete)
		f.Close()
		if complete || time.Now().After(until) {
			break
		}
	}
	return err
}

// drainCurrent drains the file that shells append to, and returns its size.
func (c *Consumer) drainCurrent() (size int64, err error) {
	f, fi, err := c.d.file(c.d.name, c.mode())
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return fi.Size(), c.drainFile(f, c.st.gen, false)
}

// drainRotated drains what was appended to files after their rotation, and removes the
// files that no other process has open.
func (c *Consumer) drainRotated() error {
	for i := 0; i < len(c.st.rotated); {
		gen := c.st.rotated[i].gen
		f, _, err := c.d.file(rotatedName(gen), c.mode())
		gone := errors.Is(err, fs.ErrNotExist)
		if err != nil && !gone {
			return err
		}
		if !gone {
			gone = solelyOpen(f)
			if err = c.drainFile(f, gen, gone); err == nil && gone {
				err = c.d.remove(rotatedName(gen))
			}
			f.Close() // after the removal: until then the lease keeps others out
			if err != nil {
				return err
			}
		}
		if !gone {
			i++
			continue
		}
		c.st.rotated = slices.Delete(c.st.rotated, i, i+1)
		if err := c.save(); err != nil {
			return err
		}
	}
	return nil
}

const batchSize = 64 << 10

// drainFile drains the lines of one file. complete says that nothing more will be
// appended to it.
func (c *Consumer) drainFile(f *os.File, gen int64, complete bool) error {
	done := c.st.offsetOf(gen)
	fi, err := f.Stat()
	if err != nil || done == nil {
		return err
	}
	size := fi.Size()
	c.file = inode(fi)
	if c.orphan {
		c.written = fi.ModTime().UnixNano() // this process may come much later
	}
	if c.rewrite != nil {
		defer c.erase(f, *done, done)
	}
	end := size
	if size-*done > c.bound {
		if c.attr.StreamFullPolicy == posixtrace.PolicyLoop {
			// Discard the oldest lines, as the stream does with its events.
			if err := c.discard(f, done, size-c.bound); err != nil {
				return err
			}
		} else {
			end = *done + c.bound
		}
	}
	c.buffer()
	for *done < end {
		n, err := f.ReadAt(c.buf[:min(int64(len(c.buf)), size-*done)], *done)
		if n == 0 {
			if *done > size || err != nil {
				break
			}
			continue
		}
		b := c.buf[:n]
		if c.st.skipping && gen == c.st.gen {
			i := bytes.IndexByte(b, '\n')
			if i >= 0 {
				n, c.st.skipping = i+1, false
				c.countLost(1)
			}
			if err := c.advance(done, n); err != nil {
				return err
			}
			continue
		}
		i := bytes.LastIndexByte(b, '\n')
		if i < 0 {
			if n < len(c.buf) || gen != c.st.gen {
				break
			}
			c.st.skipping = true
			if err := c.advance(done, n); err != nil {
				return err
			}
			continue
		}
		if err := c.batch(gen, done, b[:i+1]); err != nil {
			return err
		}
	}
	if end < size {
		if err := c.discard(f, done, size); err != nil {
			return err
		}
	}
	if complete && *done < size {
		c.countLost(1) // a line without its newline: the writer was killed
		return c.advance(done, int(size-*done))
	}
	return nil
}

// mode returns how to open the files of lines.
func (c *Consumer) mode() int {
	if c.rewrite != nil {
		return os.O_RDWR // for erase
	}
	return os.O_RDONLY
}

// erase overwrites the lines of a file that are drained, which may have secrets. start is the end of those
// that were drained before. The size of the file stays, because shells append to it.
func (c *Consumer) erase(f *os.File, start int64, done *int64) {
	if *done == start || unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, *done) == nil {
		return
	}
	for zero := make([]byte, 64<<10); start < *done; { // the file system has no holes
		n, err := f.WriteAt(zero[:min(int64(len(zero)), *done-start)], start)
		if err != nil {
			return
		}
		start += int64(n)
	}
}

// advance saves that n more bytes of a file are drained.
func (c *Consumer) advance(done *int64, n int) error {
	c.drained = true
	*done += int64(n)
	return c.save()
}

// discard skips the lines that start before the offset to, and counts them as lost.
func (c *Consumer) discard(f *os.File, done *int64, to int64) error {
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
			return nil // the last line is incomplete
		}
		c.st.skipping = i < 0 && done == &c.st.done
		if i < 0 {
			i = len(use) - 1
		}
		c.countLost(uint64(bytes.Count(use[:i+1], newline)))
		if err := c.advance(done, i+1); err != nil {
			return err
		}
	}
	return nil
}

var newline = []byte{'\n'}

func (c *Consumer) countLost(n uint64) { tool.Lose(c.rec, n) }
