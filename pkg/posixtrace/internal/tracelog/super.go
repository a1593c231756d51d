package tracelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// Policy is a full policy.
type Policy = attr.Policy

// The policies.
const (
	Loop      Policy = attr.Loop
	UntilFull Policy = attr.UntilFull
	Flush     Policy = attr.Flush
	Append    Policy = attr.Append
)

// ClockKind is how the ticks of a log become time.
type ClockKind uint32

// The kinds of clocks.
const (
	ClockNanos   ClockKind = 0 // a tick is a nanosecond since the Unix epoch
	ClockAnchors ClockKind = 1 // the line through the clock anchors in the log
)

// Super is the superblock: the description of a log.
type Super struct {
	attr.Attributes
	Minor      uint16 // minor version of the format; a log that is written has minor
	ID         uint64 // random; 0 lets Create choose one
	Clock      ClockKind
	ChunkSize  uint32 // bounds the chunks of the log
	Slots      uint32 // of a Loop log; computed by Create
	PID        uint32 // the traced process
	Owner      uint32 // the process whose death shuts the stream down
	OwnerStart uint64 // its start time, which distinguishes it from a later process
	Host       string
	BootID     string
	StreamPath string   // the stream's file, from which the log can be completed
	Command    []string // of the owner; cut to what the superblock can hold

	size int64 // of the encoded superblock
}

// superFixed is the size of the part with fixed positions; the strings follow.
const superFixed = 128

// slotRoom is how much payload fits into a Loop log's slot for events.
func (s *Super) slotRoom() int { return chunk.Align(int(s.ChunkSize)) + chunk.JointSize }

// slotHead is the size of the headers before that payload.
const slotHead = 2 * headerSize

// slotSize is the size of a whole slot.
func (s *Super) slotSize() int64 { return slotHead + int64(s.slotRoom()) }

// slotAt is the offset of slot i.
func (s *Super) slotAt(i int) int64 { return s.size + s.headSize() + int64(i)*s.slotSize() }

// anchorsAt is the end of the slots of a Loop log: one area for clock anchors follows.
func (s *Super) anchorsAt() int64 { return s.slotAt(int(s.Slots)) }

// tailAt is the offset of the first block in sequence.
func (s *Super) tailAt() int64 {
	if s.LogFullPolicy != Loop {
		return s.size
	}
	return s.anchorAreaAt(1) + anchorAreaSize
}

// encode returns the superblock and sets s.size. It cuts Command where the arguments do not fit.
func (s *Super) encode() ([]byte, error) {
	le := binary.LittleEndian
	b := make([]byte, superFixed)
	copy(b, magic)
	le.PutUint16(b[8:], major)
	le.PutUint16(b[10:], minor)
	le.PutUint32(b[12:], byteOrder)
	le.PutUint64(b[24:], s.ID)
	s.PutLog(b)
	le.PutUint32(b[44:], uint32(s.Clock))
	le.PutUint32(b[84:], s.ChunkSize)
	le.PutUint32(b[88:], s.Slots)
	le.PutUint32(b[92:], s.PID)
	le.PutUint32(b[96:], s.Owner)
	le.PutUint64(b[104:], s.OwnerStart)
	for _, v := range s.strings() {
		b = appendString(b, *v)
	}
	if len(b) > maxSuper {
		return nil, errors.New("strings too long for a superblock")
	}
	n := 0
	for _, a := range s.Command {
		if len(b)+2+len(a) > maxSuper-8 || len(a) > 0xffff {
			break
		}
		b = appendString(b, a)
		n++
	}
	s.Command = s.Command[:n:n]
	le.PutUint32(b[100:], uint32(n))
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	le.PutUint32(b[16:], uint32(len(b)))
	le.PutUint32(b[20:], crc32.Checksum(b, castagnoli()))
	s.size = int64(len(b))
	return b, nil
}

// strings lists the strings of the variable part in their order.
func (s *Super) strings() []*string {
	return append(s.Texts(), &s.Host, &s.BootID, &s.StreamPath)
}

