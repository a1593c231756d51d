package output

import (
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestAnnotate(t *testing.T) {
	defer func(l *time.Location) { time.Local = l }(time.Local)
	time.Local = time.UTC
	const inColor = TimeStyle(1 << 6)
	const out, err = posixtrace.EventOutputStdout, posixtrace.EventOutputStderr
	line := func(s string) string { return "\x00" + s }
	part := func(s string) string { return "\x02" + s }
	rest := func(s string) string { return "\x01" + s } // the output ends without a newline
	type e struct {
		id   posixtrace.EventID
		at   int64
		data string
	}
	for _, tt := range []struct {
		name   string
		style  TimeStyle // +inColor
		events []e
		want   string
	}{
		{"nothing", NoTime, nil, ""},
		{"lines", RelativeTime, []e{{out, 1000, line("a")}, {err, 12_345_678_000, line("b")}},
			"   0.000001 a\n  12.345678 b\n"},
		{"delta", DeltaTime, []e{{out, 1000, line("a")}, {err, 3000, line("b")}},
			"   0.000000 a\n   0.000002 b\n"},
		{"absolute", AbsoluteTime, []e{{out, 1000, line("a")}}, "2026-11-20T10:12:00.123457Z a\n"},
		{"no times", NoTime, []e{{out, 0, line("a")}, {out, 0, line("")}}, "a\n\n"},
		{"parts of a line are one line", RelativeTime, []e{{out, 0, part("a")}, {out, 5000, part("b")}, {out, 6000, line("c")}, {out, 7000, line("d")}},
			"   0.000000 abc\n   0.000007 d\n"},
		{"a line in between breaks it", RelativeTime, []e{{out, 0, part("a")}, {err, 1000, line("E")}, {out, 2000, line("b")}},
			"   0.000000 a\n   0.000001 E\n   0.000002 b\n"},
		{"no newline at the end", NoTime, []e{{out, 0, line("a")}, {out, 0, rest("b")}}, "a\nb"},
		{"no newline, but more follows", NoTime, []e{{out, 0, rest("a")}, {err, 0, line("b")}}, "a\nb\n"},
		{"the rest was not recorded", NoTime, []e{{out, 0, part("a")}}, "a\n"},
		{"harmless", NoTime, []e{{out, 0, line("a\tb \"c\\\" \x1b[2J\r\u202e")}}, "a\tb \"c\\\" \\x1b[2J\\r\\xe2\\x80\\xae\n"},
		{"colours are left out", NoTime, []e{{out, 0, line("\x1b[1;31mred\x1b[m \x1b[Kx\x1b[")}}, "red x\\x1b[\n"},
		{"colours pass, until the end of the line", NoTime | inColor, []e{{out, 0, line("\x1b[1;31mred\x1b[m \x1b[2Jx")}, {out, 0, line("plain")}},
			"\x1b[1;31mred\x1b[m \\x1b[2Jx\x1b[0m\nplain\n"},
		{"colour in parts", NoTime | inColor, []e{{out, 0, part("\x1b[32ma")}, {out, 0, part("b\x1b[3")}, {out, 0, line("1m")}, {out, 0, rest("\x1b[7mx")}},
			"\x1b[32mab\\x1b[31m\x1b[0m\n\x1b[7mx\x1b[0m"},
		{"colour in a broken line", NoTime | inColor, []e{{out, 0, part("\x1b[32ma")}, {err, 0, line("b")}}, "\x1b[32ma\x1b[0m\nb\n"},
		{"other sequences", NoTime | inColor, []e{{out, 0, line("\x1b[38:5:1mx\x1b[?25l\x1b]0;t\x07\x1b[1 m\x9b1m")}},
			"\x1b[38:5:1mx\\x1b]0;t\\x07\\x1b[1 m\\x9b1m\x1b[0m\n"},
		{"as long as may be", NoTime | inColor, []e{{out, 0, line("\x1b[" + strings.Repeat("1", 61) + "m\x1b[" + strings.Repeat("1", 62) + "m")}},
			"\x1b[" + strings.Repeat("1", 61) + "m\\x1b[" + strings.Repeat("1", 62) + "m\x1b[0m\n"},
		{"lines that a carriage return ended", RelativeTime, []e{{out, 1000, "\x0410%"}, {out, 2000, "\x0420%"}, {out, 3000, line("done\r")}},
			"   0.000001 10%\n   0.000002 20%\n   0.000003 done\n"},
		{"other events", RelativeTime, []e{{33, 0, "x"}, {out, 1000, part("a")}, {posixtrace.EventStop, 1000, "\x01\x00\x00\x00"}},
			"   0.000000 [build.begin \"x\"]\n   0.000001 a\n   0.000001 [posix_trace_stop auto=1]\n"},
		{"unsound", NoTime, []e{{out, 0, ""}}, "[output.stdout]\n"},
	} {
		form := &Annotate{Text: &Text{Style: tt.style &^ inColor, Base: t0}, Color: tt.style&inColor != 0}
		b := form.Begin(nil)
		for _, e := range tt.events {
			b = form.Append(b, testSource(), &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: e.id, PID: 1, UnixNano: t0 + e.at}, Data: []byte(e.data)})
		}
		if got := string(form.End(b)); got != tt.want {
			t.Errorf("%s: got\n%s want\n%s", tt.name, got, tt.want)
		}
	}
}
