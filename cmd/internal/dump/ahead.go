package dump

import (
	"runtime"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// With two processors or more, a goroutine reads a finished log ahead of the processing of
// its events. The order of events and the reports of damage are the same as without it.

// A pack is the unit of exchange between the two goroutines, large enough to make exchanges
// rare.
type pack struct {
	batches [16]posixtrace.Batch
	n       int   // filled batches
	err     error // why no pack follows
}

// ahead is a goroutine that reads ahead.
type ahead struct {
	full, free chan *pack
	stop       chan struct{}
	now        *pack // the pack from which the input takes batches
	at         int
}

const (
	packs = 3
	// packBytes is the amount of data at which a pack is full.
	packBytes = 128 << 10
	// aheadAfter is the number of batches after which reading ahead pays.
	aheadAfter = 100
)

// readAhead starts to read ahead. It returns nil if that would not pay.
func readAhead(r *posixtrace.Reader) *ahead {
	if runtime.GOMAXPROCS(0) < 2 {
		return nil
	}
	a := &ahead{full: make(chan *pack, packs), free: make(chan *pack, packs), stop: make(chan struct{})}
	for range packs {
		a.free <- new(pack)
	}
	go a.run(r)
	return a
}

// run fills packs until the end of the log or until end is called.
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
		a.full <- p // never blocks: the channel has room for all packs
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

// end stops the goroutine and waits until it no longer uses the reader.
func (a *ahead) end() {
	close(a.stop)
	for range a.full {
	}
}
