package ci

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// asUser makes a command of root one of another user, with a /dev/shm of its own: what it leaves in that user's
// trace directory disappears with its last process.
func asUser(cmd *exec.Cmd, user uint32) {
	if user == 0 {
		return
	}
	const script = `user=$1; shift
mount -t tmpfs -o mode=1777 none /dev/shm && exec setpriv --reuid="$user" --regid="$user" --clear-groups -- "$@"`
	in := exec.Command("unshare", append([]string{"--mount", "sh", "-c", script, "sh", strconv.Itoa(int(user)), cmd.Path}, cmd.Args[1:]...)...)
	cmd.Path, cmd.Args, cmd.Err = in.Path, in.Args, in.Err
}

func push(run string) *job {
	return &job{event: "push", ref: "main", inputs: map[string]string{"run": run}}
}

func pull(run string) *job {
	return &job{event: "pull_request", ref: "1/merge", base: "main", inputs: map[string]string{"run": run}}
}

// without hides programs: a PATH of links to all others. Tests share it.
func without(t *testing.T, programs ...string) string {
	t.Helper()
	hidden.Lock()
	defer hidden.Unlock()
	key := strings.Join(programs, " ")
	if dir, ok := hidden.paths[key]; ok {
		return dir
	}
	dir := filepath.Join(shared, strconv.Itoa(len(hidden.paths)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, from := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin") {
		entries, _ := os.ReadDir(from)
		for _, e := range entries {
			hide := slices.ContainsFunc(programs, func(p string) bool { ok, _ := filepath.Match(p, e.Name()); return ok })
			if !hide {
				os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name()))
			}
		}
	}
	hidden.paths[key] = dir
	return dir
}

var hidden = struct {
	sync.Mutex
	paths map[string]string
}{paths: map[string]string{}}

// program makes a file that a step can run. Another process writes it: a process that a test beside
// this one starts could keep a file of ours open for writing, and nothing can run such a file.
func program(t *testing.T, path string, content io.Reader, mode string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `cat >"$1" && chmod "$2" "$1"`, "sh", path, mode)
	cmd.Stdin = content
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", path, err, out)
	}
}

func (j *job) lines(t *testing.T, n int) {
	t.Helper()
	if got := strings.Count(j.stderr, "\n"); got != n {
		t.Errorf("%d lines on stderr, want %d: %s", got, n, j.stderr)
	}
}

// Output and status are those of a plain step; report, log and summary exist.
func TestStep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, run, out, errs string
		failed               bool
	}{
		{"good", "echo one\nsh -c 'echo two >&2'\necho three", "one\nthree\n", "two\n", false},
		{"fails", "echo one; (exit 7); echo two", "one\n", "", true},
		{"pipefail", "false | cat\necho two", "", "", true},
		{"killed", "echo one; kill -9 $$", "one\n", "", true},
		{"commands of the runner", "echo '::warning::a'; printf '%s\\n' '::add-mask::b'; printf 'no end'", "::warning::a\n::add-mask::b\nno end", "", false},
		{"its files", `echo x=1 >>"$GITHUB_ENV"; echo /x >>"$GITHUB_PATH"; echo result=fine >>"$GITHUB_OUTPUT"; echo "# mine" >>"$GITHUB_STEP_SUMMARY"`, "", "", false},
		{"bytes", `printf '\0\377\033[31m\r\n'`, "\x00\xff\x1b[31m\r\n", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := newGitHub(t).run(push(tt.run))
			if j.stdout != tt.out || j.stderr != tt.errs || j.failed != tt.failed {
				t.Errorf("%q, %q, failed %v; want %q, %q, %v", j.stdout, j.stderr, j.failed, tt.out, tt.errs, tt.failed)
			}
			files := j.artifacts["trace-build"]
			if !strings.HasPrefix(strings.ToLower(files["report.html"]), "<!doctype html>") || !strings.Contains(files["build.trace"], "PTLOG") || !strings.Contains(files["junit.xml"], "<testsuite") {
				t.Errorf("artefacts %.100q", files)
			}
			if !strings.Contains(j.summary, "## build\n") || !strings.Contains(j.summary, "#### Events") || !strings.Contains(j.summary, map[bool]string{true: "❌", false: "status 0"}[tt.failed]) {
				t.Errorf("summary %s", j.summary)
			}
			if (len(j.saved) == 1) == tt.failed {
				t.Errorf("saved %q", j.saved)
			}
			if tt.name == "its files" && (j.outputs["result"] != "fine" || !strings.Contains(j.summary, "# mine\n")) {
				t.Errorf("outputs %q", j.outputs)
			}
		})
	}
}

