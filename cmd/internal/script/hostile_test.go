package script_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
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
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/pagetest"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// hostileTrace records malicious names and data: of events, output lines, arguments and
// program paths. The log is path/hostile.trace.
func hostileTrace(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	env = append(os.Environ(), "PTRACE_DIR="+traces, "PTRACE_STREAM=", "TERM=xterm", "NO_COLOR=", "LC_ALL=C.UTF-8", "TZ=UTC")
	var batch, printed bytes.Buffer
	for i, s := range hostile.Texts() {
		flat := strings.NewReplacer("\n", "", "\t", "").Replace(s)
		// A process cannot register a name for every text.
		if i > 250 || i%16 == 0 {
			fmt.Fprintf(&batch, "%s.begin\t%s\n%s.end\t%s\n", cutTo(flat, 240), flat, cutTo(flat, 240), flat)
		}
		fmt.Fprintf(&batch, "data\t%s\n", flat)
		printed.WriteString(s + "\n")
	}
	for name, b := range map[string][]byte{"batch": batch.Bytes(), "printed": printed.Bytes(), "all": []byte(hostile.Texts()[256])} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("ptrace-run", "-c", "-e", "proc,signal,syscall.openat", "-o", "hostile.trace", "--", "sh", "-c", `
		ptrace-event --batch <batch; ptrace-event --stdin all <all
		cat printed; cat printed >&2
		for name in "$@"; do cat "./$name" 2>/dev/null; sh -c : "$name"; done; exit 0`,
		"\x1b]0;x\a", "\x1b[2J", "a\u202eb", "\xff\xfe", "=1+1", "\x9b31m", "new\nline", "\"\\")
	cmd.Dir, cmd.Env = dir, env
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = nil, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.Bytes())
	}
	return dir, env
}

func cutTo(s string, n int) string { return s[:min(len(s), n)] }

var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// harmless checks that a terminal shows every character as itself and no two alike, and that all
// colours are ours.
func harmless(t *testing.T, what string, b []byte, also string) {
	t.Helper()
	checkShown(t, what, b, also, hostile.Misleading)
}

// harmlessText is like harmless but for output that has the text of a program, too.
func harmlessText(t *testing.T, what string, b []byte, also string) {
	t.Helper()
	checkShown(t, what, b, also, hostile.Harmful)
}

func checkShown(t *testing.T, what string, b []byte, also string, find func(s, also string) (int, bool)) {
	t.Helper()
	rest := string(sgr.ReplaceAll(b, nil))
	if at, found := find(rest, also); found {
		t.Fatalf("%s: at %d: %q", what, at, rest[max(0, at-40):min(len(rest), at+40)])
	}
}

// forms are all output forms of ptrace-dump.
var forms = [][]string{
	{"--time=rel"}, {"--time=abs"}, {"--time=delta", "--color=always"}, {"--time=none"}, {"--table"}, {"--csv"}, {"-j"}, {"--chrome"},
	{"--golden"}, {"--golden", "-j"}, {"--annotate=rel"}, {"--annotate=abs", "--color=always"}, {"--strace"}, {"--strace", "--time=abs", "--color=always"}, {"--format=%t %D %p %i %n %d %x %a %c %q"},
	{"-s"}, {"-s", "-j"}, {"-s", "--top=0"}, {"--markdown"}, {"-a"}, {"-a", "-j"}, {"--types"}, {"--types", "-j"}, {"--status"}, {"--status", "-j"}, {"--check"}, {"-N", "5"},
	{"--why"}, {"--why=5"}, {"--why", "-j"}, {"--html"}, {"--tree"}, {"--tree", "--top=0"}, {"--timeline"}, {"--timeline", "--top=0"}, {"--folded"}, {"--junit"},
	{"-e", "data", "--replay=1000000000"},
}

