package cli

import (
	"strings"
)

// ShellQuote quotes a word for any shell.
func ShellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
