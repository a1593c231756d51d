package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/pagetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const ms = int64(time.Millisecond)

// t0 is the time of the first event.
const t0 = int64(1_700_000_000_000_000_000)

// written is a run that a test writes.
type written struct {
	*Builder
	*Source
	names []string // of the event types from firstID on
}

const firstID = posixtrace.EventUnnamed + 1

func newRun() *written {
	w := &written{Builder: NewBuilder()}
	w.Source = w.NewSource(w.nameOf)
	return w
}

func (w *written) nameOf(id posixtrace.EventID) string {
	switch {
	case id == 3600:
		return "syscall.read"
	case id == posixtrace.EventProcSignal:
		return "proc.signal"
	case id == posixtrace.EventOutputStdout:
		return "output.stdout"
	case id >= firstID && int(id-firstID) < len(w.names):
		return w.names[id-firstID]
	}
	return ""
}

// event adds an event at a time in milliseconds.
func (w *written) event(at int64, id posixtrace.EventID, pid, tid int, data []byte) {
	w.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: tid, UnixNano: t0 + at*ms}, Data: data}})
}

func (w *written) user(at int64, name string, pid, tid int, data string) {
	i := 0
	for i < len(w.names) && w.names[i] != name {
		i++
	}
	if i == len(w.names) {
		w.names = append(w.names, name)
	}
	w.event(at, firstID+posixtrace.EventID(i), pid, tid, []byte(data))
}

func (w *written) fork(at int64, pid, child int) {
	w.event(at, posixtrace.EventProcFork, pid, pid, (&posixtrace.ForkData{Child: child}).Append(nil))
}

func (w *written) exec(at int64, pid int, args ...string) {
	w.event(at, posixtrace.EventProcExec, pid, pid, (&posixtrace.ExecData{Path: args[0], Argv: args}).Append(nil))
}

func (w *written) exit(at int64, pid, status int) {
	w.event(at, posixtrace.EventProcExit, pid, pid, (&posixtrace.ExitData{Status: status, User: time.Millisecond, MaxRSS: 1 << 20}).Append(nil))
}

func (w *written) print(at int64, line string) {
	w.event(at, posixtrace.EventOutputStdout, 1, 1, (&posixtrace.OutputData{Line: []byte(line)}).Append(nil))
}

// page writes the page and checks it.
func (w *written) page(t *testing.T, f Facts) (html string, run *pagetest.Run) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, []*Run{w.Finish(f)}, &Options{}); err != nil {
		t.Fatal(err)
	}
	p, err := pagetest.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Runs) != 1 || p.Version != 1 {
		t.Fatalf("version %d with %d runs", p.Version, len(p.Runs))
	}
	if at, found := hostile.Harmful(b.String(), "\t"); found {
		t.Fatalf("harmful: %q", b.String()[max(at-40, 0):at+40])
	}
	return b.String(), p.Runs[0]
}

// Data of events is shown as it was printed, as in the other forms, and names are shown strictly.
func TestDataAsPrinted(t *testing.T) {
	const data, strict = "\u26a0\ufe0f\u00a0x", `\xef\xb8\x8f\xc2\xa0x`
	w := newRun()
	w.exec(0, 10, "/bin/cc", data)
	w.user(1, "pass.begin", 10, 10, data+"\t\x1b\u202e")
	w.user(2, "tick", 10, 10, data)
	w.user(3, "pass.end", 10, 10, "")
	w.user(3, "pass.begin", 10, 10, "cc "+data) // also a name
	w.user(4, "pass.end", 10, 10, "")
	w.exit(6, 10, 0)
	_, r := w.page(t, Facts{})
	cc := find(t, r, "cc \u26a0"+strict)
	if got := r.Strings[r.Spans["text"][cc]]; got != "/bin/cc '\u26a0"+strict+"'" {
		t.Errorf("a command: %q", got)
	}
	if got, want := r.Strings[r.Spans["text"][find(t, r, "pass")]], data+"\t"+`\x1b\xe2\x80\xae`; got != want {
		t.Errorf("data of an interval: %q, want %q", got, want)
	}
	if got, want := r.Strings[r.Marks["text"][0]], `"`+data+`"`; got != want {
		t.Errorf("data of an event: %q, want %q", got, want)
	}
}

// find returns the index of a span.
func find(t *testing.T, r *pagetest.Run, name string) int {
	t.Helper()
	for i, n := range r.Spans["name"] {
		if r.Strings[n] == name {
			return i
		}
	}
	t.Fatalf("no span %q", name)
	return 0
}

