package script_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// everything selects all events of a sound log. Without it, ptrace-dump leaves out mappings; with it,
// events of types that are not in the log's list of types, which a damaged log may have.
var everything = []string{"-e", "@all,proc.map"}

// babelEvent is an event as babeltrace2 shows it.
type babelEvent struct {
	time, name string
	members    map[string]any // of the context and the payload
}

// babelLine matches a line of babeltrace2 --clock-gmt --clock-date --no-delta --fields=loglevel.
var babelLine = regexp.MustCompile(`(?s)^\[([0-9-]{10}) ([0-9:.]{18})\] (.*?): (\{ pid = .*)$`)

// babelEvents exports a log and returns the events that babeltrace2 reads, and how many it reports as
// lost. An export that fails returns ok as false.
func babelEvents(t *testing.T, dir string, env, selection []string, log string) (list []babelEvent, lost uint64, ok bool) {
	t.Helper()
	dest := filepath.Join(t.TempDir(), "ctf")
	cmd := exec.Command("ptrace-export", append(selection, "--to=ctf", "-o", dest, log)...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	harmless(t, "standard error", out, "")
	if _, e := os.Stat(dest); e != nil {
		if err == nil {
			t.Fatalf("no export, and status 0: %s", out)
		}
		return nil, 0, false
	}
	cmd = exec.Command("babeltrace2", "--clock-gmt", "--clock-date", "--no-delta", "--fields=loglevel", dest)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("babeltrace2: %v\n%s", err, stderr.Bytes())
	}
	for line := range strings.Lines(string(text)) {
		m := babelLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("babeltrace2 shows %q", line)
		}
		p := &babelParser{rest: m[4]}
		ev := babelEvent{m[1] + "T" + m[2] + "Z", m[3], map[string]any{}}
		for p.take("{ ") {
			p.members(ev.members)
			p.take(", ")
		}
		if p.bad || p.rest != "" {
			t.Fatalf("babeltrace2 shows %q: not understood from %q", line, p.rest)
		}
		list = append(list, ev)
	}
	for _, m := range regexp.MustCompile(`Tracer discarded ([0-9]+) event`).FindAllStringSubmatch(stderr.String(), -1) {
		n, _ := strconv.ParseUint(m[1], 10, 64)
		lost += n
	}
	return list, lost, true
}

// babelParser parses values as babeltrace2 shows them: a structure is a map, an array a slice, a string
// a string; a number is a json.Number, an enumeration a label.
type babelParser struct {
	rest string
	bad  bool
}

type babelLabel struct{ name, number string }

func (p *babelParser) take(s string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, s)
	return ok
}

// until takes the text up to s, and s.
func (p *babelParser) until(s string) string {
	text, rest, ok := strings.Cut(p.rest, s)
	p.rest, p.bad = rest, p.bad || !ok
	return text
}

// members parses the rest of a structure.
func (p *babelParser) members(into map[string]any) {
	for !p.bad && !p.take("}") {
		key := p.until(" = ")
		into[key] = p.value()
		if !p.take(", ") && !p.take(" ") {
			p.bad = true
		}
	}
}

func (p *babelParser) value() any {
	switch {
	case p.take("{ "):
		m := map[string]any{}
		p.members(m)
		return m
	case p.take("[ "):
		list := []any{}
		for !p.bad && !p.take("]") {
			p.until("] = ")
			list = append(list, p.value())
			if !p.take(", ") && !p.take(" ") {
				p.bad = true
			}
		}
		return list
	case p.take(`"`):
		return p.text()
	case p.take("( "):
		name := strings.Trim(p.until(" : container = "), `"`)
		return babelLabel{name, p.until(" )")}
	}
	n := len(p.rest) - len(strings.TrimLeft(p.rest, "-0123456789xABCDEF"))
	v := p.rest[:n]
	p.rest, p.bad = p.rest[n:], p.bad || n == 0
	return json.Number(v)
}

// text parses the rest of a string.
func (p *babelParser) text() string {
	var b strings.Builder
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; c {
		case '"':
			p.rest = p.rest[i+1:]
			return b.String()
		case '\\':
			i++
			at := strings.IndexByte(`abtnvfre"\'?`, p.rest[i])
			if p.rest[i] == 'x' {
				c, _ := strconv.ParseUint(p.rest[i+1:i+3], 16, 8)
				b.WriteByte(byte(c))
				i += 2
				continue
			} else if at < 0 {
				p.bad = true
				return ""
			}
			b.WriteByte("\a\b\t\n\v\f\r\x1b\"\\'?"[at])
		default:
			b.WriteByte(c)
		}
	}
	p.bad = true
	return ""
}

