package ctf

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A reader of what this package writes, stricter than any other: metadata of another form, and bytes
// that no class accounts for, are errors.

// readClass is an event class of the metadata.
type readClass struct {
	name   string
	span   bool
	fields []string
}

// readTrace is what the metadata says.
type readTrace struct {
	base    int64
	uuid    string
	env     map[string]string
	classes []readClass
	enums   map[string]map[string]int64
}

// readEvent is an event of a trace.
type readEvent struct {
	name      string
	nanos     int64
	pid, tid  uint32
	address   uint64
	cut       byte
	span, key uint64
	fields    map[string]any // of integers uint64, of strings string, of arrays []any, of structures map[string]any
}

var (
	literal    = `"((?:[^"\\[:cntrl:]]|\\["\\])*)"`
	eventBlock = regexp.MustCompile(`(?s)^\nevent \{\n\tname = ` + literal + `;\n\tid = (\d+);\n\tstream_id = 0;\n(\tcontext := struct \{\n\t\taddress_t span;\n\t\taddress_t parent;\n\t\};\n)?\tfields := struct \{\n((?:\t\t[^\n]*;\n)*)\t\};\n\};\n`)
	enumLine   = regexp.MustCompile(`(?m)^typealias enum : i32_t \{ (.*) \} := (\w+);$`)
	enumLabel  = regexp.MustCompile(`^"(\w+)" = (\d+)$`)
	envLine    = regexp.MustCompile(`^\t(\w+) = ` + literal + `;$`)
	clockBlock = regexp.MustCompile(`(?s)\tfreq = 1000000000;\n\tprecision = \d+;\n\toffset_s = (-?\d+);\n\toffset = (\d+);\n\tabsolute = TRUE;\n\};\n`)
	uuidLine   = regexp.MustCompile(`(?m)^\tuuid = "([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})";$`)
)

func unquote(s string) string { return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(s) }

// readMetadata parses metadata.
func readMetadata(text string) (*readTrace, error) {
	if !utf8.ValidString(text) || !strings.HasPrefix(text, head) {
		return nil, fmt.Errorf("not UTF-8, or another start")
	}
	r := &readTrace{env: map[string]string{}, enums: map[string]map[string]int64{}}
	rest := text[len(head):]
	start := strings.Index(rest, "\nevent {\n")
	if start < 0 {
		start = len(rest)
	}
	common, events := rest[:start], rest[start:]
	for _, m := range enumLine.FindAllStringSubmatch(common, -1) {
		r.enums[m[2]] = map[string]int64{}
		for _, l := range strings.Split(m[1], ", ") {
			v := enumLabel.FindStringSubmatch(l)
			if v == nil || r.enums[m[2]][v[1]] != 0 {
				return nil, fmt.Errorf("enumeration %s: %q", m[2], l)
			}
			r.enums[m[2]][v[1]], _ = strconv.ParseInt(v[2], 10, 64)
		}
	}
	_, env, ok := strings.Cut(common, "\nenv {\n")
	env, _, ok2 := strings.Cut(env, "\n};\n")
	clock := clockBlock.FindStringSubmatch(common)
	uuid := uuidLine.FindStringSubmatch(common)
	if !ok || !ok2 || clock == nil || uuid == nil || len(r.enums) != 2 {
		return nil, fmt.Errorf("no environment, clock or uuid")
	}
	if env != "" && env != "};" {
		for _, l := range strings.Split(env, "\n") {
			m := envLine.FindStringSubmatch(l)
			if m == nil {
				return nil, fmt.Errorf("environment: %q", l)
			}
			r.env[m[1]] = unquote(m[2])
		}
	}
	sec, _ := strconv.ParseInt(clock[1], 10, 64)
	nsec, _ := strconv.ParseInt(clock[2], 10, 64)
	r.base, r.uuid = sec*1e9+nsec, strings.ReplaceAll(uuid[1], "-", "")
	for events != "" {
		m := eventBlock.FindStringSubmatch(events)
		if m == nil {
			return nil, fmt.Errorf("event classes: %.200q", events)
		}
		if m[2] != strconv.Itoa(len(r.classes)) {
			return nil, fmt.Errorf("class %d has the number %s", len(r.classes), m[2])
		}
		events = events[len(m[0]):]
		c := readClass{name: unquote(m[1]), span: m[3] != ""}
		for l := range strings.Lines(m[4]) {
			c.fields = append(c.fields, strings.TrimSuffix(strings.TrimPrefix(l, "\t\t"), ";\n"))
		}
		r.classes = append(r.classes, c)
	}
	return r, nil
}

