package capture

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// lines is a Sink that keeps the lines, and overwrites the byte that it may overwrite.
type lines struct {
	got   []string
	whole []byte // the input, joined from the lines
}

func (l *lines) Batch() {}

func (l *lines) Partial(bool) {}

func (l *lines) Line(framed []byte, f Flags) {
	before := framed[0]
	framed[0] = 0xff
	defer func() { framed[0] = before }()
	line := string(framed[1:])
	l.whole = append(l.whole, line...)
	switch f {
	case 0:
		l.whole = append(l.whole, '\n')
	case NoNewline:
		line += "$"
	case Continues:
		line += "+"
	case Return:
		l.whole = append(l.whole, '\r')
		line += "^"
	}
	l.got = append(l.got, line)
}

// split feeds s to a Splitter in chunks of the given sizes; the last size repeats.
func split(s string, limit int, chunks ...int) *lines {
	return splitFrom(false, s, limit, chunks...)
}

func splitFrom(terminal bool, s string, limit int, chunks ...int) *lines {
	return splitAs(terminal, false, s, limit, chunks...)
}

func splitAs(terminal, returns bool, s string, limit int, chunks ...int) *lines {
	l := &lines{}
	sp := NewSplitter(l, limit)
	sp.Terminal, sp.Returns = terminal, returns
	buf := sp.buffer()
	for i := 0; s != ""; i++ {
		n := min(len(s), chunks[min(i, len(chunks)-1)], batchSize)
		copy(sp.room(buf), s[:n])
		sp.split(buf, n)
		if string(sp.room(buf)[:n]) != s[:n] {
			panic("split has changed the batch")
		}
		s = s[n:]
	}
	sp.finish()
	return l
}

func TestSplitter(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"\n", []string{""}},
		{"a\n", []string{"a"}},
		{"a\nb\n", []string{"a", "b"}},
		{"a\n\n\nb", []string{"a", "", "", "b$"}},
		{"abcd\n", []string{"abcd"}},
		{"abcd", []string{"abcd$"}},
		{"abcde\n", []string{"abcd+", "e"}},
		{"abcde", []string{"abcd+", "e$"}},
		{"abcdefgh\ni", []string{"abcd+", "efgh", "i$"}},
		{"abcdefghi", []string{"abcd+", "efgh+", "i$"}},
		{"a\x00b\r\n\xff", []string{"a\x00b\r", "\xff$"}},
	} {
		for chunk := 1; chunk <= len(tt.in)+1; chunk++ {
			l := split(tt.in, 4, chunk)
			if d := cmp.Diff(tt.want, l.got); d != "" {
				t.Errorf("%q in chunks of %d (-want +got):\n%s", tt.in, chunk, d)
			}
		}
	}
}

// No piece of a long line of text begins or ends within a character, or begins with a mark of the
// character before it. A run of marks longer than a piece is cut, but at a mark.
func TestPiecesAreText(t *testing.T) {
	for _, char := range []string{"é", "日", "😀", "e\u0301", "⚠\ufe0f", "👩\u200d🔬", "\x1b[31m", "ab日"} {
		for limit := 32; limit < 48; limit++ {
			in := strings.Repeat(char, 60)
			for _, chunk := range []int{1, 3, limit, len(in)} {
				l := split(in, limit, chunk)
				if string(l.whole) != in {
					t.Fatalf("%q in pieces of %d joins to %q", char, limit, l.whole)
				}
				for _, piece := range l.got {
					if piece = strings.TrimRight(piece, "+$"); strings.ReplaceAll(strings.ReplaceAll(piece, char, ""), "ab", "") != "" && char != "ab日" || !utf8.ValidString(piece) || len(piece) > limit {
						t.Fatalf("%q in pieces of %d has %q", char, limit, piece)
					}
				}
			}
		}
	}
	marks := "e" + strings.Repeat("\u0301", 1000)
	for _, piece := range split(marks, 301, 64).got {
		if !utf8.ValidString(piece) || len(piece) < 300 && !strings.HasSuffix(piece, "$") {
			t.Errorf("a run of marks has the piece %q", piece)
		}
	}
}

// The carriage return that a terminal puts before a newline is not part of the line; every
// other one is.
func TestSplitterDropsReturnOfTerminal(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"\r\n", []string{""}},
		{"a\r\nb\r\n", []string{"a", "b"}},
		{"a\r\r\n\rb\rc\n", []string{"a\r", "\rb\rc"}},
		{"abcd\r\n", []string{"abcd"}},
		{"abcd\r", []string{"abcd+", "\r$"}},
		{"abcd\re\r\n", []string{"abcd+", "\re"}},
		{"abcde\r\n", []string{"abcd+", "e"}},
		{"abc\r", []string{"abc\r$"}},
		{"abcdefgh\r\r\r\n", []string{"abcd+", "efgh+", "\r\r"}},
	} {
		for chunk := 1; chunk <= len(tt.in)+1; chunk++ {
			l := splitFrom(true, tt.in, 4, chunk)
			if d := cmp.Diff(tt.want, l.got); d != "" {
				t.Errorf("%q in chunks of %d (-want +got):\n%s", tt.in, chunk, d)
			}
		}
	}
}

