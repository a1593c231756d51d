package tracelog

import (
	"bytes"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// Chunks with a single event, each with the same notes, do not fill a Loop log with notes. What is left
// of it has each note, some slots apart.
func TestLoopKeepsFewNotes(t *testing.T) {
	notes := [][]byte{bytes.Repeat([]byte("a"), 200), bytes.Repeat([]byte("b"), 150)}
	for _, slots := range []uint64{2, 5, 16, 100} {
		s := superFor(Loop)
		s.LogSize = slots * 4096
		var m memory
		w, err := create(&m, s)
		must(t, err)
		var recorded []ev
		for i := range 3000 {
			b := makeBlock(uint32(i), uint64(i*1000), 1+i%3, 30, false)
			var p []byte
			for k, n := range notes {
				p = chunk.AppendMap(p, uint32(k), n)
			}
			b.Payload = append(p, b.Payload...)
			must(t, w.Events(b.EventsBlock))
			recorded = append(recorded, b.want...)
		}
		must(t, w.Seal(testStatus, false))
		left := newest(t, w, openFile(t, m.b), recorded)
		for _, r := range []*Reader{openFile(t, m.b), openStream(t, m.b)} {
			r.Maps = true
			found := map[string]int{}
			var rec chunk.Record
			for n := 0; ; n++ {
				ok, err := r.Next(&rec)
				must(t, err)
				if !ok {
					if n != len(left) {
						t.Errorf("%d slots: %d events with notes, %d without", slots, n, len(left))
					}
					break
				}
				for p := rec.Maps; p != nil; p = p.Next {
					found[string(p.Data)]++
				}
			}
			for _, n := range notes {
				if k := found[string(n)]; k == 0 || k > int(slots) || slots >= 16 && k > int(slots)/4+1 {
					t.Errorf("%d slots: a note is there %d times", slots, k)
				}
			}
		}
	}
}
