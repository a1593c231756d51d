package dump

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
)

// guard keeps untrusted text from being a command of a CI runner, in forms that a job may print.
// A page is for a browser.
func (o *options) guard(w *cli.Writer) {
	form := strings.TrimPrefix(o.form, "golden ")
	switch {
	case o.mode == "html":
	case o.mode == "junit":
		w.Guard("&#91;", "")
	case form == "json" || form == "chrome":
		w.Guard(`\u005b`, "")
	case form == "format" && !hasCommand(o.format), form == "annotate" && o.style == output.NoTime, o.mode == "folded":
		w.Guard(`\x5b`, `\x3a`)
	default: // the lines of other forms begin with text of ours
		w.Guard(`\x5b`, "")
	}
}

// hasCommand reports whether a format itself is to write commands.
func hasCommand(format string) bool {
	for line := range strings.SplitSeq(format, `\n`) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "::") {
			return true
		}
	}
	return false
}
