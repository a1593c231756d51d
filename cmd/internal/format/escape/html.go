package escape

// AppendHTML is like AppendPrintable, as text or the value of an attribute in HTML.
func AppendHTML[T string | []byte](b []byte, s T) []byte {
	return appendHTML(b, AppendPrintable(nil, s))
}

// AppendHTMLCell is like AppendHTML but for a line of output, see AppendCell.
func AppendHTMLCell[T string | []byte](b []byte, s T) []byte {
	return appendHTML(b, AppendCell(nil, s))
}

// appendHTML does what html.EscapeString does. Package html would make each program that links this
// package start slower.
func appendHTML(b, s []byte) []byte {
	for _, c := range s {
		switch c {
		case '<':
			b = append(b, "&lt;"...)
		case '>':
			b = append(b, "&gt;"...)
		case '&':
			b = append(b, "&amp;"...)
		case '"':
			b = append(b, "&#34;"...)
		case '\'':
			b = append(b, "&#39;"...)
		default:
			b = append(b, c)
		}
	}
	return b
}
