package tracelog

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// queueLimit holds three of the larger blocks of these tests.
const queueLimit = 3 * 6000

// enter writes blocks by way of the queue, and by Events where it has no room. It stops at the
// first error, and returns how many of the blocks are in the log.
func enter(w *Writer, blocks []block) (n int, err error) {
	var waiting []int
	in := make([]bool, len(blocks))
	commit := func() error {
		n, err := w.Commit()
		for _, i := range waiting[:n] {
			in[i] = true
		}
		waiting = waiting[:0]
		return err
	}
	for i, b := range blocks {
		p := w.Space(len(b.Payload))
		if p == nil {
			if err = commit(); err != nil {
				break
			}
			p = w.Space(len(b.Payload))
		}
		if p == nil {
			if err = w.Events(b.EventsBlock); err != nil {
				break
			}
			in[i] = true
			continue
		}
		copy(p, b.Payload)
		e, queued := b.EventsBlock, false
		e.Payload = p
		if queued, err = w.Queue(e); err != nil {
			break
		}
		if queued {
			waiting = append(waiting, i)
		} else {
			in[i] = true
		}
	}
	if e := commit(); err == nil {
		err = e
	}
	for n < len(in) && in[n] {
		n++
	}
	if slices.Contains(in[n:], true) {
		return n, fmt.Errorf("blocks are in the log, but not number %d", n)
	}
	return n, err
}

func queueBlocks() (blocks []block) {
	for i := range 9 {
		n := 3
		if i%3 == 1 {
			n = 160
		}
		blocks = append(blocks, makeBlock(uint32(i), uint64(100+200*i), n, 20, false))
	}
	return blocks
}

// queueSinks are the kinds of files that a queue is written to.
func queueSinks(d *disk) map[string]sink {
	return map[string]sink{"positional": &positionalSink{f: d}, "append": &appendSink{f: d}}
}

func queueSuper(p Policy) *Super {
	s := superFor(p)
	s.ChunkSize, s.LogSize = 8192, 1<<20
	return s
}

// Whichever write fails, at any byte, the queue says which blocks are in the log. When the rest is
// written again, the log is the same as one without a queue.
func TestQueueMakesSameLog(t *testing.T) {
	blocks := queueBlocks()
	write := func(out sink, p Policy, limit int) {
		t.Helper()
		var w *Writer
		retry(t, func() (err error) { w, err = create(out, queueSuper(p)); return err })
		w.SetQueue(limit)
		retry(t, func() error { return w.Types(testTypes) })
		rest := blocks
		retry(t, func() error {
			n, err := enter(w, rest)
			rest = rest[n:]
			return err
		})
		retry(t, func() error { return w.GroupEnd(5) })
		retry(t, func() error { return w.Seal(testStatus, false) })
	}
	for _, p := range []Policy{Append, UntilFull} {
		for name := range queueSinks(nil) {
			if p == UntilFull && name == "append" {
				continue
			}
			plain, good := new(disk), new(disk)
			write(queueSinks(plain)[name], p, 0)
			write(queueSinks(good)[name], p, queueLimit)
			if !slices.Equal(good.b, plain.b) {
				t.Fatalf("%v %s: the log differs from one without a queue", p, name)
			}
			if good.count >= plain.count-len(blocks)/2 {
				t.Errorf("%v %s: %d writes, %d without a queue", p, name, good.count, plain.count)
			}
			for failAt := range good.count {
				for _, short := range []int{0, 1, 63, 64, 65, 4000, 4500, 10000, 15000} {
					d := &disk{failAt: failAt + 1, short: short}
					write(queueSinks(d)[name], p, queueLimit)
					if !slices.Equal(d.b, plain.b) {
						t.Fatalf("%v %s: the log differs after write %d failed short by %d", p, name, failAt+1, short)
					}
				}
			}
		}
	}
}

// A recorder killed at any byte of a queue leaves an unfinished log, not a damaged one, with the
// first of the blocks. The next recorder adds the others.
func TestCrashInQueue(t *testing.T) {
	blocks := queueBlocks()
	for name := range queueSinks(nil) {
		d := new(disk)
		w, err := create(queueSinks(d)[name], queueSuper(Append))
		must(t, err)
		w.SetQueue(queueLimit)
		must(t, w.Types(testTypes))
		before := d.written()
		n, err := enter(w, blocks)
		must(t, err)
		if n != len(blocks) {
			t.Fatalf("%d blocks in the log", n)
		}
		for n := before; n < d.written(); n++ {
			if !d.edge(n, tracetest.RaceEnabled) {
				continue
			}
			c := d.crash(n)
			r := openFile(t, c.b)
			got := readAll(t, r)
			if all := ordered(blocks); !slices.Equal(got, all[:len(got)]) {
				t.Fatalf("%s, crash at %d: wrong events", name, n)
			}
			if s, err := r.State(); s != Unfinished {
				t.Fatalf("%s, crash at %d: %v, %v", name, n, s, err)
			}
			b, err := openBlocks(readerAt(c.b), int64(len(c.b)))
			must(t, err)
			w, rec, err := resume(b, queueSinks(c)[name])
			must(t, err)
			w.SetQueue(queueLimit)
			var rest []block
			for _, b := range blocks {
				if !rec.Logged(b.Chunk, b.Gen, b.Base) {
					rest = append(rest, b)
				}
			}
			if k := len(blocks) - len(rest); len(got) != len(ordered(blocks[:k])) {
				t.Fatalf("%s, crash at %d: %d events, but %d blocks", name, n, len(got), k)
			}
			must(t, w.Types(testTypes))
			if n, err := enter(w, rest); n != len(rest) || err != nil {
				t.Fatalf("%s, crash at %d: %d of %d blocks, %v", name, n, n, len(rest), err)
			}
			must(t, w.Seal(testStatus, false))
			r = openFile(t, c.b)
			wantEvents(t, readAll(t, r), ordered(blocks))
			wantState(t, r, Finished)
		}
	}
}