// The commands see the variables of a plain step, and the commands behind its PATH.
func TestStepEnvironment(t *testing.T) {
	t.Parallel()
	j := push(`env -0 | sort -z | tr '\0' '\n'; ls /proc/self/fd | wc -l`)
	j.env = []string{"POSIXTRACE_BIN=/opt/posixtrace", "MULTI=a\nb"}
	newGitHub(t).run(j)
	var extra []string
	for line := range strings.Lines(j.stdout) {
		if name, _, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "P") {
			extra = append(extra, name)
		}
	}
	want := []string{"PATH", "PTRACE_DIR", "PTRACE_SPOOL", "PTRACE_STREAM", "PWD"}
	if !slices.Equal(slices.Compact(extra), want) {
		t.Errorf("variables %q, want %q\n%s", extra, want, j.stdout)
	}
	if !regexp.MustCompile(`(?m)^PATH=/.*:/opt/posixtrace$`).MatchString(j.stdout) || !strings.Contains(j.stdout, "MULTI=a\nb\n") {
		t.Error(j.stdout)
	}
}

func TestShells(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ shell, run, out string }{
		{"sh", "echo $0 | sed 's,.*/,,'", "build\n"},
		{"python", "import sys; print(len(sys.argv))", "1\n"},
		{"perl {0} x", "print @ARGV", "x"},
		{"bash -e {0}", "false | echo on", "on\n"},
	} {
		t.Run(tt.shell, func(t *testing.T) {
			t.Parallel()
			j := push(tt.run)
			j.inputs["shell"] = tt.shell
			if tt.shell == "python" {
				dir := t.TempDir()
				if err := os.Symlink("/usr/bin/python3", filepath.Join(dir, "python")); err != nil {
					t.Fatal(err)
				}
				j.env = []string{"PATH=" + os.Getenv("PATH") + ":" + dir}
			}
			newGitHub(t).run(j)
			if j.stdout != tt.out || j.failed {
				t.Errorf("%q %s", j.stdout, j.stderr)
			}
		})
	}
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		j := push("echo ran")
		j.inputs["shell"] = "cmd"
		newGitHub(t).run(j)
		if j.stdout != "" || !j.failed {
			t.Errorf("%q %v", j.stdout, j.failed)
		}
		j.lines(t, 1)
	})
}

// A pull request is compared with the last good run of its base branch, and changes nothing that
// others are compared with.
func TestBaseline(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	if j := g.run(push("sleep 0.1; echo done")); strings.Contains(j.summary, "Since") || len(j.saved) != 1 {
		t.Fatalf("the first run: %q %s", j.saved, j.summary)
	}
	if j := g.run(push("sleep 0.1; false")); len(j.saved) != 0 {
		t.Errorf("a failed run is saved: %q", j.saved)
	}
	j := g.run(pull("sleep 4; echo done"))
	if !regexp.MustCompile(`(?s)### Since the last good run\n.*slower.*sleep 4`).MatchString(j.summary) || len(j.saved) != 0 {
		t.Errorf("a pull request: %q %s", j.saved, j.summary)
	}
	for _, event := range []string{"pull_request_target", "workflow_run", "schedule"} {
		j := pull("true")
		if j.event = event; len(g.run(j).saved) != 0 {
			t.Errorf("%s saves %q", event, j.saved)
		}
	}
	other := push("sleep 4")
	other.ref = "topic" // has no run of its own: the default branch
	if g.run(other); !strings.Contains(other.summary, "slower") || !slices.Equal(keys(g.caches["main"]), keys(g.caches["main"])[:1]) {
		t.Errorf("a new branch: %s, caches of main %q", other.summary, keys(g.caches["main"]))
	}
	tag := push("true")
	if tag.ref = "refs/tags/v1"; len(g.run(tag).saved) != 0 {
		t.Errorf("a tag saves %q", tag.saved)
	}
	off := push("sleep 4")
	off.inputs["baseline"] = "false"
	if g.run(off); strings.Contains(off.summary, "Since") || len(off.saved) != 0 {
		t.Errorf("baseline: false: %q %s", off.saved, off.summary)
	}
	// A damaged log of the base branch.
	for k := range g.caches["main"] {
		g.caches["main"][k] = []byte("no log")
	}
	if j := g.run(pull("echo fine")); j.failed || j.stdout != "fine\n" || strings.Contains(j.summary, "Since") {
		t.Errorf("with a damaged log: %+v", j)
	}
}

