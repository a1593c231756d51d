package output

import (
	"encoding/hex"
	"path/filepath"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
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

// appendMapText appends the data of proc.map.
func appendMapText(b []byte, d *posixtrace.MapData) []byte {
	if d.Parent != 0 {
		return strconv.AppendInt(append(b, " parent="...), int64(d.Parent), 10)
	}
	b = append(escape.Append(append(b, ' ', '"'), []byte(d.Path)), '"')
	b = appendHex(append(b, " start=0x"...), d.Start)
	b = appendHex(append(b, " end=0x"...), d.End)
	b = appendHex(append(b, " offset=0x"...), d.Offset)
	if len(d.BuildID) > 0 {
		b = hex.AppendEncode(append(b, " build_id="...), d.BuildID)
	}
	if d.Removed {
		b = append(b, " removed=yes"...)
	}
	return b
}

func appendMapJSON(b []byte, d *posixtrace.MapData) []byte {
	if d.Parent != 0 {
		return AppendMember(b, "map_parent", d.Parent)
	}
	b = AppendMember(b, "map_file", d.Path)
	for _, m := range []struct {
		key   string
		value uint64
	}{{"map_start", d.Start}, {"map_end", d.End}, {"map_offset", d.Offset}} {
		b = AppendMember(b, m.key, string(appendHex([]byte("0x"), m.value)))
	}
	b = AppendMember(b, "build_id", hex.EncodeToString(d.BuildID))
	return AppendMember(b, "map_removed", d.Removed)
}
