package output

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Mask replaces varying parts of the data of events in golden output.
type Mask struct {
	rules []maskRule
	pids  bool // replace the ids of the trace's processes too
}

type maskRule struct {
	find *regexp.Regexp
	put  []byte // as in Regexp.Expand
}

// namedMasks are the masks that have names.
var namedMasks = map[string][]struct{ find, put string }{
	"@tmp": {
		{catalog.TemporaryDirectories() + `/[^/\s"'\\:;,()<>|&]+`, "@tmp"},
		// A random name inside of another one, in the forms of mktemp(1), Python, gcc and pytest.
		{`(@tmp(?:/[^/\s"'\\:;,()<>|&]+)*/)(?:\.?tmp[-._]?[A-Za-z0-9_]{6,}|cc[A-Za-z0-9]{6}\.[a-z0-9.]+|pytest-[0-9]+)`, "${1}@tmp"},
	},
	"@pid": {
		{`/proc/[0-9]+`, "/proc/@pid"},
		{`(?i)(\bpid\b[ =:#]*)[0-9]+`, "${1}@pid"},
		{`\[[0-9]+\]`, "[@pid]"},
	},
	"@date": {
		// RFC 3339 and ISO 8601, and as Go's package log writes it; ctime(3) and date(1), syslog; the time alone.
		{`[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})\b)?)?`, "@date"},
		{`(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +)?(?:(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +[0-9]{1,2}|[0-9]{1,2} +(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?: +[0-9]{4})?)(?:,? +[0-9]{4})? +[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?: [AP]M)?(?: (?:[A-Z]{3,5}|[+-][0-9]{4})\b)?(?: [0-9]{4}\b)?`, "@date"},
		{`\b[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?`, "@date"},
	},
}

// NewMask returns the mask that s names, @tmp, @pid or @date, or else the mask that replaces
// matches of the regular expression s by "@mask".
func NewMask(s string) (m Mask, err error) {
	named, ok := namedMasks[s]
	if !ok && len(s) > 0 && s[0] == '@' {
		return m, fmt.Errorf("no such mask; there are @tmp, @pid and @date")
	}
	for _, n := range named {
		m.rules = append(m.rules, maskRule{regexp.MustCompile(n.find), []byte(n.put)})
	}
	m.pids = s == "@pid"
	if !ok {
		re, err := regexp.Compile(s)
		if err != nil {
			return m, err
		}
		m.rules = []maskRule{{re, []byte("@mask")}}
	}
	return m, nil
}

// apply returns the masked data of an event.
func (m *Mask) apply(g *Golden, src *Source, rec *posixtrace.Record) []byte {
	in := func(b []byte) []byte { return m.replace(g, b) }
	switch {
	case rec.ID.User():
		return in(rec.Data)
	case rec.ID == posixtrace.EventOutputStdout || rec.ID == posixtrace.EventOutputStderr:
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			d.Line = in(d.Line)
			return d.Append(nil)
		}
	case rec.ID == posixtrace.EventProcExec:
		if d, err := posixtrace.DecodeExec(rec.Data); err == nil {
			for _, text := range [...]*string{&d.Path, &d.Dir, &d.Stdin, &d.Stdout, &d.Stderr} {
				*text = string(in([]byte(*text)))
			}
			for _, list := range [...][]string{d.Argv, d.Environment, d.Unset} {
				for i, text := range list {
					list[i] = string(in([]byte(text)))
				}
			}
			return d.Append(nil)
		}
	case rec.ID == posixtrace.EventFileAccess:
		return posixtrace.ReplaceFilePaths(rec.Data, func(path string) string { return string(in([]byte(path))) })
	case isSyscall(src, rec.ID):
		if d, err := posixtrace.DecodeSyscall(rec.Data); err == nil {
			for i := range d.Args {
				d.Args[i].Value = in(d.Args[i].Value)
			}
			d.Opened = in(d.Opened)
			return d.Append(nil)
		}
	}
	return rec.Data
}

var digits = regexp.MustCompile(`\b[0-9]{4,7}\b`)

func (m *Mask) replace(g *Golden, b []byte) []byte {
	for _, r := range m.rules {
		if r.find.Match(b) {
			b = r.find.ReplaceAll(b, r.put)
		}
	}
	if !m.pids || !digits.Match(b) {
		return b
	}
	return digits.ReplaceAllFunc(b, func(n []byte) []byte {
		if id, _ := strconv.Atoi(string(n)); g.pids.of[id] != nil || g.tids.of[id] != nil {
			return []byte("@pid")
		}
		return n
	})
}
