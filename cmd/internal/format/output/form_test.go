package output

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// t0 is the time of the first event in the tests below.
var t0 = time.Date(2026, 11, 20, 10, 12, 0, 123456789, time.UTC).UnixNano()

func testSource() *Source {
	names := map[posixtrace.EventID]string{
		33: "build.begin", 34: "a b,c\x1b",
		posixtrace.EventStart: "posix_trace_start", posixtrace.EventStop: "posix_trace_stop",
		posixtrace.EventFilter: "posix_trace_filter", posixtrace.EventError: "posix_trace_error",
		posixtrace.EventOverflow: "posix_trace_overflow", posixtrace.EventProcExec: "proc.exec",
		posixtrace.EventProcExit: "proc.exit", posixtrace.EventOutputStdout: "output.stdout",
	}
	return NewSource(func(id posixtrace.EventID) string { return names[id] })
}

func encodedSet(ids ...posixtrace.EventID) []byte {
	b := []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for _, id := range ids {
		b[8+id/8] |= 1 << (id % 8)
	}
	return b
}

var formTests = []struct {
	name string
	id   posixtrace.EventID
	at   int64 // after t0
	pid  int
	data []byte
	cut  posixtrace.Truncation
	text string
	json string // from the truncation member on
}{
	{"start", posixtrace.EventStart, 0, 4700, []byte{0, 0, 0, 0, 0, 0, 0, 0}, 0,
		`0.000000000 4700 posix_trace_start filter=[]`, `"none","size":8,"filter":[]`},
	{"start filtered", posixtrace.EventStart, 1, 4700, encodedSet(2, 34), 0,
		`0.000000001 4700 posix_trace_start filter=[posix_trace_start,a\x20b\x2cc\x1b]`, `"none","size":16,"filter":["posix_trace_start","a b,c\u001b"]`},
	{"user", 33, 812440, 4711, []byte("compile"), 0,
		`0.000812440 4711 build.begin "compile"`, `"none","size":7,"data":"compile"`},
	{"no data", 33, 2e9 + 5, 4711, nil, 0,
		`2.000000005 4711 build.begin`, `"none","size":0,"data":""`},
	{"cut", 33, 2e9 + 6, 4711, []byte("comp"), posixtrace.TruncationRecord,
		`2.000000006 4711 build.begin "comp"...`, `"record","size":4,"data":"comp"`},
	{"binary", 33, 2e9 + 7, 4711, []byte("\xff\x00"), posixtrace.TruncationRead,
		`2.000000007 4711 build.begin "\xff\x00"...`, `"read","size":2,"data_base64":"/wA="`},
	{"before the first", 33, -5, 4711, nil, 0,
		`-0.000000005 4711 build.begin`, `"none","size":0,"data":""`},
	{"odd name", 34, 0, 0, nil, 0,
		`0.000000000 0 a\x20b\x2cc\x1b`, `"none","size":0,"data":""`},
	{"no name", 77, 0, 0, nil, 0,
		`0.000000000 0 #77`, `"none","size":0,"data":""`},
	{"overflow", posixtrace.EventOverflow, 913001772, 0, nil, 0,
		`0.913001772 0 posix_trace_overflow`, `"none","size":0,"data":""`},
	{"stop", posixtrace.EventStop, 0, 1, []byte{1, 0, 0, 0}, 0,
		`0.000000000 1 posix_trace_stop auto=1`, `"none","size":4,"auto":1`},
	{"unsound stop", posixtrace.EventStop, 0, 1, []byte{1}, 0,
		`0.000000000 1 posix_trace_stop "\x01"`, `"none","size":1,"data":"\u0001"`},
	{"filter", posixtrace.EventFilter, 0, 1, append(encodedSet(2), encodedSet(3)...), 0,
		`0.000000000 1 posix_trace_filter old=[posix_trace_start] new=[posix_trace_stop]`,
		`"none","size":32,"old_filter":["posix_trace_start"],"new_filter":["posix_trace_stop"]`},
	{"error", posixtrace.EventError, 0, 1, []byte{28, 0, 0, 0}, 0,
		`0.000000000 1 posix_trace_error errno=ENOSPC`, `"none","size":4,"errno":28`},
	{"exec", posixtrace.EventProcExec, 413220118, 4718, (&posixtrace.ExecData{Path: "/usr/bin/cc", Argv: []string{"cc", "-c", "a.c"}}).Append(nil), 0,
		`0.413220118 4718 proc.exec "/usr/bin/cc" "-c" "a.c"`, `"none","size":26,"path":"/usr/bin/cc","argv":["cc","-c","a.c"]`},
	{"exit", posixtrace.EventProcExit, 0, 1, (&posixtrace.ExitData{Status: 3, User: 1500, System: 25e8, MaxRSS: 4096}).Append(nil), 0,
		`0.000000000 1 proc.exit status=3 user=0.000001500 system=2.500000000 maxrss=4096`,
		`"none","size":88,"status":3,"signal":0,"core":false,"user_ns":1500,"system_ns":2500000000,"maxrss":4096,"minor_faults":0,"major_faults":0,"blocks_in":0,"blocks_out":0,"voluntary_switches":0,"involuntary_switches":0`},
	{"killed", posixtrace.EventProcExit, 0, 1, (&posixtrace.ExitData{Signal: 11, CoreDumped: true}).Append(nil), 0,
		`0.000000000 1 proc.exit signal=SEGV core=yes user=0.000000000 system=0.000000000 maxrss=0`,
		`"none","size":88,"status":0,"signal":11,"core":true,"user_ns":0,"system_ns":0,"maxrss":0,"minor_faults":0,"major_faults":0,"blocks_in":0,"blocks_out":0,"voluntary_switches":0,"involuntary_switches":0`},
	{"line", posixtrace.EventOutputStdout, 0, 1, (&posixtrace.OutputData{Line: []byte("hi\x1b")}).Append(nil), 0,
		`0.000000000 1 output.stdout "hi\x1b"`, `"none","size":4,"data":"hi\u001b","newline":true,"continues":false,"return":false`},
	{"line of a progress bar", posixtrace.EventOutputStdout, 0, 1, (&posixtrace.OutputData{Line: []byte("50%"), Return: true}).Append(nil), 0,
		`0.000000000 1 output.stdout "50%" return=yes`, `"none","size":4,"data":"50%","newline":false,"continues":false,"return":true`},
	{"part of a line", posixtrace.EventOutputStdout, 0, 1, (&posixtrace.OutputData{Line: []byte("hi"), Continues: true}).Append(nil), 0,
		`0.000000000 1 output.stdout "hi" continues=yes`, `"none","size":3,"data":"hi","newline":false,"continues":true,"return":false`},
}

