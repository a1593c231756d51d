package ctf

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// head is the part of the metadata that is the same in all traces. Every field is aligned to bytes.
const head = `/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := u8_t;
typealias integer { size = 16; align = 8; signed = false; } := u16_t;
typealias integer { size = 32; align = 8; signed = false; } := u32_t;
typealias integer { size = 64; align = 8; signed = false; } := u64_t;
typealias integer { size = 32; align = 8; signed = true; } := i32_t;
typealias integer { size = 64; align = 8; signed = true; } := i64_t;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := address_t;
typealias enum : u8_t { "none" = 0, "record" = 1, "read" = 2 } := truncation_t;
typealias enum : u8_t { "false" = 0, "true" = 1 } := bool_t;
typealias enum : u32_t { "fork" = 0, "vfork" = 1, "clone" = 2, "thread" = 3 } := fork_t;
typealias enum : u8_t { "waits" = 0, "sleeps" = 1, "busy" = 2, "runs" = 3, "stopped" = 4, "zombie" = 5 } := hang_kind_t;
typealias enum : u8_t { "timeout" = 0, "idle" = 1, "signal" = 2, "asked" = 3 } := hang_cause_t;
typealias enum : u8_t { "open" = 1, "map" = 2, "exec" = 3, "truncate" = 4, "mkdir" = 5, "rmdir" = 6, "unlink" = 7, "rename" = 8, "link" = 9, "symlink" = 10, "chmod" = 11, "chown" = 12, "close" = 13, "missing" = 14 } := file_kind_t;
`

// appendMetadata appends the metadata of the trace, which names the types that have events.
func (t *Trace) appendMetadata(b []byte) []byte {
	b = append(b, head...)
	b = appendEnum(b, "errno_t", errnos())
	b = appendEnum(b, "signal_t", signalNames())
	b = fmt.Appendf(b, `
trace {
	major = 1;
	minor = 8;
	uuid = "%s";
	byte_order = le;
	packet.header := struct {
		u32_t magic;
		u8_t uuid[16];
		u32_t stream_id;
		u64_t stream_instance_id;
	};
};

env {
`, t.uuidText())
	for _, v := range t.Env {
		b = append(append(append(b, '\t'), v.Name...), " = "...)
		b = append(appendLiteral(b, v.Value), ";\n"...)
	}
	sec, nsec := t.base/1e9, t.base%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	return t.appendClasses(fmt.Appendf(b, `};

clock {
	name = posixtrace;
	description = "Unix time, by the clock of the stream";
	freq = 1000000000;
	precision = %d;
	offset_s = %d;
	offset = %d;
	absolute = TRUE;
};

typealias integer { size = 64; align = 8; signed = false; map = clock.posixtrace.value; } := time_t;

stream {
	id = 0;
	packet.context := struct {
		time_t timestamp_begin;
		time_t timestamp_end;
		u64_t content_size;
		u64_t packet_size;
		u64_t packet_seq_num;
		u64_t events_discarded;
	};
	event.header := struct {
		u16_t id;
		time_t timestamp;
	};
	event.context := struct {
		u32_t pid;
		u32_t tid;
		address_t address;
		truncation_t truncation;
	};
};
`, max(0, t.Resolution), sec, nsec))
}

// appendClasses appends the event classes.
func (t *Trace) appendClasses(b []byte) []byte {
	for i, c := range t.classes {
		b = append(b, "\nevent {\n\tname = "...)
		b = appendLiteral(b, escape.String(c.name))
		b = fmt.Appendf(b, ";\n\tid = %d;\n\tstream_id = 0;\n", i)
		if c.span {
			b = append(b, "\tcontext := struct {\n\t\taddress_t span;\n\t\taddress_t parent;\n\t};\n"...)
		}
		b = append(b, "\tfields := struct {\n"...)
		for _, f := range c.fields {
			b = append(append(append(b, "\t\t"...), f...), ";\n"...)
		}
		b = append(b, "\t};\n};\n"...)
	}
	return b
}

// appendLiteral appends a string literal. The text has no control characters and is UTF-8.
func appendLiteral(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// label is a name of a number in an enumeration.
type label struct {
	name   string
	number int
}

// appendEnum appends an enumeration of 32 bits. Other numbers than these stay valid.
func appendEnum(b []byte, name string, labels []label) []byte {
	b = append(b, "typealias enum : i32_t { \"none\" = 0"...)
	for _, l := range labels {
		b = fmt.Appendf(b, ", \"%s\" = %d", l.name, l.number)
	}
	return append(append(append(b, " } := "...), name...), ";\n"...)
}

func errnos() (list []label) {
	for n := 1; n < 520; n++ {
		if name := output.ErrnoName(n); !strings.ContainsAny(name[:1], "0123456789") {
			list = append(list, label{name, n})
		}
	}
	return list
}

func signalNames() (list []label) {
	for n := 1; n < 65; n++ {
		if name := catalog.SignalName(n); name != "" {
			list = append(list, label{name, n})
		}
	}
	slices.SortFunc(list, func(a, b label) int { return cmp.Compare(a.number, b.number) })
	return list
}

func (t *Trace) uuidText() string {
	s := hex.EncodeToString(t.uuid[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// Quote returns a command line as one string: words in single quotes where a shell needs them.
func Quote(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.Trim(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^") != "" {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return escape.String(strings.Join(words, " "))
}
