package registry

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"sync"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// A file of names is a row of records, little-endian:
//
//	 0  crc     u32  CRC-32C of the rest of the record, padding included
//	 4  id      u32  event.FirstUser.. or event.FirstDynamic.., one after the other
//	 8  length  u16  of the name, at most 255
//	10  class   u8   0 user, 1 system
//	11  zero    u8
//	12  name, padded with zeros to a multiple of 8 bytes
//
// Processes only append to it, a record at a time, under its lock. Bytes behind the last sound record
// are a record that a process is writing or died writing. Everything redundant is checked: ids are
// consecutive, names are unique, padding is zero. So the file cannot exceed the number space.
const (
	recHeader = 12
	maxRecord = (recHeader + event.NameMax + 7) &^ 7
)

// castagnoli is the table of the checksums. The table of crc32.MakeTable includes others that speed
// up long checksums and takes forty times as long to compute; records are short, and ptrace-event
// computes the table each time it runs.
var castagnoli = sync.OnceValue(func() *crc32.Table {
	var t crc32.Table
	for i := range t {
		c := uint32(i)
		for range 8 {
			c = c>>1 ^ crc32.Castagnoli&-(c&1)
		}
		t[i] = c
	}
	return &t
})

// Type is an event type: its number and its name.
type Type struct {
	ID   event.ID
	Name string
}

// key is the key of a name: user and system names are separate.
type key struct {
	name   string
	system bool
}

// table is the contents of a file of names.
type table struct {
	ids   map[key]event.ID
	names map[event.ID]string
	order []Type
	next  [2]event.ID // by class: the id that the next name gets
	end   int64       // behind the last sound record
}

func newTable() *table {
	return &table{
		ids: map[key]event.ID{}, names: map[event.ID]string{},
		next: [2]event.ID{event.FirstUser, event.FirstDynamic},
	}
}

func class(system bool) byte {
	if system {
		return 1
	}
	return 0
}

// limit returns one more than the last id of a class.
func limit(class byte) event.ID {
	if class == 1 {
		return event.Max
	}
	return event.FirstDynamic
}

// appendRecord appends the record of a name.
func appendRecord(b []byte, id event.ID, system bool, name string) []byte {
	le := binary.LittleEndian
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = le.AppendUint32(b, uint32(id))
	b = le.AppendUint16(b, uint16(len(name)))
	b = append(b, class(system), 0)
	b = append(b, name...)
	for (len(b)-at)%8 != 0 {
		b = append(b, 0)
	}
	le.PutUint32(b[at:], crc32.Checksum(b[at+4:], castagnoli()))
	return b
}

// parseRecord decodes the record at the start of b. n is 0 if there is no sound one.
func parseRecord(b []byte) (id event.ID, k key, n int) {
	le := binary.LittleEndian
	if len(b) < recHeader {
		return 0, key{}, 0
	}
	length := int(le.Uint16(b[8:]))
	size := (recHeader + length + 7) &^ 7
	if length > event.NameMax || b[10] > 1 || b[11] != 0 || len(b) < size ||
		le.Uint32(b) != crc32.Checksum(b[4:size], castagnoli()) {
		return 0, key{}, 0
	}
	for _, c := range b[recHeader+length : size] {
		if c != 0 {
			return 0, key{}, 0
		}
	}
	return event.ID(le.Uint32(b[4:])), key{string(b[recHeader : recHeader+length]), b[10] == 1}, size
}

// take adds the sound records at the start of b, which is at offset t.end of the file.
func (t *table) take(b []byte) {
	for {
		id, k, n := parseRecord(b)
		if n == 0 || !t.add(id, k) {
			return
		}
		b = b[n:]
		t.end += int64(n)
	}
}

func (t *table) add(id event.ID, k key) bool {
	c := class(k.system)
	if id != t.next[c] || id >= limit(c) || event.PredefinedID(k.name) != 0 {
		return false
	}
	if _, dup := t.ids[k]; dup {
		return false
	}
	t.next[c]++
	t.ids[k] = id
	t.names[id] = k.name
	t.order = append(t.order, Type{id, k.name})
	return true
}

// readFrom adds the records behind t.end.
func (t *table) readFrom(r io.ReaderAt) error {
	buf := make([]byte, 4096)
	for {
		n, err := r.ReadAt(buf, t.end)
		if err := ignoreEOF(err); err != nil {
			return err
		}
		before := t.end
		t.take(buf[:n])
		if t.end == before || n < len(buf) {
			return nil
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
