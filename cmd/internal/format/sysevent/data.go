package sysevent

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Data is the data of an event, the members of which its methods return. A form has one for all its
// events.
type Data struct {
	Known Members                // the members that the data has
	Shown Members                // those that text shows
	Sets  [2]posixtrace.EventSet // member i if its type is Types

	encoded []byte // has each number and each Hex at its place
	id      []byte // the Hex without a place
	texts   [hangTexts][]byte
	own     [exitSize]byte // encoded, if the data of the record does not do
}

// Decode decodes the data of an event and returns the event. It returns nil if the data is malformed,
// or if the event has no members or is ByHand. What it decodes is valid while the data is.
func (d *Data) Decode(rec *posixtrace.Record) *Event {
	if rec.ID >= posixtrace.EventUnnamed {
		return nil
	}
	e := &events[rec.ID]
	if e.size == 0 || len(rec.Data) < e.size {
		return nil
	}
	d.encoded, d.Known, d.Shown = rec.Data, e.known[Always], e.shown[Always]
	ok := true
	switch rec.ID {
	case posixtrace.EventError, posixtrace.EventStop:
		ok = len(rec.Data) == e.size
	case posixtrace.EventStart:
		var err error
		d.Sets[0], err = posixtrace.DecodeSet(rec.Data)
		ok = err == nil
	case posixtrace.EventFilter:
		var err error
		d.Sets[0], d.Sets[1], err = posixtrace.DecodeFilter(rec.Data)
		ok = err == nil
	case posixtrace.EventProcExit:
		ok = d.exit(e)
	case posixtrace.EventProcMap:
		ok = d.mapping(e)
	case posixtrace.EventResSample:
		const group = 1 << 2 // of the flags
		d.holds(e, IfGroup, le.Uint32(d.encoded[4:])&group != 0)
	case posixtrace.EventProcContext:
		d.texts[0] = rec.Data[e.size:]
		d.holds(e, IfTraceState, len(d.texts[0]) > 0)
	case posixtrace.EventHangThread:
		d.hang(e)
	case posixtrace.EventFileAccess:
		d.file(e)
	}
	if !ok {
		return nil
	}
	return e
}

// exit decodes data that has all members only where they are known.
func (d *Data) exit(e *Event) bool {
	if len(d.encoded) < exitSize {
		clear(d.own[copy(d.own[:], d.encoded[:min(len(d.encoded), wholeExit(len(d.encoded)))]):])
		d.encoded = d.own[:]
	}
	status, signal := d.Int32(&e.Members[ExitStatus]), d.Int32(&e.Members[ExitSignal])
	d.holds(e, IfScheduled, le.Uint64(d.encoded[exitProcessors:]) != 0)
	d.holds(e, IfShared, le.Uint64(d.encoded[exitOthers:])|le.Uint64(d.encoded[exitOthers+8:])|le.Uint64(d.encoded[exitOthers+16:]) != 0)
	return status >= 0 && signal >= 0
}

// wholeExit returns how much of the data of EventProcExit is of members that are whole.
func wholeExit(n int) int {
	if n < exitOthers {
		return exitLeast
	}
	return exitOthers
}

func (d *Data) mapping(e *Event) bool {
	at := e.size
	if d.encoded[mapFlags]&mapOwn != 0 {
		at += mapOwnSize
	}
	end := at + int(le.Uint16(d.encoded[mapFlags+2:]))
	if end > len(d.encoded) || end-at > math.MaxUint8 {
		return false
	}
	d.id, d.texts[0] = d.encoded[at:end], d.encoded[end:]
	if d.Int32(&e.Members[MapParent]) != 0 {
		d.Known, d.Shown = e.known[IfInherited], e.shown[IfInherited]
		return true
	}
	d.Known, d.Shown = e.known[IfFile], e.shown[IfFile]
	d.holds(e, IfBuildID, len(d.id) > 0)
	return true
}

