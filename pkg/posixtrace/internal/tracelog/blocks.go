package tracelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ioError is a failure to read, unlike a fault in the bytes that were read.
type ioError struct{ err error }

func (e *ioError) Error() string { return "log: read: " + e.err.Error() }
func (e *ioError) Unwrap() error { return e.err }

func isIO(err error) bool {
	var e *ioError
	return errors.As(err, &e)
}

// blocks reads the blocks of a log in a file.
type blocks struct {
	f     io.ReaderAt
	size  int64
	super *Super
	aux   []byte           // for a second slot
	raw   [headerSize]byte // of the header read last

	copies copies // of a Loop log
}

// readAt reads exactly len(p) bytes. errCut says that they reach beyond the end.
func (b *blocks) readAt(p []byte, off int64) error {
	if off < 0 || off > b.size || int64(len(p)) > b.size-off {
		return errCut
	}
	n, err := b.f.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case err == io.EOF || err == nil:
		return errCut // the file has shrunk
	}
	return &ioError{err}
}

// header reads and checks the header of the block at off.
func (b *blocks) header(off int64) (h header, err error) {
	if err := b.readAt(b.raw[:], off); err != nil {
		return h, err
	}
	h.decode(&b.raw)
	return h, h.check(b.super.ID)
}

// payload reads the payload of the header read last, into buf if it is large enough, and verifies
// the checksum.
func (b *blocks) payload(off int64, h *header, buf []byte) ([]byte, error) {
	if int64(h.Len) > b.size-off-headerSize {
		return nil, errCut
	}
	buf = grow(buf, int(h.Len))
	if err := b.readAt(buf, off+headerSize); err != nil {
		return nil, err
	}
	if checksum(&b.raw, buf) != h.CRC {
		return nil, errChecksum
	}
	return buf, nil
}

// block reads a whole block.
func (b *blocks) block(off int64, buf []byte) (h header, payload []byte, err error) {
	if h, err = b.header(off); err != nil {
		return h, nil, err
	}
	payload, err = b.payload(off, &h, buf)
	return h, payload, err
}

// grow returns a slice of n bytes, b's memory if that is enough.
func grow(b []byte, n int) []byte {
	if cap(b) >= n {
		return b[:n]
	}
	return make([]byte, n, (n+4095)&^4095)
}

// openBlocks reads the superblock of a file.
func openBlocks(f io.ReaderAt, size int64) (*blocks, error) {
	b := &blocks{f: f, size: size}
	p := make([]byte, min(size, superFixed))
	if err := b.readAt(p, 0); err != nil {
		return nil, superErr(err)
	}
	if len(p) < superFixed {
		return nil, shortOfSuper(p)
	}
	n, err := superLen(p)
	if err != nil {
		return nil, err
	}
	p = make([]byte, n)
	if err := b.readAt(p, 0); err != nil {
		return nil, superErr(err)
	}
	b.super, err = decodeSuper(p)
	return b, err
}

func superErr(err error) error {
	if isIO(err) {
		return err
	}
	return notLog("superblock cut off")
}

// shortOfSuper returns the error for input that ends with b, before the fixed part of a superblock.
func shortOfSuper(b []byte) error {
	switch {
	case len(b) == 0:
		return notLog("empty")
	case !strings.HasPrefix(magic, string(b[:min(len(b), len(magic))])):
		return notLog("no magic")
	}
	return notLog("superblock cut off")
}

// seal returns the seal at the end of the file, or nil if there is none.
func (b *blocks) seal() (*seal, error) {
	if b.size < sealSize {
		return nil, nil
	}
	h, p, err := b.block(b.size-sealSize, nil)
	if isIO(err) {
		return nil, err
	}
	if err != nil || h.Kind != KindSeal {
		return nil, nil
	}
	s, err := decodeSeal(p)
	if err != nil || s.Length != uint64(b.size) {
		return nil, nil
	}
	return s, nil
}

// errIndex is wrapped by every error about an index.
var errIndex = errors.New("index is unsound")