// A run has its processes, spans, marks and lines in their lanes, and what decided its time.
func TestRun(t *testing.T) {
	w := newRun()
	w.exec(0, 10, "/bin/make", "-j2")
	w.fork(1, 10, 11)
	w.exec(1, 11, "/bin/cc", "a.c")
	w.fork(2, 10, 12)
	w.exec(2, 12, "/bin/cc", "b.c", "-Dx=a b")
	w.user(2, "step.begin", 12, 12, "x.sh:3 cc b.c")
	w.user(3, "pass.begin", 12, 12, "one")
	w.user(4, "tick", 12, 13, "data")
	w.user(5, "pass.end", 12, 12, "")
	w.user(5, "step.end", 12, 12, "0")
	w.event(6, 3600, 12, 12, (&posixtrace.SyscallData{Duration: 1000, Returned: true, Result: -1, Errno: 2, Args: []posixtrace.SyscallArg{{Value: []byte("3")}, {Value: []byte("<b>"), String: true}}}).Append(nil))
	w.print(5, "a \x1b[31mred\x1b[0m line")
	w.exit(6, 11, 0)
	w.exit(9, 12, 1)
	w.print(10, "the end")
	w.exit(10, 10, 2)
	html, r := w.page(t, Facts{Name: "build.trace", State: "finished"})
	if n := len(r.Spans["start"]); n != 6 {
		t.Errorf("%d spans", n)
	}
	a, b, root, pass := find(t, r, "cc a.c"), find(t, r, "cc b.c"), find(t, r, "make -j2"), find(t, r, "pass")
	s := r.Spans
	if s["lane"][a] == s["lane"][b] || s["lane"][pass] != s["lane"][b] || s["depth"][pass] != s["depth"][find(t, r, "x.sh:3 cc b.c")]+1 {
		t.Errorf("lanes %d, depths %d", s["lane"], s["depth"])
	}
	if p := r.Lanes["parent"]; p[s["lane"][a]] != s["lane"][root]+1 || p[s["lane"][b]] != s["lane"][root]+1 {
		t.Errorf("parents of the lanes: %d", p)
	}
	if s["flags"][b] != failed|onChain || s["status"][b] != 2 || s["flags"][a]&(failed|onChain) != 0 {
		t.Errorf("flags %d, status %d", s["flags"], s["status"])
	}
	if got := r.Strings[s["text"][b]]; got != "/bin/cc b.c '-Dx=a b'" {
		t.Errorf("text %q", got)
	}
	if i := find(t, r, "read"); r.Strings[s["text"][i]] != `(3, "<b>") result=-1 errno=ENOENT` || s["status"][i] != 3 || s["dur"][i] != 1000 || s["lane"][i] != s["lane"][b] {
		t.Errorf("a system call has %q, status %d", r.Strings[s["text"][i]], s["status"][i])
	}
	if r.End != -1 {
		t.Errorf("process 1 ends at %d", r.End)
	}
	if len(r.Text) != 2 || r.Text[0] != "a \x1b[31mred\x1b[0m line" {
		t.Errorf("lines %q", r.Text)
	}
	m := r.Marks
	if len(m["time"]) != 1 || r.Strings[m["type"][0]] != "tick" || r.Strings[m["text"][0]] != `"data"` || r.Lanes["tid"][m["lane"][0]-1] != 13 {
		t.Errorf("marks %v", m)
	}
	sum := uint64(0)
	for _, l := range r.Chain {
		sum += l[2]
	}
	if sum != uint64(10*ms) || r.Length != sum {
		t.Errorf("the chain has %d of %d: %d", sum, r.Length, r.Chain)
	}
	for _, want := range []string{`<section class="run failed" data-run="0"><h2><code>make -j2</code></h2>`, `<span class="badge">status 2</span>`,
		"<dt>log</dt><dd>build.trace: finished</dd>", `data-span="` + itoa(int32(b)) + `"><th scope="row">cc b.c</th>`,
		`data-span="` + itoa(int32(pass)) + `"><th scope="row">pass</th>`, `data-line="0"><td class="n" data-sort="5000000">5.00ms</td>`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A failure that did not make the run fail is no failure of the picture: a grep in a build that succeeds,
// and one before the failure that the run passed on.
// The line that repeats a command has its directory and redirections, and nothing that a terminal acts on. A command
// whose directory is unknown, or whose arguments are not whole, has none.
func TestPaste(t *testing.T) {
	w := newRun()
	exec := func(at int64, pid int, d *posixtrace.ExecData) {
		w.fork(at, 10, pid)
		w.event(at, posixtrace.EventProcExec, pid, pid, d.Append(nil))
		w.exit(at+1, pid, 0)
	}
	w.exec(0, 10, "/bin/make")
	exec(1, 11, &posixtrace.ExecData{Path: "/bin/cc", Argv: []string{"cc", "-Dx=a b"}, Dir: "/a b", Stdout: ">>/tmp/log", Stderr: ">&1", Unset: []string{"X"}, Environment: []string{"Y=1"}})
	exec(2, 12, &posixtrace.ExecData{Path: "/bin/ls", Argv: []string{"ls", "a\x1b[2J\n"}, Dir: "/"})
	exec(3, 13, &posixtrace.ExecData{Path: "/bin/as", Argv: []string{"as", strings.Repeat("x", 5000)}, Dir: "/"})
	w.exit(10, 10, 0)
	_, r := w.page(t, Facts{})
	var got []string
	for _, n := range r.Spans["paste"] {
		if n != 0 {
			got = append(got, r.Strings[n])
		}
	}
	want := []string{`cd '/a b' && /bin/cc '-Dx=a b' >>/tmp/log 2>&1`, `eval "$(printf 'cd / && /bin/ls \047a\033\1332J\012\047')"`}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestToleratedFailures(t *testing.T) {
	for _, status := range []int{0, 2} {
		w := newRun()
		w.exec(0, 10, "/bin/sh", "build.sh")
		w.fork(1, 10, 11)
		w.exec(1, 11, "/bin/grep", "-q", "x")
		w.exit(2, 11, 1)
		w.fork(3, 10, 12)
		w.exec(3, 12, "/bin/cc", "a.c")
		w.exit(4, 12, 0)
		w.fork(5, 10, 13)
		w.exec(5, 13, "/bin/cc", "b.c")
		w.exit(6, 13, status)
		w.exit(7, 10, status)
		html, r := w.page(t, Facts{})
		flags := func(name string) uint64 { return r.Spans["flags"][find(t, r, name)] &^ onChain }
		want := uint64(0)
		if status != 0 {
			want = failed
		}
		if grep := find(t, r, "grep -q x"); flags("grep -q x") != tolerated || r.Spans["status"][grep] != 2 || flags("cc a.c") != 0 || flags("cc b.c") != want || flags("sh build.sh") != want {
			t.Errorf("status %d: flags %d, status of grep %d", status, r.Spans["flags"], r.Spans["status"][grep])
		}
		if strings.Contains(html, "<dt>failed commands</dt><dd>2</dd>") != (status != 0) || strings.Count(html, "<dt>failed commands") > status {
			t.Errorf("status %d: another count of failed commands", status)
		}
		if body := html[strings.Index(html, "<body>"):strings.Index(html, "<script")]; status == 0 && (strings.Contains(body, `class="failed"`) || strings.Contains(body, ">failed</th>")) {
			t.Error("a run that succeeded has a failure")
		}
	}
}

// Failures that have become one with others are tolerated only if all in the log are.
func TestToleratedTogether(t *testing.T) {
	for _, status := range []int{0, 1} {
		w := newRun()
		w.spans.most = 20
		w.exec(0, 10, "/bin/make", "-k")
		for i := range 100 {
			w.fork(int64(1+i), 10, 11+i)
			w.exec(int64(1+i), 11+i, "/bin/grep", "x")
			w.exit(int64(1+i), 11+i, 1)
		}
		w.exit(102, 10, status)
		_, r := w.page(t, Facts{})
		for i, f := range r.Spans["flags"] {
			if f&merged != 0 && (f&tolerated != 0) != (status == 0) || f&failed != 0 && f&tolerated != 0 {
				t.Errorf("status %d: span %d has the flags %d", status, i, f)
			}
		}
	}
}

// A long fork that executes nothing has the line of output before it in its name.
func TestLongForks(t *testing.T) {
	w := newRun()
	w.exec(0, 10, "/bin/bash", "ci.sh")
	w.fork(1, 10, 11)
	w.exit(40, 11, 0)
	w.print(41, "\x1b[1mone\\n\x1b[0m")
	w.print(41, " ")
	w.fork(42, 10, 12)
	w.exit(80, 12, 0)
	w.print(81, strings.Repeat("two ", 20))
	w.fork(82, 10, 13)
	w.fork(82, 10, 14)
	w.exit(83, 13, 0)
	w.exit(99, 14, 0)
	w.exit(100, 10, 0)
	html, r := w.page(t, Facts{})
	var names []string
	for _, n := range r.Spans["name"] {
		names = append(names, r.Strings[n])
	}
	want := []string{"bash ci.sh", "bash ci.sh (fork)", `bash ci.sh (fork) after "one\n"`, `bash ci.sh (fork) after "` + strings.Repeat("two ", 9) + `two…"`, "bash ci.sh (fork)"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if !strings.Contains(html, "<code>bash ci.sh (fork) after &#34;one") {
		t.Error("the chain does not name the fork")
	}
}

// Nothing that a log contains becomes structure of the page.
func TestHostile(t *testing.T) {
	w := newRun()
	texts := append(hostile.Texts(), strings.Repeat("x", 1<<20), strings.Repeat("<!--<script>", 1000), "]]>", "</style>", "\u2028</SCRIPT >")
	w.exec(0, 1, "</script><script>alert(1)</script>", "<b>", "\u202e")
	for i, s := range texts {
		at := int64(10 * i)
		w.fork(at, 1, 100+i)
		w.exec(at+1, 100+i, s, s, s)
		w.user(at+2, "a"+s+".begin", 100+i, 100+i, s)
		w.user(at+3, "m"+s, 100+i, 100+i, s)
		w.user(at+3, "step.begin", 100+i, 100+i, "x.sh:1 "+s)
		w.print(at+4, strings.ReplaceAll(s, "\n", ""))
		w.user(at+5, "step.end", 100+i, 100+i, "1")
		w.user(at+5, "a"+s+".end", 100+i, 100+i, "1")
		w.exit(at+6, 100+i, i%3)
	}
	evil := strings.Join(hostile.Texts()[256:400], " ")
	_, r := w.page(t, Facts{Name: evil, Label: evil, State: evil, Warnings: []string{evil}, Logs: []string{evil}, Lost: 3})
	if len(r.Text) != len(texts) || len(r.Spans["start"]) < 2*len(texts) {
		t.Errorf("%d lines and %d spans of %d texts", len(r.Text), len(r.Spans["start"]), len(texts))
	}
	if last := r.Text[len(texts)-5]; len(last) != maxLine || r.Omitted["bytes"] < 1<<20-maxLine {
		t.Errorf("a long line has %d bytes, %d are left out", len(last), r.Omitted["bytes"])
	}
}

// An empty log, and one without a span, make a page.
func TestNothing(t *testing.T) {
	html, r := newRun().page(t, Facts{Name: "empty.trace", State: "unfinished", Warnings: []string{"empty.trace: log is incomplete"}})
	if len(r.Spans["start"])+len(r.Marks["time"])+len(r.Text)+len(r.Lanes["name"]) != 0 || r.Length != 0 {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(html, `<p class="warning">empty.trace: log is incomplete</p>`) {
		t.Error("the page does not say that the log is incomplete")
	}
	w := newRun()
	w.user(0, "tick", 7, 7, "")
	w.user(5, "tick", 7, 8, "")
	if _, r = w.page(t, Facts{}); len(r.Marks["time"]) != 2 || len(r.Lanes["name"]) != 2 || r.Length != uint64(5*ms) {
		t.Errorf("%+v", r)
	}
}

// Spans that cross, never end or have no begin, commands without one, and clocks that jump, are drawn
// as far as they are known, and the page says what is wrong.
func TestWrong(t *testing.T) {
	w := newRun()
	w.user(0, "a.begin", 1, 1, "")
	w.user(1, "b.begin", 1, 1, "")
	w.user(2, "a.end", 1, 1, "")
	w.user(3, "b.end", 1, 1, "")
	w.user(4, "never.begin", 1, 1, "")
	w.user(5, "late.end", 1, 1, "")
	w.exit(6, 77, 0)
	w.fork(7, 1, 1)
	w.fork(7, 20, 21)
	w.fork(7, 21, 20)
	w.user(-1000, "tick", 1, 1, "")
	w.user(1<<40, "tick", 1, 1, "")
	w.event(9, 3600, 1, 1, (&posixtrace.SyscallData{Duration: 1<<63 - 1, Returned: true}).Append(nil))
	w.event(8, posixtrace.EventOverflow, 0, 0, nil)
	html, r := w.page(t, Facts{Lost: 5})
	s := r.Spans
	a, b, never := find(t, r, "a"), find(t, r, "b"), find(t, r, "never")
	if s["flags"][a]&overlaps == 0 || s["flags"][b]&overlaps == 0 || s["depth"][a] == s["depth"][b] || s["flags"][never]&unfinished == 0 {
		t.Errorf("flags %d, depths %d", s["flags"], s["depth"])
	}
	if len(r.Missing) != 1 || r.Missing[0][2] != 5 || r.Missing[0][1] != r.Length {
		t.Errorf("missing %d of %d", r.Missing, r.Length)
	}
	for _, want := range []string{"5 events were lost from ", "older than the one before", "without a recorded start", "the clock may have jumped"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
