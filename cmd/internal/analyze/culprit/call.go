package culprit

import "strings"

// room is that for all arguments after the first.
const room = 60

// Call returns a system call with the arguments that say most: the first one and, while there is room, the words,
// names of files, and descriptors among the others, without addresses, sizes and data.
// "read(0<pipe:[7]>, 0x7f, 65536)" becomes "read(0<pipe:[7]>)".
func Call(call string) string {
	name, _, ok := strings.Cut(call, "(")
	if !ok {
		return call
	}
	transfers := strings.Contains(name, "write") || strings.HasPrefix(name, "send") // the text is data
	b := append([]byte(nil), name...)
	b = append(b, '(')
	left := room
	arguments(call[len(name)+1:], func(i int, arg string) {
		if i == 0 {
			b = append(b, arg...)
		} else if telling(arg, transfers) && len(arg) <= left {
			left -= len(arg)
			b = append(append(b, ", "...), arg...)
		}
	})
	return string(append(b, ')'))
}

// telling reports whether an argument that is not the first says what a call is about.
func telling(arg string, transfers bool) bool {
	if arg == "" || arg == "NULL" {
		return false
	}
	switch c := arg[0]; {
	case c >= 'A' && c <= 'Z':
		return true
	case c == '"':
		return !transfers
	case c == '[':
		return arg != "[]"
	case c >= '0' && c <= '9':
		return strings.HasSuffix(arg, ">") // a descriptor
	}
	return false
}

// arguments calls f with each argument of a list, which may be cut off, up to its parenthesis.
func arguments(list string, f func(i int, arg string)) {
	n, start, depth := 0, 0, 0
	end := func(at int) {
		f(n, strings.TrimSpace(list[start:at]))
		n, start = n+1, at+1
	}
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '"':
			for i++; i < len(list) && list[i] != '"'; i++ {
				if list[i] == '\\' {
					i++
				}
			}
		case '(', '[', '{', '<':
			depth++
		case ')', ']', '}', '>':
			switch {
			case list[i] == '>' && i > 0 && list[i-1] == '-': // of addresses
			case depth > 0:
				depth--
			case list[i] == ')':
				end(i)
				return
			}
		case ',':
			if depth == 0 {
				end(i)
			}
		}
	}
	end(len(strings.TrimSuffix(list[start:], ")")) + start) // it was cut off, or a name has a bracket
}
