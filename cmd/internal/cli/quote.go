package cli

import (
	"strings"
)

// ShellQuote quotes a word for a POSIX shell.
func ShellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
