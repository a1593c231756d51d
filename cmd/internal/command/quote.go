package command

import (
	"strings"
)

// shellQuote quotes a word for any shell.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
