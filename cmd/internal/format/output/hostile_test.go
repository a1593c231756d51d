package output_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// For any name and data of an event, every form is harmless on a terminal, and the forms for
// programs can be parsed.
func FuzzForms(f *testing.F) {
	tracetest.OnlyWithoutRace(f)
	exit := posixtrace.ExitData{Status: 3}
	for i, s := range hostile.Texts() {
		exec := posixtrace.ExecData{Path: s, Argv: []string{s, s}}
		call := posixtrace.SyscallData{Result: -1, Errno: i, Returned: true, Args: []posixtrace.SyscallArg{{Value: []byte(s), String: true}, {Value: []byte(s), Cut: true}}}
		f.Add(uint16(40), s, []byte(s), int64(i), uint32(i), uint8(i))
		if i < 256 && i%8 != 0 {
			continue // each byte as a name and as data; the rest in each kind of event
		}
		f.Add(uint16(posixtrace.EventProcExec), "proc.exec", exec.Append(nil), int64(math.MaxInt64), uint32(1)<<31, uint8(i))
		f.Add(uint16(3601), "syscall.x"+s, call.Append(nil), int64(math.MinInt64), uint32(7), uint8(i))
		f.Add(uint16(posixtrace.EventOutputStdout), "output.stdout", append([]byte{byte(i)}, s...), int64(1)<<60, uint32(7), uint8(i))
	}
	for id := range uint16(40) {
		f.Add(id, "name", exit.Append(nil), int64(-1), uint32(9), uint8(0))
		f.Add(id, "name.begin", []byte{1, 0, 0, 0}, int64(5), uint32(9), uint8(1))
	}
	f.Fuzz(func(t *testing.T, id uint16, name string, data []byte, at int64, pid uint32, cut uint8) {
		ev := posixtrace.EventID(id&4095 | 1)
		if len(name) > 255 || len(data) > 8<<10 {
			return
		}
		rec := &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: ev, PID: int(pid), TID: int(pid / 2), UnixNano: at, Address: uint64(at), Truncation: posixtrace.Truncation(cut % 3)}, Data: data}
		second := *rec
		second.UnixNano += 5
		checkForms(t, name, output.TimeStyle(cut/3%5), rec, &second)
	})
}

func checkForms(t *testing.T, name string, style output.TimeStyle, recs ...*posixtrace.Record) {
	t.Helper()
	write := func(form output.Form) []byte {
		src := output.NewSource(func(posixtrace.EventID) string { return name })
		b := form.Begin(nil)
		for _, rec := range recs {
			b = form.Append(b, src, rec)
		}
		return form.End(b)
	}
	text := func() *output.Text { return &output.Text{Style: style, Base: 77} }
	names := []string{""}
	for _, info := range output.Forms {
		names = append(names, info.Name)
	}
	for _, form := range names {
		also := ""
		if form == "annotate" {
			also = "\t"
		}
		for _, golden := range []bool{false, true} {
			f, err := output.NewForm(form, &output.Settings{
				Text: text(), Width: func() int { return len(name) % 60 }, Format: "%t %D %p %i %n %d %x %a %c %q %%", Golden: golden,
			})
			if err != nil {
				t.Fatal(err)
			}
			harmless(t, "form "+form, write(f), also)
		}
	}
	colored := write(&output.Annotate{Text: text(), Color: true})
	harmless(t, "annotate in colour", rendition.ReplaceAll(colored, nil), "\t")
	for line := range bytes.Lines(colored) {
		all := rendition.FindAll(line, -1)
		if len(all) > 0 && string(all[len(all)-1]) != "\x1b[0m" {
			t.Fatalf("a line leaves its colour: %q", line)
		}
		for _, s := range all {
			if len(s) > 64 {
				t.Fatalf("a sequence of %d bytes: %q", len(s), s)
			}
			if slices.ContainsFunc([]string{"\x1b[8m", "\x1b[1;08m"}, func(hides string) bool { return string(s) == hides }) {
				t.Fatalf("%q hides text", s)
			}
		}
	}
	checkJSON(t, name, write(&output.Golden{InJSON: true}), recs)
	checkJSON(t, name, write(&output.JSON{}), recs)
	if chrome := write(&output.Chrome{}); !json.Valid(chrome) {
		t.Fatalf("chrome: not JSON: %q", chrome)
	}
	checkCSV(t, write(&output.CSV{}), len(recs))
}

// rendition matches the only sequences that may reach a terminal besides visible characters.
var rendition = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// harmless checks that a terminal shows every character as itself.
func harmless(t *testing.T, form string, b []byte, also string) {
	t.Helper()
	find := hostile.Misleading
	if slices.Contains([]string{"form ", "form table", "form annotate", "annotate in colour", "form format", "form strace"}, form) {
		find = hostile.Harmful // they have text
	}
	if at, found := find(string(b), also); found {
		t.Fatalf("%s: at %d of %q", form, at, b)
	}
}

func checkJSON(t *testing.T, name string, b []byte, recs []*posixtrace.Record) {
	t.Helper()
	harmless(t, "json", b, "")
	n := 0
	for line := range bytes.Lines(b) {
		var o struct {
			Event      string
			Data       *string
			DataBase64 []byte `json:"data_base64"`
			RestBase64 []byte `json:"rest_base64"`
		}
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if name != "" && utf8.ValidString(name) && o.Event != name {
			t.Fatalf("the name %q decodes to %q", name, o.Event)
		}
		rec := recs[n]
		if rec.ID.User() {
			back := o.DataBase64
			if o.Data != nil {
				back = append([]byte(*o.Data), o.RestBase64...)
			}
			if !bytes.Equal(back, rec.Data) {
				t.Fatalf("the data %q decodes to %q", rec.Data, back)
			}
		}
		n++
	}
	if n != len(recs) {
		t.Fatalf("%d lines for %d events: %q", n, len(recs), b)
	}
}

