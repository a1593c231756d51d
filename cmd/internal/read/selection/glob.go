package selection

import (
	"strings"
	"unicode/utf8"
)

// Match reports whether a path or a name of an event matches a glob: * matches any characters, slashes too, ? one,
// and **/ at the beginning of a name any directories, none too. [abc], [a-z] and [!abc] match one character that is
// no slash; ] is one of them if it is the first. A backslash takes the meaning from the next character. A glob also
// matches its own text. Match takes time proportional to the product of the lengths at most.
func Match(glob, name string) bool {
	if glob == name {
		return true
	}
	g, n := 0, 0
	// What follows the latest star, where in the name it was tried last, and whether that star is of **/. What the
	// stars before it could match as well, it can match, so that they are not tried again.
	star, mark, directories := -1, 0, false
	for n < len(name) {
		if skip := starsAt(glob, g); skip > 0 {
			star, mark, directories = g+skip, n, skip > 1
			g = star
			continue
		}
		if ofGlob, ofName := matchOne(glob[g:], name[n:]); ofName > 0 {
			g += ofGlob
			n += ofName
			continue
		}
		if star < 0 {
			return false
		}
		step := 0
		if directories {
			step = strings.IndexByte(name[mark:], '/') + 1
		} else {
			_, step = utf8.DecodeRuneInString(name[mark:])
		}
		if step == 0 {
			return false
		}
		mark += step
		g, n = star, mark
	}
	for g < len(glob) {
		skip := starsAt(glob, g)
		if skip == 0 {
			return false
		}
		g += skip
	}
	return true
}

// starsAt returns the length of a star or **/ in a glob, 0 if there is none.
func starsAt(glob string, at int) int {
	const directories = "**/"
	switch {
	case at == len(glob) || glob[at] != '*':
		return 0
	case strings.HasPrefix(glob[at:], directories) && (at == 0 || glob[at-1] == '/'):
		return len(directories)
	}
	return 1
}

// matchOne matches the first character of a name, and returns how many bytes of the glob and of the name that
// takes; 0 of the name if it does not match.
func matchOne(glob, name string) (ofGlob, ofName int) {
	if glob == "" {
		return 0, 0
	}
	c, size := utf8.DecodeRuneInString(name)
	switch {
	case glob[0] == '?':
		return 1, size
	case glob[0] == '[':
		if length, in := matchClass(glob, c); length > 0 {
			if !in || c == '/' {
				return 0, 0
			}
			return length, size
		}
	case glob[0] == '\\' && len(glob) > 1:
		if glob[1] == name[0] {
			return 2, 1
		}
		return 0, 0
	}
	if glob[0] == name[0] {
		return 1, 1
	}
	return 0, 0
}

// matchClass returns the length of the [abc] that a glob begins with, 0 if it does not end, and whether a character
// is in it.
func matchClass(glob string, c rune) (length int, in bool) {
	i := 1
	except := strings.HasPrefix(glob[i:], "!") || strings.HasPrefix(glob[i:], "^")
	if except {
		i++
	}
	next := func() rune {
		if glob[i] == '\\' && i+1 < len(glob) {
			i++
		}
		r, size := utf8.DecodeRuneInString(glob[i:])
		i += size
		return r
	}
	for first := true; i < len(glob); first = false {
		if glob[i] == ']' && !first {
			return i + 1, in != except
		}
		low := next()
		high := low
		if i+1 < len(glob) && glob[i] == '-' && glob[i+1] != ']' {
			i++
			high = next()
		}
		in = in || low <= c && c <= high
	}
	return 0, false
}
