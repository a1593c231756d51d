package otlp

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// ids makes ids that are the same whenever a log is written. The id of a span depends on the identity
// of its log, its name, process, thread, key and the time of its start, and on nothing else: a
// selection of other events leaves it alone.
type ids struct {
	trace [16]byte
	seed  [2]uint64

	at   int64               // of the latest start
	last uint64              // the latest id
	same map[uint64]struct{} // ids of that time, if there are several

	uid     []byte // the attribute with the id of a log record, up to its time
	records [recordSlots]struct{ hash, count uint64 }

	recordAt   int64               // of the latest log record
	recordLast uint32              // the last part of its id
	recordSame map[uint32]struct{} // those of that time, if there are several
}

// recordSlots bounds how many log records are remembered, in a direct-mapped table.
const recordSlots = 1 << 12

func (d *ids) init(identity string) {
	sum := sha256.Sum256([]byte("posixtrace otlp " + identity))
	copy(d.trace[:], sum[:])
	d.seed[0], d.seed[1] = binary.LittleEndian.Uint64(sum[16:]), binary.LittleEndian.Uint64(sum[24:])
	if d.trace == [16]byte{} {
		d.trace[0] = 1
	}
	d.uid = append(appendID(append(d.uid[:0], `,{"key":"log.record.uid","value":{"stringValue":"`...), mix(d.seed[0], d.seed[1])), '-')
}

// hash returns a number for a name.
func hash(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.LittleEndian.Uint64(sum[:])
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return hi ^ lo
}

// maxSame bounds how many ids of one time are remembered: only a forged log has more spans.
// maxSameRecords does so for log records: events of shells share the time of a tick.
const (
	maxSame        = 1 << 12
	maxSameRecords = 1 << 16
)

// span returns the id of a span that starts with an event.
func (d *ids) span(rec *posixtrace.Record, name uint64) uint64 {
	h := mix(d.seed[0]^uint64(rec.UnixNano), d.seed[1]^name)
	h = mix(h^(uint64(uint32(rec.PID))<<32|uint64(uint32(rec.TID))), h+rec.Span)
	if rec.UnixNano != d.at {
		d.at, d.last = rec.UnixNano, h
		if len(d.same) > 0 {
			clear(d.same)
		}
	} else {
		if d.same == nil {
			d.same = map[uint64]struct{}{}
		}
		if len(d.same) < maxSame {
			d.same[d.last] = struct{}{}
		}
		for _, used := d.same[h]; used; _, used = d.same[h] {
			h = mix(h, d.seed[0]) + 1
		}
		d.last = h
	}
	return max(h, 1)
}

// traceText is the length of the members of a log record that have the id of a trace.
const traceText = len(`,"traceId":""`) + 32

// record returns the last part of the id of a log record: the id of its log, its time, and this. It
// depends on the event, and distinguishes it from others of that time. The time is text that
// compression finds again in the record. Events that are equal, time included, have different ids.
func (d *ids) record(rec *posixtrace.Record) uint32 {
	h := mix(d.seed[1]^uint64(rec.UnixNano), d.seed[0]^uint64(rec.ID)<<32^uint64(rec.Truncation))
	h = mix(h^(uint64(uint32(rec.PID))<<32|uint64(uint32(rec.TID))), h^rec.Address)
	if rec.Span|rec.Parent != 0 {
		h = mix(h^rec.Span, rec.Parent)
	}
	data := rec.Data
	for ; len(data) > 8; data = data[8:] {
		h = mix(h, binary.LittleEndian.Uint64(data))
	}
	var last [8]byte
	copy(last[:], data)
	h = mix(h^uint64(len(rec.Data)), binary.LittleEndian.Uint64(last[:]))
	if slot := &d.records[h%recordSlots]; slot.hash != h {
		slot.hash, slot.count = h, 0
	} else {
		slot.count++
		h = mix(h, slot.count)
	}
	if rec.UnixNano != d.recordAt {
		d.recordAt, d.recordLast = rec.UnixNano, uint32(h>>32)
		if len(d.recordSame) > 1<<10 {
			d.recordSame = nil // to clear a large map takes as long as it once was large
		} else if len(d.recordSame) > 0 {
			clear(d.recordSame)
		}
		return d.recordLast
	}
	// Another event may have taken the slot since, and events of one time are many enough to have the same
	// 32 bits by chance.
	if d.recordSame == nil {
		d.recordSame = map[uint32]struct{}{}
	}
	if len(d.recordSame) < maxSameRecords {
		d.recordSame[d.recordLast] = struct{}{}
	}
	for _, used := d.recordSame[uint32(h>>32)]; used; _, used = d.recordSame[uint32(h>>32)] {
		h = mix(h, d.seed[0]) + 1
	}
	d.recordLast = uint32(h >> 32)
	return d.recordLast
}

// trace is a trace: its id, and what comes with it.
type trace struct {
	id    [16]byte
	flags byte
	state string

	text []byte // the members of a log record without a span
}

func (t *trace) compose() {
	t.text = hex.AppendEncode(append(t.text[:0], `,"traceId":"`...), t.id[:])
	t.text = append(t.text, '"')
	t.text = t.appendFlags(t.text)
}

func (t *trace) appendFlags(b []byte) []byte {
	if t.flags == 0 {
		return b
	}
	return appendInt(append(b, `,"flags":`...), int64(t.flags))
}
