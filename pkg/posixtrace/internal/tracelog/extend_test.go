package tracelog

import (
	"testing"
)

// A log that is being written can be followed, its seal included.
func TestExtend(t *testing.T) {
	for _, p := range []Policy{Append, UntilFull, Loop} {
		t.Run(p.String(), func(t *testing.T) {
			s := superFor(p)
			if p == Loop {
				s.LogSize = 3 * 4096
			}
			d := new(disk)
			w, err := create(&positional{f: d}, s)
			must(t, err)
			r, err := OpenFile(d, int64(len(d.b)))
			must(t, err)
			var got []ev
			var blocks []block
			for i := range 20 {
				wantState(t, r, Unfinished)
				b := makeBlock(uint32(i), uint64(i*100), 5, 4, false)
				blocks = append(blocks, b)
				if i%7 == 1 {
					must(t, w.Types(testTypes[:1+i/7]))
				}
				if r.Logged(b.Chunk, b.Gen) {
					t.Errorf("chunk %d is logged before it is", i)
				}
				must(t, w.Events(b.EventsBlock))
				must(t, w.GroupEnd(0))
				if i%2 == 0 {
					continue
				}
				must(t, r.Extend(int64(len(d.b))))
				if !r.Logged(b.Chunk, b.Gen) || r.Logged(b.Chunk, b.Gen+1) {
					t.Errorf("chunk %d: Logged is wrong", i)
				}
				got = append(got, readAll(t, r)...)
				if len(r.Types()) != min(3, (i+6)/7) {
					t.Errorf("after block %d: types %v", i, r.Types())
				}
			}
			must(t, w.Seal(testStatus, false))
			must(t, r.Extend(int64(len(d.b))))
			got = append(got, readAll(t, r)...)
			wantEvents(t, got, ordered(blocks))
			wantState(t, r, Finished)
			if s, ok := r.Status(); !ok || s != testStatus {
				t.Errorf("Status() = %v, %v", s, ok)
			}
		})
	}
}

func (d *disk) ReadAt(p []byte, off int64) (int, error) { return readerAt(d.b).ReadAt(p, off) }
