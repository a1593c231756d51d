package script_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// diffForms are all forms of ptrace-diff.
var diffForms = [][]string{{}, {"--color=always"}, {"--table"}, {"-j"}, {"--markdown"}, {"--html"}, {"--golden", "--top=0"}, {"--golden", "-j"}, {"--golden", "--markdown", "--top=0"}, {"--golden", "--html"}}

// diffOf runs ptrace-diff, which must not crash or print anything harmful.
func diffOf(t *testing.T, dir string, env, form []string, logs ...string) (out []byte, status int) {
	t.Helper()
	cmd := exec.Command("ptrace-diff", append(slices.Clone(form), logs...)...)
	cmd.Dir, cmd.Env = dir, env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		status = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	if status > 2 || status < 0 || bytes.Contains(errs.Bytes(), []byte("goroutine ")) {
		t.Fatalf("ptrace-diff %q %q: %v\n%s", form, logs, err, errs.Bytes())
	}
	harmless(t, "standard error", errs.Bytes(), "")
	return out, status
}

// checkDiff checks the output of ptrace-diff in a form.
func checkDiff(t *testing.T, form []string, out []byte, schema *jsonschema.Schema) {
	t.Helper()
	what := strings.Join(form, " ")
	if !slices.Contains(form, "--html") { // its scripts have tabs, and data that they escape
		harmlessText(t, what, out, "")
	}
	switch {
	case slices.Contains(form, "-j"):
		for line := range bytes.Lines(out) {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
			if err == nil {
				err = schema.Validate(v)
			}
			if err != nil {
				t.Fatalf("%s: %v in %q", what, err, line)
			}
		}
	case slices.Contains(form, "--markdown"):
		if len(out) > 1<<20 {
			t.Errorf("%s: %d bytes", what, len(out))
		}
		rest := regexp.MustCompile(`<code>([ 0-9A-Za-z\x{80}-\x{10ffff}]|&#[0-9]+;)*</code>`).ReplaceAll(out, nil)
		if i := bytes.IndexAny(rest, "<>`[]!\\_"); i >= 0 {
			t.Errorf("%s: %q", what, rest[max(0, i-80):min(len(rest), i+80)])
		}
	case slices.Contains(form, "--html"):
		if n := bytes.Count(out, []byte("</script>")); n == 0 || n != bytes.Count(out, []byte("<script")) {
			t.Errorf("%s: %d ends of scripts", what, n)
		}
		if bytes.Contains(out, []byte("<b>bold")) {
			t.Errorf("%s: HTML of the log", what)
		}
	default:
		for line := range bytes.Lines(out) {
			if bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("::")) || bytes.Contains(line, []byte("##[")) {
				t.Errorf("%s: a command of a workflow: %q", what, line)
			}
		}
	}
}

func diffSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "ptrace-diff", "diff.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// Whatever two logs contain, each form of their difference is harmless and well-formed; so are those
// of damaged logs.
func TestHostileDiff(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	schema := diffSchema(t)
	dir, env := hostileTrace(t)
	script := `ptrace-run -c -e proc,syscall.openat -o other.trace -- sh -c '
		for x in "::error::x" "##[error]" "|a|b|" "<b>bold</b></script>" "\` + "`" + `x\` + "`" + `" "$(printf "%70000d" 0)"; do
			ptrace-event -r "y$x" sh -c "exit 3" "$x" 2>/dev/null; echo "$x"; sh -c : "$x" "$x"; done; exit 0' >/dev/null`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, form := range diffForms {
		for _, logs := range [][]string{{"hostile.trace", "other.trace"}, {"other.trace", "hostile.trace"}, {"hostile.trace", "hostile.trace"}} {
			out, status := diffOf(t, dir, env, form, logs...)
			if want := 1; logs[0] == logs[1] && status != 0 || logs[0] != logs[1] && status != want {
				t.Errorf("%q %q: status %d", form, logs, status)
			}
			checkDiff(t, form, out, schema)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "hostile.trace"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		rng := rand.New(rand.NewPCG(uint64(i), 17))
		b := slices.Clone(log[:len(log)-rng.IntN(2)*rng.IntN(len(log)/2)])
		for range 1 + rng.IntN(20) {
			at := rng.IntN(len(b))
			copy(b[at:], []byte{0xff, 0xff, byte(rng.Uint32()), 0xff, 0xff, 0xff, 0xff, 0x7f}[:1+rng.IntN(8)])
		}
		if i%4 != 0 {
			hostile.FixChecksums(b)
		}
		if err := os.WriteFile(filepath.Join(dir, "evil.trace"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		form := diffForms[rng.IntN(len(diffForms))]
		out, status := diffOf(t, dir, env, form, "hostile.trace", "evil.trace")
		if len(out) > 0 {
			checkDiff(t, form, out, schema)
		} else if status != 2 {
			t.Errorf("seed %d: nothing, with status %d", i, status)
		}
		if out, _ := diffOf(t, dir, env, form, "evil.trace", "evil.trace"); len(out) > 0 {
			checkDiff(t, form, out, schema)
		}
	}
}

// Ten runs of the same build, split five against five at random twenty times: at most one split
// reports a difference. Five runs against five of a build with a slower file report that.
func TestDiffOfEqualRuns(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, "make")
	dir := t.TempDir()
	env := append(os.Environ(), "PTRACE_DIR="+filepath.Join(dir, "traces"), "PTRACE_STREAM=", "LC_ALL=C.UTF-8")
	if err := os.Mkdir(filepath.Join(dir, "traces"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"Makefile": "all: a.o b.o c.o d.o ; @:\n%.o: ; @sh cc $*.c\n",
		"cc":       "i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done\ncase $1 in\nc.c) sleep ${SLOW-0.05} ;;\n*) sleep 0.05 ;;\nesac\necho $1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := func(log string, more ...string) {
		t.Helper()
		cmd := exec.Command("ptrace-run", "-e", "proc", "-c", "-o", log, "--", "make", "-s", "-j2")
		cmd.Dir, cmd.Env = dir, append(slices.Clone(env), more...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	group := func(side string, logs []string) (args []string) {
		for _, l := range logs {
			args = append(args, "--"+side+"="+l)
		}
		return args
	}
	var runs, slow []string
	for i := range 10 {
		runs = append(runs, fmt.Sprintf("%d.trace", i))
		build(runs[i])
	}
	for i := range 5 {
		slow = append(slow, fmt.Sprintf("slow%d.trace", i))
		build(slow[i], "SLOW=1")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var reports []string
	for range 20 {
		rng.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		out, status := diffOf(t, dir, env, nil, append(group("old", runs[:5]), group("new", runs[5:])...)...)
		if status != 0 {
			reports = append(reports, string(out))
		}
	}
	if len(reports) > 1 {
		t.Errorf("%d of 20 splits report a difference: %s", len(reports), strings.Join(reports, "\n"))
	}
	out, status := diffOf(t, dir, env, nil, append(group("old", runs[:5]), group("new", slow)...)...)
	if first, _, _ := strings.Cut(string(out), "\n"); status != 1 || !strings.Contains(first, "slower") || !strings.Contains(first, "in sh c.c") {
		t.Errorf("a slower file: status %d, %s", status, out)
	}
	if out, status := diffOf(t, dir, env, []string{"--golden"}, append(group("old", runs[:5]), group("new", runs[5:])...)...); status != 0 {
		t.Errorf("what happened: status %d, %s", status, out)
	}
}
