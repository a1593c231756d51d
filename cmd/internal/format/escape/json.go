package escape

// AppendJSONByte appends a byte of ASCII that does not stand for itself in a JSON string.
func AppendJSONByte(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\t':
		return append(b, '\\', 't')
	case '\r':
		return append(b, '\\', 'r')
	}
	return AppendJSONUnit(b, uint16(c))
}

// AppendJSONUnit appends a unit of UTF-16 as \uHHHH.
func AppendJSONUnit(b []byte, u uint16) []byte {
	return append(b, '\\', 'u', digits[u>>12], digits[u>>8&15], digits[u>>4&15], digits[u&15])
}
