package spool

import (
	"fmt"
	"os"
	"strings"
)

// state is what takers leave to each other, in one file of one small line. It is
// written by a single write within a page, which a kill does not cut in two.
type state struct {
	gen  int64 // of the file that is written to
	done int64 // how much of it was taken
	// skipping tells that done is inside of a line that is too long for one
	skipping bool

	// The batch that is being recorded: of the file of this generation, up to
	// this offset; 0 when there is none. Its earliest time is since.
	tryGen, tryEnd, since int64

	// No line that was not taken was written before this time, of the stream's clock.
	floor int64

	old []old
}

// old is a file that was put aside and may still be written to by those who had
// it open.
type old struct{ gen, done int64 }

// maxOld bounds how many files are put aside. With that many nothing is put
// aside any more, and the file grows.
const maxOld = 16

const stateSize = 1024

const stateForm = "ptrace-spool 2 %d %d %t %d %d %d %d %d"

// readState reads the state; one that makes no sense is that of a new spool.
func readState(f *os.File) (st state) {
	b := make([]byte, stateSize)
	n, _ := f.ReadAt(b, 0)
	head, rest, _ := strings.Cut(string(b[:n]), ":")
	var count int
	got, err := fmt.Sscanf(head, stateForm, &st.gen, &st.done, &st.skipping, &st.tryGen, &st.tryEnd, &st.since, &st.floor, &count)
	if err != nil || got != 8 || count < 0 || count > maxOld || min(st.gen, st.done, st.tryGen, st.tryEnd, st.since, st.floor) < 0 {
		return state{}
	}
	for _, s := range strings.Fields(rest) {
		var o old
		if _, err := fmt.Sscanf(s, "%d/%d", &o.gen, &o.done); err != nil || min(o.gen, o.done) < 0 {
			return state{}
		}
		st.old = append(st.old, o)
	}
	if len(st.old) != count {
		return state{}
	}
	return st
}

// write makes st the state.
func (st *state) write(f *os.File) error {
	b := fmt.Appendf(make([]byte, 0, stateSize), stateForm+":",
		st.gen, st.done, st.skipping, st.tryGen, st.tryEnd, st.since, st.floor, len(st.old))
	for _, o := range st.old {
		b = fmt.Appendf(b, " %d/%d", o.gen, o.done)
	}
	for len(b) < stateSize-1 {
		b = append(b, ' ')
	}
	_, err := f.WriteAt(append(b, '\n'), 0)
	return err
}

// doneOf returns where to go on in the file of a generation.
func (st *state) doneOf(gen int64) *int64 {
	if gen == st.gen {
		return &st.done
	}
	for i := range st.old {
		if st.old[i].gen == gen {
			return &st.old[i].done
		}
	}
	return nil
}