// notInCTF are members of JSON that the format has in another place, or that follow from others.
var notInCTF = []string{"time", "sec", "nsec", "event", "id", "class", "size", "errno_name", "coarse"}

// checkMembers compares the members of an event with those of ptrace-dump -j.
func (e *babelEvent) checkMembers(t *testing.T, want map[string]any) {
	t.Helper()
	for key, w := range want {
		if slices.Contains(notInCTF, key) {
			continue
		}
		name := key
		if key == "data_base64" {
			name = "data"
			b, err := base64.StdEncoding.DecodeString(w.(string))
			if err != nil {
				t.Fatal(err)
			}
			w = b
		}
		if key == "parent" && want["span"] == nil {
			continue
		}
		if key == "stack" { // its first frame is the address of the event
			w = w.([]any)[1:]
		}
		got, ok := e.members[name]
		if list, is := got.([]any); is && len(list) == 1 { // a text that not every event has
			if _, is := w.(string); is {
				got = list[0]
			}
		}
		if !ok || !sameValue(got, w) {
			t.Errorf("%s %s: %s is %#v, ptrace-dump has %#v", e.time, e.name, key, got, w)
		}
	}
}

// sameValue compares a value of babeltrace2 with one of JSON.
func sameValue(got, want any) bool {
	switch w := want.(type) {
	case []byte:
		return bytes.Equal(bytesOf(got), w)
	case string:
		if n, ok := got.(json.Number); ok { // a number of 64 bits
			a, err1 := strconv.ParseUint(string(n), 0, 64)
			b, err2 := strconv.ParseUint(w, 0, 64)
			return err1 == nil && err2 == nil && a == b
		}
		if l, ok := got.(babelLabel); ok {
			return l.name == w || l.name == "<unknown>" // a number without a name, for which JSON has a default
		}
		s, ok := got.(string)
		if !ok {
			s = string([]rune(string(bytesOf(got)))) // JSON has no bytes that are not UTF-8
		}
		return s == w || s == escape.String(w) || strings.Contains(w, "\ufffd")
	case json.Number:
		if l, ok := got.(babelLabel); ok {
			got = json.Number(l.number)
		}
		return got == w
	case bool:
		l, ok := got.(babelLabel)
		if ok && l.name != "true" && l.name != "false" { // a number that tells whether
			return w == (l.number != "0")
		}
		return ok && l.name == strconv.FormatBool(w)
	case []any:
		list, ok := got.([]any)
		return ok && slices.EqualFunc(list, w, sameValue)
	case map[string]any:
		m, ok := got.(map[string]any)
		for key, v := range w {
			ok = ok && sameValue(m[key], v)
		}
		return ok
	}
	return false
}

// bytesOf returns the bytes of an array, or of a structure with one.
func bytesOf(v any) (b []byte) {
	if m, ok := v.(map[string]any); ok {
		v = m["bytes"]
	}
	list, _ := v.([]any)
	for _, e := range list {
		n, _ := e.(json.Number)
		c, _ := strconv.Atoi(string(n))
		b = append(b, byte(c))
	}
	return b
}

