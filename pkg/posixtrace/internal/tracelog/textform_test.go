package tracelog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// The text form of a log has one line for each item. Empty lines and lines that begin with # are
// ignored; strings are quoted as in Go; numbers are decimal or begin with 0x. The fixtures in
// testdata/log are written in it.
//
//	super KEY=VALUE ...             the superblock, before everything else
//	command "ARG" ...               of the owner
//	types ID "NAME" ...             a block of types
//	anchors TICK NANOS ...          a block of clock anchors
//	events chunk=N gen=N base=TICK [final] [min=TICK max=TICK count=N]
//	  site TYPE pid=N tid=N addr=N  the next site
//	  event +DELTA SITE "DATA" [cut]
//	  base TICK
//	  full TICK TYPE pid=N tid=N addr=N "DATA" [cut]
//	  pad N
//	  map PID "data"
//	  hex DIGITS                    bytes as they are
//	end                             of the block of events
//	group TICK                      end of a group
//	status [running] [full] [overrun] [flushing] [errno=N] [log-overrun] [log-full] [lost=N] [log-lost=N]
//	clear                           empty the log
//	seal  as status                 finish the log
//	corrupt AT [MASK]               flip the bits of MASK (1) in one byte
//	sum                             make the checksum of the superblock fit again
//	cut AT                          the log ends there
//	junk "BYTES"                    append bytes behind the end
//
// AT is an offset, or B+N: byte N of the Bth thing written, where 0 is the
// superblock. min, max and count falsify the header of a block of events. The writer adds the index.

// line is one line of the text form.
type line struct {
	word string   // the first
	args []string // the others, quotes resolved
	keys map[string]string
}

func splitLine(s string) (l line, err error) {
	s = strings.TrimSpace(s)
	first := true
	for s != "" {
		key := ""
		if i := strings.IndexAny(s, " \t=\""); i > 0 && s[i] == '=' {
			key, s = s[:i], s[i+1:]
		}
		var v string
		if strings.HasPrefix(s, `"`) {
			q, err := strconv.QuotedPrefix(s)
			if err != nil {
				return l, fmt.Errorf("bad string: %s", s)
			}
			s = s[len(q):]
			if v, err = strconv.Unquote(q); err != nil {
				return l, err
			}
			if first {
				return l, errors.New("string where a word should be")
			}
		} else {
			i := strings.IndexAny(s, " \t")
			if i < 0 {
				i = len(s)
			}
			v, s = s[:i], s[i:]
		}
		switch {
		case first && key == "":
			l.word = v
		case first:
			return l, errors.New("key where a word should be")
		case key != "":
			if l.keys == nil {
				l.keys = map[string]string{}
			}
			l.keys[key] = v
		default:
			l.args = append(l.args, v)
		}
		first = false
		s = strings.TrimLeft(s, " \t")
	}
	return l, nil
}

func number(s string) (uint64, error) { return strconv.ParseUint(s, 0, 64) }

// num returns the number of a key, 0 if there is none.
func (l *line) num(key string, bits int) (uint64, error) {
	s, ok := l.keys[key]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: %v", key, s, err)
	}
	return n, nil
}

// arg returns argument i, "" if there is none.
func (l *line) arg(i int) string {
	if i < len(l.args) {
		return l.args[i]
	}
	return ""
}

// argNum returns argument i as a number.
func (l *line) argNum(i, bits int) (uint64, error) { return strconv.ParseUint(l.arg(i), 0, bits) }

// record returns the members that the keys of a line give.
func (l *line) record() (rec chunk.Record, err error) {
	pid, err := l.num("pid", 32)
	if err != nil {
		return rec, err
	}
	tid, err := l.num("tid", 32)
	if err != nil {
		return rec, err
	}
	addr, err := l.num("addr", 64)
	return chunk.Record{PID: uint32(pid), TID: uint32(tid), Addr: addr}, err
}

// data takes the data of an event from argument i and its truncation from the next.
func (l *line) data(rec *chunk.Record, i int) error {
	rec.Data = []byte(l.arg(i))
	rec.Truncated = l.arg(i+1) == "cut"
	if len(rec.Data) > chunk.MaxData {
		return errors.New("too much data")
	}
	return nil
}

