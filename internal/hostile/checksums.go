package hostile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// FixChecksums corrects every checksum in a damaged log in place, so that a reader gets past
// them to the damage. It knows the format from ptrace-log(5) alone, and leaves a file that is
// not a log unchanged.
func FixChecksums(log []byte) {
	const (
		superFixed = 128
		header     = 64
		loop       = 1
	)
	le := binary.LittleEndian
	crc := func(parts ...[]byte) (sum uint32) {
		for _, p := range parts {
			sum = crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), p)
		}
		return sum
	}
	if len(log) < superFixed {
		return
	}
	n := int64(le.Uint32(log[16:]))
	if n < superFixed || n > int64(len(log)) {
		return
	}
	le.PutUint32(log[20:], 0)
	le.PutUint32(log[20:], crc(log[:n]))

	// The slots of a loop log have two headers each, side by side. Areas for clock anchors and types
	// precede them.
	slots, slotSize, first := int64(0), int64(1), n
	if log[81] == loop {
		slots = int64(le.Uint32(log[88:]))
		slotSize = 2*header + (int64(le.Uint32(log[84:]))+7)&^7 + 24
		first += 4144 + header + int64(min(max(le.Uint64(log[72:])/64, 4096), 65536))&^7
	}
	// From the end: the checksum of a block covers any block header inside its payload.
	for off := int64(len(log)-header) &^ 7; off >= n; off -= 8 {
		h := log[off : off+header]
		if !bytes.Equal(h[8:16], log[24:32]) {
			continue
		}
		at := off + header
		if off >= first && off < first+slots*slotSize {
			at = off - (off-first)%slotSize + 2*header
		}
		if end := at + int64(le.Uint32(h[4:])); end <= int64(len(log)) && at <= end {
			le.PutUint32(h[60:], crc(h[:60], make([]byte, 4), log[at:end]))
		}
	}
}
