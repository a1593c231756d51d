package posixtrace

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// writersOf returns the processes that have a slot among the writers of a stream.
func writersOf(m *stream.Mem) (ps []sys.Proc) {
	m.RecoverSlots(func(_ uint64, p sys.Proc) (dead bool) {
		ps = append(ps, p)
		return false
	})
	return ps
}
