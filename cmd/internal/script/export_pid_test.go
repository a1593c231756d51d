package script_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"
)

// The process that an export names beside the command line of a log is the one with that command line,
// however the log began, and every event of a process has its number in every form.
func TestExportPID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := append(os.Environ(), "PTRACE_STREAM=")
	sh := func(script string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		return string(out)
	}
	for _, tt := range []struct{ name, script string }{
		{"run", `echo $$ >pid; exec ptrace-run -o run.trace ptrace-event x`},
		{"events", `echo $$ >pid; exec ptrace-run -c -e proc,%file -o events.trace sh -c 'ptrace-event x; echo out; cat /dev/null'`},
		{"pipe", `sh -c 'echo $$ >pid; exec ptrace-run -o /dev/stdout ptrace-event x' | cat >pipe.trace`},
		{"loop", `echo $$ >pid; exec ptrace-run --log-full-policy=loop -o loop.trace ptrace-event x`},
		{"create", `ptrace-create -o create.trace made >/dev/null; ptrace-event -S made x; ptrace-ctl shutdown made`},
		{"filtered", `ptrace-filter -i run.trace -x y -o filtered.trace; cp run.pid pid`},
	} {
		os.Remove(filepath.Join(dir, "pid"))
		sh(tt.script)
		log := tt.name + ".trace"
		text, _ := os.ReadFile(filepath.Join(dir, "pid")) // of ptrace-create, there is a keeper
		pid := strings.TrimSpace(string(text))
		os.WriteFile(filepath.Join(dir, tt.name+".pid"), text, 0o600)
		is := func(form, got string) {
			t.Helper()
			if got == "" || got == "0" || pid != "" && got != pid {
				t.Errorf("%s: %s: the process of the log is %q, want %q", tt.name, form, got, pid)
			}
			pid = got // all forms agree
		}
		first := func(pattern, text string) string {
			if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
				return m[1]
			}
			return ""
		}
		is("ptrace-dump -a", first(`(?m)^owner +(\d+)$`, sh("ptrace-dump -a "+log)))
		is("ptrace-dump -aj", first(`"owner":(\d+),`, sh("ptrace-dump -a --json "+log)))
		if text := sh("ptrace-dump -a " + log); first(`(?m)^pid +(\d+)$`, text) == "0" {
			t.Errorf("%s: the traced process is 0: %s", tt.name, text)
		}
		is("ctf", first(`(?s)Environment.*?\n +pid: (\d+)\n`, sh(fmt.Sprintf("ptrace-export --to=ctf -o %s.ctf %s && babeltrace2 -c sink.text.details %[1]s.ctf", tt.name, log))))
		is("otlp", first(`"resource":\{"attributes":\[.*?"process.pid","value":\{"intValue":"(\d+)"`, sh("ptrace-export --to=otlp -o - "+log)))
		sh(fmt.Sprintf("ptrace-export --to=parquet -o %s.parquet %s", tt.name, log))
		is("parquet", parquetPID(t, filepath.Join(dir, tt.name+".parquet")))
		// Marks of the trace system alone belong to no process.
		for _, line := range strings.Split(strings.TrimSpace(sh("ptrace-dump --json "+log)), "\n") {
			var e struct {
				PID   int
				Event string
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.PID == 0 && !strings.HasPrefix(e.Event, "posix_trace_flush") {
				t.Errorf("%s: %v: %s", tt.name, err, line)
			}
		}
	}
}

// parquetPID returns the process of the log in the metadata of a file.
func parquetPID(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	p, err := pq.OpenFile(f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	text, _ := p.Lookup("posixtrace.logs")
	var logs []struct{ PID int }
	if err := json.Unmarshal([]byte(text), &logs); err != nil || len(logs) != 1 {
		t.Fatal(err, text)
	}
	return fmt.Sprint(logs[0].PID)
}
