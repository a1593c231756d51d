package sysevent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/posixtrace/posixtrace/cmd/internal/format/ctf"
	"github.com/posixtrace/posixtrace/cmd/internal/format/otlp"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/format/parquet"
	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const call = posixtrace.EventID(4000)

// sample is an event with data.
type sample struct {
	id   posixtrace.EventID
	data interface{ Append([]byte) []byte }
}

// plain is data without a type of its own.
type plain []byte

func (p plain) Append(b []byte) []byte { return append(b, p...) }

// samples has each type of data that has a format, several times where its text depends on the values.
var samples = []sample{
	{posixtrace.EventError, plain{11, 0, 0, 0}},
	{posixtrace.EventStart, plain{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}},
	{posixtrace.EventStop, plain{2, 0, 0, 0}},
	{posixtrace.EventFilter, plain{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}},
	{posixtrace.EventProcFork, &posixtrace.ForkData{Child: 7}},
	{posixtrace.EventProcExec, &posixtrace.ExecData{Path: "/bin/cc", Argv: []string{"cc", "-c"}}},
	{posixtrace.EventProcExit, &posixtrace.ExitData{Status: 1, User: 2, System: 3, MaxRSS: 4, Processors: 5, Others: 6}},
	{posixtrace.EventProcExit, &posixtrace.ExitData{Signal: 9, CoreDumped: true, Processors: 5, Others: 6}},
	{posixtrace.EventProcSignal, &posixtrace.SignalData{Signal: 9, Code: 1, Sender: 7, UID: 3}},
	{posixtrace.EventOutputStdout, &posixtrace.OutputData{Line: []byte("a")}},
	{posixtrace.EventOutputStderr, &posixtrace.OutputData{Line: []byte("a")}},
	{posixtrace.EventProcMap, &posixtrace.MapData{Start: 1, End: 2, Offset: 3, Path: "/lib/a", BuildID: []byte("b")}},
	{posixtrace.EventProcMap, &posixtrace.MapData{Parent: 7}},
	{posixtrace.EventProcContext, &posixtrace.ContextData{TraceID: [16]byte{1}, SpanID: [8]byte{2}, Parent: [8]byte{3}, Flags: 1, State: "a=b"}},
	{posixtrace.EventProcTimeout, &posixtrace.TimeoutData{Limit: time.Second, Signal: 9}},
	{posixtrace.EventHangThread, &posixtrace.HangData{Program: "cat", Args: []string{"cat", "x"}, State: 'S', Call: "read(0)", Wait: "pipe_read", Since: 5, For: "sleep",
		ForPID: 7, ForTID: 8, Stack: []string{"main"}, Note: "n", Signal: 15, Report: 1}},
	{posixtrace.EventResSample, &posixtrace.ResSampleData{Number: 1, Interval: time.Second, Processes: 2, Threads: 3, RSS: 4096, Group: true, Memory: 8192}},
	{posixtrace.EventFileAccess, &posixtrace.FileData{Kind: posixtrace.FileChown, Mode: posixtrace.FileWrite, Err: 1, Device: 2, Inode: 3, Bytes: 4, Count: 5, Perm: 0o644,
		UID: 6, GID: 7, Path: "/a", Canonical: "/b", To: "/c"}},
	{call, &posixtrace.SyscallData{Args: []posixtrace.SyscallArg{{Value: []byte("3")}}, Result: 3, Returned: true, Duration: 5, Opened: []byte("/a")}},
}

// noData are the predefined types whose data has no format.
var noData = map[string]bool{"EventOverflow": true, "EventResume": true, "EventFlushStart": true, "EventFlushStop": true, "EventUnnamed": true}

// hidden are members of data that no form shows, or some do not. A test that finds one of them shown
// fails too.
var hidden = map[string][]string{
	"MapData.Program": {"json", "ctf", "otlp", "parquet"}, // only symbols need it
	"MapData.Err":     {"json", "ctf", "otlp", "parquet"},
	"MapData.First":   {"json", "parquet"},
	// Differences say nothing alone: the summary and the page have the processes.
	"ResSampleData.Changes": {"json", "ctf", "otlp", "parquet"},
	"ResSampleData.Ended":   {"json", "ctf", "otlp", "parquet"},
}

// forms write one event. They leave out what depends on the bytes of its data: their number, and hashes.
var forms = []struct {
	name  string
	write func(*testing.T, *posixtrace.Record) string
}{
	{"json", writeJSON}, {"ctf", writeCTF}, {"otlp", writeOTLP}, {"parquet", writeParquet},
}

