package script_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// parquetRow has the columns of a row that each event has, and those that only some have.
type parquetRow struct {
	Time        int64             `parquet:"time,timestamp(nanosecond)"`
	TimeNS      int64             `parquet:"time_ns"`
	LogID       string            `parquet:"log_id"`
	Host        string            `parquet:"host"`
	Trace       string            `parquet:"trace"`
	Command     string            `parquet:"command"`
	Log         string            `parquet:"log"`
	PID         int64             `parquet:"pid"`
	TID         int64             `parquet:"tid"`
	Event       string            `parquet:"event"`
	ID          int32             `parquet:"id"`
	Class       string            `parquet:"class"`
	Address     uint64            `parquet:"address"`
	Truncation  string            `parquet:"truncation"`
	Size        int64             `parquet:"size"`
	Data        *string           `parquet:"data"`
	Binary      *[]byte           `parquet:"data_binary"`
	Span        *uint64           `parquet:"span"`
	Parent      *uint64           `parquet:"parent"`
	Duration    *int64            `parquet:"duration_ns"`
	Path        *string           `parquet:"path"`
	Argv        []string          `parquet:"argv,list,optional"`
	Args        []string          `parquet:"args,list,optional"`
	Result      *int64            `parquet:"result"`
	Errno       *int32            `parquet:"errno"`
	ErrnoName   *string           `parquet:"errno_name"`
	Status      *int32            `parquet:"status"`
	Signal      *int32            `parquet:"signal"`
	Child       *int32            `parquet:"child"`
	UserNS      *int64            `parquet:"user_ns"`
	SystemNS    *int64            `parquet:"system_ns"`
	MaxRSS      *int64            `parquet:"maxrss"`
	Members     map[string]string `parquet:"members,optional"`
	Processes   *int32            `parquet:"processes,optional"`
	Threads     *int32            `parquet:"threads,optional"`
	Descriptors *int32            `parquet:"descriptors,optional"`
	RSS         *int64            `parquet:"rss,optional"`
	CPU         *int64            `parquet:"cpu_ns,optional"`
	Read        *int64            `parquet:"read_bytes,optional"`
	Written     *int64            `parquet:"written_bytes,optional"`
	GroupMemory *int64            `parquet:"group_memory,optional"`
	GroupPeak   *int64            `parquet:"group_peak,optional"`
	GroupLimit  *int64            `parquet:"group_limit,optional"`
	OOMKills    *int64            `parquet:"oom_kills,optional"`
	Throttled   *int64            `parquet:"throttled_ns,optional"`
	CPUStall    *int64            `parquet:"cpu_stall_ns,optional"`
	MemoryStall *int64            `parquet:"memory_stall_ns,optional"`
	IOStall     *int64            `parquet:"io_stall_ns,optional"`
}

// sampled returns the columns of samples.
func (r *parquetRow) sampled() map[string]any {
	return map[string]any{
		"processes":       r.Processes,
		"threads":         r.Threads,
		"descriptors":     r.Descriptors,
		"rss":             r.RSS,
		"cpu_ns":          r.CPU,
		"read_bytes":      r.Read,
		"written_bytes":   r.Written,
		"group_memory":    r.GroupMemory,
		"group_peak":      r.GroupPeak,
		"group_limit":     r.GroupLimit,
		"oom_kills":       r.OOMKills,
		"throttled_ns":    r.Throttled,
		"cpu_stall_ns":    r.CPUStall,
		"memory_stall_ns": r.MemoryStall,
		"io_stall_ns":     r.IOStall,
	}
}

