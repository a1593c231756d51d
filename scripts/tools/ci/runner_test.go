// Package ci tests action.yml and examples/ci/gitlab.yml: it runs their steps as the runners of
// GitHub and GitLab do, with the files and variables that they provide. Caches and artefacts are
// directories of the test. scripts/action builds the commands and runs these tests.
package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rhysd/actionlint"
	"go.yaml.in/yaml/v3"
)

// action is what the runner reads of an action.
type action struct {
	Inputs  map[string]struct{ Default string }
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

type step struct {
	Name, ID, If, Uses, Run, Shell string
	With, Env                      map[string]string
	ContinueOnError                bool   `yaml:"continue-on-error"`
	Directory                      string `yaml:"working-directory"`
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func readAction(t *testing.T) (a action) {
	readYAML(t, "action.yml", &a)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) < 4 {
		t.Fatalf("action.yml: %+v", a.Runs)
	}
	return a
}

// A github is a repository on GitHub, with the caches of its branches.
type github struct {
	t      *testing.T
	caches map[string]map[string][]byte // of a branch: key, last.trace
	ids    int
	// Actions of GitHub fail, as they do without the permissions they need.
	refuses bool
}

// A job is one run of the action, and its results.
type job struct {
	event, ref, base string            // push or pull_request, the branch, of a pull request the base branch
	inputs           map[string]string // `with:`
	env              []string          // NAME=VALUE, added to or replacing what the runner has
	matrix           int               // jobs in the matrix, if more than one
	without          []string          // files that the runner does not provide: GITHUB_STEP_SUMMARY
	user             uint32            // runs the steps, if not 0
	before           func(step string, dir string)

	failed         bool // the step of the workflow
	stdout, stderr string
	summary        string
	artifacts      map[string]map[string]string // name, file, content
	outputs        map[string]string
	saved          []string // keys of caches
	dir            string   // the temporary directory
	directory      string   // the output
}

// scope is the branch whose caches a run writes.
func (j *job) scope() string {
	if j.event == "pull_request" {
		return "refs/pull/1/merge"
	}
	return j.ref
}

func newGitHub(t *testing.T) *github {
	return &github{t: t, caches: map[string]map[string][]byte{}}
}

func (g *github) run(j *job) *job {
	t := g.t
	t.Helper()
	a := readAction(t)
	g.ids++
	j.artifacts, j.outputs = map[string]map[string]string{}, map[string]string{}
	// Not t.TempDir, which another user cannot enter.
	dir, err := os.MkdirTemp("", "posixtrace-action-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	traces, err := os.MkdirTemp("/dev/shm", "posixtrace-action-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(traces) })
	j.dir = dir
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	temp, workspace, tmp := filepath.Join(dir, "_temp"), filepath.Join(dir, "work"), filepath.Join(dir, "tmp")
	for _, d := range []string{temp, workspace, tmp} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	total := max(j.matrix, 1)
	contexts := map[string]any{
		"github": map[string]any{"job": "build", "workflow": "check", "run_id": strconv.Itoa(g.ids), "run_attempt": "1", "event_name": j.event,
			"ref_name": j.ref, "base_ref": j.base, "ref_type": "branch", "event": map[string]any{"repository": map[string]any{"default_branch": "main"}}},
		"runner":   map[string]any{"os": "Linux", "arch": "X64"},
		"strategy": map[string]any{"job-total": total, "job-index": total - 1},
		"matrix":   map[string]any{},
		"env":      map[string]any{},
	}
	if strings.HasPrefix(j.ref, "refs/tags/") {
		contexts["github"].(map[string]any)["ref_type"] = "tag"
	}
	inputs := map[string]any{}
	for name, in := range a.Inputs {
		inputs[name] = interpolate(t, in.Default, contexts)
	}
	for name, value := range j.inputs {
		if _, ok := inputs[name]; !ok {
			t.Fatalf("action.yml has no input %s", name)
		}
		inputs[name] = value
	}
	contexts["inputs"] = inputs
	steps := map[string]any{}
	contexts["steps"] = steps

	path := append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin")
	base := []string{"HOME=" + dir, "PATH=" + strings.Join(path, ":"), "LC_ALL=C.UTF-8", "CI=true", "GITHUB_ACTIONS=true", "PTRACE_DIR=" + traces,
		"TMPDIR=" + tmp, // what a killed step leaves there is removed with it
		"RUNNER_TEMP=" + temp, "GITHUB_WORKSPACE=" + workspace, "GITHUB_ACTION_PATH=" + root, "GITHUB_REF_NAME=" + j.ref, "GITHUB_BASE_REF=" + j.base,
		"GOCACHE=" + os.Getenv("POSIXTRACE_GOCACHE"), "GOMODCACHE=" + os.Getenv("POSIXTRACE_GOMODCACHE")}
	if j.user != 0 {
		for _, d := range []string{dir, temp, workspace, tmp, traces} {
			if err := errors.Join(os.Chown(d, int(j.user), int(j.user)), os.Chmod(d, 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(traces, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range a.Runs.Steps {
		contexts["job"] = map[string]any{"status": map[bool]string{true: "failure", false: "success"}[j.failed]}
		condition := s.If
		if !strings.Contains(condition, "always()") && !strings.Contains(condition, "success()") {
			condition = "success()" + strings.Repeat(" && ("+condition+")", min(len(condition), 1))
		}
		result := map[string]any{"outputs": map[string]any{}, "outcome": "skipped", "conclusion": "skipped"}
		if s.ID != "" {
			steps[s.ID] = result
		}
		if !truth(evaluate(t, condition, contexts)) {
			continue
		}
		outcome := "success"
		if s.Uses != "" {
			with := map[string]string{}
			for k, v := range s.With {
				with[k] = interpolate(t, v, contexts)
			}
			if g.refuses {
				outcome = "failure"
			} else {
				g.uses(j, s.Uses, with)
			}
		} else {
			files := map[string]string{}
			env := slices.Clone(base)
			for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE"} {
				files[name] = filepath.Join(temp, fmt.Sprintf("%s-%d", name, i))
				if slices.Contains(j.without, name) {
					files[name] = filepath.Join(temp, "missing", name)
				} else if err := errors.Join(os.WriteFile(files[name], nil, 0o644), os.Chown(files[name], int(j.user), int(j.user))); err != nil {
					t.Fatal(err)
				}
				env = append(env, name+"="+files[name])
			}
			for k, v := range s.Env {
				env = append(env, k+"="+interpolate(t, v, contexts))
			}
			env = append(env, j.env...)
			if s.Shell != "bash" {
				t.Fatalf("shell %q", s.Shell)
			}
			script := filepath.Join(temp, fmt.Sprintf("step-%d.sh", i))
			if err := os.WriteFile(script, []byte(interpolate(t, s.Run, contexts)), 0o755); err != nil {
				t.Fatal(err)
			}
			if j.before != nil {
				j.before(s.ID, temp)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
			cmd.Dir, cmd.Env = filepath.Join(workspace, interpolate(t, s.Directory, contexts)), env
			asUser(cmd, j.user)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			err := cmd.Run()
			cancel()
			if err != nil {
				outcome = "failure"
			}
			if s.ID == "run" {
				j.stdout = out.String()
			} else if out.Len() > 0 {
				t.Errorf("step %q prints %q", s.Name, out.String())
			}
			j.stderr += errs.String()
			summary, _ := os.ReadFile(files["GITHUB_STEP_SUMMARY"])
			j.summary += string(summary)
			outputs, _ := os.ReadFile(files["GITHUB_OUTPUT"])
			for line := range strings.Lines(string(outputs)) {
				k, v, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
				if !ok {
					t.Errorf("step %q: output %q", s.Name, line)
				}
				result["outputs"].(map[string]any)[k] = v
			}
		}
		result["outcome"], result["conclusion"] = outcome, outcome
		if outcome == "failure" && !s.ContinueOnError {
			j.failed = true
		}
	}
	for name, out := range a.Outputs {
		j.outputs[name] = interpolate(t, out.Value, contexts)
	}
	j.directory = j.outputs["directory"]
	return j
}

// uses does what the actions of caches and artefacts do.
func (g *github) uses(j *job, uses string, with map[string]string) {
	g.t.Helper()
	key := with["key"]
	switch name, _, _ := strings.Cut(uses, "@"); name {
	case "actions/cache/restore":
		scopes := []string{j.scope(), j.base, "main"}
		for _, prefix := range append([]string{key}, strings.Fields(with["restore-keys"])...) {
			for _, scope := range scopes {
				found := slices.Sorted(maps.Keys(g.caches[scope]))
				for _, k := range slices.Backward(found) {
					if strings.HasPrefix(k, prefix) {
						if err := os.WriteFile(with["path"], g.caches[scope][k], 0o644); err != nil {
							g.t.Fatal(err)
						}
						return
					}
				}
			}
		}
	case "actions/cache/save":
		if len(key) > 512 || strings.Contains(key, ",") {
			g.t.Errorf("key %q", key)
		}
		data, err := os.ReadFile(with["path"])
		if err != nil {
			return // a warning
		}
		if g.caches[j.scope()] == nil {
			g.caches[j.scope()] = map[string][]byte{}
		}
		g.caches[j.scope()][key] = data
		j.saved = append(j.saved, key)
	case "actions/upload-artifact":
		if strings.ContainsAny(with["name"], "\r\n\":<>|*?\\/") || with["name"] == "" {
			g.t.Errorf("name of an artefact: %q", with["name"])
		}
		files := map[string]string{}
		for _, path := range strings.Fields(with["path"]) {
			if data, err := os.ReadFile(path); err == nil {
				files[filepath.Base(path)] = string(data)
			}
		}
		j.artifacts[with["name"]] = files
	default:
		g.t.Errorf("uses: %s", uses)
	}
}

// interpolate replaces ${{ }}.
func interpolate(t *testing.T, s string, contexts map[string]any) string {
	t.Helper()
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		lexer := actionlint.NewExprLexer(rest)
		node, err := actionlint.NewExprParser().Parse(lexer)
		if err != nil {
			t.Fatalf("%q: %v", rest, err)
		}
		b.WriteString(text(value(t, node, contexts)))
		s = rest[lexer.Offset():]
	}
}

func evaluate(t *testing.T, expression string, contexts map[string]any) any {
	t.Helper()
	node, err := actionlint.NewExprParser().Parse(actionlint.NewExprLexer(expression + "}}"))
	if err != nil {
		t.Fatalf("%q: %v", expression, err)
	}
	return value(t, node, contexts)
}

func value(t *testing.T, node actionlint.ExprNode, contexts map[string]any) any {
	t.Helper()
	get := func(n actionlint.ExprNode) any { return value(t, n, contexts) }
	switch n := node.(type) {
	case *actionlint.StringNode:
		return n.Value
	case *actionlint.IntNode:
		return n.Value
	case *actionlint.BoolNode:
		return n.Value
	case *actionlint.VariableNode:
		v, ok := contexts[n.Name]
		if !ok {
			t.Fatalf("an action has no context %s", n.Name)
		}
		return v
	case *actionlint.ObjectDerefNode:
		m, _ := get(n.Receiver).(map[string]any)
		return m[n.Property]
	case *actionlint.NotOpNode:
		return !truth(get(n.Operand))
	case *actionlint.LogicalOpNode:
		left := get(n.Left)
		if truth(left) == (n.Kind.String() == "&&") {
			return get(n.Right)
		}
		return left
	case *actionlint.CompareOpNode:
		left, right := text(get(n.Left)), text(get(n.Right))
		switch n.Kind.String() {
		case "==":
			return strings.EqualFold(left, right)
		case "!=":
			return !strings.EqualFold(left, right)
		case ">":
			a, _ := strconv.Atoi(left)
			b, _ := strconv.Atoi(right)
			return a > b
		}
		t.Fatalf("operator %s", n.Kind)
	case *actionlint.FuncCallNode:
		switch n.Callee {
		case "always":
			return true
		case "success":
			return contexts["job"].(map[string]any)["status"] == "success"
		case "format":
			s := text(get(n.Args[0]))
			for i, a := range n.Args[1:] {
				s = strings.ReplaceAll(s, fmt.Sprintf("{%d}", i), text(get(a)))
			}
			return s
		}
		t.Fatalf("function %s", n.Callee)
	}
	t.Fatalf("expression %T", node)
	return nil
}

func truth(v any) bool { return v != nil && v != false && v != "" && v != 0 }

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
