package script_test

import (
	"archive/zip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// go install .../cmd/ptrace-event@version works from a module proxy that has this module,
// and the command reports the requested version.
func TestGoInstall(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	const module, v = "github.com/posixtrace/posixtrace", "v1.2.3"
	root := filepath.Join("..", "..", "..")
	proxy, bin := t.TempDir(), t.TempDir()
	at := filepath.Join(proxy, module, "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"list":      []byte(v + "\n"),
		v + ".info": []byte(`{"Version":"` + v + `"}`),
		v + ".mod":  gomod,
	} {
		if err := os.WriteFile(filepath.Join(at, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(at, v+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	add := func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		w, err := z.Create(module + "@" + v + "/" + filepath.ToSlash(name))
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}
	for _, part := range []string{"go.mod", "go.sum", "LICENSE", "cmd", "pkg"} {
		if err := filepath.WalkDir(filepath.Join(root, part), add); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	// Our module cache serves as a proxy, too: a new module cache would download the same
	// modules.
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "mod")
	cmd := exec.Command("go", "install", module+"/cmd/ptrace-event@"+v)
	cmd.Dir = bin
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOMODCACHE="+own, "GOSUMDB=off", "GOFLAGS=-modcacherw -trimpath", "GOWORK=off",
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(strings.TrimSpace(string(cache)), "cache", "download"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(bin, "ptrace-event"), "--version").CombinedOutput()
	if want := "ptrace-event (posixtrace) 1.2.3\n"; err != nil || string(out) != want {
		t.Errorf("--version: %q, %v; want %q", out, err, want)
	}
}
