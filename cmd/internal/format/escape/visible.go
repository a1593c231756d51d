package escape

import (
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// Visible reports whether a terminal shows a character as a mark of its own, or as the ASCII
// space. Such a character is printable in Unicode's sense, which excludes controls, formats
// such as the bidi overrides, and other spaces. It is none of the letters and marks that are
// printable by class but invisible.
func Visible(r rune) bool {
	if r < 0 || r >= maxCached {
		return visible(r)
	}
	p := cached[r>>8].Load()
	if p == nil {
		p = remember(r >> 8)
	}
	return p[r>>6&3]>>(r&63)&1 != 0
}

// cached has the answers of visible for the characters of two bytes or three, which most text
// consists of, as bit sets of 256 characters. They are computed on first use.
var cached [maxCached >> 8]atomic.Pointer[[4]uint64]

const maxCached = 0x10000

func remember(page rune) *[4]uint64 {
	var p [4]uint64
	for i := range rune(256) {
		if visible(page<<8 | i) {
			p[i>>6] |= 1 << (i & 63)
		}
	}
	cached[page].Store(&p)
	return &p
}

func visible(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= 0x20 && r < 0x7f
	case r == 0x034f, // combining grapheme joiner
		r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, // Hangul fillers
		r == 0x17b4, r == 0x17b5, // Khmer inherent vowels
		r == 0x2800,                                       // Braille blank
		r >= 0x180b && r <= 0x180f,                        // Mongolian selectors
		r >= 0xfe00 && r <= 0xfe0f,                        // variation selectors
		r >= 0xe0000 && r <= 0xe0fff, r == utf8.RuneError: // tags, more selectors
		return false
	}
	return unicode.IsPrint(r)
}
