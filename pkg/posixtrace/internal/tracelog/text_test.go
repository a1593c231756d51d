package tracelog

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

var update = flag.Bool("update", false, "rewrite the event lines in testdata/log")

const logDir = "../../../../testdata/log"

// archive is a txtar file of two members.
type archive struct{ comment, log, expect string }

func parseArchive(s string) (a archive, ok bool) {
	c, rest, ok1 := strings.Cut(s, "-- log --\n")
	l, e, ok2 := strings.Cut(rest, "-- expect --\n")
	return archive{c, l, e}, ok1 && ok2
}

// eventLine is one event in an expect file.
func eventLine(r *Reader, rec *chunk.Record) string {
	name := r.TypeName(rec.Event)
	if name == "" {
		name = fmt.Sprint(rec.Event)
	}
	name = strings.TrimSuffix(strconv.Quote(name)[1:], `"`)
	s := fmt.Sprintf("%d %d %d %s %q", rec.Tick, rec.PID, rec.TID, name, rec.Data)
	if rec.Span != 0 {
		s += fmt.Sprintf(" span=%#x parent=%#x", rec.Span, rec.Parent)
	}
	if rec.Truncated {
		s += " cut"
	}
	for m := rec.Maps; m != nil; m = m.Next {
		s += fmt.Sprintf(" map=%d:%q", m.PID, m.Data)
	}
	return s + "\n"
}

// verdict reads a log to its end and returns the events and the fault.
func verdict(r *Reader, err error) (events string, bad error) {
	if err != nil {
		return "", err
	}
	var b strings.Builder
	var rec chunk.Record
	r.Maps = true
	for {
		ok, err := r.Next(&rec)
		if err != nil {
			return b.String(), err
		}
		if !ok {
			break
		}
		b.WriteString(eventLine(r, &rec))
	}
	if s, err := r.State(); s != Finished {
		return b.String(), fmt.Errorf("%v: %w", s, err)
	}
	return b.String(), nil
}

func TestTextLogs(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(logDir, "*.txtar"))
	if len(files) < 10 {
		t.Fatalf("only %d logs in %s", len(files), logDir)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			must(t, err)
			a, ok := parseArchive(string(text))
			if !ok {
				t.Fatal("no log or no expect file")
			}
			log, err := Encode(a.log)
			must(t, err)
			if dir := os.Getenv("POSIXTRACE_TEXT_LOGS"); dir != "" { // for tests of other packages
				must(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)+".trace"), log, 0o600))
			}
			head, events, _ := strings.Cut(a.expect, "\n")
			want, pattern, _ := strings.Cut(head, " ")
			check := func(way string, r *Reader, err error) string {
				got, bad := verdict(r, err)
				switch want {
				case "SUCCESS":
					if bad != nil {
						t.Errorf("%s: %v", way, bad)
					}
				case "FAILURE":
					p, err := strconv.Unquote(pattern)
					must(t, err)
					if bad == nil || !regexp.MustCompile(p).MatchString(bad.Error()) {
						t.Errorf("%s: %v, want a match of %q", way, bad, p)
					}
				default:
					t.Fatalf("verdict %q", head)
				}
				return got
			}
			r, err := OpenFile(bytes.NewReader(log), int64(len(log)))
			got := check("file", r, err)
			if *update {
				must(t, os.WriteFile(name, []byte(a.comment+"-- log --\n"+a.log+"-- expect --\n"+head+"\n"+got), 0o644))
			} else if got != events {
				t.Errorf("file: events:\n%swant:\n%s", got, events)
			}
			r, err = OpenStream(bytes.NewReader(log))
			if fromPipe := check("stream", r, err); fromPipe != got {
				t.Errorf("stream: events:\n%swant:\n%s", fromPipe, got)
			}
		})
	}
}

func TestTextRoundTrip(t *testing.T) {
	for _, p := range []Policy{Append, UntilFull, Loop} {
		var m memory
		w, err := create(&m, superFor(p))
		must(t, err)
		writeLog(t, w, overlapping(30))
		text, err := Text(m.b)
		must(t, err)
		again, err := Encode(text)
		must(t, err)
		second, _ := Text(again)
		if p == Loop { // a chunk that was split becomes two
			if wantEvents(t, readAll(t, openFile(t, again)), readAll(t, openFile(t, m.b))); second != text {
				t.Errorf("the text of the log made from the text differs:\n%s\n%s", text, second)
			}
		} else if !bytes.Equal(again, m.b) {
			t.Errorf("%v: the text makes another log:\n%s\n%s", p, text, second)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	for _, text := range []string{
		"nonsense", "super id=x", "super id=0", "super colour=red", "super log-full-policy=flush", "events", "events\nevent +1 0 \"\"\n",
		"events\nsite 33\nevent +x 0 \"\"\nend", "events\nhex 0\nend", "group", "cut 100000", "corrupt 99+1", "types 0 \"x\"", "types 5000 x",
		"super name=\"\nseal", "anchors 1 x", "status fine", "seal\nevents\nsite 33\nevent +1 0 \"\"\nend", "\"x\"", "a=b",
		"super log-full-policy=loop log-size=0xffffffffff",
	} {
		if b, err := Encode(text); err == nil && !strings.HasPrefix(text, "super log-full-policy=loop") {
			t.Errorf("Encode(%q) made %d bytes", text, len(b))
		}
	}
}