// recordParsers append the record of a line within a block of events, by the line's first word.
// sites counts the sites of the block.
var recordParsers = map[string]func(l *line, b []byte, rec *chunk.Record, sites *int) ([]byte, error){
	"site": func(l *line, b []byte, rec *chunk.Record, sites *int) ([]byte, error) {
		id, err := l.argNum(0, 32)
		rec.Event = event.ID(id)
		b = chunk.AppendSite(b, *sites, rec)
		*sites++
		return b, err
	},
	"event": func(l *line, b []byte, rec *chunk.Record, _ *int) ([]byte, error) {
		delta, err := strconv.ParseUint(strings.TrimPrefix(l.arg(0), "+"), 0, 32)
		if err != nil {
			return nil, err
		}
		site, err := l.argNum(1, 15)
		if err != nil {
			return nil, err
		}
		if err := l.data(rec, 2); err != nil {
			return nil, err
		}
		return chunk.AppendEvent(b, uint32(delta), int(site), rec.Truncated, rec.Data), nil
	},
	"base": func(l *line, b []byte, _ *chunk.Record, _ *int) ([]byte, error) {
		t, err := l.argNum(0, 64)
		return chunk.AppendBase(b, t), err
	},
	"full": func(l *line, b []byte, rec *chunk.Record, _ *int) (_ []byte, err error) {
		if rec.Tick, err = l.argNum(0, 64); err != nil {
			return nil, err
		}
		id, err := l.argNum(1, 32)
		if err != nil {
			return nil, err
		}
		rec.Event = event.ID(id)
		if err := l.data(rec, 2); err != nil {
			return nil, err
		}
		return chunk.AppendFull(b, rec), nil
	},
	"pad": func(l *line, b []byte, _ *chunk.Record, _ *int) ([]byte, error) {
		n, err := l.argNum(0, 16)
		b = binary.LittleEndian.AppendUint64(b, chunk.Header(0, int(n), chunk.KindPad))
		return append(b, make([]byte, chunk.Align(int(n)))...), err
	},
	"span": func(l *line, b []byte, rec *chunk.Record, _ *int) (_ []byte, err error) {
		for i, v := range []*uint64{&rec.Span, &rec.Parent} {
			if l.arg(i) == "" {
				continue
			}
			if *v, err = l.argNum(i, 64); err != nil {
				return nil, err
			}
		}
		return chunk.AppendNote(b, rec), nil
	},
	"map": func(l *line, b []byte, rec *chunk.Record, _ *int) ([]byte, error) {
		pid, err := l.argNum(0, 32)
		if err := cmp.Or(err, l.data(rec, 1)); err != nil {
			return nil, err
		}
		return chunk.AppendMap(b, uint32(pid), rec.Data), nil
	},
	"hex": func(l *line, b []byte, _ *chunk.Record, _ *int) ([]byte, error) {
		p, err := hex.DecodeString(strings.Join(l.args, ""))
		return append(b, p...), err
	},
}

// parseRecord appends the record of a line within a block of events.
func (l *line) parseRecord(b []byte, sites *int) ([]byte, error) {
	rec, err := l.record()
	if err != nil {
		return nil, err
	}
	parse := recordParsers[l.word]
	if parse == nil {
		return nil, fmt.Errorf("%q within events", l.word)
	}
	n := *sites
	if b, err = parse(l, b, &rec, &n); err != nil {
		return nil, err
	}
	if len(b) > chunk.MaxSize {
		return nil, errors.New("chunk too large")
	}
	*sites = n
	return b, nil
}

var statusWords = []string{"running", "full", "overrun", "flushing", "log-overrun", "log-full"}

func (l *line) status() (s Status, err error) {
	for _, a := range l.args {
		i := slices.Index(statusWords, a)
		if i < 0 {
			return s, fmt.Errorf("unknown status %q", a)
		}
		*s.flags()[i] = true
	}
	n, err := l.num("errno", 32)
	if err == nil {
		s.FlushError = uint32(n)
		s.Lost, err = l.num("lost", 64)
	}
	if err == nil {
		s.LogLost, err = l.num("log-lost", 64)
	}
	return s, err
}

