package script_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

var schemaFile = filepath.Join("..", "..", "ptrace-dump", "event.schema.json")

// Every line of JSON that ptrace-dump writes conforms to the schema and has no member that
// is not in the schema.
func TestEventSchema(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	known := schemaMembers(t)
	dir := t.TempDir()
	script := filepath.Join(dir, "kinds.sh")
	// Record each kind of event.
	if err := os.WriteFile(script, []byte(`
ptrace-run --capture=out,err -o run.trace --max-data-size=64 -- sh -c '
	ptrace-event text "a \"line\""; printf "\377\000" | ptrace-event --stdin binary; ptrace-event none; ptrace-event -B span x; ptrace-event -E span 3
	echo out; echo err >&2; printf %0100d 0' >/dev/null 2>&1
ptrace-run -o killed.trace -- sh -c 'kill -KILL $$' 2>/dev/null
ptrace-run --stack -e proc,signal,syscall.openat -o traced.trace -- sh -c 'cat /dev/null; (exit 3)'
ptrace-create -s -p $$ --stream-size=4K small >/dev/null
ptrace-filter -S small -x 'no*,@system'; ptrace-filter -S small --reset
seq 9000 | sed 's/^/x	/' | ptrace-event -S small --batch
ptrace-create -s -p $$ -o full.trace --log-size=8K --log-full-policy=until-full full >/dev/null
seq 2000 | sed 's/^/x	/' | ptrace-event -S full --batch
ptrace-ctl flush -w full 2>/dev/null
ptrace-ctl shutdown full
for form in -j "-j --stack" "-j --golden" "-j --failed"; do
	ptrace-dump --peek $form small run.trace killed.trace traced.trace full.trace || exit
done
ptrace-dump --peek --chrome small run.trace killed.trace traced.trace full.trace >all.chrome || exit
ptrace-ctl shutdown small
`), 0o600); err != nil {
		t.Fatal(err)
	}
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.Bytes())
	}
	checkChrome(t, filepath.Join(dir, "all.chrome"))
	kinds := map[string]int{}
	for line := range bytes.Lines(out) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if err := schema.Validate(v); err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		o := v.(map[string]any)
		kinds[o["event"].(string)]++
		for name := range o {
			if !slices.Contains(known, name) {
				t.Errorf("%q is not in the schema: %s", name, line)
			}
		}
	}
	for _, want := range []string{"text", "binary", "none", "x", "posix_trace_start", "posix_trace_stop", "posix_trace_filter", "posix_trace_overflow",
		"posix_trace_flush_start", "posix_trace_flush_stop", "proc.exec", "proc.exit", "proc.fork", "proc.signal", "syscall.openat", "output.stdout", "output.stderr"} {
		if kinds[want] < 2 { // as it is, and golden
			t.Errorf("%d lines of %s", kinds[want], want)
		}
	}
}

// checkChrome reads trace-event JSON as a viewer does: slices nest in their lanes.
func checkChrome(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		TraceEvents []struct {
			Name, Ph string
			PID, TID int
			Ts, Dur  float64
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	open := map[[2]int][]float64{} // when slices end
	phases := map[string]int{}
	for _, e := range doc.TraceEvents {
		phases[e.Ph]++
		if e.Ph != "X" {
			continue
		}
		lane, end := [2]int{e.PID, e.TID}, e.Ts+e.Dur
		ends := open[lane]
		const exact = 1e-4 // microseconds; of sums of such numbers
		for len(ends) > 0 && ends[len(ends)-1] <= e.Ts+exact {
			ends = ends[:len(ends)-1]
		}
		if n := len(ends); n > 0 && ends[n-1] < end-exact {
			t.Fatalf("%q goes on until %f in lane %v, the slice around it until %f", e.Name, end, lane, ends[n-1])
		}
		open[lane] = append(ends, end)
	}
	if phases["X"] == 0 || phases["B"]+phases["E"] > 0 || phases["M"] == 0 || phases["i"] == 0 {
		t.Errorf("numbers of phases: %v", phases)
	}
}

// The schema refuses output that ptrace-dump does not write.
func TestEventSchemaRefuses(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	const good = `{"time":"2026-11-20T10:12:00.123456789Z","sec":1795169520,"nsec":123456789,"pid":4711,"tid":4711,"event":"build.begin","id":33,"class":"user","address":"0x4a3f10","truncation":"none","size":7,"data":"compile"}`
	for _, tt := range []struct{ old, new string }{
		{"", ""},
		{`"pid":4711,`, ``},
		{`"pid":4711`, `"pid":"P1"`},
		{`"nsec":123456789`, `"nsec":1234567890`},
		{`"sec":1795169520,`, ``},
		{`.123456789Z`, `Z`},
		{`"user"`, `"mine"`},
		{`"0x4a3f10"`, `4865808`},
		{`"none"`, `"some"`},
		{`,"data":"compile"`, ``},
		{`"data":`, `"data_base64":"/w==","data":`},
		{`"data":"compile"`, `"filter":[]`},
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(good, tt.old, tt.new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != (tt.old == "") {
			t.Errorf("%s for %s: %v", tt.new, tt.old, err)
		}
	}
}

// schemaMembers returns the members of an event in the schema.
func schemaMembers(t *testing.T) []string {
	b, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var s struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return slices.Collect(maps.Keys(s.Properties))
}
