package tracelog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"syscall"
)

// holdMax bounds the payloads that a forward reader holds back for the end of their group.
// Recorders end a group with every flush; the events of a log that does not are reported in pieces,
// each in order.
const holdMax = 256 << 20

// forwardSource reads a log that cannot seek. It holds events back until the end of their group,
// which says that nothing earlier will come.
type forwardSource struct {
	r       *Reader
	src     io.Reader
	in      *bufio.Reader
	off     int64
	last    uint64 // sequence number
	horizon uint64 // events up to here may be reported
	ended   bool
	hold    int64
	buf     []byte
	raw     [headerSize]byte

	copies copies // of a Loop log
}

// OpenStream returns a reader of the log that in yields, which is read forward. If in is an io.Seeker,
// Rewind starts again. Input that is
// no log is an error that wraps ErrNotLog.
func OpenStream(in io.Reader) (*Reader, error) {
	f := &forwardSource{src: in, in: bufio.NewReaderSize(in, 64<<10), hold: holdMax}
	if p, err := f.in.Peek(superFixed); err == io.EOF {
		return nil, shortOfSuper(p)
	}
	b := make([]byte, superFixed)
	if err := f.read(b); err != nil {
		return nil, superErr(err)
	}
	n, err := superLen(b)
	if err != nil {
		return nil, err
	}
	b = append(b, make([]byte, n-superFixed)...)
	if err := f.read(b[superFixed:]); err != nil {
		return nil, superErr(err)
	}
	s, err := decodeSuper(b)
	if err != nil {
		return nil, err
	}
	f.r = newReader(s)
	f.r.src = f
	return f.r, nil
}

// rewind starts again: what the reader knows of the log, it knows as far as it has read.
func (f *forwardSource) rewind() error {
	s, ok := f.src.(io.Seeker)
	if !ok {
		return fmt.Errorf("log: rewind: %w", syscall.ESPIPE)
	}
	if _, err := s.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("log: rewind: %w", err)
	}
	again, err := OpenStream(f.src)
	if err != nil {
		return err
	}
	r := f.r
	if again.super.ID != r.super.ID {
		return &ioError{errors.New("another log has taken its place")}
	}
	hold := f.hold
	*f = *again.src.(*forwardSource)
	f.r, f.hold = r, hold
	r.contents, r.cut = again.contents, ^uint64(0)
	return nil
}

// fill reads on until the first event in the merge may be reported.
func (f *forwardSource) fill(wait bool) (limit uint64, ok bool, err error) {
	for f.r.merge.first() > f.horizon || len(f.r.merge.heap) == 0 {
		if f.ended || !wait {
			return 0, false, nil
		}
		if f.r.OnWait != nil {
			f.r.OnWait()
		}
		if err := f.more(); err != nil {
			return 0, false, err
		}
	}
	if f.horizon == math.MaxUint64 {
		return f.horizon, true, nil
	}
	return f.horizon + 1, true, nil
}

func (f *forwardSource) read(p []byte) error {
	n, err := io.ReadFull(f.in, p)
	f.off += int64(n)
	switch err {
	case nil:
		return nil
	case io.EOF, io.ErrUnexpectedEOF:
		return errCut
	}
	return &ioError{err}
}

func (f *forwardSource) skip(n int64) error {
	for n > 0 {
		k, err := f.in.Discard(int(min(n, 1<<20)))
		f.off += int64(k)
		n -= int64(k)
		if err == io.EOF {
			return errCut
		}
		if err != nil {
			return &ioError{err}
		}
	}
	return nil
}

func (f *forwardSource) header(id uint64) (h header, err error) {
	if err := f.read(f.raw[:]); err != nil {
		return h, err
	}
	h.decode(&f.raw)
	return h, h.check(id)
}

func (f *forwardSource) payload(h *header, buf []byte) ([]byte, error) {
	buf = grow(buf, int(h.Len))
	if err := f.read(buf); err != nil {
		return nil, err
	}
	if checksum(&f.raw, buf) != h.CRC {
		return buf, errChecksum
	}
	return buf, nil
}

// more reads up to the end of the next group, or of the log. Only a failure to read is an error.
func (f *forwardSource) more() error {
	r := f.r
	loop := r.super.LogFullPolicy == Loop
	if loop && f.last == 0 {
		err := f.loopArea()
		r.takeAnchors(&f.copies)
		if errors.Is(err, errCut) {
			r.unfinished(f.off, err)
			f.end()
			return nil
		}
		if err != nil {
			return err
		}
	}
	for {
		at := f.off
		grouped, err := f.block(loop)
		switch {
		case isIO(err):
			return err
		case errors.Is(err, errCut) || errors.Is(err, errNoBlock) || err != nil && !r.sealed && f.atEnd():
			r.unfinished(at, err)
			f.end()
			return nil
		case err != nil:
			r.damage(at, "block", err)
			f.end()
			return nil
		case r.sealed:
			f.end()
			return nil
		case grouped:
			return nil
		case r.merge.held > f.hold:
			if loop {
				return fmt.Errorf("log: more than %d bytes of events cannot be put in order without seeking", f.hold)
			}
			// Give up the order rather than the events: report everything held so far.
			f.horizon = max(f.horizon, r.merge.newest())
			return nil
		}
	}
}

// atEnd reports whether nothing follows. An unsound block there is the one that the recorder was
// writing when it died.
func (f *forwardSource) atEnd() bool {
	_, err := f.in.Peek(1)
	return err == io.EOF
}

func (f *forwardSource) end() {
	f.ended, f.horizon = true, math.MaxUint64
	f.r.takeTypes(&f.copies)
}

// block reads the next block in sequence and reports whether it ended a group.
func (f *forwardSource) block(loop bool) (grouped bool, err error) {
	r := f.r
	at := f.off
	h, err := f.header(r.super.ID)
	if err != nil {
		return false, err
	}
	if h.Seq == 0 || f.last != 0 && !follows(f.last, h.Seq, loop) {
		return false, errSequence
	}
	f.last = h.Seq
	if h.Kind == KindEvents && !loop {
		s := r.merge.newBlock()
		if s.buf, err = f.payload(&h, s.buf); err != nil {
			return false, err
		}
		f.addBlock(s, at, &h, s.buf)
		return false, nil
	}
	p, err := f.payload(&h, f.buf)
	if p != nil {
		f.buf = p
	}
	if err != nil {
		if h.Kind == KindIndex && errors.Is(err, errChecksum) {
			r.damage(at, "index", err)
			return false, nil
		}
		return false, err
	}
	if h.Kind == KindGroup {
		w, err := decodeGroup(p)
		f.horizon = max(f.horizon, w)
		return true, err
	}
	if err := wholeSeal(&h, p, f.off); err != nil {
		return false, err
	}
	return false, r.apply(&h, p)
}

// addBlock adds a block of events whose checksum is right to the merge.
func (f *forwardSource) addBlock(s *openBlock, off int64, h *header, p []byte) {
	f.r.found += uint64(h.Count)
	f.r.addBlock(s, off, h, p)
}
