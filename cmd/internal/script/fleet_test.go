package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

var fleetDir = filepath.Join("..", "..", "..", "docs", "fleet")

// fencedBlock is a block of code of a page, in a language.
var fencedBlock = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

func readFleet(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(fleetDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The queries that sql.md shows are the files beside it, which scripts/extra/parquet runs.
func TestFleetQueries(t *testing.T) {
	page, runs := readFleet(t, "sql.md"), map[string]bool{}
	for _, b := range fencedBlock.FindAllStringSubmatch(page, -1) {
		if b[1] == "sql" {
			runs[b[2]] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(fleetDir, "*.sql"))
	if err != nil || len(files) != len(runs) {
		t.Errorf("%d files of %d queries: %v", len(files), len(runs), err)
	}
	script, err := os.ReadFile(filepath.Join(fleetDir, "..", "..", "scripts", "extra", "parquet.d", "fleet.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		if !runs[readFleet(t, name)] {
			t.Errorf("sql.md does not show %s as it is", name)
		}
		if !strings.Contains(string(script), "'"+name+"'") {
			t.Errorf("fleet.mjs does not run %s", name)
		}
		if !strings.Contains(readFleet(t, "README.md"), "("+name+")") {
			t.Errorf("README.md does not list %s", name)
		}
	}
}

// The commands of README.md work one after the other, with a job of three months ago beside.
func TestFleetPage(t *testing.T) {
	tracetest.NeedProgram(t, "zstd")
	dir, env, _ := recordAll(t)
	script := "set -e\n"
	for _, b := range fencedBlock.FindAllStringSubmatch(readFleet(t, "README.md"), -1) {
		if b[1] == "sh" {
			script += b[2]
		}
	}
	old := "store/runs/repo=site/date=" + time.Now().UTC().AddDate(0, 0, -100).Format(time.DateOnly)
	for path, text := range map[string]string{
		"job":              readFleet(t, "job"),
		"bin/make":         "#!/bin/sh\necho made ghp_0123456789abcdefghijklmnopqrstuvwxyz password=hunter2\n",
		old + "/x.parquet": "",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(env, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	for _, want := range []string{`(?m)^made `, `(?m)^store/runs/repo=site/date=[-0-9]{10}/[0-9]{8}T[0-9]{6}Z-\S+-[0-9a-f]{32}\.parquet$`,
		`(?m)^store/raw/repo=site/date=[-0-9]{10}/4711\.trace\.zst$`, `(?m)^make: status 0 `} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "store/*/*/date=*")); len(left) != 2 {
		t.Errorf("left: %q, want the directories of today", left)
	}
	// The events and the logs lack the secrets.
	rows, _ := filepath.Glob(filepath.Join(dir, "store/runs/*/*/*.parquet"))
	logs, _ := filepath.Glob(filepath.Join(dir, "*.trace"))
	for _, path := range append(rows, logs...) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "ghp_0123") || strings.HasSuffix(path, "/job.trace") && strings.Contains(string(b), "hunter2") {
			t.Errorf("%s has a secret", path)
		}
	}

	// The status is that of the command, whatever the store is.
	cmd = exec.Command("sh", "-c", "STORE=/dev/null/none JOB=5 ./job sh -c 'exit 7'; test $? = 7")
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "\n") != 2 {
		t.Errorf("%v: %s", err, out)
	}
}
