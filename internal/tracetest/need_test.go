package tracetest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a testing.TB that records a failure or a skip and does neither.
type recorder struct {
	testing.TB
	says string
}

func (t *recorder) Helper() {}

func (t *recorder) Fatalf(format string, args ...any) {
	t.says = "fail: " + fmt.Sprintf(format, args...)
}

func (t *recorder) Skipf(format string, args ...any) {
	t.says = "skip: " + fmt.Sprintf(format, args...)
}

func TestNeed(t *testing.T) {
	for _, c := range []struct {
		ci   string
		ok   bool
		want string
	}{
		{"", true, ""},
		{"true", true, ""},
		{"", false, "skip: NOT TESTED here, for lack of: wings"},
		{"true", false, "fail: CI lacks what this test needs: wings"},
	} {
		t.Setenv("CI", c.ci)
		r := &recorder{TB: t}
		Need(r, c.ok, "wings")
		if r.says != c.want {
			t.Errorf("CI=%q Need(%v): %q, want %q", c.ci, c.ok, r.says, c.want)
		}
		r = &recorder{TB: t}
		want := ""
		if !c.ok {
			want = "skip: tested only on the ground"
		}
		if Only(r, c.ok, "on the ground"); r.says != want {
			t.Errorf("CI=%q Only(%v): %q, want %q", c.ci, c.ok, r.says, want)
		}
	}
}

// No test skips except through Need: such a test would skip in CI, too, and count as passed.
func TestOnlyWayToSkip(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && strings.HasPrefix(name, ".") && name != ".." {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "Skip" || s.Sel.Name == "Skipf" || s.Sel.Name == "SkipNow") {
				t.Errorf("%s skips without tracetest.Need", set.Position(call.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil || files < 50 {
		t.Errorf("parsed %d files, want 50 or more; %v", files, err)
	}
}
