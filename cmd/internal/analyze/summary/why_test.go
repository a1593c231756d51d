package summary

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// answerTo returns the answer for a log that fill makes.
func answerTo(fill func(*analysis.Analysis), lost uint64, o WhyOptions) string {
	w := NewWhy()
	fill(w.Analysis)
	return string(w.Append(nil, lost, &o))
}

var whyLineForm = regexp.MustCompile(`^(verdict|failed|from|output|waited|slow|memory|lost|more|left out): .*$`)

// checkAnswer checks the form of an answer: its lines, the order of its keys, and what a terminal gets.
func checkAnswer(t *testing.T, text string, lines int) {
	t.Helper()
	list := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(list) > lines || !strings.HasSuffix(text, "\n") || !utf8.ValidString(text) {
		t.Fatalf("%d lines of at most %d: %q", len(list), lines, text)
	}
	order, last := append(slices.Clone(whyNames[:]), "left out"), 0
	for _, line := range list {
		m := whyLineForm.FindStringSubmatch(line)
		if m == nil || slices.Index(order, m[1]) < last {
			t.Fatalf("%q in %q", line, text)
		}
		last = slices.Index(order, m[1])
		if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e || r == 0x9b }); i >= 0 {
			t.Fatalf("a control character in %q", line)
		}
	}
	if !strings.HasPrefix(text, "verdict: ") {
		t.Fatalf("no verdict: %q", text)
	}
}

// Whatever number of lines the user asks for, the answer has no more, and says how many there are in all.
func TestWhyLines(t *testing.T) {
	hostile := append(slices.Repeat([]string{"x\x1b[31m\n::set-output name=x::y"}, 9), "b.trace")
	whole := answerTo(addHostile, 3, WhyOptions{Lines: 1000, Unsound: hostile, Logs: []string{"a.trace"}})
	all := strings.Count(whole, "\n")
	checkAnswer(t, whole, all)
	if all < 15 || strings.Contains(whole, "left out") {
		t.Fatalf("%d lines:\n%s", all, whole)
	}
	for n := LeastWhy; n <= all+2; n++ {
		for _, width := range []int{0, 10, 40, 80} {
			text := answerTo(addHostile, 3, WhyOptions{Lines: n, Width: width, Unsound: hostile, Logs: []string{"a.trace"}})
			checkAnswer(t, text, n)
			if got := strings.Count(text, "\n"); got != min(n, all) {
				t.Errorf("%d lines of %d with --why=%d:\n%s", got, all, n, text)
			}
			if !strings.Contains(text, "\nfailed: ") || !strings.Contains(text, "\nlost: ") {
				t.Errorf("--why=%d leaves out what matters most:\n%s", n, text)
			}
		}
	}
	for _, line := range strings.Split(answerTo(addHostile, 3, WhyOptions{Lines: 25, Width: 40}), "\n") {
		if !strings.HasPrefix(line, "more: ") && !strings.HasPrefix(line, "left out: ") && utf8.RuneCountInString(line) > 40 {
			t.Errorf("%q is wider than the terminal", line)
		}
	}
}

// A name of a log that no shell reads as it is is quoted, and a name that cannot be shown is left to the reader.
func TestWhyOperands(t *testing.T) {
	for name, want := range map[string]string{
		"a.trace": "a.trace", "/x/a-1.trace": "/x/a-1.trace", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm x)": "'$(rm x)'", "~": "'~'", "-x": "./-x", "--stream=web": "--stream=web",
		"--stream=a b": "--stream='a b'", "a\nb": "LOG", "\x1b[31m": "LOG", "::error::x": "LOG", "": "LOG", "#x": "'#x'", "***": "'***'",
	} {
		if got := shellWord(name); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", name, got, want)
		}
	}
	text := answerTo(addHostile, 0, WhyOptions{Lines: 25, Logs: []string{"a", "b", "c", "d", "e"}})
	if !strings.Contains(text, "\nmore: ptrace-dump -s LOG...  # ") {
		t.Error(text)
	}
	if text = answerTo(addHostile, 0, WhyOptions{Lines: 25}); strings.Contains(text, "ptrace-dump") {
		t.Errorf("a log that cannot be read again is to be read again:\n%s", text)
	}
}

