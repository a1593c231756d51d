package output

import (
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Golden is text that comes out the same each time a program does the same:
// processes and threads are numbered in the order in which they appear, and what
// depends on the machine and the moment is left out.
//
//	P1 T1 build.begin "compile"
type Golden struct {
	pids, tids map[int][]byte
}

// Begin appends nothing.
func (g *Golden) Begin(b []byte) []byte { return b }

// End appends nothing.
func (g *Golden) End(b []byte) []byte { return b }

// Append appends the line of one event.
func (g *Golden) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if g.pids == nil {
		g.pids, g.tids = map[int][]byte{}, map[int][]byte{}
	}
	b = append(append(b, ordinal(g.pids, 'P', rec.PID)...), ' ')
	b = append(append(b, ordinal(g.tids, 'T', rec.TID)...), ' ')
	b = append(b, src.name(rec.ID).text...)
	if rec.ID == posixtrace.EventProcExit {
		if d, err := posixtrace.DecodeExit(rec.Data); err == nil {
			return append(appendHowEnded(b, &d), '\n')
		}
	}
	if rec.ID.System() {
		return append(appendSystemText(b, src, rec), '\n')
	}
	return append(appendData(b, rec.Data, rec.Truncation), '\n')
}

// ordinal returns P1 for the first process seen, and so on; P0 stands for none.
func ordinal(seen map[int][]byte, letter byte, id int) []byte {
	s, ok := seen[id]
	if !ok {
		n := len(seen) + 1
		if _, ok := seen[0]; ok {
			n--
		}
		if id == 0 {
			n = 0
		}
		s = strconv.AppendInt([]byte{letter}, int64(n), 10)
		seen[id] = s
	}
	return s
}
