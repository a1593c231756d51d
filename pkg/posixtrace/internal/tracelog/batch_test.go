package tracelog

import (
	"fmt"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// A log can be read event by event, in batches, and counted. These agree in every state of the log.

// outcome is the result of reading a log to its end.
type outcome struct {
	events []ev
	state  State
	fault  string
}

func (o *outcome) end(r *Reader) {
	var err error
	if o.state, err = r.State(); err != nil {
		o.fault = err.Error()
	}
}

// inBatches reads batches of at most n events, and examines each after the next one was read, too.
func inBatches(t testing.TB, r *Reader, n int) (o outcome) {
	t.Helper()
	var recs [2][]chunk.Record
	var holds [2]Hold
	var read []ev
	for i := 0; ; i = 1 - i {
		if recs[i] == nil {
			recs[i] = make([]chunk.Record, n)
		}
		got, err := r.NextBatch(recs[i][:n], &holds[i])
		if err != nil {
			t.Fatal(err)
		}
		for k := range read {
			if e := evOf(&recs[1-i][k]); e != read[k] {
				t.Fatalf("an event of the batch before changed to %v from %v", e, read[k])
			}
		}
		if got == 0 {
			o.end(r)
			return o
		}
		read = read[:0]
		for k := range recs[i][:got] {
			read = append(read, evOf(&recs[i][k]))
		}
		o.events = append(o.events, read...)
	}
}

// counted counts the events of a log and of each type.
func counted(t testing.TB, r *Reader) (c *Counts, o outcome) {
	t.Helper()
	c = new(Counts)
	for {
		more, err := r.Count(c)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			o.end(r)
			return c, o
		}
	}
}

// agree reads a log in all ways and compares the results.
func agree(t testing.TB, what string, log []byte, sel *event.Set) {
	t.Helper()
	open := func(file bool) *Reader {
		var r *Reader
		var err error
		if file {
			r, err = OpenFile(readerAt(log), int64(len(log)))
		} else {
			r, err = OpenStream(&sliceReader{b: log})
		}
		if err == nil && sel != nil {
			err = r.Select(0, ^uint64(0), sel)
		}
		if err != nil {
			return nil
		}
		return r
	}
	for _, file := range []bool{true, false} {
		r := open(file)
		if r == nil {
			continue
		}
		want := outcome{events: readAll(t, r)}
		want.end(r)
		for _, n := range []int{1, 3, 64} {
			got := inBatches(t, open(file), n)
			if !slices.Equal(got.events, want.events) || got.state != want.state || got.fault != want.fault {
				t.Fatalf("%s, file %v, in batches of %d: %d events, %v %s; one by one: %d, %v %s", what, file, n,
					len(got.events), got.state, got.fault, len(want.events), want.state, want.fault)
			}
		}
		c, got := counted(t, open(file))
		sum := new(Counts)
		for _, e := range want.events {
			sum.Types[e.ID].Add(&chunk.Count{Events: 1, Bytes: uint64(len(e.Data)), Min: e.Tick, Max: e.Tick})
			sum.Events++
			sum.Max = max(sum.Max, e.Tick)
		}
		if c.Types != sum.Types || c.Events != sum.Events || c.Max != sum.Max || got.state != want.state || got.fault != want.fault {
			t.Fatalf("%s, file %v: counted %d events, %v %s; there are %d, %v %s", what, file,
				c.Events, got.state, got.fault, sum.Events, want.state, want.fault)
		}
	}
}

func TestNextBatchAndCountAgree(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	var some event.Set
	some.Add(41)
	for _, p := range []Policy{Append, Loop} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			var m memory
			w, err := create(&m, superFor(p))
			must(t, err)
			blocks := overlapping(20)
			blocks[3] = makeBlock(3, 77, 9, 5, true)
			writeLog(t, w, blocks)
			small, _, _ := smallLog(t, p)
			for _, log := range [][]byte{m.b, small} {
				agree(t, "whole", log, nil)
				agree(t, "some types", log, &some)
				step := max(1, len(log)/50)
				for n := 0; n < len(log); n += step {
					agree(t, fmt.Sprint("cut at ", n), log[:n], nil)
					for _, bit := range []byte{1, 0x40} {
						log[n] ^= bit
						agree(t, fmt.Sprint("flipped at ", n), log, nil)
						mended := slices.Clone(log)
						hostile.FixChecksums(mended)
						agree(t, fmt.Sprint("changed at ", n), mended, nil)
						log[n] ^= bit
					}
				}
			}
		})
	}
}
