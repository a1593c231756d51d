package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// scripts/package and scripts/package.d/notes refuse what is no release before they build anything, with one
// line. scripts/package --check tries the rest.
func TestPackageRefuses(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	if err := os.MkdirAll(filepath.Join(tree, "scripts", "package.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package", "package.d/notes"} {
		text, err := os.ReadFile(filepath.Join(root, "scripts", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, "scripts", name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const changes = "# Changelog\n\n## Unreleased\n\n- new\n\n## 1.2.3\n\n### Commands\n\n- less old\n\n## 1.2.30\n\n- other\n\n## 1.0.0\n\n## 0.9.0\n\n- old\n"
	if err := os.WriteFile(filepath.Join(tree, "CHANGELOG.md"), []byte(changes), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = tree
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES="+dir)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	refused := func(want string, status int, args ...string) {
		t.Helper()
		if out, got := run(args[0], args[1:]...); out != want+"\n" || got != status {
			t.Errorf("%q: status %d, %q; want %d, %q", args, got, out, status, want)
		}
	}
	git := func(args ...string) {
		t.Helper()
		if out, status := run("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@localhost"}, args...)...); status != 0 {
			t.Fatalf("git %q: %s", args, out)
		}
	}
	out := filepath.Join(dir, "out")
	refused("package: the time of the commit is needed, and git does not know it", 1, "scripts/package", out)
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "all")
	for _, tag := range []string{"v1.2.3", "v1.2.4", "v1.0.0", "v1.3.0-rc.1", "1.2.3"} {
		git("tag", tag)
	}

	for _, tag := range []string{"1.2.3", "v1.2", "v1.2.3.4", "v01.2.3", "v1.2.3-", "v1.2.3-rc.0", "v1.2.3-rc1", "v1.2.3-beta.1", "v1.2.3+x", "v1.2.3\nv1.2.3", "../v1.2.3", "v1.2.3;id", " v1.2.3"} {
		refused("package: "+tag+": no version: vX.Y.Z or vX.Y.Z-rc.N is needed", 2, "scripts/package", "--tag="+tag, out)
		refused("notes: "+tag+": no version: vX.Y.Z or vX.Y.Z-rc.N is needed", 2, "scripts/package.d/notes", tag)
	}
	refused("package: --tag: no version: vX.Y.Z or vX.Y.Z-rc.N is needed", 2, "scripts/package", "--tag=", out)
	refused("package: v1.2.5: no tag of this commit", 1, "scripts/package", "--tag=v1.2.5", out)
	refused("notes: CHANGELOG.md has no section ## 1.2.4", 1, "scripts/package", "--tag=v1.2.4", out)
	refused("notes: CHANGELOG.md has no section ## 1.0.0", 1, "scripts/package", "--tag=v1.0.0", out) // an empty one
	refused("package: --key: nowhere/key: cannot be read", 1, "scripts/package", "--tag=v1.2.3", "--key=nowhere/key", out)
	refused("package: --only: exe: none of deb, rpm, apk, tar, readers, sbom", 2, "scripts/package", "--only=deb,exe", out)
	refused("package: --arch: m68k: none of amd64, arm64", 2, "scripts/package", "--arch=m68k", out)
	refused("package: scripts: not empty", 1, "scripts/package", "scripts")
	for _, args := range [][]string{{}, {out, out}, {"--help"}, {"-x", out}} {
		if said, status := run("scripts/package", args...); status != 2 || !strings.HasPrefix(said, "usage: scripts/package ") || strings.Count(said, "\n") != 1 {
			t.Errorf("%q: status %d, %q", args, status, said)
		}
	}
	if err := os.WriteFile(filepath.Join(tree, "new"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused("package: the working tree has changes that are not committed", 1, "scripts/package", "--tag=v1.2.3", out)
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused call has made its directory")
	}

	for tag, want := range map[string]string{"v1.2.3": "### Commands\n\n- less old\n", "v0.9.0": "- old\n", "v1.3.0-rc.1": "- new\n"} {
		if got, status := run("scripts/package.d/notes", tag); got != want || status != 0 {
			t.Errorf("notes of %s: status %d, %q, want %q", tag, status, got, want)
		}
	}
}