// A form that is added is tried, too.
func TestAllFormsAreTried(t *testing.T) {
	for _, form := range output.Forms {
		if !slices.ContainsFunc(forms, func(args []string) bool {
			name, _, _ := strings.Cut(args[0], "=")
			return name == "--"+form.Name || form.Short != 0 && name == "-"+string(form.Short)
		}) {
			t.Errorf("forms lacks --%s", form.Name)
		}
	}
}

// named are options of forms without text, or with all of it as in names.
var named = []string{"--csv", "-j", "--chrome", "--golden", "-a", "--types", "--status", "--check", "-N", "--tree", "--timeline", "--folded"}

var (
	codeElement  = regexp.MustCompile(`(?s)<code>(.*?)</code>`)
	harmlessCode = regexp.MustCompile(`^([A-Za-z0-9 ]|[^\x00-\x7f]|&#[0-9]+;)*$`)
)

// checkForm checks the output of ptrace-dump in a form.
func checkForm(t *testing.T, form []string, out []byte, schema *jsonschema.Schema) {
	t.Helper()
	what := strings.Join(form, " ")
	also := ""
	if strings.HasPrefix(what, "--annotate") || what == "--html" {
		also = "\t" // of the page's own text
	}
	if slices.ContainsFunc(form, func(option string) bool { return slices.Contains(named, option) }) {
		harmless(t, what, out, also)
	} else {
		harmlessText(t, what, out, also)
	}
	switch {
	case what == "--csv":
		rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for _, row := range rows {
			for _, cell := range row {
				if cell != "" && strings.ContainsRune("=@", rune(cell[0])) || strings.HasPrefix(cell, "-2+") || strings.HasPrefix(cell, "+1+") {
					t.Fatalf("%s: %q is a formula", what, cell)
				}
			}
		}
	case what == "--chrome":
		if !json.Valid(out) {
			t.Fatalf("%s: not JSON", what)
		}
	case what == "--html":
		if _, err := pagetest.Parse(out); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	case what == "--markdown":
		// Untrusted text is in elements of code, in which nothing has a meaning, and nowhere else.
		for _, m := range codeElement.FindAllSubmatch(out, -1) {
			if !harmlessCode.Match(m[1]) {
				t.Fatalf("%s: %q", what, m[1])
			}
		}
		if rest := codeElement.ReplaceAll(out, nil); bytes.ContainsAny(rest, "<>[]&`") {
			t.Fatalf("%s: beside code: %q", what, rest)
		}
	case slices.Contains(form, "-j"):
		for line := range bytes.Lines(out) {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
			if err == nil && schema != nil && (what == "-j" || what == "--golden -j") {
				err = schema.Validate(v)
			}
			if err != nil {
				t.Fatalf("%s: %v in %q", what, err, line)
			}
		}
	}
}

// dumpOf runs ptrace-dump, which must not crash, hang, or print anything harmful.
func dumpOf(t *testing.T, dir string, env, form []string, logs ...string) []byte {
	t.Helper()
	cmd := exec.Command("ptrace-dump", append(slices.Clone(form), logs...)...)
	cmd.Dir, cmd.Env = dir, env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) || bytes.Contains(errs.Bytes(), []byte("goroutine ")) {
		t.Fatalf("ptrace-dump %q %q: %v\n%s", form, logs, err, errs.Bytes())
	}
	harmless(t, "standard error", errs.Bytes(), "")
	return out.Bytes()
}

