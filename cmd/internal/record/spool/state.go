package spool

import (
	"fmt"
	"os"
	"strings"
)

// state is the progress that consumers hand to each other, in a file of one short line. A
// single write within a page replaces it, which a kill cannot tear.
type state struct {
	gen  int64 // generation of the file that shells append to
	done int64 // offset in it up to which lines are drained
	// skipping: done is inside a line that is longer than a batch
	skipping bool

	// The batch that is being recorded, in the file of generation tryGen, up to the
	// offset tryEnd; zeros if there is none. since is its earliest time.
	tryGen, tryEnd, since int64

	// Every line that is not drained was written at this time, of the stream's clock, or later.
	floor int64

	rotated []rotated
}

// rotated is a file that was rotated. Shells that had it open may still append to it.
type rotated struct{ gen, done int64 }

// maxRotated bounds the number of rotated files. With that many, the current file is not
// rotated and grows.
const maxRotated = 16

const stateSize = 1024

const stateForm = "ptrace-spool 2 %d %d %t %d %d %d %d %d"

// readState reads the state; an invalid one counts as that of a new spool.
func readState(f *os.File) (st state) {
	b := make([]byte, stateSize)
	n, _ := f.ReadAt(b, 0)
	head, rest, _ := strings.Cut(string(b[:n]), ":")
	var count int
	got, err := fmt.Sscanf(head, stateForm, &st.gen, &st.done, &st.skipping, &st.tryGen, &st.tryEnd, &st.since, &st.floor, &count)
	if err != nil || got != 8 || count < 0 || count > maxRotated || min(st.gen, st.done, st.tryGen, st.tryEnd, st.since, st.floor) < 0 {
		return state{}
	}
	for _, s := range strings.Fields(rest) {
		var o rotated
		if _, err := fmt.Sscanf(s, "%d/%d", &o.gen, &o.done); err != nil || min(o.gen, o.done) < 0 {
			return state{}
		}
		st.rotated = append(st.rotated, o)
	}
	if len(st.rotated) != count {
		return state{}
	}
	return st
}

// write replaces the state in f.
func (st *state) write(f *os.File) error {
	b := fmt.Appendf(make([]byte, 0, stateSize), stateForm+":",
		st.gen, st.done, st.skipping, st.tryGen, st.tryEnd, st.since, st.floor, len(st.rotated))
	for _, o := range st.rotated {
		b = fmt.Appendf(b, " %d/%d", o.gen, o.done)
	}
	for len(b) < stateSize-1 {
		b = append(b, ' ')
	}
	_, err := f.WriteAt(append(b, '\n'), 0)
	return err
}

// offsetOf returns the offset up to which the file of a generation is drained, nil if there
// is no such file.
func (st *state) offsetOf(gen int64) *int64 {
	if gen == st.gen {
		return &st.done
	}
	for i := range st.rotated {
		if st.rotated[i].gen == gen {
			return &st.rotated[i].done
		}
	}
	return nil
}
