package tracelog

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// A log that is read forward from what can seek is read again after Rewind, whatever was read before,
// and byte by byte as at once.
func TestForwardRewind(t *testing.T) {
	for _, p := range []Policy{Append, UntilFull, Loop} {
		var m memory
		w, err := create(&m, superFor(p))
		must(t, err)
		writeLog(t, w, overlapping(300))
		want, bad := verdict(OpenStream(bytes.NewReader(m.b)))
		must(t, bad)
		r, err := OpenStream(bytes.NewReader(m.b))
		must(t, err)
		r.Maps = true
		var rec chunk.Record
		for _, n := range []int{0, 1, 7, 100, 1 << 20} {
			for range n {
				if ok, err := r.Next(&rec); !ok || err != nil {
					break
				}
			}
			must(t, r.Rewind())
		}
		if got, bad := verdict(r, nil); got != want || bad != nil {
			t.Errorf("%v: after Rewind: %v\n%swant:\n%s", p, bad, got, want)
		}
		if got, bad := verdict(OpenStream(iotest.OneByteReader(bytes.NewReader(m.b)))); got != want || bad != nil {
			t.Errorf("%v: byte by byte: %v\n%swant:\n%s", p, bad, got, want)
		}
		r, err = OpenStream(io.MultiReader(bytes.NewReader(m.b)))
		must(t, err)
		if r.Rewind() == nil {
			t.Errorf("%v: Rewind of what cannot seek", p)
		}
	}
}

// Another log in place of the first is no continuation.
func TestForwardRewindFindsAnotherLog(t *testing.T) {
	var logs [2][]byte
	for i := range logs {
		var m memory
		s := superFor(Append)
		s.ID = uint64(i + 1)
		w, err := create(&m, s)
		must(t, err)
		writeLog(t, w, overlapping(3))
		logs[i] = bytes.Clone(m.b)
	}
	s := &swapped{Reader: bytes.NewReader(logs[0]), other: logs[1]}
	r, err := OpenStream(s)
	must(t, err)
	if err := r.Rewind(); !isIO(err) {
		t.Errorf("Rewind: %v", err)
	}
}

// swapped is a file that another one replaces.
type swapped struct {
	*bytes.Reader
	other []byte
}

func (s *swapped) Seek(int64, int) (int64, error) {
	s.Reader.Reset(s.other)
	return 0, nil
}