func checkCSV(t *testing.T, b []byte, events int) {
	t.Helper()
	harmless(t, "csv", b, "")
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatalf("csv: %v: %q", err, b)
	}
	if len(rows) != events+1 {
		t.Fatalf("csv: %d rows for %d events: %q", len(rows), events, b)
	}
	for _, row := range rows {
		for _, cell := range row {
			if isFormula(cell) {
				t.Fatalf("csv: a spreadsheet interprets %q as a formula", cell)
			}
		}
	}
}

// isFormula reports whether a spreadsheet interprets a cell as a formula. It states the rules
// independently of the code.
func isFormula(cell string) bool {
	if json.Valid([]byte(strings.TrimPrefix(cell, "+"))) || strings.Trim(cell, "+-.0123456789") == "" && strings.Trim(cell, "+-.") != "" && strings.LastIndexAny(cell, "+-") <= 0 {
		return false // a number
	}
	for part := range strings.SplitSeq(cell, ";") {
		r, _ := utf8.DecodeRuneInString(strings.TrimLeft(part, " \t\r\n"))
		if strings.ContainsRune("=+-@\uff1d\uff0b\uff0d\uff20", r) && part != "" && r != utf8.RuneError {
			return true
		}
	}
	return false
}

func TestCSVEscapesFormulas(t *testing.T) {
	for _, tt := range []struct{ data, want string }{
		{"=1+1", `\x3d1+1`}, {"+1+1", `\x2b1+1`}, {"-1+1", `\x2d1+1`}, {"@SUM(1)", `\x40SUM(1)`},
		{"  =1", `  \x3d1`}, {"x;=1", `x;\x3d1`}, {"x; ;@a", `x; ;\x40a`}, {"\uff1d1", `\xef\xbc\x9d1`}, {"\uff211", "\uff211"},
		{"-5", "-5"}, {"+1.5", "+1.5"}, {"-1.", `\x2d1.`}, {"-", `\x2d`}, {"--flag", `\x2d-flag`}, {"a=b", "a=b"}, {"a -b", "a -b"}, {"5;-6", `5;\x2d6`},
		{"\t=1", `\t=1`}, {"\r=1", `\x0d=1`}, {`"=1`, `\"=1`}, {"", ""},
	} {
		form := &output.CSV{}
		b := form.Append(form.Begin(nil), output.NewSource(func(posixtrace.EventID) string { return "=n" }),
			&posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 40}, Data: []byte(tt.data)})
		rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if got := rows[1][9]; got != tt.want || rows[1][3] != `\x3dn` {
			t.Errorf("%q becomes %s and %s, want %s", tt.data, rows[1][3], got, tt.want)
		}
	}
}

// The size of the output is linear in the number of events, even if a log opens many slices,
// others inside them, and then closes the outer ones, each of which moves the inner ones.
func TestChromeOutputIsLinear(t *testing.T) {
	ids := []posixtrace.EventID{40, 42, 41}
	names := map[posixtrace.EventID]string{40: "a.begin", 41: "a.end", 42: "b.begin"}
	src := output.NewSource(func(id posixtrace.EventID) string { return names[id] })
	for _, inner := range []int{10, 1000} {
		form := &output.Chrome{}
		b := form.Begin(nil)
		const outer = 1000
		total, events := 0, 0
		for i, n := range []int{outer, inner, outer} {
			for range n {
				rec := &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: ids[i], PID: 1, TID: 1, UnixNano: int64(events)}}
				b = form.Append(b[:0], src, rec)
				total += len(b)
				events++
			}
		}
		total += len(form.End(b[:0]))
		if most := events * 2000; total > most {
			t.Errorf("%d bytes for %d events, want at most %d", total, events, most)
		}
	}
}

// The depth of a lane is bounded, and so is the cost of finding a slice: deeper begins become
// marks.
func TestChromeDepthIsBounded(t *testing.T) {
	src := output.NewSource(func(id posixtrace.EventID) string { return "a.begin" })
	form := &output.Chrome{}
	b := form.Begin(nil)
	marks := 0
	for i := range 5000 {
		b = form.Append(b[:0], src, &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 40, PID: 1, TID: 1, UnixNano: int64(i)}})
		marks += bytes.Count(b, []byte(`"ph":"i"`))
	}
	marks += bytes.Count(form.Flush(b[:0]), []byte(`"ph":"i"`))
	if marks != 5000-4096 {
		t.Errorf("%d marks for 5000 begins in one lane, want %d", marks, 5000-4096)
	}
}

// A log can be full of events that hold sets of types, each 16 bytes: listing a set must not
// allocate thousands of times.
func TestSetNamesAllocatesLittle(t *testing.T) {
	src := output.NewSource(func(posixtrace.EventID) string { return "name" })
	var none, some, all posixtrace.EventSet
	some.Add(40)
	all.Fill(posixtrace.FillAll)
	for _, tt := range []struct {
		name string
		set  *posixtrace.EventSet
		most float64
	}{{"none", &none, 0}, {"some", &some, 1}, {"all", &all, 4}} {
		catalog.TypesOfSet(src.Name, tt.set)
		if n := testing.AllocsPerRun(100, func() { catalog.TypesOfSet(src.Name, tt.set) }); n > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, n, tt.most)
		}
	}
}
