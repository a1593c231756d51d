package ci

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// template is what GitLab's runner reads of a job.
type template struct {
	Variables    map[string]string
	BeforeScript []string `yaml:"before_script"`
	AfterScript  []string `yaml:"after_script"`
	Script       []string
	Extends      string
	Cache        struct {
		Key      string
		Fallback []string `yaml:"fallback_keys"`
		Paths    []string
	}
	Artifacts struct {
		Paths   []string
		Reports struct{ JUnit string }
	}
}

// A gitlab runs jobs in one working directory, whose cache is left in place.
type gitlab struct {
	t    *testing.T
	dir  string
	env  []string
	jobs map[string]template
}

func newGitLab(t *testing.T) *gitlab {
	g := &gitlab{t: t, jobs: map[string]template{}, dir: t.TempDir()}
	readYAML(t, "examples/ci/gitlab.yml", &g.jobs)
	var example struct {
		Build   template
		Include []map[string]string
	}
	readYAML(t, "examples/ci/gitlab-ci.yml", &example)
	if example.Build.Extends != ".ptrace" || len(g.jobs) != 1 || !strings.HasSuffix(example.Include[0]["remote"], "/examples/ci/gitlab.yml") {
		t.Fatalf("%+v", example)
	}
	g.jobs["build"] = example.Build
	traces, err := os.MkdirTemp("/dev/shm", "posixtrace-action-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(traces) })
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	g.env = []string{"HOME=" + g.dir, "PATH=" + os.Getenv("PATH"), "CI=true", "PTRACE_DIR=" + traces, "CI_PROJECT_DIR=" + g.dir, "RUNNER_TEMP_PROJECT_DIR=" + g.dir + ".tmp",
		"POSIXTRACE_CI=" + filepath.Join(root, "examples", "ci"), "TMPDIR=" + t.TempDir()}
	return g
}

// run runs a job with these lines as its script, by this shell, as the runner does: before_script
// and script in one shell that ends at the first failure, then after_script in another.
func (g *gitlab) run(shell string, script []string, env ...string) (out, errs, after string, err error) {
	j := g.jobs[".ptrace"]
	vars := append([]string{}, g.env...)
	for k, v := range j.Variables {
		vars = append(vars, k+"="+v)
	}
	vars = append(vars, env...)
	run := func(lines []string) (string, string, error) {
		cmd := exec.Command(shell)
		cmd.Stdin = strings.NewReader("set -e\n" + strings.Join(lines, "\n") + "\nexit 0\n")
		cmd.Dir, cmd.Env = g.dir, vars
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		err := cmd.Run()
		return o.String(), e.String(), err
	}
	out, errs, err = run(append(append([]string{}, j.BeforeScript...), script...))
	after, _, e := run(j.AfterScript)
	if e != nil {
		g.t.Errorf("after_script: %v", e)
	}
	return out, errs, after, err
}

func TestGitLab(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"sh", "bash", "dash"} {
		t.Run(shell, func(t *testing.T) { t.Parallel(); testGitLab(t, shell) })
	}
}

