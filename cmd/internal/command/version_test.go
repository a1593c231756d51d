package command

import (
	"archive/zip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	build := func(module string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: module}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	clean := debug.BuildSetting{Key: "vcs.modified", Value: "false"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, tt := range []struct {
		name, version, revision string
		info                    *debug.BuildInfo
	}{
		{"no build information", defaultVersion, "", nil},
		{"go build of an archive", defaultVersion, "", build("(devel)")},
		{"go install @v1.2.3", "1.2.3", "", build("v1.2.3")},
		{"go install @v1.2.3-rc.1", "1.2.3-rc.1", "", build("v1.2.3-rc.1")},
		{"go install @REVISION", defaultVersion, "0123456789ab", build("v0.0.0-20261120101200-0123456789ab")},
		{"go install @REVISION after a release", "1.2.4-0.20261120101200-0123456789ab", "0123456789ab", build("v1.2.4-0.20261120101200-0123456789ab")},
		{"repository, tagged", "1.2.3", "0123456789ab", build("v1.2.3", revision, clean)},
		{"repository, tagged, changed", "1.2.3", "0123456789ab, modified", build("v1.2.3+dirty", revision, dirty)},
		{"repository, no tag", defaultVersion, "0123456789ab", build("v0.0.0-20261120101200-0123456789ab", revision, clean)},
		{"repository, no tag, changed", defaultVersion, "0123456789ab, modified", build("v0.0.0-20261120101200-0123456789ab+dirty", revision, dirty)},
		{"go build -buildvcs=true of old", defaultVersion, "0123456789ab", build("(devel)", revision, clean)},
	} {
		if v, r := version(tt.info); v != tt.version || r != tt.revision {
			t.Errorf("%s: version %q, revision %q; want %q, %q", tt.name, v, r, tt.version, tt.revision)
		}
	}
}

// go install .../cmd/ptrace-event@version works, from a module proxy that has the
// module as it is here, and the command tells the version that was asked for.
func TestGoInstall(t *testing.T) {
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
	// A module cache of its own would download what ours has: that serves as a
	// proxy too.
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