// cursor reads a packet. The first error stays.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(len(c.rest)) {
		c.fail("%d bytes of %d", n, len(c.rest))
		n, c.rest = 0, nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) number(size uint64) (v uint64) {
	for i, b := range c.bytes(size) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (c *cursor) string() string {
	n := bytes.IndexByte(c.rest, 0)
	if n < 0 || !utf8.Valid(c.rest[:n]) {
		c.fail("a string without end, or not UTF-8")
		return ""
	}
	s := string(c.rest[:n])
	c.rest = c.rest[n+1:]
	return s
}

var (
	sizes     = map[string]uint64{"u8_t": 1, "bool_t": 1, "u16_t": 2, "u32_t": 4, "i32_t": 4, "errno_t": 4, "signal_t": 4, "fork_t": 4, "hang_kind_t": 1, "hang_cause_t": 1, "file_kind_t": 1, "u64_t": 8, "i64_t": 8, "address_t": 8}
	fieldForm = regexp.MustCompile(`^(\w+|struct \{ (.*); \}) (\w+)(?:\[(\w+)\])?$`)
)

// fields reads the fields of a structure.
func (c *cursor) fields(decls []string) map[string]any {
	m := map[string]any{}
	for _, decl := range decls {
		f := fieldForm.FindStringSubmatch(decl)
		if f == nil {
			c.fail("field %q", decl)
			return m
		}
		value := func() any {
			switch {
			case f[1] == "string":
				return c.string()
			case f[2] != "":
				return c.fields(strings.Split(f[2], "; "))
			case sizes[f[1]] == 0:
				c.fail("type %q", f[1])
			}
			return c.number(sizes[f[1]])
		}
		if f[4] == "" {
			m[f[3]] = value()
			continue
		}
		n, ok := m[f[4]].(uint64)
		if !ok {
			c.fail("no length %s", f[4])
		}
		list := []any{}
		for ; n > 0 && c.err == nil; n-- {
			list = append(list, value())
		}
		m[f[3]] = list
	}
	return m
}

// readStream reads the packets of a stream. discarded is the count of the last one.
func (r *readTrace) readStream(file []byte) (list []readEvent, discarded uint64, err error) {
	c := &cursor{rest: file}
	last := uint64(0)
	for seq := uint64(0); len(c.rest) > 0 && c.err == nil; seq++ {
		before := len(c.rest)
		if c.number(4) != magic || fmt.Sprintf("%x", c.bytes(16)) != r.uuid || c.number(4) != 0 {
			c.fail("packet %d: another header", seq)
		}
		c.number(8)
		begin, end, content, size := c.number(8), c.number(8), c.number(8), c.number(8)
		if n := c.number(8); n != seq || content != size || content%8 != 0 || begin < last || end < begin {
			c.fail("packet %d: number %d, size %d of %d, from %d to %d after %d", seq, n, content, size, begin, end, last)
		}
		if n := c.number(8); n < discarded || n == 1<<64-1 {
			c.fail("packet %d: %d events discarded after %d", seq, n, discarded)
		} else {
			discarded = n
		}
		p := &cursor{rest: c.bytes(content/8 - uint64(before-len(c.rest))), err: c.err}
		for at := begin; len(p.rest) > 0 && p.err == nil; {
			ev, t := r.readEvent(p)
			if t < at || t > end {
				p.fail("packet %d: time %d after %d, end %d", seq, t, at, end)
			}
			at = t
			list = append(list, ev)
		}
		c.err, last = p.err, end
	}
	return list, discarded, c.err
}

func (r *readTrace) readEvent(p *cursor) (ev readEvent, at uint64) {
	id := p.number(2)
	at = p.number(8)
	ev.nanos = r.base + int64(at)
	ev.pid, ev.tid, ev.address, ev.cut = uint32(p.number(4)), uint32(p.number(4)), p.number(8), byte(p.number(1))
	if id >= uint64(len(r.classes)) {
		p.fail("class %d of %d", id, len(r.classes))
		return ev, at
	}
	class := &r.classes[id]
	if ev.name = class.name; class.span {
		ev.span, ev.key = p.number(8), p.number(8)
	}
	ev.fields = p.fields(class.fields)
	return ev, at
}
