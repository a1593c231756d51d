package output

import (
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Source stands for the stream or log that an event came from, and knows the names of its
// event types. It looks each name up, and encodes it, once.
type Source struct {
	lookup func(posixtrace.EventID) string
	names  catalog.Table[*names]

	symbols Symbols    // nil: addresses are shown as numbers
	frames  FrameNames // nil: stacks are not shown
	ended   *Ended     // nil: what an event ends is not shown

	data sysevent.Data // of the event that is being written
}

// names has the encodings of one event type's name.
type names struct {
	known bool // the type has a name
	raw   string
	text  []byte
	json  []byte
}

// NewSource returns a source whose names come from lookup, which returns "" for
// a type that has no name, or none yet.
func NewSource(lookup func(posixtrace.EventID) string) *Source {
	return &Source{lookup: lookup}
}

// Name returns the name of an event type as it was registered, or "#ID" if it has none.
func (s *Source) Name(id posixtrace.EventID) string {
	return s.name(id).raw
}

func (s *Source) name(id posixtrace.EventID) *names {
	if n, known := s.names.Get(id); known {
		return n
	}
	return s.learn(id)
}

func (s *Source) learn(id posixtrace.EventID) *names {
	raw := s.lookup(id)
	shown := catalog.TypeOrNumber(raw, id)
	n := &names{raw != "", shown, catalog.AppendType(nil, shown), appendTypeJSON(nil, id, shown)}
	if n.known { // a stream announces types as they appear
		s.names.Put(id, n)
	}
	return n
}
