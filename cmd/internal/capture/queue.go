package capture

import (
	"sync"
	"sync/atomic"
)

const (
	queueLength = 4        // batches that may wait to be recorded
	smallBatch  = 16 << 10 // bytes that the reader records itself while no batch waits
)

// queue lets a Pump pass output on while earlier output is recorded. A goroutine of its
// own records large batches, since it may have to wait for a log to be written. The pump
// records a small batch itself, which is cheaper than waking another thread.
type queue struct {
	lines *Splitter // nil: record nothing
	buf   []byte    // the buffer for the next read
	free  chan []byte
	made  int // buffers
	work  chan batch
	busy  atomic.Int32 // batches queued and not yet recorded
	wg    sync.WaitGroup
}

type batch struct {
	buf []byte
	n   int
}

func newQueue(lines *Splitter) *queue {
	q := &queue{lines: lines, made: 1}
	if lines == nil {
		q.buf = make([]byte, batchSize)
	} else {
		q.buf = lines.buffer()
	}
	return q
}

// room returns the part of the buffer to read the next batch into.
func (q *queue) room() []byte {
	if q.lines == nil {
		return q.buf
	}
	return q.lines.room(q.buf)
}

// take records the n bytes that were read into room, or queues them.
func (q *queue) take(n int) {
	switch {
	case q.lines == nil:
		return
	case n <= smallBatch && q.busy.Load() == 0:
		q.lines.split(q.buf, n)
		return
	case q.work == nil:
		q.work = make(chan batch, queueLength)
		q.free = make(chan []byte, queueLength)
		q.wg.Go(q.run)
	}
	q.busy.Add(1)
	q.work <- batch{q.buf, n}
	select {
	case q.buf = <-q.free:
		return
	default:
	}
	if q.made < queueLength {
		q.made++
		q.buf = q.lines.buffer()
		return
	}
	q.buf = <-q.free
}

// run records batches in order.
func (q *queue) run() {
	for b := range q.work {
		q.lines.split(b.buf, b.n)
		q.busy.Add(-1)
		q.free <- b.buf
	}
}

// finish waits for the queued batches and records the last line, if it has no newline.
func (q *queue) finish() {
	if q.work != nil {
		close(q.work)
		q.wg.Wait()
	}
	if q.lines != nil {
		q.lines.finish()
	}
}