// check reports whether the members are consistent.
func (s *Super) check() error {
	for _, v := range s.strings() {
		if len(*v) > 0xffff {
			return errors.New("string too long")
		}
	}
	switch {
	case s.LogFullPolicy != Loop && s.LogFullPolicy != UntilFull && s.LogFullPolicy != Append:
		return fmt.Errorf("no such log policy: %v", s.LogFullPolicy)
	case s.ChunkSize == 0 || s.ChunkSize > chunk.MaxSize:
		return fmt.Errorf("chunk size %d", s.ChunkSize)
	case s.CreateTime.Nsec < 0 || s.CreateTime.Nsec >= 1e9:
		return errors.New("creation time out of range")
	case s.Clock > ClockAnchors:
		return fmt.Errorf("unknown kind of clock: %d", s.Clock)
	case (s.LogFullPolicy == Loop) != (s.Slots >= 2):
		return fmt.Errorf("%d slots", s.Slots)
	}
	return nil
}

// ErrNotLog is wrapped by the errors about files that are no logs.
var ErrNotLog = errors.New("not a trace log")

func notLog(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrNotLog)
}

// otherFormat is the error about a log that this version does not read.
type otherFormat struct{ text string }

func (e *otherFormat) Error() string { return e.text }
func (e *otherFormat) Unwrap() error { return ErrNotLog }

// Newer returns the version of a log that has a higher minor version than this package writes, else "".
func (s *Super) Newer() string {
	if s.Minor <= minor {
		return ""
	}
	return fmt.Sprintf("%d.%d", major, s.Minor)
}

// superLen looks at the fixed part of a superblock and returns its length.
func superLen(b []byte) (int, error) {
	le := binary.LittleEndian
	switch {
	case len(b) < superFixed:
		return 0, notLog("too short for a superblock")
	case string(b[:8]) != magic:
		return 0, notLog("no magic")
	case le.Uint32(b[12:]) != byteOrder:
		return 0, &otherFormat{"a trace log of another byte order"}
	case le.Uint16(b[8:]) != major:
		return 0, &otherFormat{fmt.Sprintf("a trace log of format %d.%d, which is not known here: format %d is",
			le.Uint16(b[8:]), le.Uint16(b[10:]), major)}
	}
	n := le.Uint32(b[16:])
	if n < superFixed || n > maxSuper || n%8 != 0 {
		return 0, notLog("superblock of %d bytes", n)
	}
	return int(n), nil
}

// decodeSuper decodes a whole superblock. b is changed.
func decodeSuper(b []byte) (*Super, error) {
	n, err := superLen(b)
	if err != nil {
		return nil, err
	}
	if len(b) < n {
		return nil, notLog("superblock cut off")
	}
	b = b[:n]
	le := binary.LittleEndian
	sum := le.Uint32(b[20:])
	le.PutUint32(b[20:], 0)
	if crc32.Checksum(b, castagnoli()) != sum {
		return nil, notLog("superblock: checksum mismatch")
	}
	s := &Super{
		Minor:      le.Uint16(b[10:]),
		ID:         le.Uint64(b[24:]),
		Clock:      ClockKind(le.Uint32(b[44:])),
		ChunkSize:  le.Uint32(b[84:]),
		Slots:      le.Uint32(b[88:]),
		PID:        le.Uint32(b[92:]),
		Owner:      le.Uint32(b[96:]),
		OwnerStart: le.Uint64(b[104:]),
		size:       int64(n),
	}
	s.GetLog(b)
	args := int(le.Uint32(b[100:]))
	rest := b[superFixed:]
	var ok bool
	for _, v := range s.strings() {
		if *v, rest, ok = cutString(rest); !ok {
			return nil, notLog("superblock: string beyond the end")
		}
	}
	for range args { // ends at the end of rest, whatever args says
		var a string
		if a, rest, ok = cutString(rest); !ok {
			return nil, notLog("superblock: command beyond the end")
		}
		s.Command = append(s.Command, a)
	}
	if err := s.check(); err != nil {
		return nil, notLog("superblock: %v", err)
	}
	return s, nil
}

func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

func cutString(b []byte) (s string, rest []byte, ok bool) {
	if len(b) < 2 {
		return "", nil, false
	}
	n := int(binary.LittleEndian.Uint16(b))
	if len(b) < 2+n {
		return "", nil, false
	}
	return string(b[2 : 2+n]), b[2+n:], true
}
