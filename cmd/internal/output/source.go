package output

import (
	"github.com/posixtrace/posixtrace/cmd/internal/typename"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Source stands for the stream or log that an event came from, and knows the names of its
// event types. It looks each name up, and encodes it, once.
type Source struct {
	lookup func(posixtrace.EventID) string
	names  []names

	symbols Symbols    // nil: addresses are shown as numbers
	frames  FrameNames // nil: stacks are not shown
	ended   *Ended     // nil: what an event ends is not shown
}

// names has the encodings of one event type's name.
type names struct {
	known bool
	raw   string
	text  []byte
	json  []byte
}

// maxID bounds the cache. No event type has a greater id.
const maxID = 4096

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
	if int(id) < len(s.names) && s.names[id].known {
		return &s.names[id]
	}
	return s.learn(id)
}

func (s *Source) learn(id posixtrace.EventID) *names {
	n := names{raw: s.lookup(id), known: true}
	if n.raw == "" {
		// Do not cache this: a stream announces types as they appear.
		n = names{raw: typename.OrNumber("", id)}
	}
	n.text = typename.Append(nil, n.raw)
	n.json = appendTypeJSON(nil, id, n.raw)
	if !n.known || id >= maxID {
		return &n
	}
	if int(id) >= len(s.names) {
		grown := make([]names, min(maxID, max(64, 2*(int(id)+1))))
		copy(grown, s.names)
		s.names = grown
	}
	s.names[id] = n
	return &s.names[id]
}