// compareCTF compares what babeltrace2 reads with what ptrace-dump shows.
func compareCTF(t *testing.T, dir string, env, selection []string, log string) {
	t.Helper()
	got, lost, ok := babelEvents(t, dir, env, slices.Clone(selection), log)
	if !ok {
		return
	}
	var want []map[string]any
	lines := bufio.NewScanner(bytes.NewReader(dumpOf(t, dir, env, append([]string{"-j"}, selection...), log)))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var ev map[string]any
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.UseNumber()
		if err := d.Decode(&ev); err != nil {
			t.Fatal(err)
		}
		want = append(want, ev)
	}
	if selection == nil {
		got = slices.DeleteFunc(got, func(e babelEvent) bool { return e.name == "proc.map" || e.members["map_start"] != nil })
	}
	// babeltrace2 merges by time what is not in this order.
	slices.SortStableFunc(want, func(a, b map[string]any) int { return strings.Compare(a["time"].(string), b["time"].(string)) })
	if len(want) != len(got) {
		t.Fatalf("babeltrace2 reads %d events, ptrace-dump %d", len(got), len(want))
	}
	for i := 0; i < len(got) && !t.Failed(); i++ {
		e := &got[i]
		if name := want[i]["event"].(string); e.time != want[i]["time"] || e.name != escape.String(name) && !strings.Contains(name, "\ufffd") {
			t.Errorf("event %d is %s %q, ptrace-dump has %v %q", i, e.time, e.name, want[i]["time"], name)
		}
		e.checkMembers(t, want[i])
	}
	var status struct {
		Lost    uint64
		LogLost uint64 `json:"log_lost"`
	}
	if out := dumpOf(t, dir, env, []string{"--status", "-j"}, log); len(out) > 0 {
		if err := json.Unmarshal(out, &status); err != nil {
			t.Fatal(err)
		}
	}
	all, carry := bits.Add64(status.Lost, status.LogLost, 0)
	if carry > 0 || all == math.MaxUint64 {
		all = math.MaxUint64 - 1 // which babeltrace2 cannot count
	}
	if lost != all {
		t.Errorf("babeltrace2 reports %d lost events, want %d", lost, all)
	}
}

// sample is how many of many cases a test tries.
func sample(some, all int) int {
	if os.Getenv("POSIXTRACE_FULL") != "" {
		return all
	}
	return some
}

// babeltrace2 reads as many events, with the same times and members, as ptrace-dump shows, whatever
// the log has.
func TestExportCTFHostile(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, "babeltrace2")
	dir, env := hostileTrace(t)
	compareCTF(t, dir, env, everything, "hostile.trace")
	log, err := os.ReadFile(filepath.Join(dir, "hostile.trace"))
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	for i := range sample(12, 500) {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		b := slices.Clone(log[:len(log)-rng.IntN(2)*rng.IntN(len(log)/2)])
		for range 1 + rng.IntN(20) {
			b[rng.IntN(len(b))] = byte(rng.Uint32())
		}
		hostile.FixChecksums(b)
		if err := os.WriteFile(filepath.Join(dir, "evil.trace"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("seed %d %d", seed, i), func(t *testing.T) { compareCTF(t, dir, env, nil, "evil.trace") })
	}
}

// textLogs returns the logs of testdata/log, which another test encodes, in a directory.
func textLogs(t *testing.T) (dir string, logs []string) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.Command("go", "test", "-count=1", "-run", "^TestTextLogs$", "../../../pkg/posixtrace/internal/tracelog")
	cmd.Env = append(os.Environ(), "POSIXTRACE_TEXT_LOGS="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	if err != nil || len(logs) < 20 {
		t.Fatal(logs, err)
	}
	return dir, logs
}

// The same of the logs of testdata/log.
func TestExportCTFTextLogs(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, "babeltrace2")
	dir, logs := textLogs(t)
	for _, log := range logs {
		t.Run(filepath.Base(log), func(t *testing.T) {
			compareCTF(t, dir, append(os.Environ(), "PTRACE_STREAM=", "TZ=UTC"), nil, filepath.Base(log))
		})
	}
}

// The same of logs of each kind: with a loop, with lost events, with spans, stacks, signals, and of
// many events.
func TestExportCTFKinds(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, "babeltrace2")
	dir, env := hostileTrace(t)
	for _, kind := range []struct{ name, options, script string }{
		{"loop", "-c --log-size=64K --log-full-policy=loop", fillsLog},
		{"full", "-c --log-size=64K --log-full-policy=until-full", fillsLog},
		{"lost", "-c --stream-size=16K --stream-full-policy=until-full", "seq 5000"},
		{"spans", "-e proc", `eval "$(ptrace-event --shell=sh)"; pt_step a pt_step b true; pt point "a b"; exit 0`},
		{"calls", "-e syscall,signal,proc", `kill -WINCH $$; cat nothing 2>&1; printf '\377\376' >"$(printf 'x\377')"; exit 0`},
		{"many", "-c --stream-size=16M", fmt.Sprintf("seq %d", sample(50_000, 2_000_000))},
	} {
		t.Run(kind.name, func(t *testing.T) {
			cmd := exec.Command("ptrace-run", append(strings.Fields(kind.options), "-o", kind.name+".trace", "--", "sh", "-c", kind.script)...)
			cmd.Dir, cmd.Env = dir, env
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, stderr.Bytes())
			}
			compareCTF(t, dir, env, everything, kind.name+".trace")
		})
	}
}
