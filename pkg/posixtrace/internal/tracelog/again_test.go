package tracelog

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// A log that is read forward from what can seek is read again after Rewind, whatever was read before,
// and byte by byte as at once.
func TestForwardRewind(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
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

// A damaged log has the same events, and the same fault, each time it is read. A block that turns out to be
// unsound only when its time comes does not make the events of the first reading fewer in the second.
func TestDamagedRewind(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	for _, p := range []Policy{Append, Loop} {
		var m memory
		s := superFor(p)
		s.LogSize = 32 << 10
		w, err := create(&m, s)
		must(t, err)
		writeLog(t, w, overlapping(16))
		ways := map[string]func(b []byte) (*Reader, error){
			"indexed": func(b []byte) (*Reader, error) { return OpenFile(readerAt(b), int64(len(b))) },
			"walked": func(b []byte) (*Reader, error) {
				b = b[:len(b)-8] // the seal is cut
				return OpenFile(readerAt(b), int64(len(b)))
			},
			"forward": func(b []byte) (*Reader, error) { return OpenStream(bytes.NewReader(b)) },
		}
		for way, open := range ways {
			damaged := 0
			for i, at := range m.starts {
				for _, off := range []int64{0, 16, 26, 60, headerSize, headerSize + 40} {
					if at+off >= int64(len(m.b)) || i == 0 {
						continue
					}
					b := bytes.Clone(m.b)
					b[at+off] ^= 1
					r, err := open(b)
					if err != nil {
						continue
					}
					first, bad := verdict(r, nil)
					if bad != nil {
						damaged++
					}
					for range 2 {
						must(t, r.Rewind())
						if again, other := verdict(r, nil); again != first || fmt.Sprint(other) != fmt.Sprint(bad) {
							t.Fatalf("%v, %s, block %d + %d: %d events, %v; after Rewind %d, %v", p, way, i, off,
								strings.Count(first, "\n"), bad, strings.Count(again, "\n"), other)
						}
					}
				}
			}
			if damaged < 10 {
				t.Errorf("%v, %s: %d damaged logs", p, way, damaged)
			}
		}
	}
}