// Each event type of the public package has rows, and each type of its data is among the samples.
func TestEventsHaveRows(t *testing.T) {
	ids, types := map[posixtrace.EventID]bool{}, map[string]bool{}
	for _, s := range samples {
		ids[s.id] = true
		types[reflect.Indirect(reflect.ValueOf(s.data)).Type().Name()] = true
	}
	for id := range ids {
		if e := event(id); len(e.Members) == 0 {
			t.Errorf("event %d has no rows", id)
		}
	}
	names := 0
	for _, spec := range declared(t, "../../../../pkg/posixtrace") {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if name := s.Name.Name; strings.HasSuffix(name, "Data") && s.Name.IsExported() && !types[name] {
				t.Errorf("no sample has a %s", name)
			}
		case *ast.ValueSpec:
			if name := s.Names[0].Name; len(s.Values) == 1 && isEventID(s.Values[0]) && !noData[name] {
				names++
			}
		}
	}
	if n := len(ids) - 1; names != n { // without the system call
		t.Errorf("the package has %d predefined event types with data, the samples %d", names, n)
	}
	for id := range posixtrace.EventUnnamed {
		if n := len(sysevent.Of(id).Members); n > 0 && !ids[id] {
			t.Errorf("event %d has %d rows and no sample", id, n)
		}
	}
}

// Each member of each type of data has a row or is hidden: another value gives another event in each form.
func TestMembersAreShown(t *testing.T) {
	for _, s := range samples {
		v := reflect.ValueOf(s.data)
		if v.Kind() != reflect.Pointer || isParent(s.data) {
			continue
		}
		for i := range v.Elem().NumField() {
			name := v.Elem().Type().Name() + "." + v.Elem().Type().Field(i).Name
			other := reflect.New(v.Elem().Type())
			other.Elem().Set(v.Elem())
			change(t, name, other.Elem().Field(i))
			for _, f := range forms {
				before, after := f.write(t, record(s.id, s.data)), f.write(t, record(s.id, other.Interface().(interface{ Append([]byte) []byte })))
				shown, hide := before != after, slices.Contains(hidden[name], f.name)
				if shown == hide {
					t.Errorf("%s: %s: shown is %v\n%q\n%q", f.name, name, shown, before, after)
				}
			}
		}
	}
}

// Each form has each row under its name.
func TestRowsAreWritten(t *testing.T) {
	written := map[string]string{}
	for _, s := range samples {
		for _, d := range append(changed(t, s), s.data) {
			rec := record(s.id, d)
			for _, f := range forms {
				written[fmt.Sprint(s.id, f.name)] += f.write(t, rec)
			}
			written[fmt.Sprint(s.id, "text")] += write(t, "", rec)
			written[fmt.Sprint(s.id, "csv")] += write(t, "csv", rec)
		}
	}
	for _, s := range samples {
		for _, m := range event(s.id).Members {
			for _, f := range []struct{ name, want string }{
				{"json", `"` + m.Name + `":`}, {"ctf", " " + m.Name}, {"parquet", m.Name + "="}, {"text", m.Key}, {"csv", m.Key},
			} {
				switch {
				case m.Name == "map_first" && (f.name == "json" || f.name == "parquet"): // hidden
					continue
				case f.name == "csv" && isOutput(s.id): // the line alone
					continue
				case f.name == "csv" && strings.Contains(m.Key, `"`): // quoted for a cell
					f.want = strings.TrimSpace(strings.ReplaceAll(m.Key, `"`, `""`))
				case f.name == "csv":
					f.want = strings.TrimSpace(m.Key)
				}
				if !strings.Contains(written[fmt.Sprint(s.id, f.name)], f.want) {
					t.Errorf("event %d: %s has no %q", s.id, f.name, f.want)
				}
			}
		}
	}
}

// The texts and lists of an event are different ones, and its data can be empty only if it has no members.
func TestRowsFitTheData(t *testing.T) {
	var d sysevent.Data
	for id := range posixtrace.EventUnnamed {
		e, texts := sysevent.Of(id), map[uint8]string{}
		for _, m := range e.Members {
			switch {
			case e.ByHand:
			case m.Type == sysevent.Text, m.Type == sysevent.Texts:
				if other, ok := texts[m.Place()]; ok {
					t.Errorf("event %d: %s is the text of %s", id, m.Name, other)
				}
				texts[m.Place()] = m.Name
			case m.Type == sysevent.Frames:
				t.Errorf("event %d: %s cannot be decoded", id, m.Name)
			}
		}
		if e := d.Decode(&posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id}}); e != nil {
			t.Errorf("event %d: no data is decoded", id)
		}
	}
}