// The answer says no more than the log.
func TestWhySaysWhatIsKnown(t *testing.T) {
	exit := func(d posixtrace.ExitData) posixtrace.Record {
		return posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventProcExit, PID: 1, TID: 1, UnixNano: 2e9}, Data: d.Append(nil)}
	}
	exec := posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventProcExec, PID: 1, TID: 1, UnixNano: 1e9}, Data: (&posixtrace.ExecData{Path: "/bin/x", Argv: []string{"x"}}).Append(nil)}
	at := func(id posixtrace.EventID, nano int64, data []byte) posixtrace.Record {
		return posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: 1, TID: 1, UnixNano: nano}, Data: data}
	}
	limit := at(posixtrace.EventProcTimeout, 1.8e9, (&posixtrace.TimeoutData{Limit: 8e8, Signal: 15}).Append(nil))
	look := at(posixtrace.EventHangThread, 1.8e9, (&posixtrace.HangData{Args: []string{"x"}, Kind: posixtrace.HangRuns, Since: -1, Note: "the look was given up after 0.5 s", Report: 1}).Append(nil))
	call := at(3600, 1.9e9, (&posixtrace.SyscallData{Duration: 5e8}).Append(nil))
	fork := at(posixtrace.EventProcFork, 1.4e9, (&posixtrace.ForkData{Child: 2}).Append(nil))
	child := at(posixtrace.EventProcExec, 1.5e9, (&posixtrace.ExecData{Path: "/bin/y", Argv: []string{"y"}}).Append(nil))
	child.PID, child.TID = 2, 2
	event := posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 100, PID: 1, TID: 1, UnixNano: 1e9}}
	for _, c := range []struct {
		name string
		recs []posixtrace.Record
		lost uint64
		want []string
	}{
		{"nothing", nil, 0, []string{"verdict: not known: there are no events", "failed: not known: no command is recorded", "lost: nothing", "more: nothing"}},
		{"no command", []posixtrace.Record{event}, 2, []string{"verdict: not known: no command is recorded, 1 event in 0s, 2 lost", "failed: not known: no command is recorded", "lost: 2 events, which the answer lacks"}},
		{"a command alone", []posixtrace.Record{exec, exit(posixtrace.ExitData{Status: 1})}, 0, []string{"failed: not known: no step and no other command is recorded", "output: none is recorded", "waited: not known", "from: -"}},
		{"success", []posixtrace.Record{exec, exit(posixtrace.ExitData{})}, 0, []string{"failed: nothing", "from: -"}},
		{"a look that was given up", []posixtrace.Record{exec, limit, look, exit(posixtrace.ExitData{Signal: 15})}, 0, []string{"waited: the look was given up after 0.5 s"}},
		{"the same, and a system call", []posixtrace.Record{exec, call, limit, look, exit(posixtrace.ExitData{Signal: 15})}, 0, []string{"waited: the look was given up after 0.5 s", "waited: 500ms in read(): x (pid 1)"}},
		{"the same, and what ran", []posixtrace.Record{exec, fork, child, limit, look, exit(posixtrace.ExitData{Signal: 15})}, 0,
			[]string{"waited: running then: y, in x", "waited: the look was given up after 0.5 s"}},
		{"without an end", []posixtrace.Record{exec}, 0, []string{"failed: nothing so far: the command runs at the end of the log"}},
	} {
		text := answerTo(func(a *analysis.Analysis) {
			a.NewSource(func(id posixtrace.EventID) string {
				return map[posixtrace.EventID]string{3600: "syscall.read"}[id]
			}).Add(c.recs)
		}, c.lost, WhyOptions{Lines: 25, Logs: []string{"a"}})
		checkAnswer(t, text, 25)
		for _, want := range c.want {
			if !strings.Contains("\n"+text, "\n"+want+"\n") {
				t.Errorf("%s: no %q in\n%s", c.name, want, text)
			}
		}
	}
}

// The object is as the schema says.
func TestWhySchema(t *testing.T) {
	for _, fill := range []func(*analysis.Analysis){addHostile, func(*analysis.Analysis) {}} {
		checkWhyObject(t, answerTo(fill, 3, WhyOptions{JSON: true, Unsound: []string{"x: cut"}, Logs: []string{"a b"}}))
	}
}

var whySchema = sync.OnceValue(func() *jsonschema.Schema {
	return jsonschema.NewCompiler().MustCompile("../../../ptrace-dump/why.schema.json")
})

func checkWhyObject(t *testing.T, text string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = whySchema().Validate(v)
	}
	if err != nil || strings.Count(text, "\n") != 1 {
		t.Fatalf("%v in %s", err, text)
	}
}

// Whatever a log contains, the answer has its form.
func FuzzWhy(f *testing.F) {
	f.Add([]byte("\x01\x01\x02\x03abcdefgh\x02\x01\x02\x03abcdefgh\x03\x01\x02\x03abcdefgh"), uint8(5))
	f.Add(bytes.Repeat([]byte("\x07\x01\x01\x03aaaaaaaa\x08\x01\x01\x03baaaaaaa\x05\x01\x01\x03caaaaaaa\x04\x01\x02\x03daaaaaaa"), 3), uint8(9))
	ids := []posixtrace.EventID{posixtrace.EventProcFork, posixtrace.EventProcExec, posixtrace.EventProcExit, posixtrace.EventOutputStdout, posixtrace.EventOutputStderr,
		posixtrace.EventProcTimeout, 3600, 100, 101, 102, 103, 1 << 15}
	names := map[posixtrace.EventID]string{3600: "syscall.read", 100: "step.begin", 101: "step.end", 102: "a.begin", 103: "a.end"}
	f.Fuzz(func(t *testing.T, b []byte, lines uint8) {
		if len(b) > 1<<14 {
			return
		}
		fill := func(a *analysis.Analysis) {
			sources := [2]*analysis.Source{}
			for i := range sources {
				sources[i] = a.NewSource(func(id posixtrace.EventID) string { return names[id] })
			}
			for b := b; len(b) >= 12; b = b[12:] {
				rec := posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: ids[int(b[0]&0x7f)%len(ids)], PID: int(b[1] % 8), TID: int(b[2] % 4), Span: uint64(b[3] % 4),
					UnixNano: int64(binary.LittleEndian.Uint64(b[4:]))}, Data: b[1:min(len(b), 60)]}
				switch rec.ID {
				case posixtrace.EventProcFork:
					rec.Data = (&posixtrace.ForkData{Child: int(b[3] % 8)}).Append(nil)
				case posixtrace.EventProcExit:
					rec.Data = (&posixtrace.ExitData{Status: int(b[2] % 3), Signal: int(b[3] % 16), MaxRSS: int64(b[4])}).Append(nil)
				}
				sources[b[0]>>7].Add([]posixtrace.Record{rec})
			}
		}
		n := max(int(lines), LeastWhy)
		checkAnswer(t, answerTo(fill, uint64(lines), WhyOptions{Lines: n, Width: int(lines) / 2, Logs: []string{string(b[:min(len(b), 9)])}}), n)
		checkWhyObject(t, answerTo(fill, uint64(lines), WhyOptions{JSON: true}))
	})
}
