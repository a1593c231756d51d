package summary

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// duration formats a duration with three digits and a unit, and one of a minute or more with two
// units.
func duration(ns int64) string {
	const second, minute, hour = 1e9, 60 * 1e9, 3600 * 1e9
	switch f := float64(ns); {
	case ns >= 100*hour:
		return fmt.Sprintf("%dd%02dh", ns/(24*hour), ns/hour%24)
	case ns >= hour:
		return fmt.Sprintf("%dh%02dm", ns/hour, ns/minute%60)
	case ns >= minute-second/2:
		ns += second / 2
		return fmt.Sprintf("%dm%02ds", ns/minute, ns/second%60)
	case ns >= 999_500_000:
		return digits(f/1e9) + "s"
	case ns >= 999_500:
		return digits(f/1e6) + "ms"
	case ns >= 1000:
		return digits(f/1e3) + "µs"
	case ns == 0:
		return "0s"
	}
	return strconv.FormatInt(ns, 10) + "ns"
}

// digits formats a number below 1000 with three digits.
func digits(f float64) string {
	decimals := 2
	switch {
	case f >= 99.95:
		decimals = 0
	case f >= 9.995:
		decimals = 1
	}
	return strconv.FormatFloat(f, 'f', decimals, 64)
}

// size formats bytes with a unit of ls(1).
func size(n int64) string {
	if n <= 0 {
		return "-"
	}
	const units = "KMGTPE"
	f, unit := float64(n), ""
	for i := 0; f >= 999.5 && i < len(units); i++ {
		f, unit = f/1024, units[i:i+1]
	}
	if unit == "" {
		return strconv.FormatInt(n, 10)
	}
	return digits(f) + unit
}

// rate formats a number of events per second.
func rate(f float64) string {
	decimals := 1
	switch {
	case f >= 99.95:
		decimals = 0
	case f < 0.995:
		decimals = 2
	}
	return strconv.FormatFloat(f, 'f', decimals, 64)
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// status returns how a command ended.
func status(c *analysis.Command) string {
	switch c.State {
	case analysis.Replaced:
		return "exec"
	case analysis.Running:
		return "running"
	case analysis.Lost:
		return "?"
	}
	return output.EndWord(c.Status, c.Signal)
}

// shown escapes text for a line of the summary, which a log of CI may have. Of a "::" that other text may
// precede in the line, it escapes the first character.
func shown(s string) string {
	return string(escape.Commands([]byte(guarded(string(escape.AppendPrintable(nil, s)))), true))
}

// shownLine is like shown but for a line of output, which other text always precedes.
func shownLine(s string) string {
	return string(escape.Commands([]byte(guarded(string(escape.AppendCell(nil, s)))), false))
}

// guarded escapes the first character of a "::" that begins a text.
func guarded(s string) string {
	if rest := strings.TrimLeft(s, " "); strings.HasPrefix(rest, "::") {
		return s[:len(s)-len(rest)] + `\x3a` + rest[1:]
	}
	return s
}

// cut shortens text to n characters.
func cut(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n--; n == 0 {
			return s[:escape.Cut(s, i)] + "…"
		}
	}
	return s
}

// unstyled returns a line of output without colours and blanks around it.
func unstyled(line []byte) string { return strings.TrimSpace(string(escape.Unstyled(line))) }
