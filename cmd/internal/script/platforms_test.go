package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readers are the commands that exist on every system: they read logs. The others need streams.
var readers = []string{"ptrace-diff", "ptrace-dump", "ptrace-export", "ptrace-filter"}

// platformsScript returns the values of an array in scripts/extra/platforms.
func platformsScript(t *testing.T, array string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", "extra", "platforms"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + array + `=\(([^)]*)\)$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("scripts/extra/platforms has no array %s", array)
	}
	return strings.Fields(string(m[1]))
}

// The readers exist on each system that scripts/extra/platforms builds for, and no other command elsewhere
// than on Linux.
func TestCommandsOfPlatforms(t *testing.T) {
	if list := platformsScript(t, "readers"); !slices.Equal(list, []string{"./cmd/ptrace-dump", "./cmd/ptrace-diff", "./cmd/ptrace-export", "./cmd/ptrace-filter"}) {
		t.Errorf("scripts/extra/platforms builds %q", list)
	}
	for _, platform := range append(platformsScript(t, "often"), platformsScript(t, "rest")...) {
		system, processor, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-e", "-f", "{{if .GoFiles}}{{.ImportPath}}{{end}}", "../../ptrace-...", "../../posixtrace-agent")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", platform, err)
		}
		var got []string
		for _, path := range strings.Fields(string(out)) {
			got = append(got, path[strings.LastIndexByte(path, '/')+1:])
		}
		slices.Sort(got)
		want := slices.Clone(readers)
		if system == "linux" {
			want = []string{"posixtrace-agent"}
			for _, c := range commands {
				want = append(want, c.Name)
			}
			slices.Sort(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the commands %q, want %q", platform, got, want)
		}
	}
}

// The table of platforms names each system and processor that scripts/extra/platforms builds or tests, says
// of each what the script does, and names no other one.
func TestTableOfPlatforms(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "platforms", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", "extra", "platforms"))
	if err != nil {
		t.Fatal(err)
	}
	often, rest := platformsScript(t, "often"), platformsScript(t, "rest")
	tested := map[string]string{"linux/386": "natively", "linux/arm64": "qemu", "linux/s390x": "qemu", "windows/amd64": "wine"}
	if m := regexp.MustCompile(`(?m)^\(\(\$#\)\) \|\| platforms=\((.*)\)$`).FindSubmatch(script); m == nil || string(m[1]) != "386 arm64 s390x windows" {
		t.Errorf("scripts/extra/platforms tests %q", m)
	}
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| `+"`([a-z0-9]+/[a-z0-9]+)`"+` \|(.*)\|$`).FindAllStringSubmatch(string(text), -1) {
		rows[m[1]] = strings.Split(m[2], "|")
	}
	for _, platform := range append(append([]string{"linux/amd64", "linux/arm64"}, often...), rest...) {
		row := rows[platform]
		if len(row) != 3 {
			t.Errorf("%s has no row with what exists, where it is built and what was run: %q", platform, row)
			continue
		}
		delete(rows, platform)
		if platform == "linux/amd64" {
			continue
		}
		each := slices.Contains(often, platform) || platform == "linux/arm64"
		if strings.Contains(row[1], "each check") != each {
			t.Errorf("%s: built %q", platform, row[1])
		}
		if how := tested[platform]; how == "" && !strings.Contains(row[2], "not run") || !strings.Contains(row[2], how) {
			t.Errorf("%s: run %q, want %q", platform, row[2], how)
		}
	}
	for platform := range rows {
		t.Errorf("%s is in the table, and scripts/extra/platforms does not know it", platform)
	}
}
