package posixslog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"time"
	"unicode/utf8"
)

// object appends the members of a JSON object. It follows the rules of slog.Handler: values are
// resolved, groups without members and attributes without anything are left out.
type object struct {
	b       []byte
	replace func([]string, slog.Attr) slog.Attr
	groups  []string // the groups around the next member; kept for replace only
}

// comma separates the next member from the one before it, if there is one.
func (o *object) comma() {
	if n := len(o.b); n > 0 && o.b[n-1] != '{' {
		o.b = append(o.b, ',')
	}
}

func (o *object) key(key string) {
	o.comma()
	o.string(key)
	o.b = append(o.b, ':')
}

// mark is where groups were opened.
type mark struct {
	start, inside int
	outer         []string
}

// open opens groups.
func (o *object) open(groups ...string) mark {
	m := mark{start: len(o.b), outer: o.groups}
	for _, g := range groups {
		o.key(g)
		o.b = append(o.b, '{')
	}
	if o.replace != nil && len(groups) > 0 {
		o.groups = append(o.groups[:len(o.groups):len(o.groups)], groups...)
	}
	m.inside = len(o.b)
	return m
}

// close ends the groups of open for replace, but leaves the braces to the caller. It returns false and
// undoes open if nothing has been added since.
func (o *object) close(m mark) bool {
	o.groups = m.outer
	if len(o.b) == m.inside {
		o.b = o.b[:m.start]
		return false
	}
	return true
}

// attr appends an attribute.
func (o *object) attr(a slog.Attr) {
	a.Value = a.Value.Resolve()
	if o.replace != nil && a.Value.Kind() != slog.KindGroup {
		a = o.replace(o.groups, a)
		a.Value = a.Value.Resolve()
	}
	switch {
	case a.Equal(slog.Attr{}):
	case a.Value.Kind() != slog.KindGroup:
		o.key(a.Key)
		o.value(a.Value)
	case a.Key == "": // its members belong to the group around it
		for _, m := range a.Value.Group() {
			o.attr(m)
		}
	default:
		m := o.open(a.Key)
		for _, a := range a.Value.Group() {
			o.attr(a)
		}
		if o.close(m) {
			o.b = append(o.b, '}')
		}
	}
}

func (o *object) value(v slog.Value) {
	switch v.Kind() {
	case slog.KindString:
		o.string(v.String())
	case slog.KindInt64:
		o.b = strconv.AppendInt(o.b, v.Int64(), 10)
	case slog.KindUint64:
		o.b = strconv.AppendUint(o.b, v.Uint64(), 10)
	case slog.KindBool:
		o.b = strconv.AppendBool(o.b, v.Bool())
	case slog.KindDuration:
		o.b = strconv.AppendInt(o.b, int64(v.Duration()), 10)
	case slog.KindTime:
		o.time(v.Time())
	default:
		o.any(v.Any())
	}
}

func (o *object) time(t time.Time) {
	if y := t.Year(); y < 0 || y > 9999 {
		o.string(t.Format(time.RFC3339Nano)) // no time of JSON
		return
	}
	o.b = append(t.AppendFormat(append(o.b, '"'), time.RFC3339Nano), '"')
}

// any appends a value of any type. A value that cannot be encoded becomes a text that says why, as in
// slog.JSONHandler. Methods of the value that panic do no harm.
func (o *object) any(v any) {
	start := len(o.b)
	defer func() {
		if r := recover(); r != nil {
			o.b = o.b[:start]
			o.string(fmt.Sprintf("!PANIC: %v", r))
		}
	}()
	_, encodes := v.(json.Marshaler)
	if err, ok := v.(error); ok && !encodes {
		o.string(err.Error())
		return
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		o.string("!ERROR:" + err.Error())
		return
	}
	o.b = append(o.b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

const hexDigits = "0123456789abcdef"

// string appends a JSON string.
func (o *object) string(s string) {
	b := append(o.b, '"')
	for len(s) > 0 {
		// The bytes that stand for themselves.
		n := 0
		for n < len(s) && s[n] >= ' ' && s[n] != '"' && s[n] != '\\' && s[n] < utf8.RuneSelf {
			n++
		}
		b, s = append(b, s[:n]...), s[n:]
		if s == "" {
			break
		}
		c, size := utf8.DecodeRuneInString(s)
		switch {
		case c == '"', c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c == '\u2028', c == '\u2029': // ends of lines in JavaScript
			b = append(b, `\u202`...)
			b = append(b, hexDigits[c&15])
		case c == utf8.RuneError && size == 1: // not UTF-8
			b = append(b, `\ufffd`...)
		default:
			b = append(b, s[:size]...)
		}
		s = s[size:]
	}
	o.b = append(b, '"')
}