// hang finds the texts and lists behind the numbers. Text lacks what is empty.
func (d *Data) hang(e *Event) {
	rest := d.encoded[e.size:]
	for i := range d.texts {
		d.texts[i] = nil
		if len(rest) < 2 {
			rest = nil
			continue
		}
		n := min(int(le.Uint16(rest))&hangMost, len(rest)-2)
		d.texts[i], rest = rest[2:2+n], rest[2+n:]
		if i >= hangLists {
			d.texts[i] = d.texts[i][:min(n, hangMost-1)]
		}
	}
	d.holds(e, IfTimed, int64(le.Uint64(d.encoded)) >= 0)
	for set := d.Shown; set != 0; set &= set - 1 {
		i := set.First()
		switch m := &e.Members[i]; m.Type {
		case Text, Texts:
			if len(d.texts[m.at]) == 0 {
				d.Shown &^= 1 << i
			}
		case Process, Signal:
			if d.Int32(m) == 0 {
				d.Shown &^= 1 << i
			}
		}
	}
}

// file finds the paths behind the numbers. Text lacks what is empty or zero.
func (d *Data) file(e *Event) {
	rest := d.encoded[e.size:]
	for i := range d.texts[:filePaths] {
		d.texts[i] = nil
		if len(rest) < 2 {
			rest = nil
			continue
		}
		n := min(int(le.Uint16(rest)), len(rest)-2)
		d.texts[i], rest = rest[2:2+n], rest[2+n:]
	}
	d.holds(e, IfWritten, int64(le.Uint64(d.encoded[fileBytes:])) >= 0)
	d.holds(e, IfOwned, posixtrace.FileKind(d.encoded[fileKind]) == posixtrace.FileChown)
	for set := d.Shown; set != 0; set &= set - 1 {
		i := set.First()
		switch m := &e.Members[i]; {
		case m.Type == Text && len(d.texts[m.at]) == 0,
			m.Type == Flags && d.Flags(m) == 0,
			(m.Type == Errno || m.Type == Octal) && d.Int32(m) == 0,
			(m.Type == Unsigned || m.Type == Count) && d.Number(m) == 0:
			d.Shown &^= 1 << i
		}
	}
}

// holds adds the members whose condition is c if it holds.
func (d *Data) holds(e *Event, c Condition, holds bool) {
	if holds {
		d.Known |= e.known[c]
		d.Shown |= e.shown[c]
	}
}

var le = binary.LittleEndian

// Bool returns a Bool.
func (d *Data) Bool(m *Member) bool { return le.Uint32(d.encoded[m.at:])&m.bits != 0 }

// Byte returns a Byte, or the number of a Word.
func (d *Data) Byte(m *Member) byte { return d.encoded[m.at] }

// Flags returns Flags.
func (d *Data) Flags(m *Member) uint16 { return le.Uint16(d.encoded[m.at:]) }

// Int32 returns a number of 32 bits.
func (d *Data) Int32(m *Member) int32 { return int32(le.Uint32(d.encoded[m.at:])) }

// Int64 returns a number of 64 bits that is not negative.
func (d *Data) Int64(m *Member) int64 { return int64(min(le.Uint64(d.encoded[m.at:]), m.most)) }

// Address returns an Address or an Unsigned.
func (d *Data) Address(m *Member) uint64 { return le.Uint64(d.encoded[m.at:]) }

// Number returns a number of any type.
func (d *Data) Number(m *Member) int64 {
	switch m.Type {
	case Bool:
		if d.Bool(m) {
			return 1
		}
		return 0
	case Byte, Word:
		return int64(d.Byte(m))
	case Count, Size, Duration:
		return d.Int64(m)
	case Address, Unsigned:
		return int64(d.Address(m))
	case Flags:
		return int64(d.Flags(m))
	}
	return int64(d.Int32(m))
}

// Bytes returns a Hex.
func (d *Data) Bytes(m *Member) []byte {
	if m.size == 0 {
		return d.id
	}
	return d.encoded[m.at : m.at+m.size]
}

// Text returns a Text.
func (d *Data) Text(m *Member) []byte { return d.texts[m.at] }

// Texts returns the elements of a Texts, in which a NUL ends each.
func (d *Data) Texts(m *Member) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for list := d.texts[m.at]; len(list) > 0; {
			var text []byte
			if text, list, _ = bytes.Cut(list, []byte{0}); !yield(text) {
				return
			}
		}
	}
}

// SetInt32 changes a number of 32 bits.
func (d *Data) SetInt32(m *Member, v int32) {
	d.encoded = d.own[:copy(d.own[:], d.encoded)]
	le.PutUint32(d.encoded[m.at:], uint32(v))
}