func testGitLab(t *testing.T, shell string) {
	g := newGitLab(t)
	j := g.jobs[".ptrace"]
	if err := os.WriteFile(filepath.Join(g.dir, "Makefile"), []byte("all:\n\t@sleep 0.1; echo made\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, errs, after, err := g.run(shell, g.jobs["build"].Script)
	if out != "made\n" || errs != "" || err != nil || !strings.Contains(after, "slowest") {
		t.Errorf("%s: %q %q %q %v", shell, out, errs, after, err)
	}
	for _, path := range append(append(j.Artifacts.Paths, j.Artifacts.Reports.JUnit), j.Cache.Paths...) {
		if st, err := os.Stat(filepath.Join(g.dir, path)); err != nil || st.Size() == 0 {
			t.Error(path, err)
		}
	}
	// Slower than the last good run, whose log the cache has.
	_, _, after, err = g.run(shell, []string{"record sh -c 'sleep 4; make'"})
	if !strings.Contains(after, "slower") || err != nil {
		t.Errorf("%s: %q %v", shell, after, err)
	}
	good, err := os.ReadFile(filepath.Join(g.dir, j.Cache.Paths[0]))
	if err != nil {
		t.Fatal(err)
	}
	_, errs, _, err = g.run(shell, []string{"record sh -c 'exit 3'", "echo not reached"})
	if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 3 || errs != "" {
		t.Errorf("%s: %v %q", shell, err, errs)
	}
	if now, _ := os.ReadFile(filepath.Join(g.dir, j.Cache.Paths[0])); !bytes.Equal(now, good) {
		t.Error("a failed job became the last good run")
	}
	// Without commands, scripts or a trace directory, each takes one line.
	for _, env := range [][]string{
		{"PATH=" + without(t, "ptrace-*", "go", "gofmt")},
		{"POSIXTRACE_CI=", "PATH=" + without(t, "go", "gofmt")},
		{"POSIXTRACE_CI=", "GOPROXY=off", "GOFLAGS=-modcacherw", "GOPATH=" + t.TempDir()},
		{"PTRACE_DIR=/nonexistent/x"},
	} {
		out, errs, _, err := g.run(shell, []string{"record echo ran"}, env...)
		if out != "ran\n" || err != nil || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s, %.60q: %q %q %v", shell, env, out, errs, err)
		}
	}
}

// The shell commands in the template and in action.yml are sound, in each shell that a job may have.
func TestShellCheck(t *testing.T) {
	t.Parallel()
	check := func(shell, script string) {
		t.Helper()
		cmd := exec.Command("shellcheck", "-s", shell, "-")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	j := newGitLab(t).jobs[".ptrace"]
	for _, shell := range []string{"sh", "dash", "bash"} {
		check(shell, strings.Join(j.BeforeScript, "\n")+"\n")
		check(shell, strings.Join(j.AfterScript, "\n")+"\n")
	}
	for _, s := range readAction(t).Runs.Steps {
		if s.Run != "" {
			check("bash", s.Run)
		}
	}
}

// Where posixtrace is installed, a job needs no network and no Go.
func TestGitLabInstalled(t *testing.T) {
	g := newGitLab(t)
	prefix := filepath.Join(t.TempDir(), "usr")
	if err := errors.Join(os.MkdirAll(filepath.Join(prefix, "bin"), 0o755), os.MkdirAll(filepath.Join(prefix, "share", "posixtrace", "ci"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ptrace-run", "ptrace-dump", "ptrace-diff", "ptrace-event"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(prefix, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	ci := filepath.Join(prefix, "share", "posixtrace", "ci")
	for _, name := range []string{"record", "report", "setup"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "ci", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(ci, name), text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	bare := without(t, "ptrace-*", "go", "gofmt")
	for _, shell := range []string{"sh", "bash", "dash"} {
		for _, env := range [][]string{
			{"POSIXTRACE_CI=", "PATH=" + filepath.Join(prefix, "bin") + ":" + bare}, // found by the commands
			{"POSIXTRACE_CI=" + ci, "PATH=" + bare},                                 // finds the commands
		} {
			if err := os.RemoveAll(filepath.Join(g.dir, "trace")); err != nil {
				t.Fatal(err)
			}
			out, errs, after, err := g.run(shell, []string{"record echo ran"}, env...)
			if out != "ran\n" || errs != "" || err != nil || !strings.Contains(after, "ran") {
				t.Errorf("%s, %.60q: %q %q %q %v", shell, env, out, errs, after, err)
			}
			if st, err := os.Stat(filepath.Join(g.dir, "trace", "report.html")); err != nil || st.Size() == 0 {
				t.Error(err)
			}
		}
	}
}

// Names of branches and jobs come in variables that the shell never reads again, and tokens and
// secrets reach no report.
func TestGitLabHostile(t *testing.T) {
	t.Parallel()
	g := newGitLab(t)
	token := "glpat-" + strings.Repeat("x1Y", 7)
	for _, name := range []string{"$(touch pwned)", "`touch pwned`", `"; touch pwned; "`, "a\ntouch pwned", "--help"} {
		out, errs, _, err := g.run("bash", []string{`record sh -c 'echo "$TOKEN" "$CI_COMMIT_REF_NAME"; echo hunter2-hunter2'`}, "CI_COMMIT_REF_NAME="+name, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME="+name,
			"CI_JOB_NAME="+name, "CI_DEFAULT_BRANCH="+name, "TOKEN="+token, "POSIXTRACE_SECRETS=hunter2-hunter2")
		if out != token+" "+name+"\nhunter2-hunter2\n" || err != nil || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: %q %q %v", name, out, errs, err)
		}
		if _, err := os.Stat(filepath.Join(g.dir, "pwned")); err == nil {
			t.Fatalf("%q was run", name)
		}
		files, _ := filepath.Glob(filepath.Join(g.dir, "trace", "*"))
		if len(files) < 5 {
			t.Fatal(files)
		}
		for _, f := range files {
			if data, err := os.ReadFile(f); err != nil || strings.Contains(string(data), token) || strings.Contains(string(data), "hunter2-hunter2") {
				t.Errorf("%s has a secret, or %v", f, err)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "ci", "gitlab.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`CI_JOB_TOKEN|CI_COMMIT_(REF_NAME|BRANCH|MESSAGE|TITLE)|eval`).Find(text); m != nil {
		t.Errorf("gitlab.yml has %s", m)
	}
}