func keys(m map[string][]byte) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	return list
}

// Names of branches and steps are data everywhere. With POSIXTRACE_FULL each place has each name alone.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"$(touch pwned)", "`touch pwned`", `"; touch pwned; "`, "'; touch pwned; '", "a\ntouch pwned\n", "a\noutput=x", "--help", "-rf", "..", ".", "/",
		"../../pwned", "a,b", "a b", "*", "${{ github.token }}", "::set-output name=x::y", "%0Atouch pwned", "é\u202e", "\xff\xfe", strings.Repeat("x", 300), "\x1b[2J"} {
		jobs := []*job{{event: "push", ref: name, base: name, inputs: map[string]string{"run": "echo ran", "name": name}, matrix: 2}}
		if os.Getenv("POSIXTRACE_FULL") != "" {
			jobs = append(jobs, &job{event: "push", ref: name, inputs: map[string]string{"run": "echo ran"}},
				&job{event: "pull_request", ref: "1/merge", base: name, inputs: map[string]string{"run": "echo ran"}},
				&job{event: "push", ref: "main", inputs: map[string]string{"run": "echo ran", "name": name}, matrix: 2})
		}
		t.Run(fmt.Sprintf("%.20q", name), func(t *testing.T) {
			t.Parallel()
			g := newGitHub(t)
			for _, j := range jobs {
				g.run(j)
				if j.failed || j.stdout != "ran\n" || j.stderr != "" || len(j.artifacts) != 1 || (len(j.saved) == 1) != (j.event == "push") {
					t.Errorf("%+v", j)
				}
				for _, k := range j.saved {
					if !regexp.MustCompile(`^posixtrace-1-[0-9a-f]{32}-[0-9a-f]{32}-[0-9]+-1$`).MatchString(k) {
						t.Errorf("key %q", k)
					}
				}
				for n, files := range j.artifacts {
					if !regexp.MustCompile(`^trace-[A-Za-z0-9_.-]{1,100}$`).MatchString(n) || files["report.html"] == "" {
						t.Errorf("artefact %q", n)
					}
				}
				filepath.WalkDir(j.dir, func(path string, _ os.DirEntry, err error) error {
					if filepath.Base(path) == "pwned" {
						t.Errorf("%s exists", path)
					}
					return nil
				})
				if rel, err := filepath.Rel(filepath.Join(j.dir, "_temp", "posixtrace"), j.directory); err != nil || strings.Contains(rel, "/") || rel == ".." || rel == "." {
					t.Errorf("directory %q", j.directory)
				}
			}
		})
	}
}

// Values that others choose reach scripts in variables only, no step asks for a token, and no step
// has rights of its own.
func TestActionIsSafe(t *testing.T) {
	for _, s := range readAction(t).Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %q: an expression in run: %s", s.Name, s.Run)
		}
		if s.Run != "" && s.ID != "run" && !s.ContinueOnError || s.Uses != "" && !s.ContinueOnError {
			t.Errorf("step %q can fail the job", s.Name)
		}
		if s.Uses != "" && !strings.HasPrefix(s.Uses, "actions/") {
			t.Errorf("uses: %s", s.Uses)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`github\.token|secrets\.|GITHUB_TOKEN|head_ref|github\.event\.(pull_request|head_commit|issue)`).Find(text); m != nil {
		t.Errorf("action.yml has %s", m)
	}
}

