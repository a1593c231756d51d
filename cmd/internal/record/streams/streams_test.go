package streams

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "Build-1.2_x": true, "1": true, strings.Repeat("a", posixtrace.NameMax): true,
		"": false, ".a": false, "-a": false, "a/b": false, "a b": false, "ä": false, "a\n": false,
		strings.Repeat("a", posixtrace.NameMax+1): false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
}

func TestIsLog(t *testing.T) {
	dir := tracetest.Dir(t)
	for text, want := range map[string]bool{"": false, "PTLOG": false, "#!/bin/sh\n": false} {
		path := filepath.Join(dir, "file")
		tracetest.OK(t, "write", os.WriteFile(path, []byte(text), 0o600))
		if got := IsLog(path); got != want {
			t.Errorf("IsLog of %q: %v", text, got)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "missing")} {
		if IsLog(path) {
			t.Errorf("IsLog(%s)", path)
		}
	}
}
