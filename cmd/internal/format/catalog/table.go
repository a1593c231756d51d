package catalog

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// Table holds what a reader of events found out about each event type, so that it need find it out
// once. The zero Table is empty. A type without a name may get one later: what depends on the name
// stays out of the table until then.
type Table[T any] struct {
	rows []row[T] // by id; as long as needed
}

type row[T any] struct {
	value T
	known bool
}

// Get returns what is known of a type.
func (t *Table[T]) Get(id posixtrace.EventID) (value T, known bool) {
	if int(id) >= len(t.rows) {
		return value, false
	}
	r := &t.rows[id]
	return r.value, r.known
}

// Put makes value known. It does nothing for a number that no type has, as a damaged log may contain.
func (t *Table[T]) Put(id posixtrace.EventID, value T) {
	if id > maxType {
		return
	}
	if n := int(id) + 1; n > len(t.rows) {
		grown := make([]row[T], min(maxType+1, max(64, 2*n)))
		copy(grown, t.rows)
		t.rows = grown
	}
	t.rows[id] = row[T]{value, true}
}