// The table has the members where the decoders of the public package have them.
func TestDecodeAsThePackage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, r.IntN(160))
		for i := range b {
			if r.IntN(3) == 0 {
				b[i] = byte(r.Uint32())
			}
		}
		sameAs(t, posixtrace.EventProcFork, b, posixtrace.DecodeFork, func(d *posixtrace.ForkData) []any {
			return []any{d.Child, d.Kind}
		})
		sameAs(t, posixtrace.EventProcSignal, b, posixtrace.DecodeSignal, func(d *posixtrace.SignalData) []any {
			return []any{d.Signal, d.Code, d.Sender, d.UID}
		})
		sameAs(t, posixtrace.EventProcTimeout, b, posixtrace.DecodeTimeout, func(d *posixtrace.TimeoutData) []any {
			return []any{int64(d.Limit), d.Signal}
		})
		sameAs(t, posixtrace.EventHangThread, b, posixtrace.DecodeHang, func(d *posixtrace.HangData) []any {
			state := ""
			if d.State != 0 {
				state = string([]byte{d.State})
			}
			since := any(int64(d.Since))
			if d.Since < 0 {
				since = nil
			}
			return []any{d.Program, d.Args, state, d.Kind.String(), d.Call, d.Wait, since, d.Exact, d.For, d.ForPID, d.ForTID, d.Stuck, d.Cycle,
				d.Stack, d.Note, d.Cause.String(), d.Signal, d.Report}
		})
		sameAs(t, posixtrace.EventResSample, b, posixtrace.DecodeResSample, func(d *posixtrace.ResSampleData) []any {
			return []any{d.Number, d.Part, d.Full, d.Continues, int64(d.Interval), d.Processes, d.Threads, d.Descriptors, d.RSS, int64(d.CPU), d.Read, d.Written,
				d.Memory, d.Peak, d.Limit, d.OOMKills, int64(d.Throttled), int64(d.CPUStall), int64(d.MemoryStall), int64(d.IOStall), d.OOMProcess,
				d.LimitProcess, d.DirectoryFull, d.TemporaryFull}
		})
		sameAs(t, posixtrace.EventFileAccess, b, posixtrace.DecodeFile, func(d *posixtrace.FileData) []any {
			bytes, uid, gid := any(d.Bytes), any(d.UID), any(d.GID)
			if d.Bytes < 0 {
				bytes = nil
			}
			if d.Kind != posixtrace.FileChown {
				uid, gid = nil, nil
			}
			return []any{d.Kind.String(), d.Mode.Words(), int32(d.Err), d.Device, d.Inode, bytes, d.Count, int32(d.Perm), uid, gid, d.Path, d.To, d.Canonical}
		})
		sameAs(t, posixtrace.EventProcContext, b, posixtrace.DecodeContext, func(d *posixtrace.ContextData) []any {
			return []any{d.TraceID[:], d.SpanID[:], d.Parent[:], d.Flags, d.State}
		})
		sameAs(t, posixtrace.EventProcMap, b, posixtrace.DecodeMap, func(d *posixtrace.MapData) []any {
			return []any{d.Path, d.Start, d.End, d.Offset, d.BuildID, d.Removed, d.First, d.Parent}
		})
		sameAs(t, posixtrace.EventProcExit, b, posixtrace.DecodeExit, func(d *posixtrace.ExitData) []any {
			return []any{d.Status, d.Signal, d.CoreDumped, int64(d.User), int64(d.System), d.MaxRSS, d.MinorFault, d.MajorFault,
				d.BlocksIn, d.BlocksOut, d.Voluntary, d.Involunt, int64(d.RunDelay), d.Processors, int64(d.Others), int64(d.Idle), int64(d.Pressure)}
		})
		n := min(len(b), r.IntN(6))
		for _, id := range []posixtrace.EventID{posixtrace.EventError, posixtrace.EventStop} {
			sameAs(t, id, b[:n], posixtrace.DecodeInt, func(n *int) []any { return []any{*n} })
		}
	}
}

