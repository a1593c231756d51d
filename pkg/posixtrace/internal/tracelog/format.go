package tracelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// The version of the format. Readers refuse another major version; a higher minor version only adds
// block kinds and fields at the end of the superblock.
const (
	major = 1
	minor = 0
)

const (
	magic     = "\x93PTLOG\r\n"
	byteOrder = 0x01020304

	// headerSize is the size of a block's header.
	headerSize = 64
	// maxPayload bounds the payload of every block.
	maxPayload = chunk.MaxSize + chunk.JointSize
	// maxSuper bounds the superblock.
	maxSuper = 64 << 10
)

// Kind is the kind of a block. In the file it reads as four letters.
type Kind uint32

// The kinds of blocks. A reader skips unknown kinds.
const (
	KindEvents  Kind = 'E' | 'V'<<8 | 'N'<<16 | 'T'<<24 // a chunk of the stream, unchanged
	KindTypes   Kind = 'T' | 'Y'<<8 | 'P'<<16 | 'E'<<24 // event types and names
	KindAnchors Kind = 'K' | 'N'<<8 | 'O'<<16 | 'T'<<24 // clock anchors; the tag is older than their name
	KindGroup   Kind = 'G' | 'R'<<8 | 'U'<<16 | 'P'<<24 // end of a group: watermark
	KindStatus  Kind = 'S' | 'T'<<8 | 'A'<<16 | 'T'<<24 // status of the stream
	KindIndex   Kind = 'I' | 'N'<<8 | 'D'<<16 | 'X'<<24 // a part of the index
	KindSeal    Kind = 'S' | 'E'<<8 | 'A'<<16 | 'L'<<24 // the last block of a finished log
)

var kindNames = map[Kind]string{
	KindEvents: "events", KindTypes: "types", KindAnchors: "clock anchors", KindGroup: "group",
	KindStatus: "status", KindIndex: "index", KindSeal: "seal",
}

// String returns the name of the kind in messages.
func (k Kind) String() string {
	if s := kindNames[k]; s != "" {
		return s
	}
	return fmt.Sprintf("kind %#x", uint32(k))
}

// header is the first 64 bytes of a block:
//
//	 0       4        8            16
//	+-------+--------+------------+------------+
//	| kind  | length | log id     | sequence   |
//	+-------+--------+------------+------------+ 24
//	| min tick       | max tick   | base tick  |
//	+-------+--------+-----+------+------------+ 48
//	| count | chunk  | gen | crc  |
//	+-------+--------+-----+------+ 64
//
// The checksum covers the header with a zero in place of the checksum, and the
// payload.
type header struct {
	Kind           Kind
	Len            uint32 // of the payload
	ID             uint64
	Seq            uint64
	Min, Max, Base uint64
	Count          uint32
	Chunk, Gen     uint32
	CRC            uint32

	side int    // which header of its slot this is; not in the file
	top  uint64 // sequence number of a newer header that does not count; not in the file
}

func (h *header) encode(b *[headerSize]byte) {
	le := binary.LittleEndian
	le.PutUint32(b[0:], uint32(h.Kind))
	le.PutUint32(b[4:], h.Len)
	le.PutUint64(b[8:], h.ID)
	le.PutUint64(b[16:], h.Seq)
	le.PutUint64(b[24:], h.Min)
	le.PutUint64(b[32:], h.Max)
	le.PutUint64(b[40:], h.Base)
	le.PutUint32(b[48:], h.Count)
	le.PutUint32(b[52:], h.Chunk)
	le.PutUint32(b[56:], h.Gen)
	le.PutUint32(b[60:], h.CRC)
}

func (h *header) decode(b *[headerSize]byte) {
	le := binary.LittleEndian
	h.Kind = Kind(le.Uint32(b[0:]))
	h.Len = le.Uint32(b[4:])
	h.ID = le.Uint64(b[8:])
	h.Seq = le.Uint64(b[16:])
	h.Min = le.Uint64(b[24:])
	h.Max = le.Uint64(b[32:])
	h.Base = le.Uint64(b[40:])
	h.Count = le.Uint32(b[48:])
	h.Chunk = le.Uint32(b[52:])
	h.Gen = le.Uint32(b[56:])
	h.CRC = le.Uint32(b[60:])
}

// size is the whole block's length.
func (h *header) size() int64 { return headerSize + int64(h.Len) }

// castagnoli returns the table of the checksums. Its first use takes a tenth of a millisecond, and
// few programs read or write logs.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// checksum returns the checksum of a block whose encoded header is b.
func checksum(b *[headerSize]byte, payload []byte) uint32 {
	var zero [4]byte
	c := crc32.Update(0, castagnoli(), b[:60])
	c = crc32.Update(c, castagnoli(), zero[:])
	return crc32.Update(c, castagnoli(), payload)
}

// Faults of a block.
var (
	errNoBlock  = errors.New("no block of this log")
	errCut      = errors.New("cut off")
	errChecksum = errors.New("checksum mismatch")
	errLength   = errors.New("length out of bounds")
	errSequence = errors.New("block out of sequence")
	errRange    = errors.New("impossible time range or count")
)

// check returns the fault of a header, as far as the header alone shows it.
func (h *header) check(id uint64) error {
	switch {
	case h.ID != id:
		return errNoBlock
	case h.Len > maxPayload || h.Len%8 != 0:
		return errLength
	case h.Kind == KindEvents && (h.Min > h.Max || h.Count == 0 || h.Count > h.Len/chunk.HeaderSize):
		return errRange
	}
	return nil
}

// Fault is a fault in a log, and where it is.
type Fault struct {
	Offset int64
	What   string
	Err    error
}

// noSeal is what is wrong with a log that ends without a seal. Offset is the end of its sound part.
const noSeal = "end without a seal"

func (f *Fault) Error() string {
	if f.What == noSeal {
		return fmt.Sprintf("it ends at byte %d, the recorder was killed or the file was cut", f.Offset)
	}
	return fmt.Sprintf("%s at %d: %v", f.What, f.Offset, f.Err)
}

// Unwrap returns the reason.
func (f *Fault) Unwrap() error { return f.Err }
