package output

import (
	"strconv"
	"strings"
	"time"
)

// Field is one named value of Fields.
type Field struct {
	Key   string // as in JSON: lower case, words joined by _
	Value any    // of a type that AppendMember accepts, or a time.Time
}

// Fields is an object that is shown as a JSON object or as a table.
type Fields []Field

// Add appends a field.
func (f *Fields) Add(key string, value any) { *f = append(*f, Field{key, value}) }

// AppendJSON appends the object on a line of its own. It writes a time as the JSON form does:
// as text and as two numbers.
func (f Fields) AppendJSON(b []byte) []byte {
	start := len(b)
	for _, m := range f {
		t, ok := m.Value.(time.Time)
		if !ok {
			b = AppendMember(b, m.Key, m.Value)
			continue
		}
		prefix, _ := strings.CutSuffix(m.Key, "time")
		b = AppendMember(b, m.Key, t.UTC().Format("2006-01-02T15:04:05.000000000Z"))
		b = AppendMember(b, prefix+"sec", t.Unix())
		b = AppendMember(b, prefix+"nsec", t.Nanosecond())
	}
	if len(b) == start {
		b = append(b, '{')
	} else {
		b[start] = '{' // the comma of the first member
	}
	return append(b, '}', '\n')
}

// AppendTable appends the object as a table of two columns. In the keys, hyphens replace
// underscores, as in the commands' options.
func (f Fields) AppendTable(b []byte) []byte {
	var t Table
	for _, m := range f {
		t.Add(strings.ReplaceAll(m.Key, "_", "-"), text(m.Value))
	}
	return t.Append(b)
}

func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, " ")
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case time.Time:
		return v.Local().Format("2006-01-02T15:04:05.000000000Z07:00")
	case float64:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	}
	panic("output: a field of no known type")
}

// Duration formats a duration with three or four digits and a unit.
func Duration(ns int64) string {
	d := time.Duration(ns)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 1000).String()
		}
	}
	return d.String()
}

// Percent formats a fraction as a percentage.
func Percent(part float64) string {
	return strconv.FormatFloat(100*min(max(part, 0), 1), 'f', 0, 64) + " %"
}
