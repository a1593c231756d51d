package hostile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// Mend makes right, in place, every checksum of a log that it can find, so that what
// lies behind them is reached. It goes by ptrace-log(5) alone. What is no log at all stays
// as it is.
func Mend(log []byte) {
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

	// The slots of a loop log of version 2 or later have two headers each, side by side, and
	// from version 3 on a slot for clock anchors and types stand before them.
	slots, slotSize, first := int64(0), int64(1), n
	if log[81] == loop && le.Uint16(log[8:]) >= 2 {
		slots = int64(le.Uint32(log[88:]))
		slotSize = 2*header + (int64(le.Uint32(log[84:]))+7)&^7 + 24
		if le.Uint16(log[8:]) >= 3 {
			first += 4144 + header + int64(min(max(le.Uint64(log[72:])/64, 4096), 65536))&^7
		}
	}
	// What lies inside of a payload comes before it.
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
