package posixtrace

import "iter"

// eventTypesOf iterates over the event types of a Stream, Log or Reader and their names.
func eventTypesOf(t interface {
	Helper()
	Fatal(...any)
}, x interface{ EventTypes() ([]EventType, error) }) iter.Seq2[EventID, string] {
	t.Helper()
	types, err := x.EventTypes()
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(EventID, string) bool) {
		for _, et := range types {
			if !yield(et.ID, et.Name) {
				return
			}
		}
	}
}
