package otlp

import (
	"strconv"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Log records of one time have different ids, equal ones too, however many others are between them, and the
// same ids in another export.
func TestRecordIDsOfOneTime(t *testing.T) {
	for _, n := range []int{2, 3000, 60000} {
		list := func() []uint32 {
			var d ids
			d.init("log")
			var list []uint32
			for _, at := range []int64{1, 2} { // that of a tick, and the next
				for i := range n {
					rec := &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 33, PID: 7, TID: 7, UnixNano: at},
						Data: []byte(strconv.Itoa(i % max(n*2/3, 1)))}
					list = append(list, d.record(rec))
				}
			}
			return list
		}
		first, again := list(), list()
		for tick := range 2 {
			seen := map[uint32]bool{}
			for i, id := range first[tick*n : (tick+1)*n] {
				if seen[id] {
					t.Errorf("of %d, record %d of tick %d has the id of another one", n, i, tick)
					break
				}
				seen[id] = true
			}
		}
		for i, id := range first {
			if again[i] != id {
				t.Fatalf("of %d, record %d has another id in another export", n, i)
			}
		}
	}
}
