package output

import "github.com/olekukonko/tablewriter/pkg/twwidth"

// Width returns how many columns text takes on a terminal.
func Width(text string) int { return twwidth.Width(text) }

// Truncate cuts text to a width, of which dots are a part.
func Truncate(text string, width int, dots string) string {
	return twwidth.Truncate(text, width, dots)
}