func TestText(t *testing.T) {
	text := &Text{Base: t0}
	src := testSource()
	for _, tt := range formTests {
		rec := &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: tt.id, PID: tt.pid, TID: tt.pid, UnixNano: t0 + tt.at, Truncation: tt.cut}, Data: tt.data}
		if got := string(text.Append(nil, src, rec)); got != tt.text+"\n" {
			t.Errorf("%s: got  %s want %s", tt.name, got, tt.text)
		}
	}
}

func TestTextTimes(t *testing.T) {
	defer func(l *time.Location) { time.Local = l }(time.Local)
	time.Local = time.FixedZone("x", 3600)
	for _, tt := range []struct {
		style TimeStyle
		want  string
	}{
		{AbsoluteTime, "2026-11-20T11:12:00.123456789+01:00 1 build.begin\n2026-11-20T11:12:00.123456790+01:00 1 build.begin\n2026-11-20T11:12:05.123456789+01:00 1 build.begin\n"},
		{UnixTime, "1795169520.123456789 1 build.begin\n1795169520.123456790 1 build.begin\n1795169525.123456789 1 build.begin\n"},
		{DeltaTime, "0.000000000 1 build.begin\n0.000000001 1 build.begin\n4.999999999 1 build.begin\n"},
		{NoTime, "1 build.begin\n1 build.begin\n1 build.begin\n"},
	} {
		text := &Text{Style: tt.style, Base: t0}
		src := testSource()
		var b []byte
		for _, at := range []int64{0, 1, 5e9} {
			b = text.Append(b, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 33, PID: 1, UnixNano: t0 + at}})
		}
		if string(b) != tt.want {
			t.Errorf("style %d: got\n%s want\n%s", tt.style, b, tt.want)
		}
	}
}

