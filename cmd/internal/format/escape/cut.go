package escape

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// maxLookBack bounds how far before the limit Cut looks for the end of a character: longer than any
// emoji in use, and than any colour sequence.
const maxLookBack = 128

// Cutting is how many bytes beyond the limit Cut looks at: those of a character.
const Cutting = utf8.UTFMax

// Cut returns the length, at most n, of the part of b to show or keep by itself. The part ends at a
// character, not before a mark or joiner that belongs to it, and not within a sequence that selects a
// colour. If there is no such place in the last bytes before n, it ends at a character of UTF-8, and in
// other data at n. It is never empty if b and n are not. Cut looks at n+Cutting bytes at most.
func Cut[T string | []byte](b T, n int) int {
	if len(b) <= n || n <= 0 {
		return max(min(len(b), n), 0)
	}
	from := max(n-maxLookBack-utf8.UTFMax, 0)
	return from + cut([]byte(b[from:min(len(b), n+Cutting)]), n-from)
}

func cut(b []byte, n int) int {
	end := charStart(b, n)
	if end == 0 {
		return n
	}
	floor := max(n-maxLookBack, 1)
	at := end
	for at >= floor && joined(b, at) {
		_, size := utf8.DecodeLastRune(b[:at])
		at -= size
	}
	if at < floor {
		at = end
	}
	if i := unfinished(b[:at]); i >= floor {
		at = i
	}
	return at
}

// charStart returns where the character of UTF-8 begins that b[n] is in, n if that is no character.
func charStart(b []byte, n int) int {
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if _, size := utf8.DecodeRune(b[i:]); i+size > n {
				return i
			}
			break
		}
	}
	return n
}

// Whole returns the length of text of UTF-8 without the beginning of a character at its end, and the
// length of other data.
func Whole(data []byte) int {
	for n := len(data) - 1; n >= 0 && n >= len(data)-utf8.UTFMax; n-- {
		if utf8.RuneStart(data[n]) {
			if !utf8.FullRune(data[n:]) && utf8.Valid(data[:n]) {
				return n
			}
			break
		}
	}
	return len(data)
}

// joined reports whether the characters before and at b[at:] are one to a reader.
func joined(b []byte, at int) bool {
	after, size := utf8.DecodeRune(b[at:])
	if after < 0x300 || after == utf8.RuneError && size < 2 {
		return false
	}
	before, size := utf8.DecodeLastRune(b[:at])
	switch {
	case before < ' ', before == utf8.RuneError && size < 2:
		return false
	case before == zwj, after == zwj, after == zwnj,
		unicode.In(after, unicode.M, unicode.Variation_Selector),
		after >= 0x1f3fb && after <= 0x1f3ff, after >= 0xe0020 && after <= 0xe007f, // colours of skin, tags
		after == 0xff9e || after == 0xff9f, // voiced sound marks
		isJamo(after) && unicode.Is(unicode.Hangul, before):
		return true
	}
	flags := 0 // regional indicators before it: two are a flag
	for isRegional(after) && at > 0 {
		r, size := utf8.DecodeLastRune(b[:at])
		if !isRegional(r) {
			break
		}
		flags++
		at -= size
	}
	return flags%2 == 1
}

// isJamo reports whether a letter of Hangul continues a syllable.
func isJamo(r rune) bool { return r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7ff }

func isRegional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// unfinished returns where a control sequence begins that b may end within, -1 if there is none.
func unfinished(b []byte) int {
	from := max(len(b)-maxSequence, 0)
	i := bytes.LastIndexByte(b[from:], '\x1b')
	if i < 0 {
		return -1
	}
	s := b[from+i:]
	switch {
	case len(s) == 1, len(s) == 2 && bytes.IndexByte([]byte("[(]"), s[1]) >= 0,
		s[1] == '[' && bytes.IndexFunc(s[2:], func(r rune) bool { return r < '0' || r > '?' }) < 0:
		return from + i
	}
	return -1
}