func statusText(s *Status) string {
	var b strings.Builder
	for i, f := range s.flags() {
		if *f {
			b.WriteString(" " + statusWords[i])
		}
	}
	for _, n := range []struct {
		key string
		v   uint64
	}{{"errno", uint64(s.FlushError)}, {"lost", s.Lost}, {"log-lost", s.LogLost}} {
		if n.v != 0 {
			fmt.Fprintf(&b, " %s=%d", n.key, n.v)
		}
	}
	return b.String()
}

// superKeys are the keys of a super line.
var superKeys = []struct {
	name string
	get  func(s *Super) string
	set  func(s *Super, v string) error
}{
	numKey("id", func(s *Super) *uint64 { return &s.ID }),
	strKey("name", func(s *Super) *string { return &s.Name }),
	strKey("generation", func(s *Super) *string { return &s.GenerationVersion }),
	{"created", func(s *Super) string { return fmt.Sprintf("%d.%09d", s.CreateTime.Sec, s.CreateTime.Nsec) },
		func(s *Super, v string) error {
			sec, nsec, _ := strings.Cut(v, ".")
			var err error
			if s.CreateTime.Sec, err = strconv.ParseInt(sec, 10, 64); err != nil {
				return err
			}
			n, err := strconv.ParseUint((nsec + "000000000")[:9], 10, 32)
			s.CreateTime.Nsec = int64(n)
			return err
		}},
	{"clock", func(s *Super) string { return [...]string{"nanos", "anchors"}[s.Clock&1] },
		func(s *Super, v string) error {
			i := slices.Index([]string{"nanos", "anchors"}, v)
			s.Clock = ClockKind(max(i, 0))
			return unknown(i, v)
		}},
	numKey("resolution", func(s *Super) *uint64 { return (*uint64)(&s.ClockResolution) }),
	numKey("stream-size", func(s *Super) *uint64 { return &s.StreamSize }),
	numKey("max-data-size", func(s *Super) *uint64 { return &s.MaxDataSize }),
	numKey("log-size", func(s *Super) *uint64 { return &s.LogSize }),
	policyKey("stream-full-policy", func(s *Super) *Policy { return &s.StreamFullPolicy }),
	policyKey("log-full-policy", func(s *Super) *Policy { return &s.LogFullPolicy }),
	{"inherit", func(s *Super) string { return map[bool]string{true: "yes", false: "no"}[s.Inheritance] },
		func(s *Super, v string) error {
			i := slices.Index([]string{"no", "yes"}, v)
			s.Inheritance = i == 1
			return unknown(i, v)
		}},
	num32Key("chunk-size", func(s *Super) *uint32 { return &s.ChunkSize }),
	num32Key("pid", func(s *Super) *uint32 { return &s.PID }),
	num32Key("owner", func(s *Super) *uint32 { return &s.Owner }),
	numKey("owner-start", func(s *Super) *uint64 { return &s.OwnerStart }),
	strKey("host", func(s *Super) *string { return &s.Host }),
	strKey("boot", func(s *Super) *string { return &s.BootID }),
	strKey("stream", func(s *Super) *string { return &s.StreamPath }),
}

type superKey = struct {
	name string
	get  func(s *Super) string
	set  func(s *Super, v string) error
}

func unknown(i int, v string) error {
	if i < 0 {
		return fmt.Errorf("unknown value %q", v)
	}
	return nil
}

func numKey(name string, p func(*Super) *uint64) superKey {
	return superKey{name, func(s *Super) string { return strconv.FormatUint(*p(s), 10) },
		func(s *Super, v string) (err error) { *p(s), err = number(v); return }}
}

func num32Key(name string, p func(*Super) *uint32) superKey {
	return superKey{name, func(s *Super) string { return strconv.FormatUint(uint64(*p(s)), 10) },
		func(s *Super, v string) error {
			n, err := strconv.ParseUint(v, 0, 32)
			*p(s) = uint32(n)
			return err
		}}
}

func strKey(name string, p func(*Super) *string) superKey {
	return superKey{name, func(s *Super) string { return strconv.Quote(*p(s)) },
		func(s *Super, v string) error { *p(s) = v; return nil }}
}

