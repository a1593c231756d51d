package tracelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// maxText bounds the logs that Encode makes.
const maxText = 16 << 20

// memory is a sink in memory. It records where each block went.
type memory struct {
	b      []byte
	starts []int64
}

var errTooLarge = errors.New("log too large for the text form")

func (m *memory) put(off int64, head, payload []byte) error {
	end := off + int64(len(head)+len(payload))
	if end > maxText {
		return errTooLarge
	}
	if end > int64(len(m.b)) {
		m.b = append(m.b, make([]byte, end-int64(len(m.b)))...)
	}
	copy(m.b[off:], head)
	copy(m.b[off+int64(len(head)):], payload)
	m.starts = append(m.starts, off)
	return nil
}

func (m *memory) truncate(size int64) error {
	if size > maxText {
		return errTooLarge
	}
	if n := int64(len(m.b)); size > n {
		m.b = append(m.b, make([]byte, size-n)...)
	}
	m.b = m.b[:size]
	return nil
}

func (m *memory) reserve(int64) error     { return nil }
func (m *memory) preallocate(int64) error { return nil }
func (m *memory) sync() error             { return nil }
func (m *memory) seekable() bool          { return true }

// at resolves an offset, or B+N.
func (m *memory) at(s string) (int64, error) {
	base, rest, ok := strings.Cut(s, "+")
	if !ok {
		base, rest = "", s
	}
	n, err := strconv.ParseUint(rest, 0, 31)
	if err != nil {
		return 0, err
	}
	off := int64(n)
	if ok {
		i, err := strconv.ParseUint(base, 0, 31)
		if err != nil || i >= uint64(len(m.starts)) {
			return 0, fmt.Errorf("no block %s", base)
		}
		off += m.starts[i]
	}
	return off, nil
}

// encoder makes a log of the text form.
type encoder struct {
	super Super
	m     memory
	w     *Writer
	ev    *EventsBlock // between events and end
	given bool         // the text gives its header
	sites int
}

