package redact

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(tracetest.Dir(t), "patterns")
	for _, c := range []struct {
		text  string
		want  []string
		fault string
	}{
		{text: ""},
		{text: "one\ntwo", want: []string{"one", "two"}},
		{text: "\xef\xbb\xbfone\r\n\r\n# two\r\n #three\r\n", want: []string{"one", " #three"}},
		{text: "# one\n\nsecret(\n", fault: "line 3"},
		{text: strings.Repeat("# long\n", maxFile/7+1), fault: "1 MiB"},
	} {
		tracetest.OK(t, "write", os.WriteFile(path, []byte(c.text), 0o600))
		got, err := readPatterns(path)
		if c.fault == "" && (err != nil || !slices.Equal(got, c.want)) {
			t.Errorf("%.40q: %q, %v, want %q", c.text, got, err, c.want)
		}
		if c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%.40q: %v, want a fault with %q and no pattern", c.text, err, c.fault)
		}
	}
}
