package tracelog

import "fmt"

// A writer can queue blocks of events and write them by one call. The file system then handles more
// pages at once, at two thirds of the cost, and there is one system call instead of two for each
// block.
//
// Blocks that extend a file are written in their order. A recorder that is killed leaves some of them
// and part of the next, at whose header the log ends: the file ends before the block does. Within a
// file that is longer already, a block without its payload would have a header and the old bytes.
// There each block is written on its own, the header last.

// queue is the blocks that are not yet written.
type queue struct {
	limit  int    // of the bytes of buf; 0: the writer has no queue
	buf    []byte // the blocks
	blocks []queued
	done   int // how many blocks were written since the last Commit
}

type queued struct {
	h     header
	types Coarse
}

// extender is a sink that writes several blocks at once.
type extender interface {
	// extends reports whether the file has nothing from off on.
	extends(off int64) bool
	// extend writes whole blocks at off, where the file ends. If it fails, the log still ends there.
	extend(off int64, blocks []byte) error
}

// SetQueue lets Queue keep up to limit bytes.
func (w *Writer) SetQueue(limit int) { w.queue.limit = limit }

// Space returns memory for the payload of the next block to queue, nil if there is none. It may be
// available after Commit.
func (w *Writer) Space(n int) []byte {
	q := &w.queue
	out, ok := w.out.(extender)
	if at := len(q.buf) + headerSize; ok && at+n <= q.limit && w.super.LogFullPolicy != Loop && out.extends(w.pos) {
		if cap(q.buf) < q.limit {
			q.buf = append(make([]byte, 0, q.limit), q.buf...)
		}
		return q.buf[at : at+n : at+n]
	}
	return nil
}

// Queue writes a block of events whose payload lies in memory that Space has just returned. If queued is
// true, the block is in the log only when Commit has written it.
func (w *Writer) Queue(b EventsBlock) (queued bool, err error) {
	n := w.queue.all()
	err = w.events(&b, true)
	return w.queue.all() > n, err
}

// bytes counts the bytes of the payloads in the queue.
func (q *queue) bytes() uint64 { return uint64(len(q.buf) - headerSize*len(q.blocks)) }

// all counts the blocks that were queued since the last Commit.
func (q *queue) all() int { return q.done + len(q.blocks) }

// Commit writes the queued blocks. It returns how many of the blocks queued since the last Commit
// are in the log now, which are the first ones. It forgets the others.
func (w *Writer) Commit() (n int, err error) {
	err = w.commit()
	n, w.queue.done = w.queue.done, 0
	return n, err
}

// Discard drops what Commit would write.
func (w *Writer) Discard() (n int) {
	q := &w.queue
	q.buf, q.blocks = q.buf[:0], q.blocks[:0]
	n, q.done = q.done, 0
	return n
}

// enqueue adds a block to the queue.
func (w *Writer) enqueue(h *header, payload []byte, types *Coarse) {
	q := &w.queue
	at := len(q.buf)
	q.buf = q.buf[:at+headerSize+len(payload)]
	copy(q.buf[at+headerSize:], payload) // where it is already, unless the queue was written meanwhile
	w.encode(h, w.seq+uint64(len(q.blocks)), (*[headerSize]byte)(q.buf[at:]), q.buf[at+headerSize:])
	q.blocks = append(q.blocks, queued{*h, *types})
}

// commit commits on behalf of the writer itself.
func (w *Writer) commit() error {
	q := &w.queue
	if len(q.blocks) == 0 {
		return nil
	}
	buf, blocks := q.buf, q.blocks
	q.buf, q.blocks = buf[:0], blocks[:0]
	err := w.preallocateEnd(len(buf))
	if err == nil {
		if err = w.out.(extender).extend(w.pos, buf); err != nil {
			err = fmt.Errorf("log: write %v: %w", KindEvents, err)
		}
	}
	for i := range blocks {
		b := &blocks[i]
		size := b.h.size()
		if err != nil {
			// There may be room for some of them. The caller reports the failure even if there is for all.
			if err := w.preallocateEnd(int(size)); err != nil {
				return err
			}
			if err := w.out.put(w.pos, buf[:headerSize], buf[headerSize:size]); err != nil {
				return fmt.Errorf("log: write %v: %w", KindEvents, err)
			}
		}
		w.index = append(w.index, b.h.entry(w.pos, &b.types))
		w.totals.add(&b.h)
		w.used += uint64(b.h.Len)
		w.pos += size
		w.seq++
		w.grouped = false
		buf = buf[size:]
		q.done++
	}
	for len(w.index) >= indexEntries {
		if w.writeIndex() != nil {
			break // the next block tries again
		}
	}
	return err
}