// sameAs compares what the table and the public package decode.
func sameAs[T any](t *testing.T, id posixtrace.EventID, b []byte, decode func([]byte) (T, error), values func(*T) []any) {
	t.Helper()
	v, err := decode(b)
	var d sysevent.Data
	e := d.Decode(&posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id}, Data: b})
	if (e == nil) != (err != nil) {
		t.Fatalf("event %d: %x: the table decodes it: %v; the package: %v", id, b, e != nil, err)
	}
	if err != nil {
		return
	}
	for i, want := range values(&v) {
		m := &e.Members[i]
		if want == nil {
			if d.Known&(1<<i) != 0 {
				t.Fatalf("event %d: %x: %s is known", id, b, m.Name)
			}
			continue
		}
		got := any(nil)
		switch m.Type {
		case sysevent.Hex:
			got, want = fmt.Sprintf("%x", d.Bytes(m)), fmt.Sprintf("%x", want)
		case sysevent.Text:
			got = string(d.Text(m))
		case sysevent.Texts:
			got, want = fmt.Sprintf("%q", slices.Collect(d.Texts(m))), fmt.Sprintf("%q", want)
		case sysevent.Word:
			got = m.Word(d.Byte(m))
		case sysevent.Flags:
			got, want = fmt.Sprint(m.Words(d.Flags(m))), fmt.Sprint(want)
		case sysevent.Bool:
			got = d.Bool(m)
		case sysevent.Address, sysevent.Unsigned:
			got = d.Address(m)
		case sysevent.ForkKind:
			got = posixtrace.ForkKind(d.Int32(m))
		default:
			got, want = fmt.Sprint(d.Number(m)), fmt.Sprintf("%d", want)
		}
		if got != want {
			t.Fatalf("event %d: %x: %s is %v, want %v", id, b, m.Name, got, want)
		}
	}
}

// decoders are the functions that decode what this package describes.
var decoders = []string{"DecodeInt", "DecodeSet", "DecodeFilter", "DecodeFork", "DecodeExit", "DecodeSignal", "DecodeMap", "DecodeContext", "DecodeTimeout", "DecodeHang", "DecodeResSample", "DecodeFile"}

// byHand are the packages that decode all events by hand: straight code takes less time than the table.
// The tests above compare what they write with the table.
var byHand = []string{"ctf", "otlp"}

// sources returns the files of all packages of the commands without their tests.
func sources(t *testing.T) (list []string) {
	for _, pattern := range []string{"../../*/*.go", "../../*/*/*.go", "../../*/*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })...)
	}
	if len(list) < 300 {
		t.Fatal("too few files", len(list))
	}
	return list
}

// No other package of the commands has a list of the events. A package may decode three of them, of which
// it knows more than how to show them: such as forks and exits, which make a tree.
func TestTheOnlyList(t *testing.T) {
	const most = 3
	used := map[string]map[string]bool{}
	for _, name := range sources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Base(filepath.Dir(name))
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(decoders, s.Sel.Name) {
				if used[dir] == nil {
					used[dir] = map[string]bool{}
				}
				used[dir][s.Sel.Name] = true
			}
			return true
		})
	}
	for dir, all := range used {
		if hand := slices.Contains(byHand, dir); len(all) > most != hand {
			t.Errorf("package %s decodes %d kinds of system events; in byHand: %v", dir, len(all), hand)
		}
	}
}

// The only phrase for the end of a process is that of package output: no other package has the words.
func TestTheOnlyPhrase(t *testing.T) {
	for _, name := range sources(t) {
		if strings.Contains(name, "/format/output/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && slices.Contains([]string{`"killed by "`, `"exited with "`, `"signal "`, `"status 0"`}, s.Value) {
				t.Errorf("%s has %s; use output.EndPhrase", name, s.Value)
			}
			return true
		})
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	var d sysevent.Data
	rec := record(posixtrace.EventProcExit, &posixtrace.ExitData{Status: 1})
	if n := testing.AllocsPerRun(100, func() { d.Decode(rec) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func event(id posixtrace.EventID) *sysevent.Event {
	if id == call {
		return &sysevent.Call
	}
	return sysevent.Of(id)
}

func isOutput(id posixtrace.EventID) bool {
	return id == posixtrace.EventOutputStdout || id == posixtrace.EventOutputStderr
}

// isParent reports whether data is of the kind that has nothing but a parent.
func isParent(data any) bool {
	d, ok := data.(*posixtrace.MapData)
	return ok && d.Parent != 0
}

// changed returns the data of a sample with one member changed, for each of them.
func changed(t *testing.T, s sample) (list []interface{ Append([]byte) []byte }) {
	v := reflect.ValueOf(s.data)
	if v.Kind() != reflect.Pointer {
		return nil
	}
	for i := range v.Elem().NumField() {
		other := reflect.New(v.Elem().Type())
		other.Elem().Set(v.Elem())
		change(t, "."+v.Elem().Type().Field(i).Name, other.Elem().Field(i))
		list = append(list, other.Interface().(interface{ Append([]byte) []byte }))
	}
	return list
}

// change gives a member another value.
func change(t *testing.T, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
		if strings.HasSuffix(name, ".Restarted") {
			v.SetInt(512)
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(v.Uint() + 1)
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Array:
		v.Index(0).SetUint(v.Index(0).Uint() + 1)
	case reflect.Slice:
		e := reflect.New(v.Type().Elem()).Elem()
		switch e.Kind() {
		case reflect.Uint8:
			e.SetUint('x')
		case reflect.String:
			e.SetString("x")
		case reflect.Int:
			e.SetInt(1)
		default:
			if a := e.FieldByName("Address"); a.IsValid() {
				a.SetUint(0x1000)
			}
		}
		all := reflect.MakeSlice(v.Type(), 0, v.Len()+1)
		v.Set(reflect.Append(reflect.AppendSlice(all, v), e))
	default:
		t.Fatalf("%s: a value of kind %v", name, v.Kind())
	}
}

func record(id posixtrace.EventID, d interface{ Append([]byte) []byte }) *posixtrace.Record {
	return &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: id, PID: 4, TID: 4, UnixNano: 1e18}, Data: d.Append(nil)}
}

