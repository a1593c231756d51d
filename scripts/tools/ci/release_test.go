package ci

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// workflow is what the runner reads of a workflow.
type workflow struct {
	Jobs map[string]struct {
		Needs any // a job or a list of jobs
		Steps []step
	}
}

// A tag becomes a release only through all jobs. The steps that make its notes, sign and publish run here
// with programs in place of the builds and of gh; scripts/package --check tries the builds.
func TestReleaseWorkflow(t *testing.T) {
	var w workflow
	readYAML(t, ".github/workflows/release.yml", &w)
	for job, needs := range map[string]any{"check": "notes", "build": "check", "publish": []any{"notes", "build"}} {
		if list, ok := needs.([]any); ok {
			if got, _ := w.Jobs[job].Needs.([]any); !slices.Equal(got, list) {
				t.Errorf("%s needs %v, want %v", job, got, needs)
			}
		} else if w.Jobs[job].Needs != needs {
			t.Errorf("%s needs %v, want %v", job, w.Jobs[job].Needs, needs)
		}
	}
	dir := t.TempDir()
	for _, d := range []string{"scripts/package.d", "bin", "temp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	notes, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", "package.d", "notes"))
	if err != nil {
		t.Fatal(err)
	}
	write("scripts/package.d/notes", string(notes))
	write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n- new\n\n## 1.2.3\n\n- old\n")
	write("scripts/package", `#!/bin/sh
[ "$1" != --check ] || { [ -s "$2/SHA256SUMS" ] && echo checked >>calls; exit; }
key=${2#--key=}
[ -r "$key" ] || { echo "package: --key: $key: cannot be read" >&2; exit 1; }
[ "$(stat -c %a "$key")" = 600 ] || exit 3
echo "$1 $3 $(cat "$key")" >>calls
mkdir "$3" && echo sums >"$3/SHA256SUMS" && echo package >"$3/p.deb"
`)
	write("bin/minisign", "#!/bin/sh\necho \"minisign $*\" >>calls\n")
	write("bin/gh", "#!/bin/sh\necho \"gh $*\" >>calls\n")

	// run runs the steps of a job that have commands we have, and returns at the first failure.
	run := func(job, tag, key string) (string, error) {
		t.Helper()
		for _, s := range w.Jobs[job].Steps {
			if s.Run == "" || strings.Contains(s.Run, "apt-get") || strings.Contains(s.Run, "git config") || strings.Contains(s.Run, ".ci/run") {
				continue
			}
			for name, value := range s.Env {
				if !slices.Contains([]string{"MINISIGN_KEY=${{ secrets.MINISIGN_KEY }}", "GH_TOKEN=${{ github.token }}", "GH_REPO=${{ github.repository }}"}, name+"="+value) {
					t.Fatalf("%s: %s=%s", job, name, value)
				}
			}
			cmd := exec.Command("bash", "-e", "-c", s.Run)
			cmd.Dir = dir
			cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "GITHUB_REF_NAME=" + tag, "RUNNER_TEMP=" + filepath.Join(dir, "temp"), "MINISIGN_KEY=" + key}
			if out, err := cmd.CombinedOutput(); err != nil {
				return string(out), err
			}
		}
		return "", nil
	}
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		return string(text)
	}

	if out, err := run("notes", "v1.2.3", ""); err == nil || !strings.Contains(out, "posixtrace.pub") {
		t.Errorf("without a public key: %q %v", out, err)
	}
	write("posixtrace.pub", "public\n")
	for _, tag := range []string{"v1.2.4", "1.2.3", "vx", "v1.2.3-beta"} {
		if out, err := run("notes", tag, ""); err == nil || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %q %v", tag, out, err)
		}
	}
	if out, err := run("build", "v1.2.3", ""); err == nil || !strings.Contains(out, "cannot be read") || read("calls") != "" {
		t.Errorf("without a secret key: %q %v, %q", out, err, read("calls"))
	}
	for tag, want := range map[string]struct{ notes, kind string }{"v1.2.3": {"- old\n", "--latest"}, "v1.3.0-rc.1": {"- new\n", "--prerelease"}} {
		for _, job := range []string{"notes", "build"} {
			if out, err := run(job, tag, "secret\nkey"); err != nil {
				t.Fatalf("%s: %s: %q %v", tag, job, out, err)
			}
		}
		if got := read("notes.md"); got != want.notes {
			t.Errorf("%s: notes %q", tag, got)
		}
		// Each artefact is downloaded into a directory of its name.
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "notes"), 0o755), os.Rename(filepath.Join(dir, "notes.md"), filepath.Join(dir, "notes", "notes.md"))); err != nil {
			t.Fatal(err)
		}
		if out, err := run("publish", tag, ""); err != nil {
			t.Fatalf("%s: publish: %q %v", tag, out, err)
		}
		calls := "--tag=" + tag + " dist secret\nkey\nminisign -V -p posixtrace.pub -m dist/SHA256SUMS\nchecked\ngh release create " + tag + " --verify-tag " + want.kind +
			" --title posixtrace " + tag[1:] + " --notes-file notes/notes.md dist/SHA256SUMS dist/p.deb\n"
		if got := read("calls"); got != calls {
			t.Errorf("%s:\n%swant\n%s", tag, got, calls)
		}
		if _, err := os.Stat(filepath.Join(dir, "temp", "key")); err == nil {
			t.Errorf("%s: the secret key is left", tag)
		}
		for _, name := range []string{"calls", "dist", "notes"} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