// Encode makes the log that text describes.
func Encode(text string) ([]byte, error) {
	e := &encoder{super: Super{ID: 1, ChunkSize: 4096, Attributes: attr.Attributes{StreamFullPolicy: Flush, LogFullPolicy: Append,
		LogSize: 1 << 20, StreamSize: 64 << 10, MaxDataSize: 1024, ClockResolution: 1}}}
	for i, s := range strings.Split(text, "\n") {
		if t := strings.TrimSpace(s); t == "" || t[0] == '#' {
			continue
		}
		l, err := splitLine(s)
		if err == nil {
			err = e.line(&l)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if e.ev != nil {
		return nil, errors.New("events without end")
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	return e.m.b, nil
}

// begin writes the superblock unless it is written.
func (e *encoder) begin() (err error) {
	if e.w == nil {
		e.w, err = create(&e.m, &e.super)
	}
	return err
}

// line carries out one line.
func (e *encoder) line(l *line) error {
	switch {
	case e.ev != nil && l.word == "end":
		return e.endEvents()
	case e.ev != nil:
		p, err := l.parseRecord(e.ev.Payload, &e.sites)
		if err == nil {
			e.ev.Payload = p
		}
		return err
	case l.word == "super" || l.word == "command":
		if e.w != nil {
			return fmt.Errorf("%s must come first", l.word)
		}
		if l.word == "command" {
			e.super.Command = l.args
			return nil
		}
		return e.setSuper(l)
	}
	if err := e.begin(); err != nil {
		return err
	}
	switch l.word {
	case "types":
		return e.types(l)
	case "anchors":
		return e.anchors(l)
	case "events":
		return e.beginEvents(l)
	case "group":
		t, err := l.argNum(0, 64)
		if err != nil {
			return err
		}
		return e.w.GroupEnd(t)
	case "cut", "corrupt":
		return e.spoil(l)
	case "status", "seal":
		s, err := l.status()
		if err != nil {
			return err
		}
		if l.word == "seal" {
			return e.w.Seal(s, false)
		}
		return e.w.Status(s)
	case "clear":
		return e.w.Clear()
	case "sum":
		return e.sum()
	case "junk":
		e.m.b = append(e.m.b, strings.Join(l.args, "")...)
		return nil
	}
	return fmt.Errorf("unknown word %q", l.word)
}

// endEvents writes the block of events.
func (e *encoder) endEvents() error {
	b := *e.ev
	e.ev = nil
	if e.given {
		b.Types = new(Coarse)
		for i := range b.Types {
			b.Types[i] = ^uint64(0)
		}
	}
	return e.w.Events(b)
}

func (e *encoder) types(l *line) error {
	var defs []TypeDef
	for i := 0; i+1 < len(l.args); i += 2 {
		id, err := l.argNum(i, 32)
		if err != nil {
			return err
		}
		defs = append(defs, TypeDef{event.ID(id), l.args[i+1]})
	}
	return e.w.Types(defs)
}

func (e *encoder) anchors(l *line) error {
	var anchors []chunk.ClockAnchor
	for i := 0; i+1 < len(l.args); i += 2 {
		t, err := l.argNum(i, 64)
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(l.args[i+1], 0, 64)
		if err != nil {
			return err
		}
		anchors = append(anchors, chunk.ClockAnchor{Tick: t, Nanos: n})
	}
	return e.w.Anchors(anchors)
}

func (e *encoder) setSuper(l *line) error {
	for _, k := range superKeys {
		v, ok := l.keys[k.name]
		if !ok {
			continue
		}
		delete(l.keys, k.name)
		if err := k.set(&e.super, v); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	for k := range l.keys {
		return fmt.Errorf("unknown key %q", k)
	}
	if e.super.ID == 0 {
		return errors.New("id must not be 0")
	}
	return nil
}

func (e *encoder) beginEvents(l *line) error {
	b := &EventsBlock{Final: slices.Contains(l.args, "final")}
	var n [6]uint64
	for i, key := range []string{"chunk", "gen", "count", "base", "min", "max"} {
		bits := 64
		if i < 3 {
			bits = 32
		}
		var err error
		if n[i], err = l.num(key, bits); err != nil {
			return err
		}
	}
	b.Chunk, b.Gen, b.Count, b.Base, b.MinTick, b.MaxTick = uint32(n[0]), uint32(n[1]), int(n[2]), n[3], n[4], n[5]
	_, e.given = l.keys["count"]
	e.ev, e.sites = b, 0
	return nil
}

// spoil carries out cut and corrupt.
func (e *encoder) spoil(l *line) error {
	off, err := e.m.at(l.arg(0))
	if err != nil {
		return err
	}
	if off >= int64(len(e.m.b)) {
		return fmt.Errorf("offset %d is beyond the end", off)
	}
	if l.word == "cut" {
		e.m.b = e.m.b[:off]
		return nil
	}
	mask := uint64(1)
	if len(l.args) > 1 {
		if mask, err = strconv.ParseUint(l.args[1], 0, 8); err != nil {
			return err
		}
	}
	e.m.b[off] ^= byte(mask)
	return nil
}

// sum makes the checksum of the superblock fit again.
func (e *encoder) sum() error {
	n, err := superLen(e.m.b)
	if err != nil || n > len(e.m.b) {
		return fmt.Errorf("no superblock: %w", err)
	}
	binary.LittleEndian.PutUint32(e.m.b[20:], 0)
	binary.LittleEndian.PutUint32(e.m.b[20:], crc32.Checksum(e.m.b[:n], castagnoli()))
	return nil
}

// Text returns the text form of a log, as far as the log is sound; a last line that begins with #
// is the fault. Encode restores the log from it, byte for byte, unless the log was damaged or
// cleared, or is a Loop log whose slots come out differently.
func Text(log []byte) (string, error) {
	b, err := openBlocks(bytes.NewReader(log), int64(len(log)))
	if err != nil {
		return "", err
	}
	type item struct {
		seq  uint64
		text string
	}
	var items []item
	add := func(h *header, p []byte) error {
		t, err := blockText(h, p)
		if err == nil {
			items = append(items, item{h.Seq, t})
		}
		return err
	}
	addSlot := func(h *header, p []byte) error {
		var text strings.Builder
		err := parts(p, func(q part) { text.WriteString(partText(&q)) })
		items = append(items, item{h.Seq, text.String()})
		return err
	}
	loop := b.super.LogFullPolicy == Loop
	if loop {
		b.slots(func(_ int, off int64, h *header, p []byte, err error) error {
			if err != nil {
				items = append(items, item{^uint64(0), fmt.Sprintf("# slot at %d: %v\n", off, err)})
				return nil
			}
			return addSlot(h, p)
		})
		b.readCopies()
		if k := &b.copies.anchors; k.p != nil {
			add(&k.h, k.p)
		}
	}
	var names event.Set
	end, err := b.walk(b.super.tailAt(), 0, loop, func(off int64, h *header) error {
		p, err := b.payload(off, h, nil)
		if err != nil {
			return err
		}
		if h.Kind == KindTypes {
			defs, _ := decodeTypes(p, h.Count)
			for _, d := range defs {
				names.Add(d.ID)
			}
		}
		return add(h, p)
	})
	if defs := b.copies.missingTypes(func(d TypeDef) bool { return names.Has(d.ID) }); len(defs) > 0 {
		items = append(items, item{0, typesText(defs)}) // the blocks behind the slots are missing
	}
	slices.SortStableFunc(items, func(a, b item) int { return compare(a.seq, b.seq) })
	var out strings.Builder
	out.WriteString(superText(b.super))
	for _, i := range items {
		out.WriteString(i.text)
	}
	if err != nil {
		fmt.Fprintf(&out, "# end at %d: %v\n", end, err)
	}
	return out.String(), nil
}

// partText returns the text of one of the chunks in a slot.
func partText(q *part) string {
	return fmt.Sprintf("events chunk=%d gen=%d base=%d\n%send\n", q.chunk, q.gen, q.base, recordsText(q.payload))
}

func typesText(defs []TypeDef) string {
	var b strings.Builder
	b.WriteString("types")
	for _, d := range defs {
		fmt.Fprintf(&b, " %d %q", d.ID, d.Name)
	}
	b.WriteByte('\n')
	return b.String()
}

func blockText(h *header, p []byte) (string, error) {
	var b strings.Builder
	switch h.Kind {
	case KindTypes:
		defs, err := decodeTypes(p, h.Count)
		if err != nil {
			return "", err
		}
		b.WriteString(typesText(defs))
	case KindAnchors:
		anchors, err := decodeAnchors(p, h.Count)
		if err != nil {
			return "", err
		}
		b.WriteString("anchors")
		for _, k := range anchors {
			fmt.Fprintf(&b, " %d %d", k.Tick, k.Nanos)
		}
		b.WriteByte('\n')
	case KindGroup:
		w, err := decodeGroup(p)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "group %d\n", w)
	case KindStatus:
		s, err := decodeStatus(p)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "status%s\n", statusText(&s))
	case KindSeal:
		s, err := decodeSeal(p)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "seal%s\n", statusText(&s.Status))
	case KindEvents:
		fmt.Fprintf(&b, "events chunk=%d gen=%d base=%d", h.Chunk, h.Gen, h.Base)
		if h.Chunk == FinalChunk {
			b.WriteString(" final")
		}
		var cur chunk.Cursor
		sum, err := Summarize(&cur, p, h.Base)
		if err != nil || sum.Min != h.Min || sum.Max != h.Max || sum.Count != int(h.Count) {
			fmt.Fprintf(&b, " min=%d max=%d count=%d", h.Min, h.Max, h.Count)
		}
		b.WriteByte('\n')
		b.WriteString(recordsText(p))
		b.WriteString("end\n")
	}
	return b.String(), nil
}