// A carriage return ends a line unless a newline follows.
func TestSplitterEndsLinesAtReturns(t *testing.T) {
	for _, tt := range []struct {
		in             string
		file, terminal []string
	}{
		{"\r", []string{"^"}, []string{"^"}},
		{"a\r", []string{"a^"}, []string{"a^"}},
		{"a\rb\rc", []string{"a^", "b^", "c$"}, []string{"a^", "b^", "c$"}},
		{"a\r\n", []string{"a\r"}, []string{"a"}},
		{"\ra\n", []string{"^", "a"}, []string{"^", "a"}},
		{"a\r\rb\n", []string{"a^", "^", "b"}, []string{"a^", "^", "b"}},
		{"a\r\r\n", []string{"a^", "\r"}, []string{"a\r"}},
		{"a\r\r\r\n\r\n", []string{"a^", "^", "\r", "\r"}, []string{"a^", "\r", ""}},
		{"\r\r\r\r", []string{"^", "^", "^", "^"}, []string{"^", "^", "^", "^"}},
		{"abcd\r", []string{"abcd^"}, []string{"abcd^"}},
		{"abcd\r\n", []string{"abcd+", "\r"}, []string{"abcd"}},
		{"abcde\rf\r\n", []string{"abcd+", "e^", "f\r"}, []string{"abcd+", "e^", "f"}},
		{"abcdefgh\ri\n", []string{"abcd+", "efgh^", "i"}, []string{"abcd+", "efgh^", "i"}},
		{"abcd\r\re\n\r", []string{"abcd^", "^", "e", "^"}, []string{"abcd^", "^", "e", "^"}},
		{"abcd\r\r\n", []string{"abcd^", "\r"}, []string{"abcd+", "\r"}},
	} {
		for chunk := 1; chunk <= len(tt.in)+1; chunk++ {
			for terminal, want := range map[bool][]string{false: tt.file, true: tt.terminal} {
				l := splitAs(terminal, true, tt.in, 4, chunk)
				if d := cmp.Diff(want, l.got); d != "" {
					t.Errorf("%q in chunks of %d, terminal %v (-want +got):\n%s", tt.in, chunk, terminal, d)
				}
				if !terminal && string(l.whole) != tt.in {
					t.Errorf("the lines of %q in chunks of %d join to %q", tt.in, chunk, l.whole)
				}
			}
		}
	}
}

// A line that a carriage return ends has the time of the batch with the carriage return, even
// if only a later batch shows that no newline follows.
func TestReturnHasTimeOfItsBatch(t *testing.T) {
	rec := &recorder{}
	s := NewSplitter(NewOutput(rec, posixtrace.EventOutputStdout, 42), 80)
	s.Returns = true
	buf := s.buffer()
	for _, chunk := range []string{"10%\r", "20%\r", "\r30%", "\r", "\n40%\r50%\r", "60%\n", "70%\r"} {
		copy(s.room(buf), chunk)
		s.split(buf, len(chunk))
	}
	s.finish()
	want := []struct {
		at   int64
		line string
		flag bool
	}{
		{1, "10%", true}, {2, "20%", true}, {3, "", true}, {5, "30%\r", false}, {5, "40%", true}, {5, "50%", true}, {6, "60%", false}, {7, "70%", true},
	}
	if len(rec.data) != len(want) {
		t.Fatalf("%d events: %q", len(rec.data), rec.data)
	}
	for i, w := range want {
		d, err := posixtrace.DecodeOutput(rec.data[i])
		if err != nil || string(d.Line) != w.line || d.Return != w.flag || d.NoNewline || d.Continues || rec.evs[i].UnixNano != w.at {
			t.Errorf("event %d is %+v at %d, %v; want %+v", i, d, rec.evs[i].UnixNano, err, w)
		}
	}
}

// One line, and many lines, fill more than one buffer.
func TestSplitterCrossesBuffers(t *testing.T) {
	for _, in := range []string{
		strings.Repeat("x", 3*batchSize),
		strings.Repeat("\n", 2*batchSize+1),
		strings.Repeat("some words of text\n", batchSize/8),
		strings.Repeat("x", defaultLimit) + "\n" + strings.Repeat("y", defaultLimit+1) + "\n",
		strings.Repeat("\r", 2*batchSize+1),
		strings.Repeat("some words of text\r", batchSize/8),
		strings.Repeat(strings.Repeat("x", defaultLimit)+"\r\r\n", 100),
	} {
		l := splitAs(false, strings.Contains(in, "\r"), in, defaultLimit, 1<<30)
		if string(l.whole) != in {
			t.Errorf("%d bytes starting %.10q come out as %d other bytes", len(in), in, len(l.whole))
		}
		for _, line := range l.got {
			if n := len(strings.TrimRight(line, "+$^")); n > defaultLimit {
				t.Errorf("a line has %d bytes, want at most %d", n, defaultLimit)
			}
		}
	}
}

