package tracelog

import (
	"encoding/binary"
	"hash/crc32"
)

type leWriter struct{ b []byte }

func (w leWriter) put32(off int, v uint32) { binary.LittleEndian.PutUint32(w.b[off:], v) }

func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli()) }