// readParquet returns the rows of a file, and what it says about the logs.
func readParquet(t *testing.T, file string) (rows []parquetRow, metadata map[string]string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	pf, err := pq.OpenFile(f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	metadata = map[string]string{}
	for _, kv := range pf.Metadata().KeyValueMetadata {
		metadata[kv.Key] = kv.Value
	}
	r := pq.NewGenericReader[parquetRow](pf)
	defer r.Close()
	rows = make([]parquetRow, pf.NumRows())
	for n := 0; n < len(rows); {
		k, err := r.Read(rows[n:])
		n += k
		if err != nil && (err != io.EOF || n < len(rows)) {
			t.Fatal(err)
		}
	}
	return rows, metadata
}

// runExport exports logs to a destination. It returns the status, which is 0 or 1.
func runExport(t *testing.T, dir string, env []string, args ...string) (status int, stderr string) {
	t.Helper()
	cmd := exec.Command("ptrace-export", append([]string{"--to=parquet"}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	harmless(t, "standard error", out, "")
	if status = cmd.ProcessState.ExitCode(); status != 0 && status != 1 || bytes.Contains(out, []byte("goroutine ")) {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	return status, string(out)
}

// jsonLines returns the events of a log as ptrace-dump --json shows them.
func jsonLines(t *testing.T, dir string, env []string, log string, options ...string) (events []map[string]any) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(dumpOf(t, dir, env, append([]string{"-j"}, options...), log)))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.UseNumber()
		var ev map[string]any
		if err := d.Decode(&ev); err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}

// asJSON returns a row as the members of ptrace-dump --json, for an event that has these members.
func (r *parquetRow) asJSON(t *testing.T, want map[string]any) map[string]any {
	t.Helper()
	at := time.Unix(0, r.TimeNS).UTC()
	got := map[string]any{
		"time": at.Format("2006-01-02T15:04:05.000000000Z"), "sec": jsonNumber(at.Unix()), "nsec": jsonNumber(int64(at.Nanosecond())),
		"pid": jsonNumber(r.PID), "tid": jsonNumber(r.TID), "event": r.Event, "id": jsonNumber(int64(r.ID)), "class": r.Class,
		"address": fmt.Sprintf("%#x", r.Address), "truncation": r.Truncation, "size": jsonNumber(r.Size),
	}
	if r.Address == 0 {
		got["address"] = "0x0"
	}
	set := func(key string, p any) {
		v := reflect.ValueOf(p)
		if v.IsNil() {
			return
		}
		switch x := v.Elem().Interface().(type) {
		case string:
			got[key] = x
		case []byte:
			got[key] = base64.StdEncoding.EncodeToString(x)
		case uint64:
			got[key] = fmt.Sprintf("%#x", x)
		case int32:
			got[key] = jsonNumber(int64(x))
		case int64:
			got[key] = jsonNumber(x)
		}
	}
	for key, p := range map[string]any{"data": r.Data, "data_base64": r.Binary, "span": r.Span, "parent": r.Parent, "path": r.Path,
		"result": r.Result, "errno": r.Errno, "status": r.Status, "signal": r.Signal, "child": r.Child,
		"user_ns": r.UserNS, "system_ns": r.SystemNS, "maxrss": r.MaxRSS} {
		set(key, p)
	}
	for key, p := range r.sampled() {
		set(key, p)
	}
	if r.Args != nil || r.Result != nil {
		set("duration_ns", r.Duration)
		set("errno_name", r.ErrnoName)
		got["args"] = list(r.Args)
		got["returned"], got["restarted"] = true, false
	}
	if _, ok := want["argv"]; ok {
		got["argv"] = list(r.Argv)
	}
	if _, ok := want["newline"]; ok {
		got["newline"], got["continues"], got["return"] = true, false, false
	}
	for key, s := range r.Members {
		switch want[key].(type) {
		case bool:
			got[key] = s == "true"
		case json.Number:
			got[key] = json.Number(s)
		case []any:
			got[key] = s
			var stack []any
			if key == "environment" || key == "unset" {
				got[key] = list(strings.Split(s, "\n"))
			}
			if key == "stack" && json.Unmarshal([]byte(s), &stack) == nil {
				got[key] = stack
			}
		default:
			got[key] = s
		}
	}
	return got
}

func jsonNumber(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

func list(s []string) []any {
	l := []any{}
	for _, v := range s {
		l = append(l, v)
	}
	return l
}

// lossless removes what JSON cannot show: text that is not UTF-8 has replacement characters there. In
// the row it must be UTF-8, and the row of a system event has the bytes of the data.
func lossless(t *testing.T, r *parquetRow, want, got map[string]any) {
	t.Helper()
	lost := false
	for key, v := range want {
		switch v := v.(type) {
		case string:
			if strings.ContainsRune(v, utf8.RuneError) {
				lost = lost || key != "event"
				if s, ok := got[key].(string); !ok || !utf8.ValidString(s) {
					t.Errorf("%s is %q, not UTF-8", key, got[key])
				}
				delete(want, key)
				delete(got, key)
			}
		case []any:
			if key == "filter" || key == "old_filter" || key == "new_filter" {
				want[key] = strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ","), "[]")
				if strings.ContainsRune(want[key].(string), utf8.RuneError) {
					delete(want, key)
					delete(got, key)
				}
				continue
			}
			items, ok := got[key].([]any)
			if !ok || len(items) != len(v) || key == "stack" {
				continue
			}
			for i := range v {
				if s := v[i].(string); strings.ContainsRune(s, utf8.RuneError) {
					lost = true
					if !utf8.ValidString(items[i].(string)) {
						t.Errorf("%s has %q, not UTF-8", key, items[i])
					}
					v[i], items[i] = "", ""
				}
			}
		}
	}
	_, has := want["data_base64"]
	if lost && r.Binary != nil && r.Class == "system" {
		if int64(len(*r.Binary)) != r.Size {
			t.Errorf("%s: %d bytes of data, want %d", r.Event, len(*r.Binary), r.Size)
		}
		if !has {
			delete(got, "data_base64")
		}
	}
}

// compareParquet compares the rows of a file with what ptrace-dump shows of the logs, in their order.
func compareParquet(t *testing.T, events []map[string]any, rows []parquetRow) {
	t.Helper()
	if len(rows) != len(events) {
		t.Fatalf("%d rows of %d events", len(rows), len(events))
	}
	for i := range rows {
		r, want := &rows[i], events[i]
		got := r.asJSON(t, want)
		lossless(t, r, want, got)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("row %d (-dump +parquet):\n%s", i, d)
		}
		if r.Time != r.TimeNS {
			t.Fatalf("row %d: time %d is not time_ns %d", i, r.Time, r.TimeNS)
		}
	}
}