// Whatever a trace contains, each form of it is harmless on a terminal and well-formed for
// the programs that read it.
func TestHostileForms(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	tracetest.NeedProgram(t, "jq")
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	dir, env := hostileTrace(t)
	for _, form := range forms {
		out := dumpOf(t, dir, env, form, "hostile.trace")
		if len(out) == 0 && form[0] != "--check" {
			t.Errorf("%q: nothing", form)
		}
		checkForm(t, form, out, schema)
		if form[0] == "-j" || slices.Contains(form, "--chrome") || slices.Contains(form, "-j") {
			jq := exec.Command("jq", "-e", ".")
			jq.Stdin = bytes.NewReader(out)
			if msg, err := jq.CombinedOutput(); err != nil {
				t.Errorf("%q: jq: %v: %s", form, err, msg[max(0, len(msg)-200):])
			}
		}
	}
	// The same on a terminal, in colour and truncated to its width.
	for _, form := range [][]string{{}, {"--table"}, {"-s"}, {"--why"}, {"--tree"}, {"--timeline"}, {"--annotate=rel"}} {
		cmd := exec.Command("ptrace-dump", append(form, "hostile.trace")...)
		cmd.Dir, cmd.Env = dir, env
		also := ""
		if len(form) > 0 && form[0] == "--annotate=rel" {
			also = "\t"
		}
		harmlessText(t, fmt.Sprintf("on a terminal: %q", form), []byte(onTerminal(t, 60, cmd)), also)
	}
	// The output of ptrace-filter, and the log it writes.
	for _, args := range [][]string{{"-l"}, {"-x", "*1*", "-n"}, {"-x", "data", "-o", "less.trace"}} {
		cmd := exec.Command("ptrace-filter", append([]string{"-i", "hostile.trace"}, args...)...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		harmless(t, fmt.Sprintf("ptrace-filter %q", args), out, "")
	}
	dumpOf(t, dir, env, []string{"--check"}, "less.trace")
	// The output of ptrace-run at the end, and the shell functions, which record without
	// ptrace-event.
	for _, script := range []string{`ptrace-run --dump=always -N 5000 --summary -- ptrace-event --batch <batch`,
		`ptrace-run --dump=always -N 5000 -- bash -c 'eval "$(ptrace-event --shell=bash)"; while IFS= read -r l; do pt "${l:0:200}" "$l"; done <printed'`} {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil || bytes.Count(out, []byte("\n")) < 300 {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		harmlessText(t, script, out, "")
	}
}

// The attributes of a log and of a stream are untrusted, too.
func TestHostileHeaders(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir, env := hostileTrace(t)
	const name = "innocent-name-of-a-stream"
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		harmless(t, fmt.Sprintf("%q", args), out, "")
		return out
	}
	run("ptrace-run", "-n", name, "-o", "named.trace", "--", "sh", "-c", "ptrace-event x; : "+name)
	log, err := os.ReadFile(filepath.Join(dir, "named.trace"))
	if err != nil || bytes.Count(log, []byte(name)) < 2 {
		t.Fatal(err, bytes.Count(log, []byte(name)))
	}
	evil := []byte("\x1b]0;t\a\x9b2J\u202e\n\r\xff\x00\"=,'\x1bc\x1b[6n")[:len(name)]
	log = bytes.ReplaceAll(log, []byte(name), evil)
	hostile.FixChecksums(log)
	if err := os.WriteFile(filepath.Join(dir, "evil.trace"), log, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, form := range forms {
		checkForm(t, form, dumpOf(t, dir, env, form, "evil.trace"), nil)
	}

	run("ptrace-create", "-s", "-p", fmt.Sprint(os.Getpid()), name)
	defer run("ptrace-ctl", "shutdown", "-f", name)
	files, _ := filepath.Glob(filepath.Join(dir, "traces", "s-*"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	stream, err := os.OpenFile(files[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	head := make([]byte, 4096)
	stream.ReadAt(head, 0)
	at := int64(bytes.Index(head, []byte(name)))
	if at < 0 {
		t.Fatal("the stream does not have its name in its first page")
	}
	stream.WriteAt(evil, at)
	for _, args := range [][]string{{"ptrace-ctl", "list"}, {"ptrace-ctl", "list", "--json"}, {"ptrace-ctl", "list", "-q"}, {"ptrace-ctl", "status", files[0]}, {"ptrace-ctl", "status", "--json", files[0]},
		{"ptrace-dump", "--peek", "-a", files[0]}, {"ptrace-dump", "--peek", files[0]}, {"ptrace-filter", "-S", files[0]}, {"ptrace-ctl", "stop", files[0]}} {
		if out := run(args...); slices.Contains(args, "--json") && !json.Valid(out) {
			t.Errorf("%q: not JSON: %q", args, out)
		}
	}
	stream.WriteAt([]byte(name), at)
}

// Messages show file names and option values.
func TestHostileMessages(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir, env := t.TempDir(), append(os.Environ(), "PTRACE_DIR=/nonexistent/dir", "PTRACE_STREAM=")
	var operands []string
	for _, s := range hostile.Texts() {
		if !strings.ContainsAny(s, "\x00") && len(s) < 1000 {
			operands = append(operands, "./"+strings.ReplaceAll(s, "/", "|"))
		}
	}
	dumpOf(t, dir, env, nil, operands...)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, args := range [][]string{
		{"ptrace-dump", "--TEXT"}, {"ptrace-dump", "-STEXT"}, {"ptrace-dump", "--since=TEXT", "x"}, {"ptrace-dump", "--cursor=./TEXT", "x"}, {"ptrace-dump", "--format=%TEXT", "x"}, {"ptrace-dump", "-e", "@TEXT", "x"},
		{"ptrace-run", "--", "./TEXT"}, {"ptrace-run", "-n", "TEXT", "true"}, {"ptrace-run", "-e", "TEXT", "true"}, {"ptrace-run", "-s", "TEXT", "true"}, {"ptrace-run", "-o", "nodir/TEXT", "true"},
		{"ptrace-create", "-p", "TEXT"}, {"ptrace-create", "TEXT."}, {"ptrace-ctl", "TEXT"}, {"ptrace-ctl", "stop", "TEXT"}, {"ptrace-filter", "-S", "TEXT"}, {"ptrace-filter", "-i", "./TEXT", "-l"}, {"ptrace-event", "-S", "TEXT", "x"}, {"ptrace-event", "-r", "x", "./TEXT"},
	} {
		for range 3 {
			text := strings.TrimPrefix(operands[rng.IntN(len(operands))], "./")
			argv := slices.Clone(args)
			for i := range argv {
				argv[i] = strings.ReplaceAll(argv[i], "TEXT", text)
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir, cmd.Env = dir, env
			out, _ := cmd.CombinedOutput()
			if bytes.Contains(out, []byte("goroutine ")) {
				t.Fatalf("%q: %s", argv, out)
			}
			harmless(t, fmt.Sprintf("%q", argv), out, "")
		}
	}
}

// Damaged logs with correct checksums go through the real command.
func TestHostileLogs(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	dir, env := hostileTrace(t)
	log, err := os.ReadFile(filepath.Join(dir, "hostile.trace"))
	if err != nil {
		t.Fatal(err)
	}
	n := 24
	if os.Getenv("POSIXTRACE_FULL") != "" {
		n = 2000
	}
	seed := uint64(time.Now().UnixNano())
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		b := slices.Clone(log[:len(log)-rng.IntN(2)*rng.IntN(len(log)/2)])
		for range 1 + rng.IntN(20) {
			at := rng.IntN(len(b))
			switch rng.IntN(4) {
			case 0:
				b[at] ^= 1 << rng.IntN(8)
			case 1:
				copy(b[at:], []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}[:1+rng.IntN(8)])
			case 2:
				from := rng.IntN(len(b)) &^ 7
				copy(b[at&^7:], b[from:min(from+rng.IntN(4096), len(b))]) // move bytes to another place
			case 3:
				b[at] = byte(rng.Uint32())
			}
		}
		if i%4 != 0 {
			hostile.FixChecksums(b)
		}
		if err := os.WriteFile(filepath.Join(dir, "evil.trace"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			form := forms[rng.IntN(len(forms))]
			t.Run(fmt.Sprintf("seed %d %d", seed, i), func(t *testing.T) {
				// A file that is no longer a log has nothing to show.
				if out := dumpOf(t, dir, env, form, "evil.trace"); len(out) > 0 {
					checkForm(t, form, out, nil)
				}
			})
		}
	}
}