func policyKey(name string, p func(*Super) *Policy) superKey {
	return superKey{name, func(s *Super) string {
		if int(*p(s)) < len(attr.PolicyNames) {
			return p(s).String()
		}
		return strconv.Itoa(int(*p(s)))
	}, func(s *Super, v string) error {
		if i := slices.Index(attr.PolicyNames[:], v); i >= 0 {
			*p(s) = Policy(i)
			return nil
		}
		n, err := strconv.ParseUint(v, 0, 8)
		*p(s) = Policy(n)
		return err
	}}
}

func superText(s *Super) string {
	var b strings.Builder
	for i, k := range superKeys {
		switch {
		case i == 0:
			b.WriteString("super")
		case k.name == "stream-size" || k.name == "pid":
			b.WriteString("\nsuper")
		}
		b.WriteString(" " + k.name + "=" + k.get(s))
	}
	b.WriteByte('\n')
	if len(s.Command) > 0 {
		b.WriteString("command")
		for _, a := range s.Command {
			b.WriteString(" " + strconv.Quote(a))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// recordsText returns the lines for the records of a chunk. Bytes that their lines would not
// restore are given in hexadecimal.
func recordsText(p []byte) string {
	var b strings.Builder
	le := binary.LittleEndian
	sites, off := 0, 0
	for off < len(p) {
		l, n := recordText(p[off:])
		again := []byte(nil)
		if n > 0 {
			if parsed, err := splitLine(l); err == nil {
				num := sites
				again, _ = parsed.parseRecord(nil, &num)
				if bytes.Equal(again, p[off:off+n]) {
					sites = num
					b.WriteString("  " + l + "\n")
					off += n
					continue
				}
			}
		}
		// An unusual record still counts as a site if it is one.
		n = min(len(p)-off, 32)
		if len(p)-off >= chunk.SiteSize && le.Uint16(p[off+6:]) == chunk.KindSite {
			sites++
		}
		b.WriteString("  hex " + hex.EncodeToString(p[off:off+n]) + "\n")
		off += n
	}
	return b.String()
}

// recordText returns the line for the record at the start of p, and its size; 0 if there is none.
func recordText(p []byte) (string, int) {
	if len(p) < chunk.HeaderSize {
		return "", 0
	}
	le := binary.LittleEndian
	delta, n, num := le.Uint32(p), int(le.Uint16(p[4:])), le.Uint16(p[6:])
	cut := ""
	if num&chunk.Truncated != 0 {
		cut = " cut"
	}
	num &^= chunk.Truncated
	q := p[chunk.HeaderSize:]
	size := chunk.HeaderSize + chunk.Align(n)
	if num == chunk.KindFull {
		size = chunk.FullSize + chunk.Align(n)
	}
	if size > len(p) {
		return "", 0
	}
	switch num {
	case chunk.KindSite:
		if n < chunk.SiteSize-chunk.HeaderSize {
			return "", 0
		}
		return fmt.Sprintf("site %d pid=%d tid=%d addr=%#x", le.Uint32(q), le.Uint32(q[16:]), le.Uint32(q[4:]), le.Uint64(q[8:])), size
	case chunk.KindBase:
		if n < 8 {
			return "", 0
		}
		return fmt.Sprintf("base %d", le.Uint64(q)), size
	case chunk.KindPad:
		if delta == chunk.SpanNote && n == 8 {
			return fmt.Sprintf("span %#x", le.Uint64(q)), size
		}
		if delta == chunk.SpanNote && n == 16 {
			return fmt.Sprintf("span %#x %#x", le.Uint64(q), le.Uint64(q[8:])), size
		}
		if delta == chunk.MapNote && n >= chunk.MapHead-chunk.HeaderSize && le.Uint32(q[4:]) == 0 {
			return fmt.Sprintf("map %d %s", le.Uint32(q), strconv.Quote(string(q[8:n]))), size
		}
		return fmt.Sprintf("pad %d", n), size
	case chunk.KindFull:
		return fmt.Sprintf("full %d %d pid=%d tid=%d addr=%#x %s%s", le.Uint64(q), le.Uint32(q[8:]), le.Uint32(q[12:]),
			le.Uint32(q[16:]), le.Uint64(q[24:]), strconv.Quote(string(q[32:32+n])), cut), size
	}
	return fmt.Sprintf("event +%d %d %s%s", delta, num, strconv.Quote(string(q[:n])), cut), size
}
