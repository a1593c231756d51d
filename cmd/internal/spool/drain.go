package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// takeAll takes what there is now.
func (c *Consumer) takeAll() error {
	if err := c.takeOld(); err != nil {
		return err
	}
	size, err := c.takeCurrent(false)
	if err != nil || size < c.rotateAt() || len(c.st.old) >= maxOld || c.st.skipping {
		return err
	}
	if err := c.rotate(); err != nil {
		return err
	}
	return c.takeOld()
}

// lastWait bounds how long the end waits for those who have found the file and
// not yet written to it.
const lastWait = 100 * time.Millisecond

// takeRest takes all that will ever be there.
func (c *Consumer) takeRest() error {
	err := c.takeOld()
	for until := time.Now().Add(lastWait); err == nil; time.Sleep(time.Millisecond) {
		f, _, e := c.d.file(c.d.name, os.O_RDONLY)
		if e != nil {
			return e
		}
		complete := unopened(f)
		err = c.takeFile(f, c.st.gen, complete)
		f.Close()
		if complete || time.Now().After(until) {
			break
		}
	}
	return err
}

func (c *Consumer) takeCurrent(complete bool) (size int64, err error) {
	f, fi, err := c.d.file(c.d.name, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return fi.Size(), c.takeFile(f, c.st.gen, complete)
}

// takeOld takes what was appended to files after they were put aside, and
// removes those that no process has open any more.
func (c *Consumer) takeOld() error {
	for i := 0; i < len(c.st.old); {
		gen := c.st.old[i].gen
		f, _, err := c.d.file(oldName(gen), os.O_RDONLY)
		gone := errors.Is(err, fs.ErrNotExist)
		if err != nil && !gone {
			return err
		}
		if !gone {
			gone = unopened(f)
			if err = c.takeFile(f, gen, gone); err == nil && gone {
				err = c.d.remove(oldName(gen))
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
		c.st.old = slices.Delete(c.st.old, i, i+1)
		if err := c.save(); err != nil {
			return err
		}
	}
	return nil
}

const batchSize = 64 << 10

// takeFile takes the lines of one file. complete tells that nothing will be
// added to it.
func (c *Consumer) takeFile(f *os.File, gen int64, complete bool) error {
	done := c.st.doneOf(gen)
	fi, err := f.Stat()
	if err != nil || done == nil {
		return err
	}
	size := fi.Size()
	c.file = inode(fi)
	end := size
	if size-*done > c.bound {
		if c.attr.StreamFullPolicy == posixtrace.PolicyLoop {
			// The oldest go first, there as in the stream.
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
				c.lose(1)
			}
			if err := c.forward(done, n); err != nil {
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
			if err := c.forward(done, n); err != nil {
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
		c.lose(1) // its writer was killed
		return c.forward(done, int(size-*done))
	}
	return nil
}

// forward notes that n bytes more are done.
func (c *Consumer) forward(done *int64, n int) error {
	c.took = true
	*done += int64(n)
	return c.save()
}

// discard counts the lines that begin before the offset to as lost.
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
			return nil // not complete
		}
		c.st.skipping = i < 0 && done == &c.st.done
		if i < 0 {
			i = len(use) - 1
		}
		c.lose(uint64(bytes.Count(use[:i+1], newline)))
		if err := c.forward(done, i+1); err != nil {
			return err
		}
	}
	return nil
}

var newline = []byte{'\n'}

func (c *Consumer) lose(n uint64) { tool.Lose(c.rec, n) }
