package tracelog

import (
	"encoding/binary"
	"errors"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

var errPayload = errors.New("malformed payload")

// TypeDef is an event type and its name.
type TypeDef struct {
	ID   event.ID
	Name string
}

// Classes of event types in the file. The id implies the class; the file states it for readers that
// do not know the classes of ids.
const (
	classSystem = 1
	classUser   = 2
)

// A type is id u32, class u8, length of the name u8, zero u16, the name, and
// zeros up to a multiple of 8.
const typeFixed = 8

func appendType(b []byte, t TypeDef) []byte {
	class := byte(classUser)
	if t.ID.System() {
		class = classSystem
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(t.ID))
	b = append(b, class, byte(len(t.Name)), 0, 0)
	b = append(b, t.Name...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func decodeTypes(b []byte, count uint32) ([]TypeDef, error) {
	var defs []TypeDef
	for len(b) > 0 {
		if len(b) < typeFixed {
			return nil, errPayload
		}
		id, n := event.ID(binary.LittleEndian.Uint32(b)), int(b[5])
		end := chunk.Align(typeFixed + n)
		if !id.Valid() || end > len(b) {
			return nil, errPayload
		}
		defs = append(defs, TypeDef{id, string(b[typeFixed : typeFixed+n])})
		b = b[end:]
	}
	if len(defs) != int(count) {
		return nil, errPayload
	}
	return defs, nil
}

// A clock anchor is tick u64, nanoseconds i64.
const (
	anchorSize = 16
	// areaAnchors is how many clock anchors a Loop log keeps.
	areaAnchors    = 255
	anchorAreaSize = headerSize + areaAnchors*anchorSize
)

func appendAnchors(b []byte, anchors []chunk.ClockAnchor) []byte {
	for _, k := range anchors {
		b = binary.LittleEndian.AppendUint64(b, k.Tick)
		b = binary.LittleEndian.AppendUint64(b, uint64(k.Nanos))
	}
	return b
}

func decodeAnchors(b []byte, count uint32) ([]chunk.ClockAnchor, error) {
	if len(b)%anchorSize != 0 || len(b)/anchorSize != int(count) {
		return nil, errPayload
	}
	anchors := make([]chunk.ClockAnchor, 0, count)
	for ; len(b) > 0; b = b[anchorSize:] {
		anchors = append(anchors, chunk.ClockAnchor{
			Tick:  binary.LittleEndian.Uint64(b),
			Nanos: int64(binary.LittleEndian.Uint64(b[8:])),
		})
	}
	return anchors, nil
}

// Status is the state of a stream and its log, as posix_trace_status_info.
type Status struct {
	Running    bool
	Full       bool
	Overrun    bool
	Flushing   bool
	FlushError uint32 // errno
	LogOverrun bool
	LogFull    bool
	Lost       uint64 // events that the stream lost
	LogLost    uint64 // events that reached the stream but not the log
}

const statusSize = 32

func (s *Status) flags() []*bool {
	return []*bool{&s.Running, &s.Full, &s.Overrun, &s.Flushing, &s.LogOverrun, &s.LogFull}
}

// A status is six bytes of 0 or 1, zero u16, errno u32, zero u32, lost u64,
// log lost u64.
func appendStatus(b []byte, s *Status) []byte {
	for _, f := range s.flags() {
		v := byte(0)
		if *f {
			v = 1
		}
		b = append(b, v)
	}
	b = append(b, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, s.FlushError)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, s.Lost)
	return binary.LittleEndian.AppendUint64(b, s.LogLost)
}

func decodeStatus(b []byte) (s Status, err error) {
	if len(b) < statusSize {
		return s, errPayload
	}
	for i, f := range s.flags() {
		*f = b[i] != 0
	}
	s.FlushError = binary.LittleEndian.Uint32(b[8:])
	s.Lost = binary.LittleEndian.Uint64(b[16:])
	s.LogLost = binary.LittleEndian.Uint64(b[24:])
	return s, nil
}

// Totals counts the contents of a log.
type Totals struct {
	Blocks uint64 // of events
	Events uint64
	Bytes  uint64 // of their payloads: what log-max-size bounds
}

// seal is the payload of the last block: offset of the last part of the index
// u64 (0: none), length of the log u64, totals 3 u64, status.
type seal struct {
	Index  uint64
	Length uint64
	Totals
	Status
}

const (
	sealPayload = 40 + statusSize
	sealSize    = headerSize + sealPayload
)

func (s *seal) encode() []byte {
	b := make([]byte, 0, sealPayload)
	for _, v := range []uint64{s.Index, s.Length, s.Blocks, s.Events, s.Bytes} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return appendStatus(b, &s.Status)
}

func decodeSeal(b []byte) (*seal, error) {
	if len(b) < sealPayload {
		return nil, errPayload
	}
	s := new(seal)
	for i, v := range []*uint64{&s.Index, &s.Length, &s.Blocks, &s.Events, &s.Bytes} {
		*v = binary.LittleEndian.Uint64(b[8*i:])
	}
	var err error
	s.Status, err = decodeStatus(b[40:])
	return s, err
}

// decodeGroup returns the watermark of a group's end.
func decodeGroup(b []byte) (uint64, error) {
	if len(b) < 8 {
		return 0, errPayload
	}
	return binary.LittleEndian.Uint64(b), nil
}
