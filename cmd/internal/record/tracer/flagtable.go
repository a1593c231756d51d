package tracer

import "github.com/posixtrace/posixtrace/cmd/internal/format/escape"

// flagTable has the names of the values of an argument.
type flagTable struct {
	// mask covers the bits that have one of several values; the other bits are flags.
	mask   uint64
	values []flag
	flags  []flag
	zero   string // name of 0, "" if it has none
	wide   bool   // the argument has 64 bits; otherwise it is an int
}

type flag struct {
	bits uint64
	name string
}

// append appends the names of v, and the bits without a name as a number.
func (t *flagTable) append(b []byte, v uint64) []byte {
	if !t.wide {
		v = uint64(uint32(v))
	}
	start := len(b)
	if t.mask != 0 {
		for _, f := range t.values {
			if v&t.mask == f.bits {
				b = append(b, f.name...)
				v &^= t.mask
				break
			}
		}
	}
	for _, f := range t.flags {
		if f.bits != 0 && v&f.bits == f.bits {
			if len(b) > start {
				b = append(b, '|')
			}
			b = append(b, f.name...)
			v &^= f.bits
		}
	}
	switch {
	case v != 0:
		if len(b) > start {
			b = append(b, '|')
		}
		return appendHex(b, v)
	case len(b) > start:
		return b
	case t.zero != "":
		return append(b, t.zero...)
	}
	return append(b, '0')
}

func appendHex(b []byte, v uint64) []byte {
	if v == 0 {
		return append(b, '0')
	}
	return escape.AppendHex(append(b, "0x"...), v)
}
