package output

import (
	"path/filepath"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Symbols names addresses: the function and distance, and the line of source if it is known. If the
// error is not nil, where says what is known of the address. Nothing is shown if where is empty. The
// record is a copy: a pointer would make each caller allocate its record.
type Symbols func(rec posixtrace.Record) (where, source string, err error)

// SetSymbols makes the events of the source be shown with names of their addresses.
func (s *Source) SetSymbols(f Symbols) { s.symbols = f }

// appendSymbol appends the name of an event's address, for people: the source without its
// directory. It appends nothing if the event has no address.
func appendSymbol(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if src.symbols == nil || rec.Address == 0 || rec.Coarse() {
		return b
	}
	where, source, err := src.symbols(*rec)
	if where == "" {
		return b
	}
	b = escape.AppendPrintable(b, []byte(where))
	if err != nil {
		source = err.Error()
	} else if source != "" {
		source = filepath.Base(source)
	}
	if source == "" {
		return b
	}
	return append(escape.AppendPrintable(append(b, " ("...), []byte(source)), ')')
}

// appendSymbolText appends what the text form shows behind the data.
func appendSymbolText(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if src.symbols == nil {
		return b
	}
	n := len(b)
	b = append(b, " at "...)
	start := len(b)
	if b = appendSymbol(b, src, rec); len(b) == start {
		return b[:n]
	}
	return b
}

// appendSymbolJSON appends the members of an event's address.
func appendSymbolJSON(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if src.symbols == nil || rec.Address == 0 || rec.Coarse() {
		return b
	}
	where, source, err := src.symbols(*rec)
	if where == "" {
		return b
	}
	b = AppendMember(b, "symbol", where)
	if source != "" {
		b = AppendMember(b, "source", source)
	}
	if err != nil {
		b = AppendMember(b, "no_symbol", err.Error())
	}
	return b
}
