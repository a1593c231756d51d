package dump

import (
	"runtime"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A finished log is read ahead of what is done with its events, where there is a processor
// for each of the two. Order, and what is told of damage, are those of reading it without.

// A pack is what the two sides hand to each other at once: they should do so rarely.
type pack struct {
	batches [16]posixtrace.Batch
	n       int   // how many are filled
	err     error // why there are no more
}

// ahead is a reading of its own.
type ahead struct {
	full, free chan *pack
	stop       chan struct{}
	now        *pack // of which the input takes batches
	at         int
}

const (
	packs = 3
	// packBytes is how much data is enough for a pack.
	packBytes = 128 << 10
	// aheadAfter is how many batches are read before it pays to read ahead.
	aheadAfter = 100
)

// readAhead begins to read ahead if that may be done.
func (in *input) readAhead() {
	if runtime.GOMAXPROCS(0) < 2 || in.follow || !in.finished() {
		return
	}
	a := &ahead{full: make(chan *pack, packs), free: make(chan *pack, packs), stop: make(chan struct{})}
	for range packs {
		a.free <- new(pack)
	}
	go a.run(in.reader)
	in.ahead = a
}

// run fills packs until there is nothing left to read or nobody to read for.
func (a *ahead) run(r *posixtrace.Reader) {
	defer close(a.full)
	for {
		var p *pack
		select {
		case p = <-a.free:
		case <-a.stop:
			return
		}
		bytes := 0
		for p.n = 0; p.n < len(p.batches) && bytes < packBytes && p.err == nil; {
			b := &p.batches[p.n]
			if p.err = r.NextBatch(b); p.err != nil {
				break
			}
			p.n++
			for i := range b.Records {
				bytes += len(b.Records[i].Data)
			}
		}
		a.full <- p // there is room for all
		if p.err != nil {
			return
		}
	}
}

// next returns the next batch.
func (a *ahead) next() (*posixtrace.Batch, error) {
	for a.now == nil || a.at == a.now.n {
		if a.now != nil {
			if a.now.err != nil {
				return nil, a.now.err
			}
			a.free <- a.now
		}
		a.now, a.at = <-a.full, 0
	}
	a.at++
	return &a.now.batches[a.at-1], nil
}

// end stops reading, and returns when the reader is used no more.
func (a *ahead) end() {
	close(a.stop)
	for range a.full {
	}
}