func TestJSON(t *testing.T) {
	form := &JSON{}
	src := testSource()
	for _, tt := range formTests {
		rec := &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: tt.id, PID: tt.pid, TID: tt.pid + 1, Address: 0x4a3f10, UnixNano: t0 + tt.at, Truncation: tt.cut}, Data: tt.data}
		got := string(form.Append(nil, src, rec))
		if _, tail, _ := strings.Cut(got, `"truncation":`); tail != tt.json+"}\n" {
			t.Errorf("%s: got  %s want %s", tt.name, tail, tt.json)
		}
		var o struct {
			Time      time.Time
			Sec, Nsec int64
			PID, TID  int
			ID        int
			Address   string
		}
		if err := json.Unmarshal([]byte(got), &o); err != nil {
			t.Fatalf("%s: %v in %s", tt.name, err, got)
		}
		if o.Time.UnixNano() != t0+tt.at || o.Sec*1e9+o.Nsec != t0+tt.at || o.PID != tt.pid || o.TID != tt.pid+1 || o.ID != int(tt.id) || o.Address != "0x4a3f10" {
			t.Errorf("%s: %s decodes to %+v", tt.name, got, o)
		}
	}
	want := `{"time":"2026-11-20T10:12:00.123456789Z","sec":1795169520,"nsec":123456789,"pid":4711,"tid":4711,"event":"build.begin","id":33,"class":"user","address":"0x4a3f10","truncation":"none","size":7,"data":"compile"}` + "\n"
	rec := &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 33, PID: 4711, TID: 4711, Address: 0x4a3f10, UnixNano: t0}, Data: []byte("compile")}
	if got := string(form.Append(nil, src, rec)); got != want {
		t.Errorf("got  %s want %s", got, want)
	}
}

func TestGoldenNumbersProcesses(t *testing.T) {
	for _, tt := range []struct {
		form *Golden
		want string
	}{{&Golden{}, `P1 T1 build.begin "a"
P0 T0 posix_trace_overflow
P1 T2 build.begin "b"
P2 T2 build.begin
P2 T0 proc.exit status=3
P1 T1 build.begin "c"
`}, {&Golden{InJSON: true}, `{"pid":1,"tid":1,"event":"build.begin","class":"user","truncation":"none","size":1,"data":"a"}
{"pid":0,"tid":0,"event":"posix_trace_overflow","class":"system","truncation":"none","size":0,"data":""}
{"pid":1,"tid":2,"event":"build.begin","class":"user","truncation":"none","size":1,"data":"b"}
{"pid":2,"tid":2,"event":"build.begin","class":"user","truncation":"none","size":0,"data":""}
{"pid":2,"tid":0,"event":"proc.exit","class":"system","truncation":"none","size":88,"status":3,"signal":0,"core":false}
{"pid":1,"tid":1,"event":"build.begin","class":"user","truncation":"none","size":1,"data":"c"}
`}} {
		testGolden(t, tt.form, tt.want)
	}
}

func testGolden(t *testing.T, form *Golden, want string) {
	src := testSource()
	var b []byte
	for _, e := range []struct {
		id       posixtrace.EventID
		pid, tid int
		data     string
	}{
		{33, 4711, 4711, "a"}, {posixtrace.EventOverflow, 0, 0, ""}, {33, 4711, 4712, "b"}, {33, 17, 17, ""},
		{posixtrace.EventProcExit, 17, 0, string((&posixtrace.ExitData{Status: 3, User: 1500, MaxRSS: 4096}).Append(nil))},
		{33, 4711, 4711, "c"},
	} {
		b = form.Append(b, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: e.id, PID: e.pid, TID: e.tid, UnixNano: t0, Address: 1}, Data: []byte(e.data)})
	}
	if b = form.End(b); string(b) != want {
		t.Errorf("got\n%s want\n%s", b, want)
	}
}

