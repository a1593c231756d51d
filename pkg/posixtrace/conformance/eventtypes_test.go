package conformance

import (
	"iter"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// eventTypesOf iterates over the event types of a Stream, Log or Reader and their names.
func eventTypesOf(t interface {
	Helper()
	Fatal(...any)
}, x interface {
	EventTypes() ([]posixtrace.EventType, error)
}) iter.Seq2[posixtrace.EventID, string] {
	t.Helper()
	types, err := x.EventTypes()
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(posixtrace.EventID, string) bool) {
		for _, et := range types {
			if !yield(et.ID, et.Name) {
				return
			}
		}
	}
}