// compareParquetLog exports a log and compares. It reports whether there was an export. No selection
// compares all events but the mappings: a damaged log may lack a type, and a selection its events.
func compareParquetLog(t *testing.T, dir string, env, selection []string, log string) bool {
	t.Helper()
	dest := filepath.Join(t.TempDir(), "x.parquet")
	status, stderr := runExport(t, dir, env, "-o", dest, log)
	if _, err := os.Stat(dest); err != nil {
		if status == 0 {
			t.Fatalf("no export, and status 0: %s", stderr)
		}
		return false
	}
	rows, metadata := readParquet(t, dest)
	if selection != nil {
		compareParquet(t, jsonLines(t, dir, env, log, selection...), rows)
	} else { // ptrace-dump leaves out mappings
		shown := slices.DeleteFunc(slices.Clone(rows), func(r parquetRow) bool { return r.ID == int32(posixtrace.EventProcMap) })
		compareParquet(t, jsonLines(t, dir, env, log), shown)
	}
	if selection != nil {
		keepParquet(t, dest, dumpOf(t, dir, env, append([]string{"-j"}, selection...), log), metadata["posixtrace.lost"])
	} else {
		keepParquet(t, dest, dumpOf(t, dir, env, []string{"-j"}, log), metadata["posixtrace.lost"])
	}
	var st struct {
		Lost    uint64
		LogLost uint64 `json:"log_lost"`
	}
	if out := dumpOf(t, dir, env, []string{"--status", "-j"}, log); len(out) > 0 {
		if err := json.Unmarshal(out, &st); err != nil {
			t.Fatal(err)
		}
	}
	if want := strconv.FormatUint(st.Lost+st.LogLost, 10); metadata["posixtrace.lost"] != want || metadata["posixtrace.events"] != strconv.Itoa(len(rows)) {
		t.Errorf("metadata %q, want %s lost of %d events", metadata, want, len(rows))
	}
	return true
}