// Whatever is missing takes one line, and not the step.
func TestNothingToRecordWith(t *testing.T) {
	t.Parallel()
	bare := without(t, "ptrace-*", "go", "gofmt")
	run := func(t *testing.T, j *job, want string) {
		t.Helper()
		newGitHub(t).run(j)
		if j.stdout != "ran\n" || j.failed {
			t.Errorf("%q, failed %v: %s", j.stdout, j.failed, j.stderr)
		}
		j.lines(t, 1)
		if !strings.Contains(j.stderr, want) {
			t.Errorf("%q has no %q", j.stderr, want)
		}
	}
	t.Run("no commands", func(t *testing.T) {
		t.Parallel()
		j := push("echo ran")
		j.env = []string{"PATH=" + bare}
		run(t, j, "posixtrace: nothing will be recorded: ptrace-run and go: not found in PATH")
		if len(j.artifacts["trace-build"]) != 0 || len(j.saved) != 0 || j.summary != "" {
			t.Errorf("%+v", j)
		}
	})
	t.Run("no trace directory", func(t *testing.T) {
		t.Parallel()
		j := push("echo ran")
		j.env = []string{"PTRACE_DIR=/nonexistent/x"}
		run(t, j, "record: runs bash without recording it: ptrace-run: ")
	})
	t.Run("go fails", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		program(t, filepath.Join(dir, "go"), strings.NewReader("#!/bin/sh\necho x >&2; echo go: broken >&2; exit 1\n"), "755")
		j := push("echo ran")
		j.env = []string{"PATH=" + dir + ":" + bare}
		run(t, j, "nothing will be recorded: go build: go: broken")
	})
	t.Run("no summary", func(t *testing.T) {
		t.Parallel()
		j := push("echo ran")
		j.without = []string{"GITHUB_STEP_SUMMARY"}
		run(t, j, "the summary of the step cannot be written")
	})
	t.Run("no log", func(t *testing.T) {
		t.Parallel()
		j := push(`rm -f "$RUNNER_TEMP"/posixtrace/build/build.trace; echo ran`)
		run(t, j, "ptrace-run: no report: ")
	})
	t.Run("bad version", func(t *testing.T) {
		t.Parallel()
		j := push("echo ran")
		j.env = []string{"PATH=" + bare}
		j.inputs["version"] = "../1;x"
		run(t, j, "nothing will be recorded: POSIXTRACE_VERSION is no version")
	})
	t.Run("no temporary directory", func(t *testing.T) {
		t.Parallel()
		j := push("echo ran")
		j.before = func(step, temp string) {
			if step == "run" {
				dir := filepath.Join(temp, "posixtrace", "build")
				os.RemoveAll(dir)
				os.WriteFile(dir, nil, 0o644)
			}
		}
		run(t, j, "record: runs bash without recording it: mkdir: ")
	})
}