// In a file that is longer than its log, old bytes would follow the header of a block that was
// partly written: there is no queue until the log has reached the end.
func TestNoQueueWithinFile(t *testing.T) {
	d := &disk{b: make([]byte, 20000)}
	w, err := create(&positionalSink{f: d, end: 20000}, queueSuper(Append))
	must(t, err)
	w.SetQueue(queueLimit)
	for i := 0; w.Space(64) == nil; i++ {
		if w.pos > 40000 {
			t.Fatal("no queue behind the end of the file")
		}
		must(t, w.Events(makeBlock(uint32(i), uint64(i), 160, 20, false).EventsBlock))
	}
	if w.pos < 20000 {
		t.Errorf("a queue at %d in a file of 20000 bytes", w.pos)
	}
}

// The queue holds more blocks than a part of the index.
func TestQueueAndIndex(t *testing.T) {
	var blocks []block
	for i := range 3*indexEntries + 7 {
		blocks = append(blocks, makeBlock(uint32(i), uint64(10*i), 1, 4, false))
	}
	d := new(disk)
	w, err := create(&positionalSink{f: d}, queueSuper(Append))
	must(t, err)
	w.SetQueue(100 * 700)
	must(t, w.Types(testTypes))
	if n, err := enter(w, blocks); n != len(blocks) || err != nil {
		t.Fatal(n, err)
	}
	if len(w.index) >= indexEntries {
		t.Errorf("the writer keeps %d entries of the index", len(w.index))
	}
	must(t, w.Seal(testStatus, false))
	r := openFile(t, d.b)
	wantEvents(t, readAll(t, r), ordered(blocks))
	wantState(t, r, Finished)
}

// Of a malformed block the sound part is in the log when Queue reports the fault, and the blocks
// queued before are, too. A full log refuses a block at once.
func TestQueueFaults(t *testing.T) {
	blocks := queueBlocks()
	bad := slices.Clone(blocks[2].Payload)
	le.PutUint64(bad[len(bad)-8*4:], chunk.Header(0, 60000, 0))
	blocks[2].Payload = bad
	d := new(disk)
	w, err := create(&positionalSink{f: d}, queueSuper(Append))
	must(t, err)
	w.SetQueue(queueLimit)
	var n int
	for i := range 3 {
		e := blocks[i].EventsBlock
		p := w.Space(len(e.Payload))
		copy(p, e.Payload)
		e.Payload = p
		queued, err := w.Queue(e)
		if !queued || errors.Is(err, chunk.ErrMalformed) != (i == 2) {
			t.Fatalf("block %d: %v, %v", i, queued, err)
		}
	}
	if len(w.queue.blocks) != 0 {
		t.Error("the queue was not written")
	}
	if n, err = w.Commit(); n != 3 || err != nil {
		t.Errorf("Commit = %d, %v", n, err)
	}

	s := queueSuper(UntilFull)
	s.LogSize = uint64(len(blocks[0].Payload) + len(blocks[1].Payload))
	w, err = create(&positionalSink{f: new(disk)}, s)
	must(t, err)
	w.SetQueue(queueLimit)
	if n, err := enter(w, blocks[:2]); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := enter(w, blocks[3:4]); n != 0 || err != ErrFull {
		t.Errorf("full log: %d, %v", n, err)
	}
}

// Of blocks that could not be written the log has none.
func TestQueueFails(t *testing.T) {
	blocks := queueBlocks()[1:] // the first is a large one
	for name := range queueSinks(nil) {
		for _, short := range []int{0, 65, 5300} {
			d := &disk{failAt: 2, short: short, stuck: true}
			w, err := create(queueSinks(d)[name], queueSuper(Append))
			must(t, err)
			w.SetQueue(queueLimit)
			if n, err := enter(w, blocks); n != 0 || err == nil {
				t.Errorf("%s, short by %d: %d blocks, %v", name, short, n, err)
			} else if got := readAll(t, openFile(t, d.b)); len(got) != 0 {
				t.Errorf("%s, short by %d: %d events", name, short, len(got))
			}
			if name == "positional" && len(d.b) < int(w.super.size)+short {
				t.Errorf("short by %d: the space of what was written is given back", short)
			}
		}
	}

	d := new(disk)
	w, err := create(&positionalSink{f: d}, queueSuper(Append))
	must(t, err)
	w.SetQueue(queueLimit)
	e := blocks[0].EventsBlock
	e.Payload = w.Space(len(e.Payload))
	copy(e.Payload, blocks[0].Payload)
	_, err = w.Queue(e)
	must(t, err)
	w.Discard()
	if n, err := w.Commit(); n != 0 || err != nil || len(d.writes) != 1 {
		t.Errorf("after Discard %d blocks, %d writes, %v", n, len(d.writes), err)
	}
}
