package dump

import (
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// guard keeps untrusted text from being a command of a CI system, in forms that a job may print.
// A page is for a browser.
func (o *options) guard(w *cli.Writer) {
	form := strings.TrimPrefix(o.form, "golden ")
	switch {
	case o.mode == "html":
	case o.mode == "junit":
		w.Guard(escape.XML, true)
	case form == "json" || form == "chrome":
		w.Guard(escape.JSON, false)
	case form == "format" && output.FormatsCommands(o.format): // guards what it inserts
	case o.mode == "" && (form == "" || form == "csv") && !o.sel.stacks:
		w.Guard(escape.Text, false) // lines begin with text of ours
	default:
		w.Guard(escape.Text, true)
	}
}
