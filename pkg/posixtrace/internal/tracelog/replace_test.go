package tracelog

import (
	"fmt"
	"slices"
	"testing"
)

// TestReplacedFileIsAlwaysALog replaces a log by another one. After each change the file is a log: the
// old one with its events, or the new one without any.
func TestReplacedFileIsAlwaysALog(t *testing.T) {
	for _, from := range []Policy{Append, UntilFull, Loop} {
		for _, to := range []Policy{Append, UntilFull, Loop} {
			t.Run(fmt.Sprintf("%v by %v", from, to), func(t *testing.T) {
				super := func(p Policy, id uint64) *Super {
					s := superFor(p)
					s.ID, s.ChunkSize, s.LogSize = id, 8192, 1<<20
					return s
				}
				d := new(disk)
				w, err := create(&positionalSink{f: d}, super(from, 7))
				must(t, err)
				blocks := []block{makeBlock(0, 100, 50, 20, false), makeBlock(1, 1000, 50, 20, false)}
				record(t, w, blocks, nil, func() {})
				before := len(readAll(t, openFile(t, d.b)))
				d.writes = nil
				now := &disk{b: slices.Clone(d.b)}

				_, err = create(&positionalSink{f: d, old: true, end: int64(len(d.b))}, super(to, 8))
				must(t, err)
				news := 0
				for i, change := range d.writes {
					now.apply(change)
					r := openFile(t, now.b)
					switch n := len(readAll(t, r)); {
					case r.Super().ID == 7 && n == before:
					case r.Super().ID == 8 && n == 0:
						news++
					default:
						t.Errorf("change %d: log %d with %d events", i, r.Super().ID, n)
					}
				}
				if news == 0 {
					t.Error("the log was not replaced")
				}
			})
		}
	}
}