// keepParquet keeps a file and what it is compared with for scripts/extra/parquet, which compares them as
// databases read the file.
func keepParquet(t *testing.T, file string, events []byte, lost string) {
	t.Helper()
	dir := os.Getenv("POSIXTRACE_KEEP_PARQUET")
	if dir == "" {
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, strings.Map(func(c rune) rune {
		if c == '/' || c == ' ' {
			return '_'
		}
		return c
	}, t.Name())+"-"+strconv.FormatUint(rand.Uint64(), 36))
	for suffix, b := range map[string][]byte{".parquet": b, ".jsonl": events, ".lost": []byte(lost)} {
		if err := os.WriteFile(name+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A file has one row for each event that ptrace-dump shows, with the same members, whatever the log has.
func TestExportParquetHostile(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir, env := hostileTrace(t)
	if !compareParquetLog(t, dir, env, everything, "hostile.trace") {
		t.Fatal("no export")
	}
	log, err := os.ReadFile(filepath.Join(dir, "hostile.trace"))
	if err != nil {
		t.Fatal(err)
	}
	n := 12
	if os.Getenv("POSIXTRACE_FULL") != "" {
		n = 500
	}
	seed := uint64(time.Now().UnixNano())
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		b := slices.Clone(log[:len(log)-rng.IntN(2)*rng.IntN(len(log)/2)])
		for range 1 + rng.IntN(20) {
			b[rng.IntN(len(b))] = byte(rng.Uint32())
		}
		hostile.FixChecksums(b)
		if err := os.WriteFile(filepath.Join(dir, "evil.trace"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("seed %d %d", seed, i), func(t *testing.T) { compareParquetLog(t, dir, env, nil, "evil.trace") })
	}
}

// fillsLog writes more than the smallest log holds, which is a megabyte.
const fillsLog = `yes "$(printf %0500d 7)" | head -n 6000`

// recordAll records a log of each kind. It returns their names.
func recordAll(t *testing.T) (dir string, env, logs []string) {
	t.Helper()
	dir = t.TempDir()
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "TZ=UTC")
	flood := `i=0; while [ $i -lt 3000 ]; do echo "data	$i"; i=$((i+1)); done | ptrace-event --batch`
	for _, l := range []struct{ name, options, command string }{
		{"plain", "", "ptrace-event -r step true; ptrace-event point 'a b'"},
		{"empty", "-e none -x @all", "true"},
		{"loop", "-c --log-size=64K --log-full-policy=loop", fillsLog},
		{"full", "-c --log-size=64K --log-full-policy=until-full", fillsLog},
		{"stream", "--stream-size=16K --stream-full-policy=until-full", flood},
		{"overrun", "--stream-size=16K --stream-full-policy=loop", flood},
		{"calls", "-e proc,signal,syscall -y --stack", "ls /none; kill -CONT $$; :"},
		{"output", "-c", "echo out; echo err >&2; printf part; printf 'a\\377b\\n'"},
	} {
		cmd := exec.Command("sh", "-c", "exec ptrace-run -o "+l.name+".trace "+l.options+` -- sh -c "$1"`, "sh", l.command)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", l.name, err, out)
		}
		logs = append(logs, l.name+".trace")
	}
	b, err := os.ReadFile(filepath.Join(dir, "calls.trace"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cut.trace"), b[:len(b)-100], 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, env, append(logs, "cut.trace")
}

// The same of the logs of testdata/log.
func TestExportParquetTextLogs(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir, logs := textLogs(t)
	for _, log := range logs {
		t.Run(filepath.Base(log), func(t *testing.T) {
			compareParquetLog(t, dir, append(os.Environ(), "PTRACE_STREAM=", "TZ=UTC"), nil, filepath.Base(log))
		})
	}
}

func TestExportParquetLogs(t *testing.T) {
	dir, env, logs := recordAll(t)
	var all []map[string]any
	for _, log := range logs {
		if lossy := []string{"loop.trace", "full.trace", "stream.trace", "overrun.trace"}; slices.Contains(lossy, log) {
			if out := dumpOf(t, dir, env, []string{"--status", "-j"}, log); bytes.Contains(out, []byte(`"lost":0,"log_lost":0`)) {
				t.Errorf("%s lost nothing: %s", log, out)
			}
		}
		if !compareParquetLog(t, dir, env, everything, log) {
			t.Errorf("%s: no export", log)
		}
		all = append(all, jsonLines(t, dir, env, log, everything...)...)
	}

	// Several logs in one file keep their order.
	status, stderr := runExport(t, dir, env, append([]string{"-o", "all.parquet"}, logs...)...)
	if status != 1 || !strings.Contains(stderr, "cut.trace: log is incomplete") {
		t.Errorf("status %d: %s", status, stderr)
	}
	rows, metadata := readParquet(t, filepath.Join(dir, "all.parquet"))
	compareParquet(t, all, rows)
	var described []struct {
		Log, State string
		ID         string `json:"log_id"`
		Events     int
		Command    []string
	}
	if err := json.Unmarshal([]byte(metadata["posixtrace.logs"]), &described); err != nil {
		t.Fatal(err)
	}
	if len(described) != len(logs) {
		t.Fatalf("%d logs in the metadata, want %d", len(described), len(logs))
	}
	for i, d := range described {
		n := 0
		for _, r := range rows {
			if r.Log == d.Log {
				n++
				if r.LogID != d.ID || r.Host == "" || r.Trace == "" || r.Command == "" {
					t.Fatalf("%+v of %+v", r, d)
				}
			}
		}
		if d.Log != logs[i] || n != d.Events || len(d.Command) < 3 || (d.State == "finished") != (d.Log != "cut.trace") {
			t.Errorf("%+v for %s with %d rows", d, logs[i], n)
		}
	}

	// Selections are those of ptrace-dump.
	for _, sel := range [][]string{{"-e", "step.*,point"}, {"-x", "data,@system"}, {"--since=-0s"}, {"-p", "1"}, {"-e", "@user", "--until=+1s"}} {
		runExport(t, dir, env, append(slices.Clone(sel), "-o", "selected.parquet", "plain.trace")...)
		rows, _ := readParquet(t, filepath.Join(dir, "selected.parquet"))
		dumped := sel
		if !slices.Contains(sel, "-e") {
			dumped = append(slices.Clone(everything), sel...)
		}
		compareParquet(t, jsonLines(t, dir, env, "plain.trace", dumped...), rows)
	}
}

// The end of a span has its duration, and so has the exit of a command.
func TestExportParquetDurations(t *testing.T) {
	dir, env, _ := recordAll(t)
	runExport(t, dir, env, "-o", "x.parquet", "plain.trace")
	rows, _ := readParquet(t, filepath.Join(dir, "x.parquet"))
	begin, start, spans, exits := int64(0), int64(0), 0, 0
	for _, r := range rows {
		switch r.Event {
		case "step.begin":
			begin = r.TimeNS
		case "proc.exec":
			start = r.TimeNS
		case "step.end":
			spans++
			if r.Duration == nil || *r.Duration != r.TimeNS-begin {
				t.Errorf("the span took %v, want %d", r.Duration, r.TimeNS-begin)
			}
		case "proc.exit":
			exits++
			if r.Duration == nil || *r.Duration != r.TimeNS-start {
				t.Errorf("the command took %v, want %d", r.Duration, r.TimeNS-start)
			}
		default:
			if r.Duration != nil {
				t.Errorf("%s took %d", r.Event, *r.Duration)
			}
		}
	}
	if spans != 1 || exits != 1 {
		t.Errorf("%d spans and %d exits", spans, exits)
	}
}

// The numbers of samples have columns, which are null for all else.
func TestExportParquetSamples(t *testing.T) {
	dir := t.TempDir()
	env := append(os.Environ(), "PTRACE_STREAM=")
	cmd := exec.Command("ptrace-run", "--sample=20ms", "-e", "proc", "-o", "a.trace", "sh", "-c", "sleep 0.2; sleep 0.1")
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !compareParquetLog(t, dir, env, nil, "a.trace") {
		t.Fatal("no export")
	}
	runExport(t, dir, env, "-o", "a.parquet", "a.trace")
	rows, _ := readParquet(t, filepath.Join(dir, "a.parquet"))
	samples := 0
	for i := range rows {
		r := &rows[i]
		if r.ID != int32(posixtrace.EventResSample) {
			for key, p := range r.sampled() {
				if !reflect.ValueOf(p).IsNil() {
					t.Errorf("%s has %s", r.Event, key)
				}
			}
			continue
		}
		if samples++; r.RSS == nil || r.CPU == nil || r.Processes == nil || r.Written == nil {
			t.Errorf("a sample is %+v", r)
		}
	}
	if samples < 3 {
		t.Errorf("%d samples", samples)
	}
}

// A directory gets a file for each log, with a name that is the same at each export and differs from
// that of any other log.
func TestExportParquetNames(t *testing.T) {
	dir, env, logs := recordAll(t)
	tree := func(sel ...string) map[string]string {
		t.Helper()
		runExport(t, dir, env, append(append(sel, "-o", "tree/repo=x/date=y/"), logs...)...)
		files := map[string]string{}
		list, err := os.ReadDir(filepath.Join(dir, "tree/repo=x/date=y"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			b, err := os.ReadFile(filepath.Join(dir, "tree/repo=x/date=y", e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = string(b)
		}
		return files
	}
	first := tree()
	if len(first) != len(logs) { // the cut log is a copy of another one, and a file of its own
		t.Errorf("%d files of %d logs", len(first), len(logs))
	}
	if again := tree(); !reflect.DeepEqual(again, first) {
		t.Error("a second export wrote other files")
	}
	if more := tree("-e", "@user"); len(more) != 2*len(first) {
		t.Errorf("an export of other events made %d files of %d", len(more), len(first))
	}
	for name := range first {
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != "" || !strings.HasSuffix(name, ".parquet") {
			t.Errorf("the name %q", name)
		}
	}
}

// Machines that are restored from one snapshot and continue at the same moment share all that a log
// says about its origin, but the random number of the log.
func TestExportNamesOfClones(t *testing.T) {
	dir, env, _ := recordAll(t)
	log, err := os.ReadFile(filepath.Join(dir, "plain.trace"))
	if err != nil {
		t.Fatal(err)
	}
	clone := bytes.ReplaceAll(log, log[24:32], []byte("8 bytes!")) // the number, see ptrace-log(5)
	hostile.FixChecksums(clone)
	if err := os.WriteFile(filepath.Join(dir, "clone.trace"), clone, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"parquet", "otlp"} {
		for _, name := range []string{"plain.trace", "clone.trace"} {
			cmd := exec.Command("ptrace-export", "--to="+format, "-o", format+"/", name)
			cmd.Dir, cmd.Env = dir, env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", name, err, out)
			}
		}
		if list, err := os.ReadDir(filepath.Join(dir, format)); err != nil || len(list) != 2 {
			t.Errorf("%s: %v, %v: want two files", format, list, err)
		}
	}
}

// Memory does not grow with the number of events, nor beyond a few of the largest.
func TestExportParquetMemory(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir, env, _ := recordAll(t)
	for _, l := range []struct{ name, options, command string }{
		{"many", "--stream-size=16M", `yes "data	0123456789abcdef" | head -n 2000000 | ptrace-event --batch`},
		{"large", "--stream-size=32M --max-data-size=32K", `head -c 64000000 /dev/urandom | tr -d '\n' | fold -b -w 32000 | ptrace-event --lines huge`},
	} {
		cmd := exec.Command("sh", "-c", "exec ptrace-run -e none -o "+l.name+".trace "+l.options+` -- sh -c "$1"`, "sh", l.command)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", l.name, err, out)
		}
		cmd = exec.Command("max-rss", "ptrace-export", "--to=parquet", "-o", l.name+".parquet", l.name+".trace")
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", l.name, err, out)
		}
		lines := strings.Fields(string(out)) // a loss may be reported before
		rss, err := strconv.Atoi(lines[len(lines)-1])
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d KB", l.name, rss)
		if rss > 256<<10 {
			t.Errorf("%s: %d KB of memory", l.name, rss)
		}
	}
	rows, _ := readParquet(t, filepath.Join(dir, "large.parquet"))
	huge := 0
	for _, r := range rows {
		if r.Event == "huge" && r.Binary != nil && len(*r.Binary) == 32000 {
			huge++
		}
	}
	if huge < 500 {
		t.Errorf("%d huge events", huge)
	}
}

// No column and no metadata has what --redact replaces.
func TestExportParquetRedact(t *testing.T) {
	dir, env, _ := recordAll(t)
	cmd := exec.Command("ptrace-run", "-c", "-n", "job-hunter2", "-e", "proc,syscall", "-o", "secret.trace",
		"sh", "-c", "ptrace-event hunter2.login hunter2; echo hunter2; ptrace-event app.login password=hunter2")
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, options := range [][]string{nil, {"--redact=hunter[0-9]"}} {
		if status, message := runExport(t, dir, env, append(options, "-o", "secret.parquet", "secret.trace")...); status != 0 {
			t.Fatal(status, message)
		}
		rows, metadata := readParquet(t, filepath.Join(dir, "secret.parquet"))
		text, err := json.Marshal(map[string]any{"rows": rows, "metadata": metadata})
		if err != nil {
			t.Fatal(err)
		}
		if has := bytes.Contains(text, []byte("hunter2")); has != (options == nil) {
			i := max(bytes.Index(text, []byte("hunter2")), 0)
			t.Errorf("%q: %d rows, a secret: %v: %s", options, len(rows), has, text[max(i-200, 0):min(i+100, len(text))])
		}
	}
}