// A release is downloaded if its checksum is right.
func TestRelease(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("ptrace-run")
	if err != nil {
		t.Fatal(err)
	}
	releases := t.TempDir()
	dir := filepath.Join(releases, "v1.2.3")
	for _, script := range []string{
		`mkdir -p v1.2.3/posixtrace-1.2.3-linux-amd64/bin v1.2.3/posixtrace-1.2.3-linux-amd64/lib`,
		// A command may be a link to a file beside bin.
		`cd v1.2.3/posixtrace-1.2.3-linux-amd64 && for c in run dump diff event; do cp "$(dirname "$0")/ptrace-$c" lib/ && ln -s ../lib/ptrace-$c bin/; done`,
		`cd v1.2.3 && tar -cf - posixtrace-1.2.3-linux-amd64 | gzip -1 >posixtrace-1.2.3-linux-amd64.tar.gz && ln posixtrace-1.2.3-linux-amd64.tar.gz posixtrace-1.2.3-linux-arm64.tar.gz && sha256sum *.gz >SHA256SUMS`,
	} {
		cmd := exec.Command("sh", "-c", script, tool)
		cmd.Dir = releases
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	bare := without(t, "ptrace-*", "go", "gofmt")
	run := func(sum string) *job {
		j := push("echo ran")
		j.env = []string{"PATH=" + bare, "POSIXTRACE_RELEASES=file://" + releases}
		j.inputs["version"], j.inputs["sha256"] = "v1.2.3", sum
		newGitHub(t).run(j)
		if j.stdout != "ran\n" || j.failed {
			t.Errorf("%+v", j)
		}
		return j
	}
	j := run("")
	j.lines(t, 0)
	if j.artifacts["trace-build"]["report.html"] == "" {
		t.Errorf("%+v", j)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.Repeat("0", 64)
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAll(sums, []byte(bad)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, sum := range []string{"", bad} {
		j := run(sum)
		j.lines(t, 1)
		if !strings.Contains(j.stderr, "the checksum of posixtrace-1.2.3-linux-") || len(j.artifacts["trace-build"]) != 0 {
			t.Errorf("with a wrong checksum: %+v", j)
		}
	}
	if j := run(regexp.MustCompile(`(?m)^([0-9a-f]{64}) .*` + runtime.GOARCH).FindStringSubmatch(string(sums))[1]); j.stderr != "" {
		t.Errorf("with the right checksum: %s", j.stderr)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if j := run(""); !strings.Contains(j.stderr, "cannot download") {
		t.Errorf("without a release: %s", j.stderr)
	}
}

// Go builds the commands from the action's sources.
func TestBuilt(t *testing.T) {
	t.Parallel()
	j := push("command -v ptrace-event >/dev/null && echo ran")
	j.env = []string{"PATH=" + without(t, "ptrace-*")}
	newGitHub(t).run(j)
	if j.stdout != "ran\n" || j.stderr != "" || j.artifacts["trace-build"]["report.html"] == "" {
		t.Errorf("%+v", j)
	}
}

// No secret reaches an artefact, a summary or a cache. The output is unchanged.
func TestSecrets(t *testing.T) {
	t.Parallel()
	secrets := []string{"hunter2-hunter2", `back\slash\Eend`, `trailing\`, `\\E\Q.*`, "regular (.*[expr", "deux\nlines of it", strings.Repeat("long0123456789", 300), strings.Repeat("0123456789", 100) + "z", "ünï-cödé"}
	token := "ghp_" + strings.Repeat("aB3", 12)
	j := push(`set -- "$ONE" "$TOKEN"; printf '%s\n' "$@"; /bin/echo "$ONE" "$TOKEN"; sh -c 'exit 0' "$ONE"; echo bzzz-zzzb`)
	all := strings.Join(secrets, "\n")
	j.inputs["secrets"] = all + "\n\n  \nab\nc3\r\n"
	j.env = []string{"ONE=" + all, "TOKEN=" + token}
	g := newGitHub(t)
	g.run(j)
	if want := all + "\n" + token + "\n" + all + " " + token + "\nbzzz-zzzb\n"; j.stdout != want || j.failed {
		t.Errorf("%q, want %q", j.stdout, want)
	}
	// Short ones would be found everywhere. The message has their number alone.
	if !regexp.MustCompile(`^record: secrets shorter than 4 bytes are not redacted: 2\nptrace-run: [0-9]+ matches redacted\n$`).MatchString(j.stderr) {
		t.Errorf("stderr %q", j.stderr)
	}
	texts := map[string]string{"summary": j.summary}
	for _, files := range j.artifacts {
		for name, text := range files {
			texts[name] = text
		}
	}
	for _, m := range g.caches {
		for k, text := range m {
			texts[k] = string(text)
		}
	}
	if len(texts) < 5 {
		t.Fatal("few texts")
	}
	for name, text := range texts {
		for _, s := range append(strings.Split(all, "\n"), token) {
			for _, part := range []string{s, s[max(0, len(s)-9):], strings.ReplaceAll(s, `\`, `\\`)} {
				if strings.Contains(text, part) {
					t.Errorf("%s has %.40q", name, part)
				}
			}
		}
		// No part of a secret is so short that it is found everywhere.
		if name == "build.trace" && !strings.Contains(text, "bzzz-zzzb") {
			t.Errorf("%s has no bzzz-zzzb", name)
		}
		if name != "summary" && !strings.Contains(text, "***") && strings.HasSuffix(name, "l") {
			t.Errorf("%s has no ***", name)
		}
	}
	// A pull request of a fork has no secrets.
	j = pull("echo ran; printenv | grep -c SECRETS")
	j.inputs["secrets"] = "\n"
	if newGitHub(t).run(j); j.stdout != "ran\n0\n" {
		t.Errorf("without secrets: %+v", j)
	}
}

// The summary of a step is at most 1 MiB, or GitHub drops it; the log ends at its limit.
func TestLarge(t *testing.T) {
	t.Parallel()
	many := `eval "$(ptrace-event --shell)"; x=$(printf '%0300d' 0); for i in $(seq 4000); do pt "a$x.$i.begin"; pt "a$x.$i.end"; done`
	g := newGitHub(t)
	if j := g.run(push(many)); len(j.summary) > 1<<20 || len(j.summary) < 1000 {
		t.Errorf("%d bytes of summary", len(j.summary))
	}
	j := g.run(pull(strings.ReplaceAll(many, "a$x", "b$x")))
	if len(j.summary) > 1<<20 || !strings.Contains(j.summary, "Since the last good run") {
		t.Errorf("%d bytes of summary and comparison", len(j.summary))
	}
	j = push("seq 200000 | tail -n 100001 | tee /dev/stderr | md5sum; seq 1000000 | md5sum")
	j.inputs["log-size"] = "1M"
	newGitHub(t).run(j)
	if n := len(j.artifacts["trace-build"]["build.trace"]); n > 1<<20+1<<16 || n < 1<<19 || j.failed || !strings.HasPrefix(j.stderr, "100000\n") {
		t.Errorf("a log of %d bytes, %.200q", n, j.stderr)
	}
	if !strings.Contains(j.summary, "####") {
		t.Errorf("no summary of a full log: %s", j.summary)
	}
}

// A step that is cancelled has a report, too: its log is complete if ptrace-run lives on, and ends
// somewhere if it does not.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]string{"the step alone": `"$step"`, "all of it": `"$step" $PPID $$`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := push(`echo ran; step=$(ps -o ppid= -p $PPID); until grep -q ran "$RUNNER_TEMP/posixtrace/build/build.trace"; do sleep 0.05; done; kill -9 ` + kill)
			newGitHub(t).run(j)
			if !j.failed || j.stdout != "ran\n" || !strings.Contains(j.summary, "####") || j.artifacts["trace-build"]["report.html"] == "" || len(j.saved) != 0 {
				t.Errorf("failed %v, %q, %s", j.failed, j.stderr, j.summary)
			}
		})
	}
}

// Where caches, artefacts and the temporary directory refuse, the step runs, with its rights alone.
func TestWithoutPermissions(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("needs root: run it with sudo")
	}
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprintf("closed %v", closed), func(t *testing.T) {
			t.Parallel()
			g := newGitHub(t)
			g.refuses = true
			j := push(`echo $(id -u); touch "$RUNNER_TEMP/x" 2>/dev/null || echo closed`)
			j.user = 65534
			j.env = []string{"PATH=" + readable(t) + ":/usr/bin:/bin"}
			want, lines := "65534\n", 0
			if closed {
				j.before = func(_, temp string) { os.Chown(temp, 0, 0) }
				want, lines = want+"closed\n", 1
			}
			g.run(j)
			if j.stdout != want || j.failed || len(j.artifacts)+len(j.saved) != 0 {
				t.Errorf("%+v", j)
			}
			j.lines(t, lines)
			if (j.summary == "") != closed {
				t.Errorf("summary %q", j.summary)
			}
		})
	}
}

// readable returns a directory of the commands that other users can read.
func readable(t *testing.T) string {
	t.Helper()
	from, err := exec.LookPath("ptrace-run")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "posixtrace-action-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if out, err := exec.Command("sh", "-c", `cp "$(dirname "$1")"/ptrace-* "$2" && chmod -R a+rX "$2"`, "sh", from, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return dir
}