// The lines do not depend on the sizes of the chunks, and joined they are the input.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("one\ntwo\n\nthree"), []byte{1, 2, 3}, uint8(4))
	f.Add([]byte(strings.Repeat("long", 100)), []byte{200, 1}, uint8(7))
	f.Add([]byte("10%\r20%\r\r30%\r\n\r\r\r\nlonger\r\r\r"), []byte{0, 1, 0, 3}, uint8(3))
	f.Add([]byte("grüße e\u0301\u0301\u0301 👩\u200d🔬⚠\ufe0f\r日本\r\n\xff\x80\x80\x80"), []byte{0, 1, 3}, uint8(7))
	f.Fuzz(func(t *testing.T, in, chunks []byte, limit uint8) {
		want := split(string(in), int(limit), len(in)+1)
		if !bytes.Equal(want.whole, in) {
			t.Fatalf("the lines of %q, read at once, join to %q", in, want.whole)
		}
		sizes := []int{1}
		for _, c := range chunks {
			sizes = append(sizes, 1+int(c))
		}
		for i := range 4 {
			terminal, returns := i&1 != 0, i&2 != 0
			want := splitAs(terminal, returns, string(in), int(limit), len(in)+1)
			got := splitAs(terminal, returns, string(in), int(limit), sizes...)
			if d := cmp.Diff(want.got, got.got); d != "" {
				t.Fatalf("%q in chunks %v, terminal %v, returns %v (-want +got):\n%s", in, sizes, terminal, returns, d)
			}
			if !terminal && !bytes.Equal(got.whole, in) {
				t.Fatalf("the lines of %q in chunks %v, returns %v, join to %q", in, sizes, returns, got.whole)
			}
		}
	})
}

// recorder is a Recorder that keeps the events. Its clock advances by 1 with each reading.
type recorder struct {
	now  int64
	evs  []posixtrace.EventInfo
	data [][]byte
}

func (r *recorder) Now() int64 { r.now++; return r.now }

func (r *recorder) Record(ev posixtrace.EventInfo, data []byte) bool {
	r.evs = append(r.evs, ev)
	r.data = append(r.data, bytes.Clone(data))
	return true
}

func TestOutputRecordsLines(t *testing.T) {
	rec := &recorder{}
	s := NewSplitter(NewOutput(rec, posixtrace.EventOutputStderr, 42), 4)
	buf := s.buffer()
	for _, chunk := range []string{"a\nb\n", "cdefg\nh"} {
		copy(s.room(buf), chunk)
		s.split(buf, len(chunk))
	}
	s.finish()
	var got []posixtrace.OutputData
	for i, data := range rec.data {
		d, err := posixtrace.DecodeOutput(data)
		if err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		got = append(got, d)
	}
	want := []posixtrace.OutputData{
		{Line: []byte("a")},
		{Line: []byte("b")},
		{Line: []byte("cdef"), Continues: true},
		{Line: []byte("g")},
		{Line: []byte("h"), NoNewline: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("recorded (-want +got):\n%s", d)
	}
	for i, at := range []int64{1, 1, 2, 2, 3} {
		want := posixtrace.EventInfo{ID: posixtrace.EventOutputStderr, PID: 42, UnixNano: at}
		if rec.evs[i] != want {
			t.Errorf("event %d = %+v, want %+v", i, rec.evs[i], want)
		}
	}
}

func TestLineLimit(t *testing.T) {
	for _, tt := range []struct{ data, want int }{
		{4096, 4095}, {2, 1}, {1, defaultLimit}, {0, defaultLimit}, {1 << 30, maxLimit},
	} {
		if got := LineLimit(tt.data); got != tt.want {
			t.Errorf("LineLimit(%d) = %d, want %d", tt.data, got, tt.want)
		}
	}
}

type discard struct{}

func (discard) Now() int64                               { return 1 }
func (discard) Record(posixtrace.EventInfo, []byte) bool { return true }

func BenchmarkSplitter(b *testing.B) {
	text := strings.Repeat("1234567\n", batchSize/8)
	s := NewSplitter(NewOutput(discard{}, posixtrace.EventOutputStdout, 1), defaultLimit)
	buf := s.buffer()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		copy(s.room(buf), text)
		s.split(buf, len(text))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batchSize/8), "ns/line")
}
