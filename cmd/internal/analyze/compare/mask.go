package compare

import (
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

// mask replaces what differs from run to run in the text of a label: temporary files, process ids,
// hashes, dates. pids has the ids of the processes of the run.
func mask(s string, pids map[int32]bool) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if dir, n := catalog.TemporaryPath(s[i:]); n > 0 && (i == 0 || !isWord(s[i-1])) {
			maskPath(&b, s[i:i+n], dir, pids)
			i += n
			continue
		}
		if !isWord(s[i]) {
			b.WriteByte(s[i])
			i++
			continue
		}
		n := 1
		for i+n < len(s) && isWord(s[i+n]) {
			n++
		}
		if m := dateLength(s[i:]); m > 0 && !(i+m < len(s) && isWord(s[i+m])) {
			b.WriteString("@date")
			i += m
			continue
		}
		if isCMakeTest(s[:i], n) {
			b.WriteString("@hash")
		} else {
			b.WriteString(maskWord(s[i:i+n], strings.HasSuffix(s[:i], "/proc/"), pids))
		}
		i += n
	}
	return b.String()
}

// isCMakeTest reports whether a word of n letters and digits is the random part of the name of a test
// that CMake compiles.
func isCMakeTest(before string, n int) bool {
	return n == 5 && strings.HasSuffix(before, "cmTC_") || n == 6 && strings.HasSuffix(before, "TryCompile-")
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

// maskPath appends what stands for a path in a temporary directory, whose length is dir. A random name has
// only its extension left, which tells what the file is: .s, .o.
func maskPath(b *strings.Builder, path string, dir int, pids map[int32]bool) {
	names := strings.Split(path[dir:], "/")
	for i, name := range names {
		first := i == 0 || catalog.IsDirectory(names[i-1])
		switch {
		case first && catalog.Random(name), catalog.Surely(name), path[:dir] == descriptors:
			if i > 0 {
				b.WriteByte('/')
			}
			b.WriteString("@tmp" + catalog.Extension(name))
			continue
		case i == 0:
			b.WriteString(path[:dir])
		default:
			b.WriteByte('/')
		}
		b.WriteString(mask(name, pids))
	}
}

// descriptors is the directory of descriptors, whose numbers depend on what else is open.
const descriptors = "/dev/fd/"

// maskWord returns what stands for a word of letters and digits.
func maskWord(w string, proc bool, pids map[int32]bool) string {
	digits, letters, beyond, number := 0, 0, 0, int64(0)
	lower, upper := 0, 0
	for i := range len(w) {
		switch c := w[i]; {
		case '0' <= c && c <= '9':
			digits++
			number = min(10*number+int64(c-'0'), 1<<40)
		case 'a' <= c && c <= 'z':
			letters, lower = letters+1, lower+1
			if c > 'f' {
				beyond++
			}
		case 'A' <= c && c <= 'Z':
			letters, upper = letters+1, upper+1
			if c > 'F' {
				beyond++
			}
		default:
			return w
		}
	}
	switch {
	case letters == 0 && (proc || len(w) >= 3 && number < 1<<31 && pids[int32(number)]):
		return "@pid"
	case letters == 0 && len(w) >= 9: // a time, a random number
		return "@number"
	case beyond == 0 && len(w) >= 7 && digits > 0 && letters > 0 && (lower == 0 || upper == 0):
		return "@hash"
	case len(w) >= 16 && digits >= 2 && lower > 0 && upper > 0:
		return "@hash"
	}
	return w
}

// dateLength returns the length of a date or a time of day at the start of s, 0 if there is none:
// 2026-11-23, 2026-11-23T10:12:00, 10:12:00, each with a fraction.
func dateLength(s string) int {
	n := matchDigits(s, "0000-00-00")
	if n == 0 {
		n = matchDigits(s, "0000/00/00")
	}
	if n > 0 && n < len(s) && (s[n] == 'T' || s[n] == ' ') {
		if m := matchDigits(s[n+1:], "00:00:00"); m > 0 {
			n += 1 + m
		} else {
			return n
		}
	} else if n == 0 {
		if n = matchDigits(s, "00:00:00"); n == 0 {
			return 0
		}
	} else {
		return n
	}
	if n+1 < len(s) && s[n] == '.' && isDigit(s[n+1]) {
		for n++; n < len(s) && isDigit(s[n]); n++ {
		}
	}
	if n < len(s) && s[n] == 'Z' {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// matchDigits returns the length of a pattern, whose zeros stand for digits, if s begins so.
func matchDigits(s, pattern string) int {
	if len(s) < len(pattern) {
		return 0
	}
	for i := range len(pattern) {
		if pattern[i] == '0' && !isDigit(s[i]) || pattern[i] != '0' && pattern[i] != s[i] {
			return 0
		}
	}
	return len(pattern)
}

// maskLine returns what stands for a line of output. Of a number that often is a time or tells how far
// a build is, only the fact remains: 0.25, 12ms, 25%, [3/40].
func maskLine(line []byte) string {
	var b strings.Builder
	s := mask(strings.TrimSpace(string(escape.Unstyled(line))), nil)
	for i := 0; i < len(s); {
		if !isDigit(s[i]) || i > 0 && (isWord(s[i-1]) || s[i-1] == '.') {
			b.WriteByte(s[i])
			i++
			continue
		}
		n := 1
		for i+n < len(s) && isDigit(s[i+n]) {
			n++
		}
		fraction := i+n+1 < len(s) && s[i+n] == '.' && isDigit(s[i+n+1])
		if fraction {
			for n++; i+n < len(s) && isDigit(s[i+n]); n++ {
			}
		}
		rest := s[i+n:]
		progress := strings.HasPrefix(rest, "%") || i > 0 && s[i-1] == '[' && strings.HasPrefix(rest, "/")
		if fraction || progress || strings.HasPrefix(rest, "ms") || strings.HasPrefix(rest, "s") && (len(rest) == 1 || !isWord(rest[1])) {
			b.WriteByte('@')
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
