package escape

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// AppendWord appends a word for sh, bash and zsh: as it is if no shell gives a character of it a meaning, else
// in single quotes. The line with the word still needs AppendPasted.
func AppendWord(b []byte, word string) []byte {
	if word != "" && word[0] != '=' && strings.Trim(word, plainInWord) == "" {
		return append(b, word...)
	}
	// bash looks for "!" in '\'' differently from its parser.
	return append(append(append(b, '\''), strings.ReplaceAll(word, "'", `'"'"'`)...), '\'')
}

// plainInWord are the characters without a meaning anywhere in an argument. "=" has one at its start in zsh, "~"
// in several places.
const plainInWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,@%="

// AppendPasted appends a command line so that it can be shown by a terminal and pasted into one: a line that has
// a character which is not Visible, or what a CI system takes for a command, becomes another one that evaluates
// it. POSIX has had $'...' only since 2024, and dash has not; the printf of all shells knows octal numbers. A
// command substitution would drop newlines at its end, but the lines here end in none: they are quoted.
func AppendPasted(b, line []byte) []byte {
	if pasteable(line) {
		return append(b, line...)
	}
	b = append(b, `eval "$(printf '`...)
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if r != utf8.RuneError && Visible(r) && !strings.ContainsRune(`'"\%!$`+"`#:[", r) {
			b = append(b, line[:n]...)
		} else {
			for _, c := range line[:n] {
				b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
			}
		}
		line = line[n:]
	}
	return append(b, `')"`...)
}

// pasteable reports whether a line can be shown and pasted as it is.
func pasteable(line []byte) bool {
	for rest := line; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 || !Visible(r) {
			return false
		}
		rest = rest[n:]
	}
	for _, s := range syntaxes {
		if s.where == anywhere && bytes.Contains(line, []byte(s.text)) {
			return false
		}
	}
	return true
}
