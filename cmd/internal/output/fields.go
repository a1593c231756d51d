package output

import (
	"strconv"
	"strings"
	"time"
)

// Field is one named value of an object that is shown as a JSON object or as a
// row of a table.
type Field struct {
	Key   string // as in JSON: lower case, words joined by _
	Value any    // what AppendMember takes, or a time.Time
}

// Fields is such an object.
type Fields []Field

// Add appends a field.
func (f *Fields) Add(key string, value any) { *f = append(*f, Field{key, value}) }

// AppendJSON appends the object on a line of its own. A time is written as events
// have it: as text and as two numbers.
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

// AppendTable appends the object as a table of two columns. Keys have hyphens
// there, as the options of the commands do.
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

// Duration returns a duration in three or four figures with its unit.
func Duration(ns int64) string {
	d := time.Duration(ns)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 1000).String()
		}
	}
	return d.String()
}

// Percent returns a part of a whole in percent.
func Percent(part float64) string {
	return strconv.FormatFloat(100*min(max(part, 0), 1), 'f', 0, 64) + " %"
}