func typeName(id posixtrace.EventID) string {
	if id == call {
		return "syscall.openat"
	}
	return fmt.Sprintf("type.%d", id)
}

func write(t *testing.T, name string, rec *posixtrace.Record) string {
	form, err := output.NewForm(name, &output.Settings{Text: &output.Text{}})
	if err != nil {
		t.Fatal(err)
	}
	return string(form.Append(nil, output.NewSource(typeName), rec))
}

func writeJSON(t *testing.T, rec *posixtrace.Record) string {
	var members map[string]any
	if err := json.Unmarshal([]byte(write(t, "json", rec)), &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "size")
	b, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// writeCTF returns the metadata and the events.
func writeCTF(t *testing.T, rec *posixtrace.Record) string {
	dir := t.TempDir()
	trace := ctf.Create(dir, "")
	trace.Name = typeName
	trace.Begin(rec.UnixNano, rec.UnixNano)
	if err := trace.Add([]posixtrace.Record{*rec}); err != nil {
		t.Fatal(err)
	}
	if err := trace.Close(0); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return string(all)
}

// sink takes the bodies of requests.
type sink struct{ bytes.Buffer }

func (s *sink) Traces(body []byte, _ int) error { _, err := s.Write(body); return err }
func (s *sink) Logs(body []byte, _ int) error   { _, err := s.Write(body); return err }

// Metrics ignores metrics: log records have all members of samples.
func (s *sink) Metrics([]byte, int) error { return nil }

func writeOTLP(t *testing.T, rec *posixtrace.Record) string {
	var s sink
	l := otlp.New(&s, &otlp.Resource{}, typeName)
	if err := l.Add([]posixtrace.Record{*rec}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(0); err != nil {
		t.Fatal(err)
	}
	return hashes.ReplaceAllString(s.String(), "")
}

// hashes are the ids of records and spans, which depend on all of the data.
var hashes = regexp.MustCompile(`-[0-9a-f]{8}"|"spanId":"[0-9a-f]+"`)

// writeParquet returns the columns and the members as NAME=VALUE.
func writeParquet(t *testing.T, rec *posixtrace.Record) string {
	var file bytes.Buffer
	f := parquet.Create(&file, "", "")
	if err := f.Begin(&parquet.Log{Name: typeName}); err != nil {
		t.Fatal(err)
	}
	if err := f.Add([]posixtrace.Record{*rec}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r := pq.NewReader(bytes.NewReader(file.Bytes()))
	defer r.Close()
	rows := make([]pq.Row, 1)
	if n, err := r.ReadRows(rows); n != 1 {
		t.Fatal(n, err)
	}
	var s strings.Builder
	var keys []string
	columns, values := r.Schema().Columns(), 0
	for _, v := range rows[0] {
		switch path := columns[v.Column()]; {
		case v.IsNull() || path[0] == "size":
		case path[0] != "members":
			fmt.Fprintf(&s, "%s=%s\n", path[0], v)
		case path[len(path)-1] == "key":
			keys = append(keys, v.String())
		default:
			fmt.Fprintf(&s, "%s=%s\n", keys[values], v)
			values++
		}
	}
	return s.String()
}

// declared returns what the files of a package declare.
func declared(t *testing.T, dir string) (list []ast.Spec) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				list = append(list, g.Specs...)
			}
		}
	}
	return list
}

// isEventID reports whether an expression is EventID(event.NAME).
func isEventID(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := c.Fun.(*ast.Ident)
	return ok && name.Name == "EventID"
}