// some returns a few events in a form.
func some(form Form) string {
	src := testSource()
	b := form.Begin(nil)
	for i, e := range []struct {
		id   posixtrace.EventID
		data string
	}{
		{33, "say \"hi\",\n"}, {posixtrace.EventStop, "\x01\x00\x00\x00"}, {34, "\xff"},
		{posixtrace.EventOutputStdout, "\x00a line"}, {33, ""},
	} {
		b = form.Append(b, src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: e.id, PID: 7, TID: 8, UnixNano: t0 + int64(i)*1500, Address: 0xab}, Data: []byte(e.data)})
	}
	return string(form.End(b))
}

func TestCSV(t *testing.T) {
	want := `time,pid,tid,event,id,class,address,truncation,size,data
2026-11-20T10:12:00.123456789Z,7,8,"build.begin",33,user,0xab,none,10,"say \""hi\"",\n"
2026-11-20T10:12:00.123458289Z,7,8,"posix_trace_stop",3,system,0xab,none,4,"auto=1"
2026-11-20T10:12:00.123459789Z,7,8,"a b,c\x1b",34,user,0xab,none,1,"\xff"
2026-11-20T10:12:00.123461289Z,7,8,"output.stdout",20,system,0xab,none,7,"a line"
2026-11-20T10:12:00.123462789Z,7,8,"build.begin",33,user,0xab,none,0,""
`
	got := some(&CSV{})
	if got != want {
		t.Errorf("got\n%s want\n%s", got, want)
	}
	rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	if err != nil || len(rows) != 6 || rows[1][9] != `say \"hi\",\n` {
		t.Errorf("read back: %v, %q", err, rows)
	}
}

func TestFormat(t *testing.T) {
	f, err := NewFormat(`%q%% %t %D %p/%i %n [%c %a]\t%x %d\n`, &Text{Base: t0})
	if err != nil {
		t.Fatal(err)
	}
	want := "1% 0.000000000 0.000000000 7/8 build.begin [user 0xab]\t73617920226869222c0a say \\\"hi\\\",\\n\n" +
		"2% 0.000001500 0.000001500 7/8 posix_trace_stop [system 0xab]\t01000000 auto=1\n" +
		"3% 0.000003000 0.000001500 7/8 a\\x20b\\x2cc\\x1b [user 0xab]\tff \\xff\n" +
		"4% 0.000004500 0.000001500 7/8 output.stdout [system 0xab]\t0061206c696e65 a line\n" +
		"5% 0.000006000 0.000001500 7/8 build.begin [user 0xab]\t \n"
	if got := some(f); got != want {
		t.Errorf("got\n%s want\n%s", got, want)
	}
	for _, bad := range []string{"%", "x%", `\`, "%z", `\z`, "%n%"} {
		if _, err := NewFormat(bad, &Text{}); err == nil {
			t.Errorf("NewFormat(%q): no error", bad)
		}
	}
}

func TestSetNames(t *testing.T) {
	var all, sys, user posixtrace.EventSet
	all.Fill(posixtrace.FillAll)
	sys.Fill(posixtrace.FillSystem)
	user = all
	user.Subtract(sys)
	src := testSource()
	sysAnd := sys
	sysAnd.Add(33)
	but := all
	but.Del(33)
	but.Del(posixtrace.EventStop)
	for _, tt := range []struct {
		set  posixtrace.EventSet
		want string
	}{{all, "@all"}, {sys, "@system"}, {user, "@user"}, {sysAnd, "@system build.begin"},
		{but, "@system !posix_trace_stop @user !build.begin"}, {posixtrace.EventSet{}, ""}} {
		if got := strings.Join(catalog.TypesOfSet(src.Name, &tt.set), " "); got != tt.want {
			t.Errorf("SetNames = %q, want %q", got, tt.want)
		}
	}
}