// readIndex calls fn for every part of a finished log's index, from the last to the first.
func (b *blocks) readIndex(s *seal, fn func(at int64, entries []entry) error) error {
	var buf []byte
	var entries []entry
	limit := b.size - sealSize
	for at := int64(s.Index); at != 0; {
		if at < b.super.size || at >= limit {
			return fmt.Errorf("part at %d: %w", at, errIndex)
		}
		h, p, err := b.block(at, buf)
		if isIO(err) {
			return err
		}
		if err != nil || h.Kind != KindIndex || h.size() > limit-at {
			return fmt.Errorf("part at %d: %w", at, errIndex)
		}
		buf = p
		limit = at // each part precedes the last and shares no bytes with it, so the chain ends
		prev, all, err := decodeIndex(p, entries[:0])
		if err != nil {
			return fmt.Errorf("part at %d: %w", at, errIndex)
		}
		entries = all
		for i := range entries {
			if off := entries[i].Off; off < b.super.size || off >= b.size-sealSize {
				return fmt.Errorf("part at %d: entry %d: %w", at, i, errIndex)
			}
		}
		if err := fn(at, entries); err != nil {
			return err
		}
		at = prev
	}
	return nil
}

// walk calls fn with the header of every block in sequence from off on, until fn is done or the
// sequence ends, and returns where and why it ended. It does not read payloads. last is the
// sequence number of the block before off, 0 if any may come.
//
// An unsound block at the end of an unfinished log is the one that its recorder was writing when it
// died: an error that wraps errTorn. If sound blocks follow it is damage.
func (b *blocks) walk(off int64, last uint64, loop bool, fn func(off int64, h *header) error) (end int64, err error) {
	defer func() {
		if err == nil || isIO(err) || errors.Is(err, errSealed) {
			return
		}
		if sound, ioErr := b.soundBlockFollows(off, last); ioErr != nil {
			err = ioErr
		} else if !sound {
			err = fmt.Errorf("%w: %w", errTorn, err)
		}
	}()
	for {
		h, err := b.header(off)
		if err != nil {
			return off, err
		}
		if last != 0 && !follows(last, h.Seq, loop) || h.Seq == 0 {
			return off, errSequence
		}
		if h.size() > b.size-off {
			return off, errCut
		}
		if err := fn(off, &h); err != nil {
			return off, err
		}
		last = h.Seq
		off += h.size()
		if h.Kind == KindSeal {
			return off, nil
		}
	}
}

// errTorn is wrapped by the reason why a log without a seal ends.
var errTorn = errors.New("no more blocks")

// soundBlockFollows reports whether a sound block with a sequence number beyond last lies so close
// behind off that it may have followed an unsound one there.
func (b *blocks) soundBlockFollows(off int64, last uint64) (bool, error) {
	n := min(b.size-off, 2*(headerSize+maxPayload))
	if n < 2*headerSize {
		return false, nil
	}
	p := make([]byte, n)
	if err := b.readAt(p, off); err != nil {
		return false, err
	}
	tries := 64 // each may cost a whole payload
	for i := int64(8); i+headerSize <= n && tries > 0; i += 8 {
		if binary.LittleEndian.Uint64(p[i+8:]) != b.super.ID {
			continue
		}
		tries--
		h, _, err := b.block(off+i, nil)
		if isIO(err) {
			return false, err
		}
		if err == nil && h.Seq > last {
			return true, nil
		}
	}
	return false, nil
}

// follows reports whether a block with sequence number seq may follow one with last. The tail of a
// Loop log has gaps: its slots use sequence numbers, too.
func follows(last, seq uint64, loop bool) bool { return seq == last+1 || loop && seq > last }

// emptySlots is how many slots without a block of this log make the rest count as empty. A recorder
// fills slots in order, so one would do if there were no damage; without a limit a huge sparse file
// would take hours.
const emptySlots = 64

// slots calls fn for every slot of a Loop log that holds a block, sound or not.
func (b *blocks) slots(fn func(i int, off int64, h *header, payload []byte, err error) error) error {
	var buf []byte
	empty := 0
	var seen slotsSeen
	for i := 0; i < int(b.super.Slots) && empty < emptySlots; i++ {
		off := b.super.slotAt(i)
		if off > b.size-headerSize {
			return nil
		}
		h, p, err := b.filled(i, buf)
		if isIO(err) {
			return err
		}
		if errors.Is(err, errNoBlock) {
			empty++
			continue
		}
		empty = 0
		if p != nil {
			buf = p
		}
		if err == nil {
			err = seen.repeated(&h)
		}
		if err := fn(i, off, &h, p, err); err != nil {
			return err
		}
	}
	return nil
}

// slotsSeen finds copies of slots. No recorder writes a slot twice, but a broken disk or program
// may: its events happened once.
type slotsSeen map[uint64]bool

func (o *slotsSeen) repeated(h *header) error {
	key := h.first() // the same in an earlier copy of a growing slot
	if (*o)[key] {
		return errTwice
	}
	if *o == nil {
		*o = slotsSeen{}
	}
	(*o)[key] = true
	return nil
}

var errTwice = errors.New("a copy of another slot")
