package capture

import (
	"sync"
	"sync/atomic"
)

const (
	queueLength = 4        // batches that may wait to be recorded
	smallBatch  = 16 << 10 // what is recorded at once if nothing waits
)

// queue lets output go on while earlier output is recorded. Much output is
// recorded by a goroutine of its own, which may have to wait for a log to be
// written; a little is not worth waking another thread for.
type queue struct {
	lines *Splitter // nil: nothing is recorded
	buf   []byte    // the one to be read to
	free  chan []byte
	made  int
	work  chan batch
	busy  atomic.Int32 // batches handed over and not yet recorded
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

// room is where the next batch is to be read to.
func (q *queue) room() []byte {
	if q.lines == nil {
		return q.buf
	}
	return q.lines.room(q.buf)
}

// take records the n bytes that were read to room, now or soon.
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

// run records batches in their order.
func (q *queue) run() {
	for b := range q.work {
		q.lines.split(b.buf, b.n)
		q.busy.Add(-1)
		q.free <- b.buf
	}
}

// end records what is left.
func (q *queue) end() {
	if q.work != nil {
		close(q.work)
		q.wg.Wait()
	}
	if q.lines != nil {
		q.lines.end()
	}
}
